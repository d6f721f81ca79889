//! A client's queue that has no room for everything that is published together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use delivery::FaultKind;
use delivery::ports::log::Log;
use domain::{Dispatch, Lane, Payload, PayloadKind, Position, Record, Topic, Webhook};
use log_kafka::{KafkaConfig, KafkaLog, ProducerConfig};
use testkit::contract::run;
use testkit::generate::{config_id, webhook};

use super::{Kafka, log};

const QUEUE_BYTES: usize = 64 << 10;
const RECORD_BYTES: usize = 8 << 10;
/// Many times what the queue holds.
const COUNT: usize = 20 * QUEUE_BYTES / RECORD_BYTES;

/// Another connection to the same topics, whose queue is small.
async fn narrow(kafka: &Kafka) -> KafkaLog {
    let (queue_bytes_max, timeout) = (u64::try_from(QUEUE_BYTES).expect("it fits"), Duration::from_secs(5));
    let producer = ProducerConfig { queue_bytes_max, timeout, ..ProducerConfig::default() };
    let config = KafkaConfig { producer, ..kafka.config.clone() };
    KafkaLog::connect(config, Arc::new(clock_system::SystemClock)).await.expect("Kafka answers")
}

fn of_size(bytes: usize) -> impl Fn(usize) -> Record {
    let tenants = [config_id(), config_id(), config_id()];
    move |index| {
        let payload = Payload { bytes: vec![b'x'; bytes].into(), kind: PayloadKind::Binary };
        let config_id = tenants[index % tenants.len()].clone();
        Record::Dispatch(Lane::Fast, Dispatch::first(Arc::new(Webhook { payload, config_id, ..webhook() })))
    }
}

/// Checks that each record has the position that the publish returned, after the record of its key before it.
async fn check(kafka: &Kafka, records: &[Record], positions: &[Position]) {
    assert_eq!(records.len(), positions.len());
    let mut last = BTreeMap::new();
    for (record, at) in records.iter().zip(positions) {
        let before = last.insert(record.key(), at.offset);
        assert!(before.is_none_or(|before| before < at.offset), "the records of a key keep their order");
        let read = kafka.log.read(Topic::Pending, *at, 1).await.expect("the log reads").records.remove(0);
        assert_eq!((read.position, read.value.as_ref()), (*at, Ok(record)));
    }
}

#[test]
fn more_than_the_queue_holds_is_published_in_order_and_once() {
    run(async {
        let kafka = log().await;
        let records: Vec<_> = (0..COUNT).map(of_size(RECORD_BYTES)).collect();
        let positions = narrow(&kafka).await.publish(records.clone()).await.expect("it is taken");
        check(&kafka, &records, &positions).await;
        let extents = kafka.log.extents(Topic::Pending).await.expect("the log answers");
        let written: u64 = extents.iter().map(|extent| extent.end).sum();
        assert_eq!(usize::try_from(written), Ok(COUNT), "each is written once");
    });
}

#[test]
fn publishes_that_share_a_full_queue_wait_for_each_other() {
    run(async {
        let kafka = log().await;
        let narrow = narrow(&kafka).await;
        let all: Vec<Vec<_>> = (0..4).map(|_| (0..COUNT / 4).map(of_size(RECORD_BYTES)).collect()).collect();
        let publishing = all.iter().map(|records| narrow.publish(records.clone()));
        let published = futures::future::try_join_all(publishing).await.expect("all of them are taken");
        for (records, positions) in all.iter().zip(published) {
            check(&kafka, records, &positions).await;
        }
    });
}

#[test]
fn what_fits_no_queue_is_given_up() {
    run(async {
        let kafka = log().await;
        let mut records: Vec<_> = (0..3).map(of_size(RECORD_BYTES)).collect();
        records.push(of_size(QUEUE_BYTES * 2)(0));
        let fault = narrow(&kafka).await.publish(records).await.expect_err("it has no room");
        assert_eq!(fault.kind, FaultKind::OverLimit);
    });
}
