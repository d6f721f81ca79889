//! The bytes that were promised, in `golden/`: a file per record value, one for keys and headers, one for the lines of the
//! hot state, and the events and answers of Lambda.

use std::fs;
use std::path::PathBuf;

use domain::{
    Bucket, Circuit, ClaimHolder, ClaimState, DeadLetterEntry, EndpointSetting, EndpointState, Fence, Lane, Position,
    ReasonType, RebuildCursor, Record, Tally, Tokens, Topic,
};

use super::records::{raw, refs};
use super::samples;
use crate::lambda::{
    BatchResponse, EventPartition, InitErrorReport, KafkaEvent, RebuildAnswer, RebuildProgress, ScheduleAnswer,
    Scheduled,
};
use crate::{hot, record};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

/// Compares with a golden file; writes what was found beside it and complains when they differ.
fn complaint(name: &str, found: &str) -> Option<String> {
    let (golden, found) = (path(name), format!("{found}\n"));
    let promised = fs::read_to_string(&golden).unwrap_or_default();
    if promised == found {
        return None;
    }
    fs::write(path(&format!("{name}.new")), &found).unwrap();
    Some(format!(
        "golden/{name} differs\npromised: {promised}\nfound:    {found}\n\
         If readers of the old bytes still understand the new ones, rename golden/{name}.new to golden/{name}.\n"
    ))
}

fn check(complaints: impl IntoIterator<Item = Option<String>>) {
    let complaints: String = complaints.into_iter().flatten().collect();
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn the_values_of_records_do_not_drift() {
    let value = |record| Some(String::from_utf8(record::encode(record).value?).unwrap());
    check(samples::records().iter().map(|(name, sample)| complaint(&format!("{name}.json"), &value(sample)?)));
}

#[test]
fn the_values_that_were_promised_are_understood() {
    for (name, sample) in samples::records() {
        let encoded = record::encode(&sample);
        if encoded.value.is_none() {
            continue;
        }
        let promised = fs::read(path(&format!("{name}.json"))).unwrap();
        let headers = refs(&encoded);
        let read = record::decode(record::Raw { value: Some(&promised), ..raw(sample.topic(), &encoded, &headers) });
        assert_eq!(read, Ok(sample), "{name}");
    }
}

#[test]
fn keys_and_headers_do_not_drift() {
    let mut lines = Vec::new();
    for (name, sample) in samples::records() {
        let encoded = record::encode(&sample);
        lines.push(format!("{name}: {} {}", sample.topic().name(), String::from_utf8(encoded.key).unwrap()));
        for (header, value) in encoded.headers {
            lines.push(format!("    {header}={}", String::from_utf8(value).unwrap()));
        }
    }
    check([complaint("keys-and-headers.txt", &lines.join("\n"))]);
}

#[test]
fn answers_to_lambda_do_not_drift() {
    let failed = [Position { partition: 0, offset: 41 }, Position { partition: 12, offset: 9_007_199_254_740_993 }];
    let json = |response: &BatchResponse| serde_json::to_string(response).unwrap();
    check([
        complaint("lambda-batch-response.json", &json(&BatchResponse::failed("howk.pending", &failed))),
        complaint("lambda-batch-response-empty.json", &json(&BatchResponse::default())),
        complaint("lambda-answers.txt", &scheduled_answers().join("\n")),
        complaint(
            "lambda-init-error.json",
            &String::from_utf8(InitErrorReport::new("howk.settings", "1 mistake: \"x\"").encode()).unwrap(),
        ),
    ]);
}

/// The answers of the scheduler and the reconciler, one a line.
fn scheduled_answers() -> Vec<String> {
    let progress = RebuildProgress { phases: 1, replayed: 42, waiting: 7, fingerprint: None };
    let done = RebuildProgress { phases: 3, fingerprint: Some("00ff".to_owned()), ..progress.clone() };
    let rebuilds = [
        RebuildAnswer::UpToDate,
        RebuildAnswer::Busy,
        RebuildAnswer::Swept { replayed: 42, waiting: 7 },
        RebuildAnswer::Unfinished(progress),
        RebuildAnswer::Done(done),
    ];
    let scheduled = serde_json::to_string(&ScheduleAnswer { released: 3, faults: 1 }).unwrap();
    let rebuilt = rebuilds.iter().map(|answer| serde_json::to_string(answer).unwrap());
    [scheduled].into_iter().chain(rebuilt).collect()
}

#[test]
fn the_events_that_lambda_promised_are_understood() {
    let event = fs::read_to_string(path("lambda-msk-event.json")).unwrap();
    let KafkaEvent { partitions } = KafkaEvent::decode(&event).unwrap();
    let names: Vec<_> = partitions.iter().map(EventPartition::name).collect();
    assert_eq!(names, ["howk.pending-0", "howk.pending-2", "howk.pending-10"]);
    let [tombstone, dispatch] = partitions[1].records.as_slice() else { panic!("two records") };
    assert_eq!((tombstone.offset, &tombstone.key, &tombstone.value), (40, &None, &None));
    let headers = [("city".to_owned(), "Z\u{fc}rich".as_bytes().to_vec()), ("dispatch".to_owned(), b"4".to_vec())];
    assert_eq!((dispatch.offset, dispatch.headers.as_slice()), (41, headers.as_slice()));
    let read = dispatch.decode(Topic::Pending, 2, samples::NOON);
    assert_eq!(read, Ok(Record::Dispatch(Lane::Fast, samples::dispatch())));
    for (name, force) in [("scheduler", false), ("rule", false), ("input", false), ("force", true)] {
        let payload = fs::read_to_string(path(&format!("lambda-schedule-{name}.json"))).unwrap();
        assert_eq!(Scheduled::decode(&payload), Ok(Scheduled { force }), "{name}");
    }
}

/// Another version of zstd may compress to other bytes, so only reading is compared.
#[test]
fn a_waiting_webhook_that_was_promised_is_understood() {
    use base64::Engine;
    let promised = fs::read_to_string(path("hot-waiting.base64")).unwrap();
    let packed = base64::engine::general_purpose::STANDARD.decode(promised.trim()).unwrap();
    assert_eq!(hot::waiting::decode(&packed), Ok(samples::waiting()));
}

#[test]
fn the_lines_of_the_hot_state_do_not_drift() {
    let at = samples::later;
    let claim = ClaimState {
        settled: 3,
        terminal: false,
        next: samples::status().next,
        held: Some((4, ClaimHolder("fast-lane 7".to_owned()), at(35_000))),
        fence: Fence(1_769_860_830_123),
    };
    let entry = DeadLetterEntry {
        id: samples::id(),
        config_id: samples::config(),
        endpoint: samples::endpoint().hash().clone(),
        reason_type: ReasonType::Exhausted,
        at: at(31_000),
        position: Position { partition: 1, offset: 77 },
    };
    let state = EndpointState {
        version: 9,
        circuit: Circuit::HalfOpen { successes: 1, probe_until: Some(at(40_000)) },
        cooldown: Some(samples::cooldown()),
        buckets: vec![Bucket { start: at(0), tally: Tally { failures: 5, successes: 1, slow: 2 } }],
    };
    let fields = hot::endpoint_state::encode(&state).into_iter().map(|(name, text)| format!("field {name}: {text}"));
    let lines = [
        format!("status: {}", hot::status::encode(&samples::status())),
        format!("attempt: {}", hot::attempt::encode(&samples::attempt())),
        format!("claim: {}", hot::claim::encode(&claim)),
        format!("claim, never taken: {}", hot::claim::encode(&ClaimState::default())),
        format!("circuit, closed: {}", hot::circuit::encode(Circuit::Closed { since: at(0) })),
        format!("circuit, open: {}", hot::circuit::encode(Circuit::Open { since: at(0) })),
        format!("tokens: {}", hot::tokens::encode(Tokens { full_at_us: 1, last_turn_us: 2 })),
        format!("setting: {}", hot::setting::encode(EndpointSetting::Gone, at(0))),
        format!("dead letter: {}", hot::dead_letter::encode(&entry)),
        format!("field of the attempt: {}", hot::attempt::field(&samples::attempt())),
        format!("epoch: {}", hot::epoch::encode(&samples::epoch())),
        format!("rebuild cursor, at the start: {}", hot::rebuild_cursor::encode(&RebuildCursor::default())),
        format!("rebuild cursor: {}", hot::rebuild_cursor::encode(&samples::rebuild_cursor())),
    ];
    check([complaint("hot.txt", &fields.chain(lines).collect::<Vec<_>>().join("\n"))]);
}
