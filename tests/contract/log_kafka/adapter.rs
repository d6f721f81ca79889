//! What the suites do not ask of every log: gaps and poison, large records, places of keys, stale producers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use delivery::ports::log::{Log, LogRecord};
use domain::{Dispatch, Lane, Payload, PayloadKind, Position, Record, Topic, Undecodable, Webhook};
use log_kafka::{KafkaConfig, KafkaLog, ProducerConfig, Traffic, TrafficCounter, create_topics, delete_topics};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use testkit::clock::ManualClock;
use testkit::contract::{LogUnderTest, run};
use testkit::generate::{at, config_id, dispatch, numbered, waiting, webhook};

use super::{Kafka, TICK, fresh_config, log};

/// Longer than any replay here takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Everything of a topic's partition, read as a rebuild does.
async fn replay(log: &KafkaLog, topic: Topic, page: usize) -> Vec<LogRecord> {
    let mut all = Vec::new();
    for extent in log.extents(topic).await.expect("the log answers") {
        let mut from = Position { partition: extent.partition, offset: extent.start };
        while from.offset < extent.end {
            let reading = tokio::time::timeout(TIMEOUT, log.read(topic, from, page));
            let found = reading.await.expect("a replay ends").expect("the log reads");
            assert!(found.next > from.offset, "a page before the end goes on");
            all.extend(found.records);
            from.offset = found.next;
        }
    }
    all
}

/// Writes bytes that no record of ours would have.
async fn publish_raw(kafka: &Kafka, topic: Topic, value: Option<&[u8]>) -> Position {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", kafka.config.brokers.join(",")).set("message.max.bytes", "16777216");
    let producer: FutureProducer = client.create().expect("a producer");
    let record = FutureRecord::to(kafka.config.topics.of(topic)).key("poison");
    let record = if let Some(value) = value { record.payload(value) } else { record };
    let sent = producer.send(record, TIMEOUT).await.map_err(|(error, _)| error).expect("the broker takes bytes");
    Position { partition: sent.partition.unsigned_abs(), offset: sent.offset.unsigned_abs() }
}

async fn read_one(kafka: &Kafka, topic: Topic, at: Position) -> Result<Record, Undecodable> {
    let mut page = kafka.log.read(topic, at, 1).await.expect("the log reads");
    let read = page.records.remove(0);
    assert_eq!((read.position, page.next), (at, at.offset + 1));
    read.value
}

#[test]
fn y2_a_replay_ends_though_the_last_records_are_gaps_and_tombstones() {
    run(async {
        let kafka = log().await;
        let ended: Vec<_> = (0..30).map(|_| dispatch()).collect();
        for number in 1..=3 {
            let state = ended.iter().map(|one| Record::Waiting(waiting(&numbered(one, number), at(number))));
            kafka.log.publish(state.collect()).await.expect("published");
        }
        let tombstones = ended.iter().map(|one| Record::Tombstone(one.webhook.id.clone(), 3));
        kafka.log.publish(tombstones.collect()).await.expect("published");
        let last = |records: Vec<LogRecord>| records.last().and_then(|read| read.value.clone().ok());
        let read = replay(&kafka.log, Topic::State, 7).await;
        assert!(matches!(last(read), Some(Record::Tombstone(..))), "a topic that ends with tombstones is read");
        assert!(kafka.compact(Topic::State).await);
        let left = replay(&kafka.log, Topic::State, 7).await;
        assert!(left.len() < 30 * 4, "compaction took records: {} are left", left.len());
        assert!(!left.iter().any(|read| matches!(read.value, Ok(Record::Waiting(_)))), "nothing revives");
    });
}

#[test]
fn a_page_begins_at_the_oldest_record_that_is_left() {
    run(async {
        let kafka = log().await;
        let one = dispatch();
        for number in 1..=20 {
            let state = Record::Waiting(waiting(&numbered(&one, number), at(number)));
            kafka.log.publish(vec![state]).await.expect("published");
        }
        kafka.compact(Topic::State).await;
        let read = replay(&kafka.log, Topic::State, 1).await;
        let of_key: Vec<_> = read.iter().filter_map(|read| read.value.as_ref().ok()).collect();
        let kept = of_key.iter().filter(|record| record.key() == one.webhook.id.to_string()).count();
        assert_eq!(kept, 1, "read one by one, over the gaps");
    });
}

#[test]
fn an_undecodable_record_is_read_with_its_bytes_and_stops_no_reader() {
    run(async {
        let kafka = log().await;
        let poison: [Option<&[u8]>; 5] = [Some(b"{"), Some(&[0xff, 0xfe, 0]), Some(b""), Some(br#"{"v":99}"#), None];
        for value in poison {
            let at = publish_raw(&kafka, Topic::Pending, value).await;
            let found = read_one(&kafka, Topic::Pending, at).await.expect_err("it is not readable");
            assert_eq!(found.position, at);
            assert_eq!(found.key.as_deref(), Some(&b"poison"[..]));
            assert_eq!(found.value.as_deref().unwrap_or_default(), value.unwrap_or_default());
            assert!(!found.error.is_empty());
        }
        let good = Record::Dispatch(Lane::Fast, dispatch());
        kafka.log.publish(vec![good.clone()]).await.expect("published");
        let member = kafka.join(Topic::Pending).await;
        let mut handed_out = Vec::new();
        while handed_out.len() < poison.len() + 1 {
            handed_out.extend(member.next(10).await.expect("the feed reads"));
        }
        assert_eq!(handed_out.iter().filter(|read| read.value.is_err()).count(), poison.len());
        assert!(handed_out.iter().any(|read| read.value.as_ref() == Ok(&good)));
    });
}

#[test]
fn a_poison_record_of_8_mib_fits_its_topic_and_the_dead_letters() {
    run(async {
        let kafka = log().await;
        // Hard to compress, as an attacker's would be.
        let mut state = 1_u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        let bytes: Vec<u8> = (0..8 << 20).map(next).collect();
        let at = publish_raw(&kafka, Topic::Pending, Some(&bytes)).await;
        let found = read_one(&kafka, Topic::Pending, at).await.expect_err("it is not readable");
        assert_eq!(found.value.as_deref(), Some(&bytes[..]));
        let dead_letter = Record::Undecodable(found);
        let at = kafka.log.publish(vec![dead_letter.clone()]).await.expect("the dead letter is taken").remove(0);
        assert_eq!(read_one(&kafka, Topic::DeadLetter, at).await, Ok(dead_letter));
    });
}

/// P13: a cluster that comes back may say for a while that it knows no such topic. A producer that got this answer finds the
/// topic soon after it is there, and so does one that sent nothing for so long that it was replaced.
#[test]
fn p13_a_topic_that_was_unknown_for_a_while_is_found_again() {
    run(async {
        let kafka = log().await;
        let config = KafkaConfig {
            producer: ProducerConfig { timeout: Duration::from_secs(2), ..ProducerConfig::default() },
            ..kafka.config.clone()
        };
        let clock = Arc::new(clock_system::SystemClock);
        let log = KafkaLog::connect(config.clone(), clock).await.expect("Kafka answers");
        let record = || vec![Record::Dispatch(Lane::Fast, dispatch())];
        log.publish(record()).await.expect("it is taken");
        delete_topics(&config, &kafka.specs).await.expect("the topics are gone");
        let mut refused = 0;
        while refused < 4 {
            refused += usize::from(log.publish(record()).await.is_err());
        }
        create_topics(&config, &kafka.specs).await.expect("the topics are back");
        let mut taken = log.publish(record()).await;
        for _ in 0..30 {
            if taken.is_err() {
                tokio::time::sleep(TICK).await;
                taken = log.publish(record()).await;
            }
        }
        taken.expect("it is taken again");
    });
}

#[test]
fn a_payload_that_makes_a_record_too_large_is_refused_for_good() {
    run(async {
        let kafka = log().await;
        let mut state = 1_u32;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let bytes: Vec<u8> = (0..11 << 20).map(next).collect();
        let payload = Payload { bytes: Arc::from(bytes), kind: PayloadKind::Binary };
        let large = Record::Dispatch(Lane::Fast, Dispatch::first(Arc::new(Webhook { payload, ..webhook() })));
        let small = Record::Dispatch(Lane::Fast, dispatch());
        let fault = kafka.log.publish(vec![small, large]).await.expect_err("it is too large");
        assert_eq!(fault.kind, delivery::FaultKind::Permanent);
    });
}

/// Apache Kafka's own test vectors, so that Java producers and ours agree on the partition of a key.
#[test]
fn keys_are_placed_as_java_places_them() {
    const PARTITIONS: u32 = 12;
    let hashes = [
        ("21", -973_932_308_i32),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
    ];
    run(async {
        let config = fresh_config();
        let mut specs = config.topics.specs();
        specs.retain(|spec| spec.name == config.topics.pending);
        specs[0].partitions = PARTITIONS;
        create_topics(&config, &specs).await.expect("the topic is made");
        let clock = Arc::new(ManualClock::new(at(0)));
        let log = KafkaLog::connect(config, clock).await.expect("Kafka answers");
        for (key, hash) in hashes {
            let config_id = domain::ConfigId::parse(key).expect("a config id");
            let webhook = Webhook { config_id, ..webhook() };
            let record = Record::Dispatch(Lane::Fast, Dispatch::first(Arc::new(webhook)));
            let at = log.publish(vec![record]).await.expect("published").remove(0);
            let positive = u32::from_ne_bytes((hash & i32::MAX).to_ne_bytes());
            assert_eq!(at.partition, positive % PARTITIONS, "{key}");
        }
    });
}

#[test]
fn a_producer_that_was_idle_for_long_by_the_wall_clock_is_replaced() {
    run(async {
        let kafka = log().await;
        let publish = async || {
            let webhook = Webhook { config_id: config_id(), ..webhook() };
            let record = Record::Dispatch(Lane::Fast, Dispatch::first(Arc::new(webhook)));
            kafka.log.publish(vec![record]).await.expect("published")
        };
        publish().await;
        kafka.clock.advance(kafka.config.producer.idle_max);
        publish().await;
        publish().await;
        assert_eq!(replay(&kafka.log, Topic::Pending, 10).await.len(), 3, "each is written once");
    });
}

/// A member reads ahead only so far, and loses nothing to the pauses that this takes.
#[test]
fn a_member_that_is_not_asked_holds_little_and_loses_nothing() {
    const COUNT: usize = 6000;
    run(async {
        let kafka = log().await;
        let member = kafka.join(Topic::Pending).await;
        let records: Vec<_> = (0..COUNT).map(|_| Record::Dispatch(Lane::Fast, dispatch())).collect();
        kafka.log.publish(records).await.expect("published");
        let mut handed_out = member.next(1).await.expect("the feed reads");
        // Long enough for the partitions to pause.
        tokio::time::sleep(Duration::from_secs(1)).await;
        while handed_out.len() < COUNT {
            let reading = tokio::time::timeout(TIMEOUT, member.next(500)).await.expect("records come");
            handed_out.extend(reading.expect("the feed reads"));
        }
        let mut places: Vec<_> = handed_out.iter().map(|read| read.position).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), COUNT);
    });
}

/// A partition that goes to another member while it is paused flows when it comes back, though nothing pauses any more.
#[test]
fn a_partition_that_went_while_it_was_paused_flows_when_it_comes_back() {
    const COUNT: usize = 6000;
    run(async {
        let kafka = log().await;
        let stays = kafka.join(Topic::Pending).await;
        let records: Vec<_> = (0..COUNT).map(|_| Record::Dispatch(Lane::Fast, dispatch())).collect();
        kafka.log.publish(records).await.expect("published");
        stays.next(1).await.expect("the feed reads");
        // Long enough for the partitions to pause.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let comes = kafka.join(Topic::Pending).await;
        let first = comes.next(1).await.expect("the feed reads").remove(0);
        let extents = kafka.log.extents(Topic::Pending).await.expect("the log answers");
        let ends: BTreeMap<_, _> = extents.iter().map(|extent| (extent.partition, extent.end)).collect();
        let read_to_the_end = async |is_wanted: &dyn Fn(u32) -> bool| {
            let mut left: BTreeSet<_> = ends.keys().copied().filter(|partition| is_wanted(*partition)).collect();
            while !left.is_empty() {
                let reading = tokio::time::timeout(TIMEOUT, stays.next(500)).await.expect("records come");
                let read = reading.expect("the feed reads").into_iter().map(|read| read.position);
                for Position { partition, offset } in read {
                    left.retain(|left| *left != partition || offset + 1 < ends[&partition]);
                }
            }
        };
        read_to_the_end(&|partition| partition != first.position.partition).await;
        drop(comes);
        read_to_the_end(&|partition| partition == first.position.partition).await;
    });
}

/// What is published together is few requests, whichever producer it goes by, and all of it is counted.
#[test]
fn traffic_is_counted_by_the_clients_themselves() {
    run(async {
        let kafka = log().await;
        let traffic = TrafficCounter::every(Duration::from_millis(20));
        let config = KafkaConfig { traffic: Some(traffic.clone()), ..kafka.config.clone() };
        let counted =
            KafkaLog::connect(config, Arc::<ManualClock>::clone(&kafka.clock)).await.expect("Kafka answers");
        let all: Vec<_> = (0..100).map(|_| dispatch()).collect();
        let dispatched = all.iter().map(|one| Record::Dispatch(Lane::Fast, one.clone()));
        counted.publish(dispatched.collect()).await.expect("published");
        let snapshots = all.iter().map(|one| Record::Waiting(waiting(one, at(0))));
        counted.publish(snapshots.collect()).await.expect("published");
        let counted_all = async {
            while traffic.traffic().published < 200 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, counted_all).await.expect("the clients report what they published");
        let Traffic { requests, published, .. } = traffic.traffic();
        assert_eq!(published, 200);
        assert!((2..100).contains(&requests), "{requests} requests for 200 records");
    });
}
