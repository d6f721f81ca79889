//! A payload is the caller's bytes after any record (DL-4; P4, P5, P6).

use std::sync::Arc;

use domain::{Dispatch, Lane, Payload, PayloadKind, Record};
use proptest::prelude::*;

use super::records::there_and_back;
use super::{generators, samples};

/// Sends a payload through all four records that carry one.
fn carried(payload: &Payload) -> Vec<Payload> {
    let dispatch = Dispatch { webhook: Arc::new(samples::webhook(payload.clone())), ..samples::dispatch() };
    let waiting = domain::Waiting { dispatch: dispatch.clone(), ..samples::waiting() };
    let dead_letter = domain::DeadLetter { dispatch: dispatch.clone(), ..samples::dead_letter() };
    let records = [
        Record::Dispatch(Lane::Fast, dispatch.clone()),
        Record::Dispatch(Lane::Slow, dispatch),
        Record::Waiting(waiting),
        Record::DeadLetter(dead_letter),
    ];
    let payload_of = |record| match record {
        Record::Dispatch(_, dispatch) => dispatch.webhook.payload.clone(),
        Record::Waiting(waiting) => waiting.dispatch.webhook.payload.clone(),
        Record::DeadLetter(dead_letter) => dead_letter.dispatch.webhook.payload.clone(),
        Record::Result(_) | Record::Undecodable(_) | Record::Tombstone(..) | Record::Setting(_) => {
            panic!("no payload")
        }
    };
    records.iter().map(|record| payload_of(there_and_back(record))).collect()
}

fn assert_unchanged(text: &[u8]) {
    let payload = Payload { bytes: text.into(), kind: PayloadKind::Json };
    for found in carried(&payload) {
        assert!(
            found == payload,
            "{:?} became {:?}",
            String::from_utf8_lossy(text),
            String::from_utf8_lossy(&found.bytes)
        );
    }
}

#[test]
fn p4_small_payloads_come_back_byte_for_byte() {
    let texts = [
        "{}",
        "[]",
        "null",
        "true",
        "0",
        "\"\"",
        "\"a\"",
        "{\"a\":1}",
        "{\"a\":null}",
        "[1,2,3]",
        "{\"v\":2}",
        "{\"payload\":{\"payload_base64\":\"x\"}}",
        "\"\u{e9}\u{1f980}\"",
        "\"</script>\"",
        "\"\\/\"",
        "\"\u{2028}\"",
    ];
    for text in texts {
        assert_unchanged(text.as_bytes());
    }
}

#[test]
fn p5_order_duplicates_white_space_and_escapes_survive() {
    let texts = [
        "{\"b\":1,\"a\":2}",
        "{\"a\":1,\"a\":2,\"a\":{\"a\":3,\"a\":4}}",
        "{ \"a\" :\t1 ,\n\r  \"b\":[ ]  }",
        " {\"a\":1}",
        "{\"a\":1}\n",
        "\t1\r\n",
        "\"\\u0061\\n\\/\\u00e9\\uD83E\\uDD80\"",
        "\"\\ud800\"",
        "{\"\\udfff\":\"\\ud800\\ud800\"}",
        "\"\\u0000\"",
    ];
    for text in texts {
        assert_unchanged(text.as_bytes());
    }
}

#[test]
fn p6_numbers_keep_their_digits() {
    let hundred = "1234567890".repeat(10);
    let texts = [
        "9007199254740993",
        "-9007199254740993",
        "1e308",
        "1E+308",
        "1e400",
        "1e-400",
        "-0.0",
        "-0",
        "0e0",
        "1.10",
        "1.0",
        "10000000000000000000000.00",
        "0.1000000000000000055511151231257827",
        &hundred,
    ];
    for text in &texts {
        assert_unchanged(text.as_bytes());
    }
    assert_unchanged(format!("{{\"n\":[{}]}}", texts.join(" , ")).as_bytes());
}

#[test]
fn a_payload_may_be_as_deep_as_it_likes() {
    assert_unchanged(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes());
}

#[test]
fn what_is_called_json_and_is_none_comes_back_too() {
    for text in [b"".as_slice(), b"{", b"nul", b"{} {}", b"\xff\xfe", b"\"\xc3\x28\"", b"\xef\xbb\xbf{}"] {
        assert_unchanged(text);
    }
}

#[test]
fn json_stands_in_the_record_as_it_is() {
    let text = "{ \"a\":1.10,\"a\" : \"\\ud800\" }";
    let webhook = Arc::new(samples::webhook(samples::payload(text)));
    let encoded = crate::record::encode(&Record::Dispatch(Lane::Fast, Dispatch::first(webhook)));
    assert!(String::from_utf8(encoded.value.unwrap()).unwrap().contains(&format!("\"payload\":{text},")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn p4_ten_thousand_random_documents_come_back(text in generators::json()) {
        let payload = samples::payload(&text);
        let dispatch = Dispatch::first(Arc::new(samples::webhook(payload.clone())));
        let Record::Dispatch(_, read) = there_and_back(&Record::Dispatch(Lane::Fast, dispatch)) else {
            panic!("another kind")
        };
        prop_assert_eq!(&read.webhook.payload, &payload);
    }
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..200), json: bool) {
        let kind = if json { PayloadKind::Json } else { PayloadKind::Binary };
        let payload = Payload { bytes: bytes.into(), kind };
        for found in carried(&payload) {
            prop_assert_eq!(&found, &payload);
        }
    }
}
