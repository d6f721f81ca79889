//! Feeds: consumer groups that hand everything out at least once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use delivery::ports::log::{Feed, LogRecord};
use domain::{Position, Record, Topic};
use futures::FutureExt;

use crate::contract::stream::{LogUnderTest, by_position, dispatches, publish};

/// Longer than a consumer group takes to change hands.
const TIMEOUT: Duration = Duration::from_mins(1);
/// More than any case publishes, however often its records come again.
const HANDED_OUT_MAX: usize = 10_000;

/// Reads until all that is `wanted` was handed out, and returns everything that was, in order.
async fn collect(feed: &Arc<dyn Feed>, wanted: &BTreeMap<Position, Record>) -> Vec<LogRecord> {
    let mut handed_out: Vec<LogRecord> = Vec::new();
    let mut missing: BTreeSet<_> = wanted.keys().copied().collect();
    while !missing.is_empty() {
        let reading = tokio::time::timeout(TIMEOUT, feed.next(10));
        let Ok(records) = reading.await else {
            panic!("{} records were never handed out: {missing:?}", missing.len())
        };
        let records = records.expect("the feed reads");
        assert!((1..=10).contains(&records.len()), "some, and at most as many as asked for");
        for record in &records {
            missing.remove(&record.position);
            if let Some(published) = wanted.get(&record.position) {
                assert_eq!(record.value.as_ref(), Ok(published));
            }
        }
        handed_out.extend(records);
        assert!(handed_out.len() < HANDED_OUT_MAX, "the same records come again and again");
    }
    handed_out
}

async fn commit(feed: &Arc<dyn Feed>, records: &[LogRecord]) {
    let mut next: BTreeMap<u32, u64> = BTreeMap::new();
    for record in records {
        let after = next.entry(record.position.partition).or_default();
        *after = (*after).max(record.position.offset + 1);
    }
    for (partition, offset) in next {
        feed.commit(Position { partition, offset }).await.expect("the feed commits");
    }
}

async fn publish_some(under_test: &dyn LogUnderTest, count: usize) -> BTreeMap<Position, Record> {
    let records = dispatches(count, 12);
    by_position(publish(&*under_test.log(), &records).await, &records)
}

fn places(records: &[LogRecord]) -> BTreeSet<Position> {
    records.iter().map(|record| record.position).collect()
}

/// "every record is handed out at least once", with its position, what was published before the member joined included.
pub async fn everything_is_handed_out(under_test: &dyn LogUnderTest) {
    let early = publish_some(under_test, 30).await;
    let feed = under_test.join(Topic::Pending).await;
    collect(&feed, &early).await;
    let late = publish_some(under_test, 30).await;
    collect(&feed, &late).await;
}

/// "Waits for records": a member that waits is woken by a publish, and one that stopped waiting misses nothing.
pub async fn a_member_waits_for_records(under_test: &dyn LogUnderTest) {
    let feed = under_test.join(Topic::Pending).await;
    assert!(feed.next(10).now_or_never().is_none(), "nothing is there yet");
    let waiting = collect_all(&feed, 5);
    let publishing = publish_some(under_test, 5);
    let (handed_out, published) = tokio::join!(waiting, publishing);
    assert_eq!(places(&handed_out), published.keys().copied().collect());
}

async fn collect_all(feed: &Arc<dyn Feed>, count: usize) -> Vec<LogRecord> {
    let mut handed_out = Vec::new();
    while places(&handed_out).len() < count {
        let reading = tokio::time::timeout(TIMEOUT, feed.next(10)).await.expect("records come");
        handed_out.extend(reading.expect("the feed reads"));
        assert!(handed_out.len() < HANDED_OUT_MAX, "the same records come again and again");
    }
    handed_out
}

/// "in order within each" partition.
pub async fn records_come_in_the_order_of_their_partition(under_test: &dyn LogUnderTest) {
    let published = publish_some(under_test, 80).await;
    let feed = under_test.join(Topic::Pending).await;
    let handed_out = collect(&feed, &published).await;
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for LogRecord { position, .. } in handed_out {
        let before = last.insert(position.partition, position.offset);
        assert!(before.is_none_or(|before| before < position.offset), "{position:?} after {before:?}");
    }
}

/// "Commits everything before `position`": the next member goes on after it.
pub async fn a_new_member_goes_on_after_what_was_committed(under_test: &dyn LogUnderTest) {
    let first = publish_some(under_test, 24).await;
    let member = under_test.join(Topic::Pending).await;
    let handed_out = collect(&member, &first).await;
    commit(&member, &handed_out).await;
    drop(member);
    let second = publish_some(under_test, 24).await;
    let member = under_test.join(Topic::Pending).await;
    let handed_out = places(&collect(&member, &second).await);
    assert_eq!(handed_out, second.keys().copied().collect(), "nothing that was committed comes again");
}

/// "after a member dies, what it had not committed is handed out again".
pub async fn what_was_not_committed_is_handed_out_again(under_test: &dyn LogUnderTest) {
    let published = publish_some(under_test, 24).await;
    let member = under_test.join(Topic::Pending).await;
    collect(&member, &published).await;
    drop(member);
    let member = under_test.join(Topic::Pending).await;
    collect(&member, &published).await;
}

/// "everything before `position`": what stands at it and after it comes again.
pub async fn a_commit_is_exact(under_test: &dyn LogUnderTest) {
    let records = dispatches(10, 1);
    let published = by_position(publish(&*under_test.log(), &records).await, &records);
    let sixth = published.keys().nth(5).copied().expect("ten records");
    let member = under_test.join(Topic::Pending).await;
    collect(&member, &published).await;
    member.commit(sixth).await.expect("the feed commits");
    drop(member);
    let member = under_test.join(Topic::Pending).await;
    let rest: BTreeMap<_, _> = published.into_iter().filter(|(position, _)| *position >= sixth).collect();
    let handed_out = places(&collect(&member, &rest).await);
    assert_eq!(handed_out, rest.keys().copied().collect());
}

/// "never moves the group back": a member that was slow to commit does not undo what was committed since.
pub async fn a_commit_never_moves_back(under_test: &dyn LogUnderTest) {
    let records = dispatches(10, 1);
    let published = by_position(publish(&*under_test.log(), &records).await, &records);
    let third = published.keys().nth(2).copied().expect("ten records");
    let ninth = published.keys().nth(8).copied().expect("ten records");
    let member = under_test.join(Topic::Pending).await;
    collect(&member, &published).await;
    member.commit(ninth).await.expect("the feed commits");
    drop(member);
    let rest: BTreeMap<_, _> = published.into_iter().filter(|(position, _)| *position >= ninth).collect();
    for _ in 0..2 {
        let member = under_test.join(Topic::Pending).await;
        let handed_out = places(&collect(&member, &rest).await);
        assert_eq!(handed_out, rest.keys().copied().collect());
        member.commit(third).await.expect("the feed passes it over");
    }
}

/// "one partition has one member at a time", and two members together see everything.
pub async fn two_members_see_everything(under_test: &dyn LogUnderTest) {
    let (a, b) = (under_test.join(Topic::Pending).await, under_test.join(Topic::Pending).await);
    let published = publish_some(under_test, 60).await;
    let mut missing: BTreeSet<_> = published.keys().copied().collect();
    while !missing.is_empty() {
        let either = futures::future::select(a.next(10), b.next(10));
        let reading = tokio::time::timeout(TIMEOUT, either).await;
        let Ok(either) = reading else { panic!("never handed out: {missing:?}") };
        let records = either.factor_first().0.expect("the feed reads");
        for record in records {
            missing.remove(&record.position);
        }
    }
}

/// A member's partitions go to the ones that stay.
pub async fn the_partitions_of_a_dead_member_change_hands(under_test: &dyn LogUnderTest) {
    let (dies, stays) = (under_test.join(Topic::Pending).await, under_test.join(Topic::Pending).await);
    drop(dies);
    let published = publish_some(under_test, 40).await;
    collect(&stays, &published).await;
}

/// `Log::lag`: "How many records of a lane's topic its consumers have not settled".
pub async fn lag_counts_what_is_not_committed(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let lag = async || log.lag(Topic::Pending).await.expect("the log answers");
    assert_eq!(lag().await, 0);
    let published = publish_some(under_test, 20).await;
    assert_eq!(lag().await, 20);
    let member = under_test.join(Topic::Pending).await;
    let handed_out = collect(&member, &published).await;
    assert_eq!(lag().await, 20, "handed out is not settled");
    commit(&member, &handed_out).await;
    assert_eq!(lag().await, 0);
}
