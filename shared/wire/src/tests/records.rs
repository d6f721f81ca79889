//! Every record comes back as it was; what the headers and keys mean.

use domain::{Lane, Position, Record, Timestamp, Topic};
use proptest::prelude::*;

use super::{generators, samples};
use crate::record::{Encoded, Raw, decode, encode};

pub(super) fn refs(encoded: &Encoded) -> Vec<(&str, &[u8])> {
    encoded.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect()
}

pub(super) fn raw<'a>(topic: Topic, encoded: &'a Encoded, headers: &'a [(&'a str, &'a [u8])]) -> Raw<'a> {
    let position = Position { partition: 2, offset: 40 };
    let (key, value) = (Some(encoded.key.as_slice()), encoded.value.as_deref());
    Raw { topic, position, key, value, headers, at: Timestamp::from_ms(1) }
}

pub(super) fn there_and_back(record: &Record) -> Record {
    let encoded = encode(record);
    let headers = refs(&encoded);
    decode(raw(record.topic(), &encoded, &headers)).unwrap()
}

proptest! {
    #[test]
    fn every_record_comes_back(record in generators::record()) {
        prop_assert_eq!(there_and_back(&record), record);
    }

    #[test]
    fn only_a_tombstone_needs_its_headers(record in generators::record()) {
        let encoded = encode(&record);
        let read = decode(raw(record.topic(), &encoded, &[])).unwrap();
        let wanted = if let Record::Tombstone(id, _) = record { Record::Tombstone(id, u64::MAX) } else { record };
        prop_assert_eq!(read, wanted);
    }
}

#[test]
fn the_topic_says_the_lane() {
    let encoded = encode(&Record::Dispatch(Lane::Fast, samples::dispatch()));
    let read = decode(raw(Topic::Slow, &encoded, &[]));
    assert_eq!(read, Ok(Record::Dispatch(Lane::Slow, samples::dispatch())));
}

#[test]
fn times_beyond_the_year_9999_are_written_as_its_last_millisecond() {
    let setting = domain::SettingDecision { decided_at: Timestamp::from_ms(u64::MAX), ..samples::setting() };
    let Record::Setting(read) = there_and_back(&Record::Setting(setting)) else { panic!("another kind") };
    assert_eq!(read.decided_at, Timestamp::RFC3339_MAX);
}

#[test]
fn fields_that_are_not_known_are_passed_over() {
    let mut encoded = encode(&Record::Setting(samples::setting()));
    let text = String::from_utf8(encoded.value.unwrap()).unwrap();
    encoded.value = Some(text.replacen('{', "{\"later\":{\"v\":2,\"state\":[[]]},", 1).into_bytes());
    assert_eq!(decode(raw(Topic::State, &encoded, &[])), Ok(Record::Setting(samples::setting())));
}

#[test]
fn callers_headers_keep_order_case_and_duplicates() {
    let Record::Dispatch(_, read) = there_and_back(&Record::Dispatch(Lane::Fast, samples::dispatch())) else {
        panic!("another kind")
    };
    let names: Vec<_> = read.webhook.headers.iter().map(|header| header.name.as_str()).collect();
    assert_eq!(names, ["X-Trace", "x-trace", "X-Trace"]);
}

#[test]
fn on_the_compacted_topic_a_value_under_another_key_is_refused() {
    let waiting = encode(&Record::Waiting(samples::waiting()));
    for key in [None, Some(b"wh_00000000000000000000000000".as_slice()), Some(b"setting/x".as_slice())] {
        let read = decode(Raw { key, ..raw(Topic::State, &waiting, &[]) });
        assert!(read.is_err(), "{key:?}");
    }
}
