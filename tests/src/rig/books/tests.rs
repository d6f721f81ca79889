use std::time::Duration;

use domain::Timestamp;

use super::*;
use crate::rig::load::Planned;

/// Requests by attempt.
type Counts<'a> = &'a [(u32, u32)];

/// Books of one webhook that was delivered: requests seen and those of ended processes by attempt, and records.
fn mistakes(seen: Counts<'_>, orphans: Counts<'_>, records: &[(u32, Cause)]) -> Vec<String> {
    mistakes_with(Timeout::Endless, (seen, orphans), records)
}

fn mistakes_with(
    timeout: Timeout,
    (seen, orphans): (Counts<'_>, Counts<'_>),
    records: &[(u32, Cause)],
) -> Vec<String> {
    let planned = Planned { url: String::new(), behaviour: Behaviour::Slow, max_attempts: 20, end: End::Delivered };
    let one = Accepted { id: WebhookId::parse("wh_01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap(), planned };
    let attempt = |(at, (number, cause)): (u64, &(u32, Cause))| Attempt {
        number: *number,
        dispatch: u64::from(*number),
        cause: *cause,
        at: Timestamp::from_ms(at),
        took: Duration::ZERO,
        status: Some(200),
        error: None,
    };
    let attempts: Vec<Attempt> = (0..).zip(records).map(attempt).collect();
    let delivered = attempts.iter().map(|attempt| attempt.number).max();
    let entries = BTreeMap::from([(one.id.clone(), Entry { attempts, delivered, ..Entry::default() })]);
    let of_id =
        |counts: &[(u32, u32)]| BTreeMap::from([(one.id.as_str().to_owned(), counts.iter().copied().collect())]);
    let books = Books { requests: &of_id(seen), orphans: &of_id(orphans), entries: &entries, records: timeout };
    balance(&[one], books).mistakes
}

fn says(mistakes: &[String], what: &str) -> bool {
    mistakes.iter().any(|mistake| mistake.contains(what))
}

#[test]
fn what_was_made_once_balances() {
    let records = [(1, Cause::First), (2, Cause::Retry)];
    assert_eq!(mistakes(&[(1, 1), (2, 1)], &[], &records), Vec::<String>::new());
}

#[test]
fn a_request_without_a_record_is_a_mistake_unless_its_process_ended() {
    let (seen, records) = ([(1, 2)], [(1, Cause::First)]);
    assert!(says(&mistakes(&seen, &[], &records), "2 requests of attempt 1, and 1 records"));
    assert_eq!(mistakes(&seen, &[(1, 1)], &records), Vec::<String>::new());
}

#[test]
fn an_invocation_that_ended_before_the_log_was_back_is_excused_by_the_cause_of_the_next_request() {
    let seen: (Counts<'_>, Counts<'_>) = (&[(1, 2)], &[]);
    let (caused, uncaused) = ([(1, Cause::Takeover)], [(1, Cause::First)]);
    assert_eq!(mistakes_with(Timeout::OfAnInvocation, seen, &caused), Vec::<String>::new());
    assert!(says(&mistakes_with(Timeout::OfAnInvocation, seen, &uncaused), "and 1 records"));
    assert!(says(&mistakes_with(Timeout::Endless, seen, &caused), "and 1 records"));
}

#[test]
fn a_request_too_many_is_a_mistake_unless_its_record_says_why() {
    let seen = [(1, 2)];
    assert!(says(&mistakes(&seen, &[], &[(1, Cause::First), (1, Cause::First)]), "too many without a cause"));
    assert!(says(&mistakes(&seen, &[], &[(1, Cause::First), (1, Cause::First)]), "too few causes"));
    assert_eq!(mistakes(&seen, &[], &[(1, Cause::First), (1, Cause::Takeover)]), Vec::<String>::new());
}

#[test]
fn the_retry_of_an_attempt_that_was_made_twice_has_its_cause() {
    let twice = [(1, Cause::First), (2, Cause::Retry), (1, Cause::Unclaimed), (2, Cause::Retry)];
    assert_eq!(mistakes(&[(1, 2), (2, 2)], &[], &twice), Vec::<String>::new());
    let thrice = [twice.as_slice(), &[(2, Cause::Retry)]].concat();
    assert!(says(&mistakes(&[(1, 2), (2, 3)], &[], &thrice), "too few causes"));
    assert!(says(&mistakes(&[(1, 2), (2, 3)], &[], &thrice), "too many without a cause"));
}

#[test]
fn nothing_comes_after_the_attempt_that_delivered() {
    let one = mistakes(&[(1, 1), (3, 1)], &[], &[(1, Cause::First), (2, Cause::Retry)]);
    assert!(says(&one, "attempt 3 came after attempt 2 delivered it"));
}
