//! Queries to the cluster: the partitions of a topic, where they begin and end, and the offsets that a group has committed.
//!
//! A [`QueryClient`] blocks; [`Queries`] runs it on a thread that may.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::log::Extent;
use delivery::{Fault, FaultKind};
use domain::Topic;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::metadata::{MetadataPartition, MetadataTopic};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::client::{self, LastErrors, Reports};
use crate::config::KafkaConfig;
use crate::fault;

/// Runs queries about one group. Its client is replaced when it may be the reason for a failure: a client that learned of no
/// brokers while Kafka came back can forget them all and never look for any again, and one whose token has ended is refused.
pub(crate) struct Queries {
    config: Arc<KafkaConfig>,
    topic: Topic,
    current: parking_lot::Mutex<Option<Arc<QueryClient>>>,
}

impl Queries {
    /// Queries about the group of a topic.
    pub(crate) const fn new(config: Arc<KafkaConfig>, topic: Topic) -> Self {
        Self { config, topic, current: parking_lot::Mutex::new(None) }
    }

    /// Runs a query on a thread that may block.
    pub(crate) async fn query<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&QueryClient) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let queries = Arc::clone(self);
        let answer = tokio::task::spawn_blocking(move || {
            let client = queries.client()?;
            query(&client).inspect_err(|fault| queries.drop_after(fault, &client))
        });
        answer.await.map_err(fault::of_runtime)?
    }

    fn client(&self) -> Result<Arc<QueryClient>, Fault> {
        let mut current = self.current.lock();
        let is_good = |client: &&Arc<QueryClient>| !client.consumer.context().tokens.have_ended();
        if let Some(client) = current.as_ref().filter(is_good) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(QueryClient::new(&self.config, self.topic)?);
        client::drop_aside(current.replace(Arc::clone(&client)));
        Ok(client)
    }

    /// Drops the client of a query that failed transiently: the next query gets a new one.
    fn drop_after(&self, fault: &Fault, used: &Arc<QueryClient>) {
        let mut current = self.current.lock();
        if fault.kind == FaultKind::Transient && current.as_ref().is_some_and(|current| Arc::ptr_eq(current, used)) {
            client::drop_aside(current.take());
        }
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        client::drop_aside(self.current.get_mut().take());
    }
}

/// A client that answers queries about topics and about one group.
pub(crate) struct QueryClient {
    consumer: BaseConsumer<Reports>,
    timeout: Duration,
    reach_timeout: Duration,
}

impl QueryClient {
    /// Builds one that knows the group of a topic.
    pub(crate) fn new(config: &KafkaConfig, topic: Topic) -> Result<Self, Fault> {
        let consumer = client::build(&client::query(config, topic), config)?;
        let timeout = config.request_timeout;
        Ok(Self { consumer, timeout, reach_timeout: config.reach_timeout.min(timeout) })
    }

    /// Fails when no broker answers, or all refuse the client.
    pub(crate) fn reach(&self) -> Result<(), Fault> {
        client::serve(&self.consumer);
        let found = self.consumer.client().fetch_metadata(Some(""), self.reach_timeout);
        let brokers = found.map_err(|error| self.unreached(error))?.brokers().len();
        if brokers == 0 { Err(Fault::new(FaultKind::Transient, "the Kafka cluster has no brokers")) } else { Ok(()) }
    }

    fn unreached(&self, error: KafkaError) -> Fault {
        match client::last_errors(&self.consumer) {
            LastErrors { refusal: Some(reason), .. } => {
                Fault::caused(FaultKind::Permanent, format!("Kafka refuses the client: {reason}"), error)
            }
            LastErrors { silence: Some(reason), .. } => {
                fault::of(format!("no Kafka broker answers: {reason}"), error)
            }
            LastErrors { .. } => fault::of("no Kafka broker answers", error),
        }
    }

    /// The extent of every partition, by partition.
    pub(crate) fn extents(&self, topic: &str) -> Result<Vec<Extent>, Fault> {
        client::serve(&self.consumer);
        let partitions = self.partitions(topic)?;
        let starts = self.offsets(topic, &partitions, Offset::Beginning)?;
        let ends = self.offsets(topic, &partitions, Offset::End)?;
        let extents = partitions.iter().map(|partition| {
            let at = |list: &TopicPartitionList| {
                list.find_partition(topic, *partition).and_then(|found| known_offset(found.offset()))
            };
            let missing =
                || Fault::new(FaultKind::Transient, format!("partition {partition} of {topic} gives no offsets"));
            let (start, end) = at(&starts).zip(at(&ends)).ok_or_else(missing)?;
            Ok(Extent { partition: u32::try_from(*partition).unwrap_or_default(), start, end })
        });
        extents.collect()
    }

    /// The number of records that the group has not committed.
    pub(crate) fn lag(&self, topic: &str) -> Result<u64, Fault> {
        let extents = self.extents(topic)?;
        let mut partitions = TopicPartitionList::with_capacity(extents.len());
        for extent in &extents {
            partitions.add_partition(topic, number(extent.partition));
        }
        let committed = self.consumer.committed_offsets(partitions, self.timeout);
        let committed =
            committed.map_err(|error| fault::of(format!("the committed offsets of {topic} are unknown"), error))?;
        let lag = extents.iter().map(|extent| {
            let found = committed.find_partition(topic, number(extent.partition));
            let at = found.and_then(|found| known_offset(found.offset())).unwrap_or(extent.start);
            extent.end.saturating_sub(at.max(extent.start))
        });
        Ok(lag.sum())
    }

    /// The partitions of a topic, in order.
    fn partitions(&self, topic: &str) -> Result<Vec<i32>, Fault> {
        let unknown = || format!("the partitions of {topic} are unknown");
        let metadata = self.consumer.client().fetch_metadata(Some(topic), self.timeout);
        let metadata = metadata.map_err(|error| fault::of(unknown(), error))?;
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        if let Some(code) = found.and_then(MetadataTopic::error) {
            return Err(fault::of(unknown(), KafkaError::MetadataFetch(code.into())));
        }
        let mut partitions: Vec<i32> =
            found.into_iter().flat_map(MetadataTopic::partitions).map(MetadataPartition::id).collect();
        partitions.sort_unstable();
        Ok(partitions)
    }

    /// One request for all partitions: the protocol takes the logical offsets in place of a time.
    fn offsets(&self, topic: &str, partitions: &[i32], which: Offset) -> Result<TopicPartitionList, Fault> {
        let failed = |error| fault::of(format!("the extent of {topic} is unknown"), error);
        let mut wanted = TopicPartitionList::with_capacity(partitions.len());
        for partition in partitions {
            wanted.add_partition_offset(topic, *partition, which).map_err(failed)?;
        }
        let found = self.consumer.offsets_for_times(wanted, self.timeout).map_err(failed)?;
        for element in found.elements() {
            element.error().map_err(failed)?;
        }
        Ok(found)
    }
}

fn known_offset(offset: Offset) -> Option<u64> {
    match offset {
        Offset::Offset(offset) => u64::try_from(offset).ok(),
        Offset::Beginning | Offset::End | Offset::Stored | Offset::Invalid | Offset::OffsetTail(_) => None,
    }
}

/// A partition as the client counts it.
pub(crate) fn number(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}
