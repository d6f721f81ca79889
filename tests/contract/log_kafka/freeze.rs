//! A process that is frozen while its connections are cut, as Lambda does between invocations.
//!
//! The test runs itself in a second process, which publishes on command, through a proxy that cuts what it carries.
//! Kafka's second listener (`localstack/services`) sends its clients to that proxy.

use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use clock_system::SystemClock;
use howk_tests::rig::proxy::{self, Holds, Proxy};
use log_kafka::{KafkaConfig, KafkaLog, create_topics};
use settings::{Environment, ProcessEnvironment};
use testkit::contract::run;

use super::second::{Second, serve};
use super::{brokers, fresh_config, fresh_specs};

const PREFIX: &str = "FREEZE_PREFIX";
const IDLE_MS: &str = "FREEZE_IDLE_MS";
const TIMEOUT_MS: &str = "FREEZE_TIMEOUT_MS";

/// One test at a time has the proxy.
pub(super) static PROXY: LazyLock<parking_lot::Mutex<Proxy>> =
    LazyLock::new(|| parking_lot::Mutex::new(Proxy::start(ports())));

fn ports() -> (u16, u16) {
    proxy::ports(&brokers()[0])
}

/// Settings for topics of this prefix, which are reached through the proxy.
pub(super) fn through_proxy(prefix: &str) -> KafkaConfig {
    KafkaConfig::new(vec![format!("127.0.0.1:{}", ports().1)]).prefixed(prefix)
}

/// Not a test: what the tests here run in a process of its own.
#[test]
#[ignore = "the tests beside it run it"]
fn the_second_process() {
    let variables = ProcessEnvironment.variables();
    let Some(prefix) = variables.get(PREFIX) else { return };
    let ms = |name: &str| Duration::from_millis(variables[name].parse().expect("a number"));
    let mut config = through_proxy(prefix);
    config.producer.idle_max = ms(IDLE_MS);
    config.producer.timeout = ms(TIMEOUT_MS);
    run(async move {
        let log = KafkaLog::connect(config, Arc::new(SystemClock)).await.expect("Kafka answers");
        serve(log).await;
    });
}

/// Runs a scene with a second process that has published once.
fn scene(idle_max: Duration, timeout: Duration, act: impl FnOnce(&Proxy, &mut Second)) {
    let proxy = PROXY.lock();
    let config = fresh_config();
    run(async {
        let specs = fresh_specs(&config);
        create_topics(&config, &specs).await.expect("the topics are made");
        let prefix = config.topics.pending.strip_suffix("howk.pending").expect("a prefix");
        let ms = |duration: Duration| duration.as_millis().to_string();
        let variables = [(PREFIX, prefix.to_owned()), (IDLE_MS, ms(idle_max)), (TIMEOUT_MS, ms(timeout))];
        let mut second = Second::start("log_kafka::freeze::the_second_process", variables);
        second.order("publish");
        assert_eq!(second.answer(), "done");
        act(&proxy, &mut second);
        second.order("publish");
        assert_eq!(second.answer(), "done", "and so it goes on");
    });
}

#[test]
fn a_process_that_thaws_with_cut_connections_publishes_at_once() {
    // Older than that by the wall clock: replaced before it is used. Not that old: the client finds out by itself.
    for idle_max in [Duration::from_secs(1), Duration::from_mins(5)] {
        scene(idle_max, Duration::from_secs(5), |proxy, second| {
            second.signal("-STOP");
            thread::sleep(Duration::from_secs(2));
            proxy.cut();
            second.signal("-CONT");
            second.order("publish");
            assert_eq!(second.answer(), "done", "idle_max {idle_max:?}");
        });
    }
}

#[test]
fn what_a_frozen_publish_did_not_send_is_sent_once_more() {
    scene(Duration::from_mins(5), Duration::from_secs(1), |proxy, second| {
        proxy.hold(Holds::Everything);
        second.order("publish");
        thread::sleep(Duration::from_millis(300));
        second.signal("-STOP");
        // Its record times out meanwhile, and nothing of it has reached Kafka.
        thread::sleep(Duration::from_secs(3));
        proxy.cut();
        proxy.hold(Holds::Nothing);
        second.signal("-CONT");
        assert_eq!(second.answer(), "done", "by a new producer");
    });
}
