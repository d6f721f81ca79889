//! A member whose request for the offset to begin with is answered with "another broker coordinates the group".

use std::sync::Arc;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::log::{Feed, Log};
use domain::{Lane, Record, Topic};
use log_kafka::{KafkaLog, create_topics};
use testkit::contract::run;
use testkit::generate::dispatch;

use super::freeze::{PROXY, through_proxy};
use super::{fresh_config, fresh_specs};

/// How long a member may take to notice, and to be replaced.
const TIMEOUT: Duration = Duration::from_secs(90);

/// P13: a broker that has just started does not know its groups yet.
#[test]
fn p13_a_member_that_was_sent_to_another_coordinator_reads_on() {
    let proxy = PROXY.lock();
    let config = fresh_config();
    let prefix = config.topics.pending.strip_suffix("howk.pending").expect("a prefix");
    let through = through_proxy(prefix);
    run(async {
        create_topics(&config, &fresh_specs(&config)).await.expect("the topics are made");
        let log = KafkaLog::connect(through, Arc::new(SystemClock)).await.expect("Kafka answers");
        let sent = Record::Dispatch(Lane::Fast, dispatch());
        log.publish(vec![sent.clone()]).await.expect("published");
        proxy.misdirect(1);
        let feed = log.join(Topic::Pending).expect("the member joins");
        let reading = async {
            loop {
                // What the client says about the answer is a failure like any other.
                let read = feed.next(1).await.unwrap_or_default();
                if read.iter().any(|read| read.value.as_ref() == Ok(&sent)) {
                    return;
                }
            }
        };
        tokio::time::timeout(TIMEOUT, reading).await.expect("the record comes");
        assert!(proxy.has_misdirected());
    });
}
