//! How records become events, and when they are committed.

use std::time::Duration;

use howk_local::spec::{EventSourceSpec, StartingPosition, Tombstones};
use rdkafka::producer::FutureRecord;
use serde_json::json;

use super::{Topic, headers, numbers, only_record, records, values};
use crate::emulator::{Emulator, Reply};
use crate::rig::until;

#[tokio::test(flavor = "multi_thread")]
async fn an_event_has_the_shape_that_aws_sends() {
    let (topic, emulator) = (Topic::new(2).await, Emulator::start([]).await);
    let source = topic.source(topic.spec(), &emulator);
    let sent = FutureRecord::to(&topic.name).partition(1).key("shop").payload("value").timestamp(1_769_860_830_123);
    topic.send(sent.headers(headers(&[("city", "Zürich".as_bytes()), ("empty", b""), ("city", b"x")]))).await;
    let asked = emulator.asked_times(1).await.remove(0);
    assert_eq!((asked.function.as_str(), asked.kind.as_str()), ("lane", "RequestResponse"));
    assert_eq!(asked.event["eventSource"], "aws:kafka");
    assert!(asked.event["eventSourceArn"].as_str().unwrap().starts_with("arn:aws:kafka:"));
    assert!(asked.event["bootstrapServers"].as_str().unwrap().contains(':'));
    let expected = json!([{
        "topic": topic.name, "partition": 1, "offset": 0, "timestamp": 1_769_860_830_123_i64,
        "timestampType": "CREATE_TIME", "key": "c2hvcA==", "value": "dmFsdWU=",
        "headers": [{ "city": [90, -61, -68, 114, 105, 99, 104] }, { "empty": [] }, { "city": [120] }],
    }]);
    assert_eq!(asked.event["records"], json!({ format!("{}-1", topic.name): expected }));
    topic.until_committed(1, 1).await;
    source.stop(&clock_system::SystemClock).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_or_value_is_null_or_missing() {
    for (tombstones, expected) in [(Tombstones::Null, Some(&json!(null))), (Tombstones::Missing, None)] {
        let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
        let _source = topic.source(EventSourceSpec { tombstones, ..topic.spec() }, &emulator);
        topic.send(FutureRecord::to(&topic.name).partition(0)).await;
        let record = only_record(&emulator.asked_times(1).await[0]);
        assert_eq!((record.get("value"), record.get("key")), (expected, expected), "{record}");
        assert_eq!(record["headers"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_as_large_as_allowed_and_keeps_the_order() {
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
    topic.write_all(0, numbers(0..25)).await;
    let _source = topic.source(EventSourceSpec { batch_size: 10, ..topic.spec() }, &emulator);
    let asked = emulator.asked_times(3).await;
    let sizes: Vec<_> = asked.iter().map(|asked| values(asked).len()).collect();
    assert_eq!(sizes, [10, 10, 5]);
    let offsets: Vec<_> = asked.iter().flat_map(records).map(|(_, offset, _)| offset).collect();
    assert!(offsets.is_sorted(), "{offsets:?}");
    topic.until_committed(0, 25).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_window_gathers_several_partitions_in_one_event() {
    let (topic, emulator) = (Topic::new(3).await, Emulator::start([]).await);
    let source = topic.source(EventSourceSpec { window: Duration::from_secs(2), ..topic.spec() }, &emulator);
    until("it polls", async || source.control().state().is_polling).await;
    for partition in 0..3 {
        topic.write(partition, &format!("of {partition}")).await;
    }
    let asked = emulator.asked_times(1).await;
    assert_eq!(asked.len(), 1);
    assert_eq!(values(&asked[0]).len(), 3, "{asked:?}");
    assert_eq!(asked[0].event["records"].as_object().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_stays_below_its_largest_size() {
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
    topic.write_all(0, (0..10).map(|_| "x".repeat(300_000))).await;
    let spec = EventSourceSpec { payload_bytes_max: 1_000_000, ..topic.spec() };
    let _source = topic.source(spec, &emulator);
    topic.until_committed(0, 10).await;
    let asked = emulator.asked();
    assert!(
        asked.iter().all(|asked| asked.bytes <= 1_000_000),
        "{:?}",
        asked.iter().map(|a| a.bytes).collect::<Vec<_>>()
    );
    let sizes: Vec<_> = asked.iter().map(|asked| values(asked).len()).collect();
    assert_eq!((sizes.iter().sum::<usize>(), sizes[0]), (10, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_fits_into_no_event_is_given_up_alone() {
    let replies = [Reply::TooLarge, Reply::Answer(String::new())];
    let (topic, emulator) = (Topic::new(1).await, Emulator::start(replies).await);
    topic.write_all(0, numbers(0..2)).await;
    let source = topic.source(EventSourceSpec { batch_size: 1, ..topic.spec() }, &emulator);
    topic.until_committed(0, 2).await;
    assert_eq!(source.control().state().given_up, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_never_in_two_invocations_and_others_go_on() {
    let (topic, emulator) = (Topic::new(2).await, Emulator::start([Reply::Held]).await);
    let _source = topic.source(EventSourceSpec { pollers: 2, batch_size: 1, ..topic.spec() }, &emulator);
    topic.write_all(0, numbers(0..3)).await;
    emulator.asked_times(1).await;
    topic.write(1, "of another poller").await;
    emulator.asked_times(2).await;
    emulator.stays_at(2).await;
    assert_eq!(topic.committed(0), None, "nothing is committed before it is handled");
    emulator.let_go();
    emulator.let_go();
    emulator.asked_times(3).await;
    (0..10).for_each(|_| emulator.let_go());
    topic.until_committed(0, 3).await;
    topic.until_committed(1, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_reads_on_from_the_offsets_of_its_group() {
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
    topic.write_all(0, numbers(0..3)).await;
    let source = topic.source(topic.spec(), &emulator);
    topic.until_committed(0, 3).await;
    source.stop(&clock_system::SystemClock).await;
    topic.write(0, "later").await;
    let next = Emulator::start([]).await;
    let spec = EventSourceSpec { starting_position: StartingPosition::Latest, ..topic.spec() };
    let _source = topic.source(spec, &next);
    assert_eq!(values(&next.asked_times(1).await[0]), ["later"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_were_not_committed_are_read_again_after_a_stop() {
    let (topic, held) = (Topic::new(1).await, Emulator::start([Reply::Held]).await);
    topic.write(0, "once").await;
    let source = topic.source(topic.spec(), &held);
    held.asked_times(1).await;
    source.stop(&clock_system::SystemClock).await;
    let emulator = Emulator::start([]).await;
    let _source = topic.source(topic.spec(), &emulator);
    assert_eq!(values(&emulator.asked_times(1).await[0]), ["once"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_position_is_the_end_at_the_start() {
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
    topic.write(0, "old").await;
    let spec = EventSourceSpec { starting_position: StartingPosition::Latest, ..topic.spec() };
    let source = topic.source(spec, &emulator);
    until("it polls", async || source.control().state().is_polling).await;
    topic.write(0, "new").await;
    assert_eq!(values(&emulator.asked_times(1).await[0]), ["new"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_can_be_delivered_twice_and_a_source_be_paused() {
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
    let source = topic.source(topic.spec(), &emulator);
    let control = source.control();
    control.duplicate_next();
    topic.write(0, "twice").await;
    let asked = emulator.asked_times(2).await;
    assert_eq!(asked[0].event, asked[1].event);
    topic.until_committed(0, 1).await;
    control.pause();
    topic.write(0, "waits").await;
    emulator.stays_at(2).await;
    until("the lag is seen", async || control.state().lag == 1).await;
    control.resume();
    assert_eq!(values(&emulator.asked_times(3).await[2]), ["waits"]);
    topic.until_committed(0, 2).await;
    until("there is no lag", async || control.state().lag == 0).await;
}
