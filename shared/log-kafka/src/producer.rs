//! Publishing: all records of a call are sent together, and the call waits for every acknowledgement.
//!
//! A process that was frozen thaws with connections that the brokers have dropped and, perhaps, a token that has ended.
//! So a producer that was idle for long by the wall clock, or whose token has ended by it, is replaced before it is used,
//! and when one fails that was idle, was declared dead by the client, was frozen in the middle, or has sent nothing for
//! long, a fresh one sends once more what was not acknowledged. Records may then be written twice, which the port allows.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use delivery::ports::time::Clock;
use delivery::{Fault, FaultKind};
use domain::{Position, Record, Timestamp};
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::future_producer::Delivery;
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord, Producer as _};
use wire::record::Encoded;

use crate::client::{self, Reports};
use crate::config::KafkaConfig;
use crate::fault;
use crate::tokens::Tokens;

/// A producer that was not used for this long may have lost its connections: network address translation and load balancers
/// forget idle connections, the strictest usual ones after half a minute or a few.
const DOUBTFUL_AFTER: Duration = Duration::from_secs(30);

/// A producer that had nothing acknowledged for this many timeouts may itself be the reason. One timeout may be an outage of
/// the cluster, which a new producer does not help.
const ACKNOWLEDGED_WITHIN: u32 = 3;

/// The client's queue has no room for a record.
const FULL: KafkaError = KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull);

/// How long a query of a new producer may take before it gets records. A producer that gets records before it has a connection
/// to a broker that it learned of requests its producer id in vain, and repeats that only after half a second: waiting
/// longer than that here would gain nothing.
const WARM_UP_MAX: Duration = Duration::from_millis(500);

type Client = FutureProducer<Reports>;

/// The producer, replaced when it is stale.
pub(crate) struct Producer {
    config: Arc<KafkaConfig>,
    client: ClientConfig,
    clock: Arc<dyn Clock>,
    current: parking_lot::Mutex<Current>,
}

struct Current {
    producer: Client,
    tokens: Tokens,
    /// Whether it has sent nothing yet.
    is_new: bool,
    used_at: Timestamp,
    /// When it last had everything acknowledged, or was made.
    acknowledged_at: Timestamp,
}

/// The producer of one publish.
struct Use {
    producer: Client,
    began_at: Timestamp,
    /// How long it was idle before.
    idle: Duration,
}

/// A record on its way.
struct Outgoing {
    topic: String,
    encoded: Encoded,
    position: Option<Position>,
}

impl Producer {
    /// Builds a producer whose batches wait for more records for `linger`.
    pub(crate) fn new(config: &Arc<KafkaConfig>, linger: Duration, clock: Arc<dyn Clock>) -> Result<Self, Fault> {
        let client = client::producer(config, linger);
        let (producer, tokens) = build(&client, config)?;
        let now = clock.now();
        let current =
            parking_lot::Mutex::new(Current { producer, tokens, is_new: true, used_at: now, acknowledged_at: now });
        Ok(Self { config: Arc::clone(config), client, clock, current })
    }

    /// Publishes records and returns their positions, in their order.
    pub(crate) async fn publish(&self, records: &[Record]) -> Result<Vec<Position>, Fault> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let mut outgoing: Vec<Outgoing> = records.iter().map(|record| self.outgoing(record)).collect();
        let (used, timeout) = (self.current()?, self.config.producer.timeout);
        self.warm_up(&used.producer, &outgoing).await;
        let mut sent = send(&used.producer, &mut outgoing, timeout).await;
        if let Err(error) = &sent
            && self.is_stale(&used, error)
        {
            tracing::info!(%error, "the Kafka producer is stale: a new one sends the records that were not acknowledged");
            let fresh = self.replace(&used.producer)?;
            self.warm_up(&fresh, &outgoing).await;
            sent = send(&fresh, &mut outgoing, timeout).await;
        }
        sent.map_err(|error| fault::of("not every record was acknowledged", error))?;
        self.current.lock().acknowledged_at = self.clock.now();
        Ok(outgoing.into_iter().filter_map(|record| record.position).collect())
    }

    fn outgoing(&self, record: &Record) -> Outgoing {
        let topic = self.config.topics.of(record.topic()).to_owned();
        Outgoing { topic, encoded: wire::record::encode(record), position: None }
    }

    /// The current producer, or a new one when it was idle for too long or its token has ended.
    fn current(&self) -> Result<Use, Fault> {
        let now = self.clock.now();
        let mut current = self.current.lock();
        let idle = now.since(current.used_at);
        if idle >= self.config.producer.idle_max || current.tokens.have_ended() {
            self.renew(&mut current)?;
        }
        if idle >= DOUBTFUL_AFTER {
            // It had nothing to send meanwhile.
            current.acknowledged_at = now;
        }
        current.used_at = now;
        Ok(Use { producer: current.producer.clone(), began_at: now, idle })
    }

    /// Lets a new producer connect to the brokers that it learns of. That takes two queries: the first may be answered on the
    /// connection that it was built with, which it gives up afterwards.
    async fn warm_up(&self, producer: &Client, outgoing: &[Outgoing]) {
        if !std::mem::take(&mut self.current.lock().is_new) {
            return;
        }
        let (warming_up, topic) = (producer.clone(), outgoing.first().map(|record| record.topic.clone()));
        let warmed_up = tokio::task::spawn_blocking(move || {
            let query = || warming_up.client().fetch_metadata(topic.as_deref(), WARM_UP_MAX);
            query().and_then(|_| query()).map(drop)
        });
        // A failure shows again when the records are sent.
        drop(warmed_up.await);
    }

    /// Whether the producer, not the cluster, may be what failed.
    fn is_stale(&self, used: &Use, error: &KafkaError) -> bool {
        if fault::kind(error) != FaultKind::Transient {
            return false;
        }
        let now = self.clock.now();
        let timeout = self.config.producer.timeout;
        let was_frozen = now.since(used.began_at) >= timeout.saturating_mul(2);
        let is_unacknowledged =
            now.since(self.current.lock().acknowledged_at) >= timeout.saturating_mul(ACKNOWLEDGED_WITHIN);
        let is_dead = used.producer.client().fatal_error().is_some();
        is_dead
            || was_frozen
            || is_unacknowledged
            || (DOUBTFUL_AFTER..self.config.producer.idle_max).contains(&used.idle)
    }

    /// A new producer in place of a stale one, unless another publish has replaced it already.
    fn replace(&self, stale: &Client) -> Result<Client, Fault> {
        let mut current = self.current.lock();
        if current.producer.client().native_ptr() == stale.client().native_ptr() {
            self.renew(&mut current)?;
            current.acknowledged_at = self.clock.now();
        }
        current.used_at = self.clock.now();
        Ok(current.producer.clone())
    }

    fn renew(&self, current: &mut Current) -> Result<(), Fault> {
        let (fresh, tokens) = build(&self.client, &self.config)?;
        client::drop_aside(std::mem::replace(&mut current.producer, fresh));
        (current.tokens, current.is_new) = (tokens, true);
        Ok(())
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        client::drop_aside(self.current.get_mut().producer.clone());
    }
}

fn build(client: &ClientConfig, config: &KafkaConfig) -> Result<(Client, Tokens), Fault> {
    let reports = Reports::new(config);
    let tokens = reports.tokens.clone();
    let built = client.create_with_context(reports);
    Ok((built.map_err(|error| fault::of("the Kafka producer was not built", error))?, tokens))
}

/// Sends the records without a position, and records their positions.
///
/// More than the client's queue holds goes out in turns, each within the timeout of its records: nothing waits for longer
/// than the timeout without a record being acknowledged or the call failing. After a failure nothing more is begun.
async fn send(producer: &Client, outgoing: &mut [Outgoing], timeout: Duration) -> Result<(), KafkaError> {
    let mut flight = Flight::default();
    for record in outgoing.iter_mut().filter(|record| record.position.is_none()) {
        flight.begin(producer, record, timeout).await;
        if flight.first_error.is_some() {
            break;
        }
    }
    while flight.settle_oldest().await {}
    flight.first_error.map_or(Ok(()), Err)
}

/// The records of one publish that are under way.
///
/// Of a key whose record failed, everything after it counts as failed too, so that a second try keeps the key's order.
#[derive(Default)]
struct Flight<'a> {
    under_way: VecDeque<(&'a mut Outgoing, DeliveryFuture)>,
    failed: BTreeSet<(&'a str, &'a [u8])>,
    first_error: Option<KafkaError>,
}

impl<'a> Flight<'a> {
    /// Hands a record to the client, once there is room for it.
    async fn begin(&mut self, producer: &Client, record: &'a mut Outgoing, timeout: Duration) {
        while self.first_error.is_none() {
            match producer.send_result(to_send(record)) {
                Ok(acknowledgement) => return self.under_way.push_back((record, acknowledgement)),
                Err((FULL, _)) if self.settle_oldest().await => {}
                // The queue is full of the records of concurrent publishes.
                Err((FULL, _)) => {
                    let sent = producer.send(to_send(record), timeout).await;
                    return self
                        .record(record, sent.map_err(|(error, _)| error).and_then(|delivery| place(&delivery)));
                }
                Err((error, _)) => self.first_error = Some(error),
            }
        }
    }

    /// Waits for the oldest acknowledgement; `false` when nothing is under way.
    async fn settle_oldest(&mut self) -> bool {
        let Some((record, acknowledgement)) = self.under_way.pop_front() else { return false };
        let delivered = acknowledgement.await.map_err(|_| KafkaError::Canceled);
        let sent = delivered.and_then(|delivered| delivered.map_err(|(error, _)| error));
        self.record(record, sent.and_then(|delivery| place(&delivery)));
        true
    }

    fn record(&mut self, record: &'a mut Outgoing, sent: Result<Position, KafkaError>) {
        let Outgoing { topic, encoded, position } = record;
        let key = (topic.as_str(), encoded.key.as_slice());
        match sent {
            Ok(at) if !self.failed.contains(&key) => *position = Some(at),
            Ok(_) => {}
            Err(error) => {
                self.failed.insert(key);
                self.first_error.get_or_insert(error);
            }
        }
    }
}

fn to_send(record: &Outgoing) -> FutureRecord<'_, [u8], [u8]> {
    let Encoded { key, value, headers } = &record.encoded;
    let with_room = OwnedHeaders::new_with_capacity(headers.len());
    let headers = headers
        .iter()
        .fold(with_room, |list, (name, value)| list.insert(Header { key: name, value: Some(value.as_slice()) }));
    let sent = FutureRecord::to(&record.topic).key(key.as_slice()).headers(headers);
    match value {
        Some(value) => sent.payload(value.as_slice()),
        None => sent,
    }
}

fn place(delivery: &Delivery) -> Result<Position, KafkaError> {
    // Without acks=all a delivery could come without an offset.
    let lost = KafkaError::MessageProduction(RDKafkaErrorCode::BadMessage);
    let (partition, offset) = (u32::try_from(delivery.partition), u64::try_from(delivery.offset));
    partition.ok().zip(offset.ok()).map(|(partition, offset)| Position { partition, offset }).ok_or(lost)
}
