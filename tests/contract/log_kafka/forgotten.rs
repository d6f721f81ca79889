//! Clients that a cluster names no brokers to while it is coming back: they may forget all of them for good.

use std::sync::Arc;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::log::{Feed, Log};
use domain::{Lane, Position, Record, Topic};
use howk_tests::rig::proxy::{Names, Proxy};
use log_kafka::{KafkaFeed, KafkaLog, create_topics};
use testkit::contract::run;
use testkit::generate::dispatch;

use super::freeze::{PROXY, through_proxy};
use super::{TICK, fresh_config, fresh_specs};

/// How often it happens: a client that was replaced is one that can forget, too.
const ROUNDS: usize = 3;
/// Questions that may fail before one is answered again.
const TRIES: usize = 8;
/// How long the brokers are not named.
const HIDDEN_TICKS: u32 = 3;
/// How long a member may take to notice, to be replaced, and to get what its group was sent.
const TIMEOUT: Duration = Duration::from_secs(90);

#[test]
fn p13_a_client_that_forgot_every_broker_is_replaced() {
    let proxy = PROXY.lock();
    let config = fresh_config();
    let prefix = config.topics.pending.strip_suffix("howk.pending").expect("a prefix");
    let mut through = through_proxy(prefix);
    through.request_timeout = TICK * 10;
    run(async {
        create_topics(&config, &fresh_specs(&config)).await.expect("the topics are made");
        let log = KafkaLog::connect(through.clone(), Arc::new(SystemClock)).await.expect("Kafka answers");
        let feed = log.join(Topic::Pending).expect("the member joins");
        let mut received = None;
        for round in 0..ROUNDS {
            proxy.name(Names::NoBroker);
            proxy.cut();
            let committing = async {
                if let Some(Position { partition, offset }) = received {
                    // Whether it can be made or not, the answer comes.
                    feed.commit(Position { partition, offset: offset + 1 }).await.ok();
                }
            };
            let (committed, at) =
                futures::join!(tokio::time::timeout(TIMEOUT, committing), come_back(&proxy, &log, &feed, round));
            assert!(committed.is_ok(), "round {round}: a commit never ends");
            received = Some(at);
        }
        let Position { partition, offset } = received.expect("there were rounds");
        feed.commit(Position { partition, offset: offset + 1 }).await.expect("the present member commits");
        assert_eq!(log.lag(Topic::Pending).await.expect("the log answers"), 0);
    });
}

/// Names the brokers after a while, and gets an answer and a record again.
async fn come_back(proxy: &Proxy, log: &KafkaLog, feed: &KafkaFeed, round: usize) -> Position {
    // The client learns of the lost brokers only from a request.
    log.extents(Topic::Pending).await.ok();
    tokio::time::sleep(TICK * HIDDEN_TICKS).await;
    proxy.name(Names::Brokers);
    let mut answers = 0;
    for _ in 0..TRIES {
        answers += usize::from(log.extents(Topic::Pending).await.is_ok());
    }
    assert!(answers > 0, "round {round}: it is never answered again");
    let sent = log.publish(vec![Record::Dispatch(Lane::Fast, dispatch())]).await;
    let sent = sent.expect("the record is published").remove(0);
    let waiting = async {
        while !feed.next(1).await.is_ok_and(|records| records.iter().any(|record| record.position == sent)) {}
    };
    assert!(tokio::time::timeout(TIMEOUT, waiting).await.is_ok(), "round {round}: the member never gets {sent:?}");
    sent
}
