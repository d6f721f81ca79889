//! Partial batch responses, in both readings.

use howk_local::spec::{EventSourceSpec, PartialResponse, RetryPolicy};

use super::{Topic, failed, numbers, records};
use crate::emulator::{Emulator, Reply};

fn good() -> Reply {
    Reply::Answer(String::new())
}

/// Two partitions of four records each, in one event.
async fn two_partitions() -> Topic {
    let topic = Topic::new(2).await;
    for partition in 0..2 {
        topic.write_all(partition, numbers(0..4)).await;
    }
    topic
}

fn reporting(topic: &Topic, partial_response: PartialResponse) -> EventSourceSpec {
    // The window ends with the eighth record.
    let window = std::time::Duration::from_secs(10);
    EventSourceSpec { report_batch_item_failures: true, partial_response, batch_size: 8, window, ..topic.spec() }
}

#[tokio::test(flavor = "multi_thread")]
async fn either_only_the_failed_are_tried_again_or_all_from_the_first_of_them_on() {
    let cases = [
        (PartialResponse::OnlyFailed, vec![(0, 1), (0, 3)]),
        (PartialResponse::FromFirstFailed, vec![(0, 1), (0, 2), (0, 3)]),
    ];
    for (reading, expected) in cases {
        let topic = two_partitions().await;
        let named = failed(&topic.name, &[(0, 3), (0, 1)]);
        let emulator = Emulator::start([Reply::Answer(named), Reply::Held]).await;
        let _source = topic.source(reporting(&topic, reading), &emulator);
        let again = emulator.asked_times(2).await.remove(1);
        let places: Vec<_> = records(&again).into_iter().map(|(partition, offset, _)| (partition, offset)).collect();
        assert_eq!(places, expected, "{reading:?}");
        topic.until_committed(1, 4).await;
        topic.until_committed(0, 1).await;
        emulator.let_go();
        topic.until_committed(0, 4).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_names_an_unknown_record_repeats_the_whole_batch() {
    let topic = two_partitions().await;
    let unclear = [
        failed(&topic.name, &[(0, 1), (0, 99)]),
        failed(&topic.name, &[(7, 1)]),
        failed("another", &[(0, 1)]),
        r#"{"batchItemFailures":[{"itemIdentifier":"1"}]}"#.to_owned(),
        r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#.to_owned(),
        r#"{"batchItemFailures":{}}"#.to_owned(),
        "no json".to_owned(),
    ];
    let times = unclear.len() + 1;
    let replies = unclear.into_iter().map(Reply::Answer).chain([good()]);
    let emulator = Emulator::start(replies).await;
    let _source = topic.source(reporting(&topic, PartialResponse::OnlyFailed), &emulator);
    let asked = emulator.asked_times(times).await;
    assert!(asked.iter().all(|again| again.event == asked[0].event));
    topic.until_committed(0, 4).await;
    emulator.stays_at(times).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_names_no_record_means_that_all_are_handled() {
    for answer in ["", "null", "{}", r#"{"batchItemFailures":null}"#, r#"{"batchItemFailures":[]}"#] {
        let (topic, emulator) = (Topic::new(1).await, Emulator::start([Reply::Answer(answer.to_owned())]).await);
        topic.write(0, "one").await;
        let source = topic.source(EventSourceSpec { report_batch_item_failures: true, ..topic.spec() }, &emulator);
        topic.until_committed(0, 1).await;
        assert_eq!((emulator.asked().len(), source.control().state().item_failures), (1, 0), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mapping_without_partial_responses_does_not_read_them() {
    let topic = Topic::new(1).await;
    topic.write(0, "one").await;
    let emulator = Emulator::start([Reply::Answer(failed(&topic.name, &[(0, 0)]))]).await;
    let _source = topic.source(topic.spec(), &emulator);
    topic.until_committed(0, 1).await;
    emulator.stays_at(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn named_records_use_up_their_retries() {
    let topic = Topic::new(1).await;
    topic.write_all(0, numbers(0..3)).await;
    let emulator = Emulator::start([Reply::Answer(failed(&topic.name, &[(0, 1)]))]).await;
    let retry = RetryPolicy { retries_max: Some(2), record_age_max: None };
    let spec = EventSourceSpec { report_batch_item_failures: true, batch_size: 3, retry, ..topic.spec() };
    let source = topic.source(spec, &emulator);
    topic.until_committed(0, 3).await;
    let sizes: Vec<_> = emulator.asked().iter().map(|asked| records(asked).len()).collect();
    assert_eq!(sizes, [3, 1, 1]);
    assert_eq!(source.control().state().given_up, 1);
}
