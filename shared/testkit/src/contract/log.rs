//! The log: positions, order by key, replay by position, compaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use delivery::ports::log::Page;
use domain::{
    Dispatch, EndpointSetting, Lane, Payload, PayloadKind, Phase, Position, Record, Sealed, SealedHeader, Topic,
    TraceParent, Undecodable, Webhook,
};

use crate::contract::at_once;
use crate::contract::stream::{LogUnderTest, by_position, dispatches, extents, found, publish, read_all};
use crate::generate::{at, dead_letter, decision, dispatch, held, numbered, result, waiting, webhook};

/// One record of every kind, with as many fields as can be filled.
fn every_kind() -> Vec<Record> {
    let rich = Arc::new(Webhook {
        payload: Payload { bytes: Arc::from(&[0_u8, 159, 146, 150, 10][..]), kind: PayloadKind::Binary },
        headers: vec![SealedHeader { name: "X-Tenant".to_owned(), value: Sealed::new("seal1.blue") }],
        idempotency_key: Some("order 7".to_owned()),
        signing_secrets: vec![Sealed::new("seal1.one"), Sealed::new("seal1.two")],
        max_attempts: 5,
        retry_on_status: vec![404],
        trace: TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ..webhook()
    });
    let second = Dispatch { attempt: 2, waited: true, ..numbered(&Dispatch::first(rich), 2) };
    vec![
        Record::Dispatch(Lane::Fast, dispatch()),
        Record::Dispatch(Lane::Slow, second.clone()),
        Record::Result(result(&second, Phase::Delivered)),
        Record::DeadLetter(dead_letter(&second, at(7))),
        Record::Undecodable(Undecodable {
            topic: "howk.pending".to_owned(),
            position: Position { partition: 3, offset: 99 },
            key: Some(b"tenant".to_vec()),
            value: Some(vec![0, 255, 7]),
            error: "not JSON".to_owned(),
            at: at(8),
        }),
        Record::Waiting(waiting(&second, at(9))),
        Record::Waiting(held(&dispatch(), at(10))),
        Record::Tombstone(dispatch().webhook.id.clone(), 4),
        Record::Setting(decision(&dispatch(), EndpointSetting::Paused, at(11))),
    ]
}

/// "a published record survives": every kind of record is read back from its position as it was published.
pub async fn every_kind_of_record_is_read_back(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let records = every_kind();
    let positions = publish(&*log, &records).await;
    for (record, from) in records.iter().zip(positions) {
        let page = log.read(record.topic(), from, 1).await.expect("the log reads");
        let read = page.records.into_iter().map(|read| (read.position, read.value)).collect::<Vec<_>>();
        assert_eq!(read, [(from, Ok(record.clone()))]);
        assert_eq!(page.next, from.offset + 1);
    }
}

/// "Positions are in the order of `records`".
pub async fn positions_are_in_the_order_of_the_records(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let records = dispatches(60, 20);
    let positions = publish(&*log, &records).await;
    assert_eq!(found(read_all(&*log, Topic::Pending).await), by_position(positions, &records));
}

/// Publishing nothing is nothing.
pub async fn publishing_nothing_is_nothing(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    assert_eq!(publish(&*log, &[]).await, []);
    assert_eq!(read_all(&*log, Topic::Pending).await, []);
}

/// "a record's partition follows from its key alone": the same at every publish, and the keys are spread.
pub async fn a_key_has_one_partition(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let records = dispatches(128, 64);
    let mut partitions: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for half in records.chunks(64) {
        for (record, position) in half.iter().zip(publish(&*log, half).await) {
            partitions.entry(record.key()).or_default().insert(position.partition);
        }
    }
    assert!(partitions.values().all(|of_key| of_key.len() == 1), "{partitions:?}");
    let used: BTreeSet<_> = partitions.values().flatten().collect();
    let there_are = extents(&*log, Topic::Pending).await.len();
    assert!(there_are == 1 || used.len() > 1, "64 keys on one of {there_are} partitions");
}

/// "records of one key keep their order", within a publish and from one to the next.
pub async fn records_of_one_key_keep_their_order(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let records = dispatches(90, 3);
    for some in records.chunks(25) {
        publish(&*log, some).await;
    }
    let mut read: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for record in found(read_all(&*log, Topic::Pending).await).into_values() {
        read.entry(record.key()).or_default().push(record);
    }
    for of_key in read.values() {
        let key = of_key[0].key();
        let published: Vec<_> = records.iter().filter(|record| record.key() == key).cloned().collect();
        assert_eq!(*of_key, published);
    }
    assert_eq!(read.len(), 3);
}

/// "waits for every acknowledgement": what 32 callers publish at once is there, each record exactly once.
pub async fn of_32_publishers_at_once_nothing_is_lost(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let published = at_once(32, |_| {
        let (log, records) = (Arc::clone(&log), dispatches(20, 4));
        async move { by_position(publish(&*log, &records).await, &records) }
    })
    .await;
    let published: BTreeMap<_, _> = published.into_iter().flatten().collect();
    assert_eq!(published.len(), 640, "no two records share a position");
    assert_eq!(found(read_all(&*log, Topic::Pending).await), published);
}

/// `Extent`: "the offset that the next record will get", by partition, and topics do not share them.
pub async fn extents_grow_by_what_is_published(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let before = extents(&*log, Topic::Pending).await;
    assert!(before.is_sorted_by_key(|extent| extent.partition), "{before:?}");
    let slow_before = extents(&*log, Topic::Slow).await;
    let positions = publish(&*log, &dispatches(30, 10)).await;
    let after = extents(&*log, Topic::Pending).await;
    for (before, after) in before.iter().zip(&after) {
        let here = positions.iter().filter(|position| position.partition == after.partition);
        let next = here.map(|position| position.offset + 1).max().unwrap_or(before.end);
        assert_eq!((after.partition, after.end), (before.partition, next));
    }
    assert_eq!(extents(&*log, Topic::Slow).await, slow_before);
}

/// "An empty page at the end; never waits for new records", nor does a partition that is not there.
pub async fn reading_past_the_end_is_empty(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    publish(&*log, &dispatches(5, 5)).await;
    for extent in extents(&*log, Topic::Pending).await {
        let from = Position { partition: extent.partition, offset: extent.end };
        let reading = log.read(Topic::Pending, from, 10);
        let page = tokio::time::timeout(Duration::from_secs(10), reading).await.expect("it does not wait");
        assert_eq!(page.expect("the log reads"), Page { records: Vec::new(), next: extent.end });
    }
}

/// "a compacted topic keeps at least the last record of each key", in order, and a reader gets past every gap.
pub async fn compaction_keeps_the_last_of_each_key(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let keys: Vec<_> = (0..8).map(|_| dispatch()).collect();
    let version = |number| keys.iter().map(move |key| Record::Waiting(waiting(&numbered(key, number), at(number))));
    for number in 1..=5 {
        publish(&*log, &version(number).collect::<Vec<_>>()).await;
    }
    let compacted = under_test.compact(Topic::State).await;
    let read: Vec<_> = found(read_all(&*log, Topic::State).await).into_values().collect();
    for last in version(5) {
        let of_key: Vec<_> = read.iter().filter(|record| record.key() == last.key()).collect();
        assert_eq!(of_key.last(), Some(&&last));
        assert!(!compacted || of_key.len() == 1, "superseded records are gone: {of_key:?}");
    }
}

/// "and nothing once that is a tombstone": of a key that ended nothing follows its tombstone, and after compaction
/// nothing precedes it.
pub async fn compaction_keeps_nothing_of_a_key_that_ended(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let (ended, goes_on) = (dispatch(), dispatch());
    let tombstone = Record::Tombstone(ended.webhook.id.clone(), 1);
    let stays = Record::Waiting(waiting(&goes_on, at(1)));
    publish(&*log, &[Record::Waiting(waiting(&ended, at(1))), stays.clone(), tombstone.clone()]).await;
    let compacted = under_test.compact(Topic::State).await;
    let read: Vec<_> = found(read_all(&*log, Topic::State).await).into_values().collect();
    let of_key: Vec<_> = read.iter().filter(|record| record.key() == tombstone.key()).collect();
    assert!(of_key.last().is_none_or(|last| **last == tombstone), "{of_key:?}");
    assert!(!compacted || of_key.iter().all(|record| **record == tombstone), "{of_key:?}");
    assert!(read.contains(&stays));
}

/// A tombstone ends only what came before it: the key may live again.
pub async fn a_key_lives_again_after_its_tombstone(under_test: &dyn LogUnderTest) {
    let log = under_test.log();
    let first = dispatch();
    let again = Record::Waiting(waiting(&numbered(&first, 5), at(5)));
    let tombstone = Record::Tombstone(first.webhook.id.clone(), 1);
    publish(&*log, &[Record::Waiting(waiting(&first, at(1))), tombstone, again.clone()]).await;
    under_test.compact(Topic::State).await;
    let read: Vec<_> = found(read_all(&*log, Topic::State).await).into_values().collect();
    assert_eq!(read.iter().rfind(|record| record.key() == again.key()), Some(&again));
}
