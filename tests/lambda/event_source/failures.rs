//! Batches that the function fails.

use std::time::Duration;

use howk_local::spec::{EventSourceSpec, RetryPolicy};
use rdkafka::producer::FutureRecord;
use serde_json::Value;

use super::{Topic, numbers, values};
use crate::emulator::{Emulator, Reply};

fn good() -> Reply {
    Reply::Answer(String::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_batch_is_tried_again_with_all_its_records_until_it_succeeds() {
    let replies = [Reply::Error, Reply::Throttle, Reply::Error, good()];
    let (topic, emulator) = (Topic::new(1).await, Emulator::start(replies).await);
    topic.write_all(0, numbers(0..3)).await;
    let _source = topic.source(topic.spec(), &emulator);
    let asked = emulator.asked_times(4).await;
    assert!(asked.iter().all(|again| again.event == asked[0].event), "{asked:?}");
    topic.until_committed(0, 3).await;
    emulator.stays_at(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_committed_while_a_batch_fails() {
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([Reply::Error]).await);
    topic.write(0, "poison").await;
    let _source = topic.source(topic.spec(), &emulator);
    emulator.asked_times(3).await;
    assert_eq!(topic.committed(0), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_its_retries_a_batch_goes_to_the_on_failure_topic_under_its_keys() {
    // Throttles count as no failure.
    let replies = [Reply::Throttle, Reply::Error, Reply::Throttle, Reply::Error, Reply::Error, good()];
    let (topic, destination) = (Topic::new(1).await, Topic::new(1).await);
    let emulator = Emulator::start(replies).await;
    topic.write_all(0, numbers(0..2)).await;
    let spec = EventSourceSpec {
        retry: RetryPolicy { retries_max: Some(2), record_age_max: None },
        on_failure_topic: Some(destination.name.clone()),
        ..topic.spec()
    };
    let source = topic.source(spec, &emulator);
    topic.until_committed(0, 2).await;
    assert_eq!(emulator.asked().len(), 5);
    let given_up = destination.records();
    assert_eq!((given_up.len(), source.control().state().given_up), (2, 2));
    for (number, (key, value)) in given_up.iter().enumerate() {
        assert_eq!(key.as_deref(), Some(&b"key"[..]));
        let value: Value = serde_json::from_str(value).unwrap();
        assert_eq!(value["requestContext"]["condition"], "RetryAttemptsExhausted");
        assert_eq!(value["requestContext"]["approximateInvokeCount"], 3);
        assert_eq!(value["KafkaBatchInfo"]["recordInfo"]["offset"], number);
        let records = &value["payload"]["records"][format!("{}-0", topic.name)];
        assert_eq!(records.as_array().unwrap().len(), 1);
    }
    topic.write(0, "next").await;
    assert_eq!(values(&emulator.asked_times(6).await[5]), ["next"], "the partition goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_batch_isolates_its_poison_and_keeps_the_order() {
    // 4 records; the third is poison: all, first half, second half, the poison, the poison again, the last.
    let replies = [Reply::Error, good(), Reply::Error, Reply::Error, Reply::Error, good()];
    let (topic, emulator) = (Topic::new(1).await, Emulator::start(replies).await);
    topic.write_all(0, numbers(0..4)).await;
    let spec = EventSourceSpec {
        bisect: true,
        retry: RetryPolicy { retries_max: Some(1), record_age_max: None },
        ..topic.spec()
    };
    let source = topic.source(spec, &emulator);
    topic.until_committed(0, 4).await;
    let sizes: Vec<_> = emulator.asked().iter().map(|asked| values(asked).len()).collect();
    assert_eq!(sizes, [4, 2, 2, 1, 1, 1]);
    assert_eq!(source.control().state().given_up, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_too_old_is_given_up_untried() {
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
    let old = FutureRecord::to(&topic.name).partition(0).key("key").payload("old").timestamp(1_000_000);
    topic.send(old).await;
    topic.write(0, "new").await;
    let retry = RetryPolicy { retries_max: None, record_age_max: Some(Duration::from_hours(1)) };
    let source = topic.source(EventSourceSpec { retry, ..topic.spec() }, &emulator);
    topic.until_committed(0, 2).await;
    assert_eq!(values(&emulator.asked()[0]), ["new"]);
    assert_eq!(source.control().state().given_up, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emulator_that_is_gone_is_waited_for() {
    let topic = Topic::new(1).await;
    let gone = Emulator::start([]).await;
    let invoker = gone.invoker.clone();
    drop(gone);
    topic.write(0, "waits").await;
    let source = topic.source(topic.spec(), &Emulator::start([]).await.with(invoker));
    crate::rig::until("it was tried", async || source.control().state().not_tried >= 2).await;
    assert_eq!(topic.committed(0), None);
}
