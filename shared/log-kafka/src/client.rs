//! The settings of librdkafka's clients, and the context that each of them reports to.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use delivery::{Fault, FaultKind};
use domain::Topic;
use parking_lot::Mutex;
use rdkafka::ClientContext;
use rdkafka::client::OAuthToken;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::config::{Auth, KafkaConfig};
use crate::fault;
use crate::statistics::{self, Brokers, Statistics};
use crate::tokens::Tokens;
use crate::traffic::Meter;

/// Above the largest `max.message.bytes` of any topic, so that the topic decides. The client counts before compression.
const RECORD_BYTES_MAX: u32 = 64 << 20;
/// How often a client looks for the coordinator of its group. A client that is no member does not notice otherwise that the
/// coordinator was away, and the library's default of ten minutes is longer than any outage should be felt.
const COORDINATOR_QUERY_MS: &str = "5000";
/// Times that an idle consumer is polled for its reports. They are few: log lines, errors, and a token that is about to end.
const EVENTS_MAX: u32 = 32;
/// One wait for an event: short, so that a client that is to go goes soon.
const TICK: Duration = Duration::from_millis(100);
/// One wait for the first token. Each wait takes all of its time even when the token has come, so it is short.
const TOKEN_TICK: Duration = Duration::from_millis(5);

/// The settings of every client.
fn base(config: &KafkaConfig) -> ClientConfig {
    let mut base = ClientConfig::new();
    base.set_log_level(RDKafkaLogLevel::Warning)
        .set("client.id", "howk")
        .set("bootstrap.servers", config.brokers.join(","))
        .set("socket.keepalive.enable", "true")
        .set("socket.timeout.ms", ms(config.request_timeout))
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "1000")
        // The library's default of five minutes is long for finding the new leader of a partition after an outage.
        .set("topic.metadata.refresh.interval.ms", "30000")
        .set("message.max.bytes", RECORD_BYTES_MAX.to_string())
        .set("receive.message.max.bytes", (RECORD_BYTES_MAX * 2).to_string());
    if let Some(traffic) = &config.traffic {
        base.set("statistics.interval.ms", ms(traffic.interval));
    }
    sign_in(config, &mut base);
    base
}

fn sign_in(config: &KafkaConfig, client: &mut ClientConfig) {
    let security = &config.security;
    let protocol = match (&security.auth, security.tls) {
        (Auth::None, false) => "plaintext",
        (Auth::None, true) => "ssl",
        (Auth::Scram(_) | Auth::Tokens(_), false) => "sasl_plaintext",
        (Auth::Scram(_) | Auth::Tokens(_), true) => "sasl_ssl",
    };
    client.set("security.protocol", protocol);
    match &security.auth {
        Auth::None => {}
        Auth::Scram(scram) => {
            client
                .set("sasl.mechanism", "SCRAM-SHA-512")
                .set("sasl.username", &scram.username)
                .set("sasl.password", scram.password.reveal());
        }
        Auth::Tokens(_) => {
            client.set("sasl.mechanism", "OAUTHBEARER");
        }
    }
    if security.tls {
        // The OpenSSL that is built into the client has no default place for certificates: it has to look for the system's.
        client.set("ssl.ca.location", security.ca_file.as_deref().unwrap_or("probe"));
    }
}

/// For the admin client.
pub(crate) fn admin(config: &KafkaConfig) -> ClientConfig {
    base(config)
}

/// For the producer: it assigns keys to partitions as Java's clients do, and its own retries neither double nor reorder a
/// record.
pub(crate) fn producer(config: &KafkaConfig, linger: Duration) -> ClientConfig {
    let producer = &config.producer;
    let mut client = base(config);
    client
        .set("acks", "all")
        .set("enable.idempotence", "true")
        .set("partitioner", "murmur2_random")
        .set("compression.type", producer.compression)
        .set("linger.ms", (linger.as_secs_f64() * 1000.0).to_string())
        .set("batch.size", producer.batch_bytes_max.to_string())
        .set("message.timeout.ms", ms(producer.timeout))
        .set("queue.buffering.max.kbytes", (producer.queue_bytes_max / 1024).max(1).to_string());
    client
}

/// For a consumer whose partitions are assigned by its caller. It never joins its group.
pub(crate) fn reader(config: &KafkaConfig) -> ClientConfig {
    let mut client = consumer(config, &group(config, Topic::Pending));
    client.set("enable.partition.eof", "true").set("fetch.wait.max.ms", "10").set("fetch.error.backoff.ms", "100");
    client
}

/// For a member of the group of a topic.
pub(crate) fn member(config: &KafkaConfig, topic: Topic) -> ClientConfig {
    let membership = &config.group;
    let mut client = consumer(config, &group(config, topic));
    client
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", ms(membership.session_timeout))
        .set("heartbeat.interval.ms", ms(membership.heartbeat_interval))
        .set("max.poll.interval.ms", ms(membership.rebalance_timeout.max(membership.session_timeout)))
        .set("fetch.min.bytes", config.consumer.fetch_bytes_min.to_string())
        .set("fetch.wait.max.ms", ms(config.consumer.fetch_wait));
    if config.traffic.is_none() {
        client.set("statistics.interval.ms", ms(statistics::REPORT_INTERVAL));
    }
    client
}

/// For a client that queries the group of a topic without being a member.
pub(crate) fn query(config: &KafkaConfig, topic: Topic) -> ClientConfig {
    let mut client = base(config);
    client
        .set("group.id", group(config, topic))
        .set("enable.auto.commit", "false")
        .set("coordinator.query.interval.ms", COORDINATOR_QUERY_MS);
    client
}

fn consumer(config: &KafkaConfig, group: &str) -> ClientConfig {
    let bytes = config.consumer.queue_bytes_max;
    let mut client = base(config);
    client
        .set("group.id", group)
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("coordinator.query.interval.ms", COORDINATOR_QUERY_MS)
        .set("queued.max.messages.kbytes", (bytes / 1024).max(1).to_string())
        .set("fetch.message.max.bytes", bytes.min(1 << 20).to_string())
        .set("fetch.queue.backoff.ms", "10");
    client
}

/// The group of a topic's consumers.
pub(crate) fn group(config: &KafkaConfig, topic: Topic) -> String {
    let suffix = if topic == Topic::Slow { "-slow" } else { "" };
    format!("{}{suffix}", config.group.name)
}

fn ms(duration: Duration) -> String {
    duration.as_millis().max(1).to_string()
}

/// The last errors that a client reported, in its words. Its calls only fail with a timeout, since it keeps trying to connect.
#[derive(Debug, Default)]
pub(crate) struct LastErrors {
    /// Why a broker refuses the client.
    pub(crate) refusal: Option<String>,
    /// Why a broker does not answer.
    pub(crate) silence: Option<String>,
}

/// Receives a client's reports: its log goes to the log of the process, and its tokens come from their source.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) tokens: Tokens,
    last_errors: Mutex<LastErrors>,
    brokers: Brokers,
    meter: Option<Meter>,
}

impl Reports {
    pub(crate) fn new(config: &KafkaConfig) -> Self {
        Self { tokens: Tokens::new(config), meter: config.traffic.as_ref().map(Meter::new), ..Self::default() }
    }

    /// Whether the client has forgotten all brokers and looks for none any more.
    pub(crate) fn has_forgotten_brokers(&self) -> bool {
        self.brokers.are_forgotten()
    }

    pub(crate) fn observe(&self, statistics: &Statistics) {
        self.brokers.observe_parsed(statistics);
        self.meter.iter().for_each(|meter| meter.observe(statistics));
    }

    fn take_last_errors(&self) -> LastErrors {
        std::mem::take(&mut self.last_errors.lock())
    }
}

impl ClientContext for Reports {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical | RDKafkaLogLevel::Error => {
                tracing::warn!(facility, message, "Kafka client");
            }
            RDKafkaLogLevel::Warning | RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
                tracing::debug!(facility, message, "Kafka client");
            }
        }
    }

    fn stats_raw(&self, text: &[u8]) {
        if let Some(statistics) = Statistics::parse(text) {
            self.observe(&statistics);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "Kafka client");
        if fault::is_refusal(&error) {
            self.last_errors.lock().refusal = Some(reason.to_owned());
        } else if error.rdkafka_error_code() != Some(RDKafkaErrorCode::AllBrokersDown) {
            self.last_errors.lock().silence = Some(reason.to_owned());
        }
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.tokens.next()
    }
}

impl ConsumerContext for Reports {}

/// Builds a consumer that only queries or reads, and waits for its first token; blocks for as long as that takes.
pub(crate) fn build(client: &ClientConfig, config: &KafkaConfig) -> Result<BaseConsumer<Reports>, Fault> {
    let consumer: BaseConsumer<Reports> = client
        .create_with_context(Reports::new(config))
        .map_err(|error| fault::of("the Kafka client was not built", error))?;
    let ticks = config.request_timeout.min(config.reach_timeout).as_millis() / TOKEN_TICK.as_millis();
    for _ in 0..ticks {
        if !consumer.context().tokens.are_missing() {
            return Ok(consumer);
        }
        drop(consumer.poll(TOKEN_TICK));
    }
    if consumer.context().tokens.are_missing() {
        return Err(Fault::new(FaultKind::Transient, "there is no token to sign in to Kafka with"));
    }
    Ok(consumer)
}

/// Serves the reports of a consumer without an assignment, a token that is about to end included. `poll` does not say whether
/// it served a report, so it is called a few times.
pub(crate) fn serve(consumer: &BaseConsumer<Reports>) {
    for _ in 0..EVENTS_MAX {
        drop(consumer.poll(Duration::ZERO));
    }
}

/// The errors that a consumer reported last; waits a moment for reports that are due.
pub(crate) fn last_errors(consumer: &BaseConsumer<Reports>) -> LastErrors {
    while consumer.poll(TICK).is_some() {}
    consumer.context().take_last_errors()
}

/// Drops clients on a thread of its own: dropping one waits for its threads.
pub(crate) fn drop_aside<T: Send + 'static>(clients: T) {
    // Without a thread they are dropped here, which is only slower.
    drop(std::thread::Builder::new().name("kafka-drop".to_owned()).spawn(move || drop(clients)));
}

/// Drops a consumer that was replaced, on a thread of its own: dropping one waits for its threads.
///
/// A commit that is under way keeps the consumer, for ever when its answer never comes. The thread polls the consumer until
/// then, because the reports that it makes every few seconds would otherwise pile up in its queue. There is one thread for
/// each consumer that was replaced; those are seconds apart, and most end within the timeouts of their requests.
pub fn retire<C: ConsumerContext + 'static>(consumer: Arc<BaseConsumer<C>>) {
    let retiring = move || {
        // A member that is polled without this would keep its partitions.
        consumer.unsubscribe();
        while Arc::strong_count(&consumer) > 1 {
            drop(consumer.poll(TICK));
        }
    };
    // Without a thread the consumer is dropped when its commit is answered.
    drop(std::thread::Builder::new().name("kafka-retire".to_owned()).spawn(retiring));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Longer than any report takes.
    const TIMEOUT: Duration = Duration::from_secs(20);

    /// Passes on that the client reported its statistics.
    struct Reported(Mutex<mpsc::Sender<()>>);

    impl ClientContext for Reported {
        fn stats_raw(&self, _: &[u8]) {
            self.0.lock().send(()).ok();
        }
    }

    impl ConsumerContext for Reported {}

    #[test]
    fn a_consumer_that_was_replaced_is_served_while_a_commit_keeps_it_and_goes_then() {
        let (reporter, reports) = mpsc::channel();
        let mut client = ClientConfig::new();
        client.set("bootstrap.servers", "127.0.0.1:9").set("statistics.interval.ms", "10");
        let consumer: BaseConsumer<Reported> = client.create_with_context(Reported(Mutex::new(reporter))).unwrap();
        let consumer = Arc::new(consumer);
        let committing = Arc::clone(&consumer);
        retire(consumer);
        for number in 0..3 {
            assert_eq!(reports.recv_timeout(TIMEOUT), Ok(()), "report {number} is not taken out");
        }
        drop(committing);
        while reports.recv_timeout(TIMEOUT) == Ok(()) {}
        assert_eq!(reports.recv_timeout(TIMEOUT), Err(mpsc::RecvTimeoutError::Disconnected), "the client stays");
    }
}
