//! Lambda's Kafka event against the crate `aws_lambda_events`, and against hostile events; payloads of schedules.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::lambda::{EventPartition, EventRecord, KafkaEvent, Scheduled};

/// A record as the event carries it.
fn record(topic: &'static str, partition: u32) -> impl Strategy<Value = Value> {
    let bytes = || prop::option::of(vec(any::<u8>(), 0..20));
    let headers = vec(("[a-z\\u{e9}]{0,5}", vec(-128_i16..256, 0..5)), 0..3);
    // One header in three is missing, null or a list; a key or value may be absent, null or there.
    (0_u64..1 << 53, bytes(), bytes(), headers, any::<[bool; 4]>()).prop_map(
        move |(offset, key, value, headers, odd)| {
            let mut record = json!({
                "topic": topic, "partition": partition, "offset": offset, "timestamp": 1_769_860_830_123_u64,
                "timestampType": "CREATE_TIME", "later": {"x": [1]},
                "headers": headers.iter().map(|(name, bytes)| json!({ name: bytes })).collect::<Vec<_>>(),
            });
            for (name, bytes, absent) in [("key", key, odd[0]), ("value", value, odd[1])] {
                match bytes {
                    None if absent => {}
                    bytes => record[name] = json!(bytes.map(|bytes| STANDARD.encode(bytes))),
                }
            }
            if odd[2] && odd[3] {
                record.as_object_mut().unwrap().remove("headers");
            }
            record
        },
    )
}

fn event() -> impl Strategy<Value = Value> {
    let source = prop_oneof![Just(json!("aws:kafka")), Just(json!("SelfManagedKafka")), Just(Value::Null)];
    let partition = (0_u32..20).prop_flat_map(|partition| {
        vec(record("t-1.x", partition), 0..5).prop_map(move |records| (format!("t-1.x-{partition}"), records))
    });
    (source, vec(partition, 0..5)).prop_map(|(source, partitions)| {
        let records: BTreeMap<_, _> = partitions.into_iter().collect();
        json!({ "eventSource": source, "records": records, "bootstrapServers": "b:9092", "other": [null] })
    })
}

/// What the crate read, in our shape.
fn theirs(event: aws_lambda_events::kafka::KafkaEvent) -> KafkaEvent {
    let decoded = |text: Option<String>| text.map(|text| STANDARD.decode(text).unwrap());
    let mut partitions = BTreeMap::new();
    for (name, records) in event.records {
        let (topic, partition) = name.rsplit_once('-').unwrap();
        let records = records.into_iter().map(|record| {
            assert_eq!((record.topic.as_deref(), record.partition.to_string().as_str()), (Some(topic), partition));
            let pairs = record.headers.into_iter().flatten();
            let bytes = |bytes: Vec<i8>| bytes.into_iter().map(i8::cast_unsigned).collect();
            EventRecord {
                offset: u64::try_from(record.offset).unwrap(),
                key: decoded(record.key),
                value: decoded(record.value),
                headers: pairs.map(|(name, value)| (name, bytes(value))).collect(),
            }
        });
        let (topic, partition) = (topic.to_owned(), partition.parse::<u32>().unwrap());
        let mut records: Vec<_> = records.collect();
        records.sort_by_key(|record| record.offset);
        partitions.insert((topic.clone(), partition), EventPartition { topic, partition, records });
    }
    KafkaEvent { partitions: partitions.into_values().collect() }
}

proptest! {
    #[test]
    fn events_that_the_crate_reads_are_read_alike_and_others_too(event in event()) {
        let text = event.to_string();
        let ours = KafkaEvent::decode(&text);
        prop_assert!(ours.is_ok(), "{:?}", ours);
        if let Ok(crates) = serde_json::from_str(&text) {
            prop_assert_eq!(ours.unwrap(), theirs(crates));
        }
    }

    #[test]
    fn an_event_with_a_changed_byte_never_panics(event in event(), at: prop::sample::Index, byte: u8) {
        let mut bytes = event.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = std::str::from_utf8(&bytes) && let Err(error) = KafkaEvent::decode(text) {
            prop_assert!(error.to_string().len() < 400, "{}", error);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text: String, event in prop::sample::select(vec!["kafka", "schedule"])) {
        match event {
            "kafka" => prop_assert!(KafkaEvent::decode(&text).is_err()),
            _ => drop(Scheduled::decode(&text)),
        }
    }
}

#[test]
fn the_crate_refuses_events_that_are_read_here() {
    let with = |headers: &str| {
        format!(
            r#"{{"records":{{"t-0":[{{"partition":0,"offset":1,"timestamp":1,"key":null,"value":null{headers}}}]}}}}"#
        )
    };
    for (headers, refused) in
        [(r#","headers":[{"a":[127]}]"#, false), (r#","headers":[{"a":[195]}]"#, true), ("", true)]
    {
        let text = with(headers);
        assert_eq!(serde_json::from_str::<aws_lambda_events::kafka::KafkaEvent>(&text).is_err(), refused, "{text}");
        assert!(KafkaEvent::decode(&text).is_ok(), "{text}");
    }
}

#[test]
fn a_malformed_event_says_where() {
    let record = r#"{"topic":"t","partition":0,"offset":1,"value":"e30=","headers":[{"a":[1]}]}"#;
    let within = |record: &str| format!(r#"{{"eventSource":"aws:kafka","records":{{"t-0":[{record}]}}}}"#);
    assert!(KafkaEvent::decode(&within(record)).is_ok());
    let changed = |from: &str, to: &str| within(&record.replacen(from, to, 1));
    let cases = [
        (changed("\"e30=\"", "\"e30\""), "records.t-0[0].value: not base64"),
        (changed("\"e30=\"", "\"s3cret!\""), "records.t-0[0].value: not base64"),
        (changed("\"e30=\"", "7"), "records.t-0[0].value: invalid type: integer `7`"),
        (changed("[1]", "[256]"), "records.t-0[0].headers[0].a: not a byte"),
        (changed("[1]", "[-129]"), "records.t-0[0].headers[0].a: not a byte"),
        (changed("\"offset\":1", "\"offset\":-1"), "records.t-0[0].offset: invalid value: integer `-1`"),
        (changed("\"offset\":1,", ""), "records.t-0[0]: missing field `offset`"),
        (changed("\"topic\":\"t\"", "\"topic\":\"u\""), "records.t-0[0]: of another topic or partition"),
        (changed("\"partition\":0", "\"partition\":1"), "records.t-0[0]: of another topic or partition"),
        (
            changed("\"offset\":1", "\"offset\":\"s3cret\""),
            "records.t-0[0].offset: invalid type: a string, expected u64",
        ),
        (within(record).replacen("t-0", "t", 1), "records.t: not the name of a topic"),
        (within(record).replacen("aws:kafka", "aws:sqs", 1), "eventSource: unknown value \"aws:sqs\""),
        (r#"{"Records":[]}"#.to_owned(), "missing field `records`"),
        (r#"{"records":null}"#.to_owned(), "records: invalid type: null, expected an object"),
        ("[]".to_owned(), "invalid length 1, expected a Kafka event"),
        (within(record) + "}", "trailing characters"),
        (within(&"[".repeat(100_000)), "records.t-0[0]"),
    ];
    for (event, expected) in cases {
        let error = KafkaEvent::decode(&event).expect_err(expected).to_string();
        assert!(error.contains(expected) && !error.contains("s3cret"), "{expected}: {error}");
    }
}

#[test]
fn a_partition_that_is_named_twice_keeps_the_records_of_both() {
    let record = |offset: u64| format!(r#"[{{"partition":3,"offset":{offset}}}]"#);
    let text = format!(r#"{{"records":{{"t-3":{},"t-1":[],"t-3":{}}}}}"#, record(9), record(4));
    let KafkaEvent { partitions } = KafkaEvent::decode(&text).unwrap();
    let offsets: Vec<Vec<u64>> =
        partitions.iter().map(|partition| partition.records.iter().map(|record| record.offset).collect()).collect();
    assert_eq!(offsets, [vec![], vec![4, 9]]);
}

#[test]
fn only_force_is_read_of_a_schedules_payload() {
    for payload in ["", " null ", "{}", r#"{"force":false,"force_":true,"detail":{"force":true}}"#] {
        assert_eq!(Scheduled::decode(payload), Ok(Scheduled { force: false }), "{payload}");
    }
    for (payload, expected) in [
        ("[]", "not an object"),
        ("\"force\"", "not an object"),
        (r#"{"force":"true"}"#, "force: invalid type"),
        (r#"{"force":1}"#, "force: invalid type"),
        (r#"{"force":true"#, "EOF while parsing an object"),
    ] {
        let error = Scheduled::decode(payload).expect_err(payload).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
