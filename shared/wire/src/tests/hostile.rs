//! Any bytes on any topic: an error that a person can read, the raw bytes kept, no panic (DL-1, SE-1).

use domain::{Record, Topic, Undecodable};
use proptest::prelude::*;

use super::records::{raw, refs};
use super::samples;
use crate::record::{Encoded, Raw, decode, encode};

/// Reads a value under the sample's own key; it must not be readable.
fn refused(topic: Topic, value: Option<&[u8]>) -> Undecodable {
    let encoded =
        Encoded { key: samples::id().as_str().into(), value: value.map(<[u8]>::to_vec), headers: Vec::new() };
    let found = decode(raw(topic, &encoded, &[])).expect_err("readable");
    assert_eq!((found.value.as_deref(), found.key.as_ref()), (value, Some(&encoded.key)), "the raw bytes are kept");
    assert_eq!(found.topic, topic.name());
    assert!(!found.error.is_empty() && found.error.len() < 600, "{}", found.error);
    found
}

fn pending(change: impl Fn(String) -> String) -> String {
    let value = encode(&Record::Dispatch(domain::Lane::Fast, samples::dispatch())).value.unwrap();
    let sound = String::from_utf8(value).unwrap();
    let changed = change(sound.clone());
    assert_ne!(changed, sound, "the change must hit");
    refused(Topic::Pending, Some(changed.as_bytes())).error
}

#[test]
fn a_record_cut_off_anywhere_is_refused() {
    for (name, sample) in samples::records() {
        let mut encoded = encode(&sample);
        let Some(whole) = encoded.value.take() else { continue };
        for end in 0..whole.len() {
            let (headers, cut) = (refs(&encoded), whole.get(..end));
            let found = decode(Raw { value: cut, ..raw(sample.topic(), &encoded, &headers) }).expect_err(name);
            assert!(found.error.contains("line 1 column"), "{name} {end}: {}", found.error);
            assert_eq!(found.value.as_deref(), cut);
        }
    }
}

#[test]
fn bytes_that_are_no_record_are_refused_on_every_topic() {
    let deep = "[".repeat(100_000);
    let deep_field = format!("{{\"v\":1,\"id\":{}", "{\"a\":".repeat(100_000));
    let values = [
        b"".as_slice(),
        b"null",
        b"{}",
        b"[]",
        b"1",
        b"\"\"",
        b"{\"v\":1}",
        b"\xff\xfe\x00",
        b"{\"v\":1,\"id\":\"\xff\"}",
        b"{\"v\":1}{\"v\":1}",
        deep.as_bytes(),
        deep_field.as_bytes(),
    ];
    for topic in Topic::ALL {
        for value in values {
            refused(topic, Some(value));
        }
    }
    for topic in [Topic::Pending, Topic::Slow, Topic::Results, Topic::DeadLetter] {
        assert!(refused(topic, None).error.contains("only howk.state"));
    }
}

#[test]
fn eight_mebibytes_of_garbage_are_refused() {
    let dead_letters = vec![b'x'; 8 << 20];
    let string = format!("{{\"v\":1,\"id\":\"{}\"", "y".repeat(8 << 20));
    let lane = format!("{{\"v\":\"{}\"}}", "z".repeat(8 << 20));
    for value in [dead_letters.as_slice(), string.as_bytes(), lane.as_bytes()] {
        refused(Topic::Pending, Some(value));
    }
}

#[test]
fn another_version_is_named() {
    assert!(pending(|text| text.replacen("\"v\":1", "\"v\":2", 1)).contains("unknown version 2,"));
    assert!(pending(|text| text.replacen("\"v\":1", "\"v\":\"1\"", 1)).contains("unknown version \\\"1\\\","));
    assert!(pending(|text| text.replacen("\"v\":1,", "", 1)).contains("no version"));
    let later = "{\"webhooks\":[],\"v\":7}";
    assert!(refused(Topic::Slow, Some(later.as_bytes())).error.contains("unknown version 7,"));
}

#[test]
fn wrong_types_and_values_are_named() {
    let cases = [
        ("\"attempt\":3", "\"attempt\":\"3\"", "expected u32 at line 1 column"),
        ("\"attempt\":3", "\"attempt\":-3", "expected u32 at line 1 column"),
        ("\"attempt\":3", "\"attempt\":0", "attempt: 0, but it counts from 1"),
        ("\"dispatch\":4", "\"dispatch\":0", "dispatch: 0, but it counts from 1"),
        ("\"max_attempts\":20", "\"max_attempts\":101", "max_attempts: not between 1 and 100"),
        ("https://example.com", "ftp://example.com", "endpoint: the scheme must be"),
        ("https://example.com", "https://example.org", "endpoint_hash: not the hash"),
        ("\"id\":\"wh_", "\"id\":\"xx_", "id: a webhook id is"),
        ("shop:orders", "shop orders", "config_id: a config id is"),
        ("2026-01-31T12:00:00.000Z", "2026-02-31T12:00:00.000Z", "expected a time such as"),
        ("2026-01-31T12:00:00.000Z", "1969-12-31T23:59:59.999Z", "expected a time such as"),
        ("\"payload\":", "\"payload_base64\":\"!\",\"x\":", "payload_base64: "),
        ("\"payload\":", "\"payload_base64\":\"\",\"payload\":", "exclude each other"),
        ("\"payload\":", "\"x\":", "neither payload nor payload_base64"),
        (
            "\"payload\":",
            "\"payload_kind\":\"xml\",\"payload_base64\":\"\",\"x\":",
            "payload_kind: unknown value \"xml\"",
        ),
        ("[\"x-trace\",\"seal1.e165450e.a\"]", "[\"x-trace\"]", "at line 1 column"),
        ("\"waited\":true", "\"waited\":null", "expected a boolean"),
    ];
    for (from, to, expected) in cases {
        let error = pending(|text| text.replacen(from, to, 1));
        assert!(error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn se_1_an_error_quotes_no_secret() {
    let error = pending(|text| text.replacen("[\"seal1.e165450e.new\",\"seal1.e165450e.old\"]", "\"whsec_new\"", 1));
    assert!(error.contains("a string, expected a sequence at line 1 column"), "{error}");
    let tricky = "\"whsec_new\\\", expected \\\"whsec_new\"";
    let error = pending(|text| text.replacen("[\"seal1.e165450e.new\",\"seal1.e165450e.old\"]", tricky, 1));
    assert!(!error.contains("whsec"), "{error}");
    let error = pending(|text| text.replacen("\"created_at\":\"", "\"created_at\":\"whsec_new", 1));
    assert!(!error.contains("whsec"), "{error}");
}

#[test]
fn tombstones_need_a_webhooks_key_and_a_number() {
    let record = encode(&Record::Tombstone(samples::id(), 4));
    for key in [None, Some(b"".as_slice()), Some(b"setting/a/b"), Some(b"\xff"), Some(b"wh_short")] {
        let found = decode(Raw { key, ..raw(Topic::State, &record, &[]) }).expect_err("readable");
        assert!(found.error.starts_with("key of a tombstone"), "{}", found.error);
    }
    for header in [b"".as_slice(), b"-1", b"\xff", b"99999999999999999999"] {
        let found = decode(raw(Topic::State, &record, &[("dispatch", header)])).expect_err("readable");
        assert!(found.error.starts_with("header dispatch"), "{}", found.error);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..300), key: Option<Vec<u8>>, pick in 0_usize..5
    ) {
        let encoded = Encoded { key: key.clone().unwrap_or_default(), value: Some(bytes), headers: Vec::new() };
        let found = decode(Raw { key: key.as_deref(), ..raw(Topic::ALL[pick], &encoded, &[]) });
        prop_assert!(found.is_err());
    }

    #[test]
    fn a_record_with_a_changed_byte_never_panics(pick in 0_usize..10, at: prop::sample::Index, byte: u8) {
        let (_, sample) = samples::records().swap_remove(pick);
        let mut encoded = encode(&sample);
        let value = encoded.value.as_mut().unwrap();
        let at = at.index(value.len());
        value[at] = byte;
        if let Err(found) = decode(raw(sample.topic(), &encoded, &[])) {
            prop_assert!(found.error.len() < 600);
        }
    }
}
