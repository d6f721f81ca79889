//! A process that is frozen while its connections are cut, as Lambda does between invocations.
//!
//! The test runs itself in a second process, which publishes when told to, through a proxy that cuts what it carries.
//! Kafka's second listener (`localstack/services`) sends its clients to that proxy.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::log::Log;
use domain::{Lane, Record};
use howk_tests::rig::proxy::{Holds, Proxy};
use log_kafka::{KafkaConfig, KafkaLog, create_topics};
use settings::{Environment, ProcessEnvironment};
use testkit::contract::run;
use testkit::generate::dispatch;

use super::{brokers, fresh_config, fresh_specs};

const PREFIX: &str = "FREEZE_PREFIX";
const IDLE_MS: &str = "FREEZE_IDLE_MS";
const TIMEOUT_MS: &str = "FREEZE_TIMEOUT_MS";
/// Longer than any answer of the second process takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// One test at a time has the proxy.
pub(super) static PROXY: LazyLock<parking_lot::Mutex<Proxy>> =
    LazyLock::new(|| parking_lot::Mutex::new(Proxy::start(ports())));

/// The port of the brokers' second listener, and the one that it sends clients to.
pub(super) fn ports() -> (u16, u16) {
    let broker = brokers().remove(0);
    let (_, port) = broker.rsplit_once(':').expect("a broker is host:port");
    let port: u16 = port.parse().expect("a port");
    (port + 2, port + 3)
}

/// The second process.
struct Second {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
}

impl Second {
    fn start(config: &KafkaConfig, prefix: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "log_kafka::freeze::the_second_process", "--nocapture"])
            .env(PREFIX, prefix)
            .env(IDLE_MS, config.producer.idle_max.as_millis().to_string())
            .env(TIMEOUT_MS, config.producer.timeout.as_millis().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the second process starts");
        let (orders, output) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        let (answer, answers) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            let ours = lines.filter_map(|line| line.strip_prefix("second: ").map(str::to_owned));
            ours.for_each(|line| drop(answer.send(line)));
        });
        Self { child, orders, answers }
    }

    fn order_publish(&mut self) {
        writeln!(self.orders, "publish").expect("it listens");
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("it answers")
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{name}");
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Not a test: what the tests here run in a process of its own. It publishes a record for every line that it reads.
#[test]
#[ignore = "the tests beside it run it"]
fn the_second_process() {
    let variables = ProcessEnvironment.variables();
    let Some(prefix) = variables.get(PREFIX) else { return };
    let ms = |name: &str| Duration::from_millis(variables[name].parse().expect("a number"));
    let mut config = KafkaConfig::new(vec![format!("127.0.0.1:{}", ports().1)]).prefixed(prefix);
    config.producer.idle_max = ms(IDLE_MS);
    config.producer.timeout = ms(TIMEOUT_MS);
    run(async move {
        let log = KafkaLog::connect(config, Arc::new(SystemClock)).await.expect("Kafka answers");
        for order in std::io::stdin().lines() {
            assert_eq!(order.expect("a line"), "publish");
            let published = log.publish(vec![Record::Dispatch(Lane::Fast, dispatch())]).await;
            let answer = published.map_or_else(|fault| format!("{fault}"), |_| "published".to_owned());
            writeln!(std::io::stdout(), "second: {answer}").expect("it is heard");
        }
    });
}

/// Runs a scene with a second process that has published once.
fn scene(idle_max: Duration, timeout: Duration, act: impl FnOnce(&Proxy, &mut Second)) {
    let proxy = PROXY.lock();
    let mut config = fresh_config();
    config.producer.idle_max = idle_max;
    config.producer.timeout = timeout;
    run(async {
        let specs = fresh_specs(&config);
        create_topics(&config, &specs).await.expect("the topics are made");
        let prefix = config.topics.pending.strip_suffix("howk.pending").expect("a prefix");
        let mut second = Second::start(&config, prefix);
        second.order_publish();
        assert_eq!(second.answer(), "published");
        act(&proxy, &mut second);
        second.order_publish();
        assert_eq!(second.answer(), "published", "and so it goes on");
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
            second.order_publish();
            assert_eq!(second.answer(), "published", "idle_max {idle_max:?}");
        });
    }
}

#[test]
fn what_a_frozen_publish_did_not_send_is_sent_once_more() {
    scene(Duration::from_mins(5), Duration::from_secs(1), |proxy, second| {
        proxy.hold(Holds::Everything);
        second.order_publish();
        thread::sleep(Duration::from_millis(300));
        second.signal("-STOP");
        // Its record times out meanwhile, and nothing of it has reached Kafka.
        thread::sleep(Duration::from_secs(3));
        proxy.cut();
        proxy.hold(Holds::Nothing);
        second.signal("-CONT");
        assert_eq!(second.answer(), "published", "by a new producer");
    });
}
