//! The decisions of an event source, as tables.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;

use super::batch::{Batch, EventRecord, Gathering, Place};
use super::decide::{Condition, InvocationResult, Verdict, after, committable, expired};
use super::response::{BatchResponse, read};
use crate::spec::{EventSourceSpec, PartialResponse, RetryPolicy};

fn record(partition: i32, offset: i64) -> Arc<EventRecord> {
    let place = Place { partition, offset };
    Arc::new(EventRecord { place, at_ms: 1000, key: None, json: "x".repeat(9) })
}

fn batch(places: &[(i32, i64)]) -> Batch {
    Batch::new(places.iter().map(|(partition, offset)| record(*partition, *offset)).collect())
}

fn failed(times: u32, places: &[(i32, i64)]) -> Batch {
    Batch { failures: times, ..batch(places) }
}

fn spec(change: impl FnOnce(&mut EventSourceSpec)) -> EventSourceSpec {
    let mut spec = EventSourceSpec { report_batch_item_failures: true, ..EventSourceSpec::new("f", "t") };
    change(&mut spec);
    spec
}

fn capped(most: u32) -> EventSourceSpec {
    spec(|spec| spec.retry = RetryPolicy { retries_max: Some(most), record_age_max: None })
}

fn all_but(places: &[(i32, i64)]) -> InvocationResult {
    let places = places.iter().map(|(partition, offset)| Place { partition: *partition, offset: *offset });
    InvocationResult::Answer(BatchResponse::AllBut(places.collect()))
}

fn again(batches: &[Batch]) -> Verdict {
    Verdict { again: batches.to_vec(), given_up: None, waits: true }
}

fn at_once(batches: &[Batch]) -> Verdict {
    Verdict { waits: false, ..again(batches) }
}

fn given_up(condition: Condition, batch: Batch) -> Verdict {
    Verdict { given_up: Some((condition, batch)), ..Verdict::default() }
}

/// A batch, the result of its invocation, the settings, and the expected verdict.
type Row = (Batch, InvocationResult, EventSourceSpec, Verdict);

fn check(rows: Vec<Row>) {
    for (number, (batch, tried, spec, expected)) in rows.into_iter().enumerate() {
        assert_eq!(after(&batch, &tried, &spec), expected, "row {number}: {tried:?}");
    }
}

#[test]
fn a_batch_that_was_handled_is_done() {
    let one = || batch(&[(0, 1)]);
    let silent = spec(|spec| spec.report_batch_item_failures = false);
    check(vec![
        (one(), InvocationResult::Answer(BatchResponse::All), spec(|_| {}), Verdict::default()),
        (one(), all_but(&[(0, 1)]), silent.clone(), Verdict::default()),
        (one(), InvocationResult::Answer(BatchResponse::Unclear), silent, Verdict::default()),
    ]);
}

#[test]
fn a_failed_batch_is_tried_again_as_often_as_allowed() {
    let two = [(0, 1), (0, 2)];
    let with_destination = || spec(|spec| spec.on_failure_topic = Some("dead".to_owned()));
    let exhausted = |times| given_up(Condition::RetriesExhausted, failed(times, &two));
    check(vec![
        (failed(7_000, &two), InvocationResult::FunctionError, spec(|_| {}), again(&[failed(7_001, &two)])),
        (batch(&two), InvocationResult::Answer(BatchResponse::Unclear), spec(|_| {}), again(&[failed(1, &two)])),
        (batch(&two), InvocationResult::FunctionError, capped(1), again(&[failed(1, &two)])),
        (failed(1, &two), InvocationResult::FunctionError, capped(1), exhausted(2)),
        (batch(&two), InvocationResult::FunctionError, capped(0), exhausted(1)),
        (failed(9, &two), InvocationResult::FunctionError, with_destination(), again(&[failed(10, &two)])),
        (failed(10, &two), InvocationResult::FunctionError, with_destination(), exhausted(11)),
    ]);
}

#[test]
fn a_batch_that_was_not_tried_counts_as_no_failure() {
    check(vec![(failed(1, &[(0, 1)]), InvocationResult::NotTried, capped(1), again(&[failed(1, &[(0, 1)])]))]);
}

#[test]
fn records_named_as_failed_are_tried_again_in_the_configured_reading() {
    let places = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2)];
    let from_first = || spec(|spec| spec.partial_response = PartialResponse::FromFirstFailed);
    check(vec![
        (batch(&places), all_but(&[(0, 2)]), spec(|_| {}), again(&[failed(1, &[(0, 2)])])),
        (batch(&places), all_but(&[(0, 2)]), from_first(), again(&[failed(1, &[(0, 2), (0, 3)])])),
        (batch(&places), all_but(&[(1, 1), (0, 3)]), from_first(), again(&[failed(1, &[(0, 3), (1, 1), (1, 2)])])),
        (
            failed(1, &places),
            all_but(&[(1, 2)]),
            capped(1),
            given_up(Condition::RetriesExhausted, failed(2, &[(1, 2)])),
        ),
    ]);
}

#[test]
fn a_failed_batch_is_split_until_it_is_one_record() {
    let bisecting = |most| EventSourceSpec { bisect: true, ..capped(most) };
    let places = [(0, 1), (0, 2), (1, 7)];
    check(vec![
        (
            failed(1, &places),
            InvocationResult::FunctionError,
            bisecting(1),
            at_once(&[failed(1, &[(0, 1)]), failed(1, &[(0, 2), (1, 7)])]),
        ),
        (
            failed(1, &[(0, 1)]),
            InvocationResult::FunctionError,
            bisecting(1),
            given_up(Condition::RetriesExhausted, failed(2, &[(0, 1)])),
        ),
        (
            batch(&places),
            InvocationResult::Answer(BatchResponse::Unclear),
            bisecting(1),
            again(&[failed(1, &places)]),
        ),
    ]);
}

#[test]
fn a_batch_that_is_too_large_is_split_and_given_up_when_it_is_one_record() {
    check(vec![
        (
            batch(&[(0, 1), (0, 2)]),
            InvocationResult::TooLarge,
            spec(|_| {}),
            at_once(&[batch(&[(0, 1)]), batch(&[(0, 2)])]),
        ),
        (
            batch(&[(0, 1)]),
            InvocationResult::TooLarge,
            spec(|_| {}),
            given_up(Condition::PayloadTooLarge, batch(&[(0, 1)])),
        ),
    ]);
}

#[test]
fn an_age_is_judged_by_the_record_s_own_time() {
    let limited = spec(|spec| spec.retry.record_age_max = Some(Duration::from_millis(500)));
    let both = batch(&[(0, 1)]);
    for (now, is_old) in [(1500, false), (1501, true), (0, false)] {
        let (fresh, old) = expired(&both, &limited, Timestamp::from_ms(now));
        assert_eq!((fresh.records.is_empty(), old.records.is_empty()), (is_old, !is_old), "{now}");
    }
    let (fresh, _) = expired(&both, &spec(|_| {}), Timestamp::from_ms(u64::MAX));
    assert_eq!(fresh, both, "without a limit nothing is old");
}

#[test]
fn commits_stop_before_the_first_outstanding_record() {
    let whole = batch(&[(0, 5), (0, 6), (0, 9), (1, 2)]);
    let next = |outstanding: &[Batch]| committable(&whole, outstanding);
    assert_eq!(next(&[]), BTreeMap::from([(0, 10), (1, 3)]));
    assert_eq!(next(&[batch(&[(0, 9)]), batch(&[(0, 6)])]), BTreeMap::from([(0, 6), (1, 3)]));
    assert_eq!(next(std::slice::from_ref(&whole)), BTreeMap::from([(0, 5), (1, 2)]));
}

#[test]
fn answers_are_read_as_aws_reads_them() {
    let sent = batch(&[(0, 1), (10, 2)]);
    let named = |text: &str| format!(r#"{{"batchItemFailures":[{{"itemIdentifier":{text}}}]}}"#);
    let one = BatchResponse::AllBut([Place { partition: 10, offset: 2 }].into());
    let cases = [
        (String::new(), BatchResponse::All),
        (" null ".to_owned(), BatchResponse::All),
        (r#"{"released":3}"#.to_owned(), BatchResponse::All),
        (named(r#"{"partition":"a-b-10","offset":2}"#), one),
        (named(r#"{"partition":"a-b-1","offset":2}"#), BatchResponse::Unclear),
        (named(r#"{"partition":"b-10","offset":2}"#), BatchResponse::Unclear),
        (named(r#"{"partition":"a-b-10","offset":"2"}"#), BatchResponse::Unclear),
        (named(r#"{"partition":"a-b-10"}"#), BatchResponse::Unclear),
        (named(r#""""#), BatchResponse::Unclear),
        ("{".to_owned(), BatchResponse::Unclear),
    ];
    for (answer, expected) in cases {
        assert_eq!(read(answer.as_bytes(), "a-b", &sent), expected, "{answer}");
    }
}

#[test]
fn a_batch_takes_records_that_fit_and_the_first_one_always() {
    let mut gathering = Gathering::new(2, 15);
    assert!(gathering.take(record(0, 2)).is_ok());
    assert!(gathering.take(record(0, 3)).is_err(), "20 bytes are too many");
    let mut gathering = Gathering::new(2, 20);
    assert!(gathering.take(record(1, 2)).is_ok() && gathering.take(record(0, 3)).is_ok() && gathering.is_full());
    assert!(gathering.take(record(0, 4)).is_err());
    assert_eq!(gathering.into_batch(), batch(&[(0, 3), (1, 2)]));
    assert!(Gathering::new(2, 1).take(record(0, 1)).is_ok());
}
