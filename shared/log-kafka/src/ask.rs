//! Questions to the cluster: what partitions a topic has, where they begin and end, and what a group has committed.
//!
//! An [`Asker`] blocks; [`Asking`] asks it on a thread that may.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::log::Extent;
use delivery::{Fault, FaultKind};
use domain::Topic;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::metadata::{MetadataPartition, MetadataTopic};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::client::{self, Reports, Trouble};
use crate::config::KafkaConfig;
use crate::fault;

/// The client that asks about one group, replaced when it may be what keeps its questions from being answered: a client
/// that was told of no brokers while Kafka came back can forget them all and never look for any again, and one whose
/// token has ended is refused.
pub(crate) struct Asking {
    config: Arc<KafkaConfig>,
    topic: Topic,
    current: parking_lot::Mutex<Option<Arc<Asker>>>,
}

impl Asking {
    /// Asks about the group of a topic.
    pub(crate) const fn new(config: Arc<KafkaConfig>, topic: Topic) -> Self {
        Self { config, topic, current: parking_lot::Mutex::new(None) }
    }

    /// Asks where that may block.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Asker) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let asking = Arc::clone(self);
        let answer = tokio::task::spawn_blocking(move || {
            let asker = asking.asker()?;
            question(&asker).inspect_err(|fault| asking.note(fault, &asker))
        });
        answer.await.map_err(fault::of_runtime)?
    }

    fn asker(&self) -> Result<Arc<Asker>, Fault> {
        let mut current = self.current.lock();
        let is_good = |asker: &&Arc<Asker>| !asker.consumer.context().tokens.have_ended();
        if let Some(asker) = current.as_ref().filter(is_good) {
            return Ok(Arc::clone(asker));
        }
        let asker = Arc::new(Asker::new(&self.config, self.topic)?);
        client::drop_aside(current.replace(Arc::clone(&asker)));
        Ok(asker)
    }

    /// What failed and may pass is asked of a new client next time.
    fn note(&self, fault: &Fault, asked: &Arc<Asker>) {
        let mut current = self.current.lock();
        if fault.kind == FaultKind::Transient && current.as_ref().is_some_and(|current| Arc::ptr_eq(current, asked)) {
            client::drop_aside(current.take());
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        client::drop_aside(self.current.get_mut().take());
    }
}

/// A client that asks about topics and about one group.
pub(crate) struct Asker {
    consumer: BaseConsumer<Reports>,
    timeout: Duration,
    reach_timeout: Duration,
}

impl Asker {
    /// Builds one that knows the group of a topic.
    pub(crate) fn new(config: &KafkaConfig, topic: Topic) -> Result<Self, Fault> {
        let consumer = client::build(&client::asker(config, topic), config)?;
        let timeout = config.request_timeout;
        Ok(Self { consumer, timeout, reach_timeout: config.reach_timeout.min(timeout) })
    }

    /// Fails when no broker answers, or all refuse.
    pub(crate) fn reach(&self) -> Result<(), Fault> {
        client::serve(&self.consumer);
        let found = self.consumer.client().fetch_metadata(Some(""), self.reach_timeout);
        let brokers = found.map_err(|error| self.unreached(error))?.brokers().len();
        if brokers == 0 { Err(Fault::new(FaultKind::Transient, "the Kafka cluster has no brokers")) } else { Ok(()) }
    }

    fn unreached(&self, error: KafkaError) -> Fault {
        match client::trouble(&self.consumer) {
            Trouble { refusal: Some(reason), .. } => {
                Fault::caused(FaultKind::Permanent, format!("Kafka refuses the client: {reason}"), error)
            }
            Trouble { silence: Some(reason), .. } => fault::of(format!("no Kafka broker answers: {reason}"), error),
            Trouble { .. } => fault::of("no Kafka broker answers", error),
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
                list.find_partition(topic, *partition).and_then(|found| whole(found.offset()))
            };
            let missing =
                || Fault::new(FaultKind::Transient, format!("partition {partition} of {topic} gives no offsets"));
            let (start, end) = at(&starts).zip(at(&ends)).ok_or_else(missing)?;
            Ok(Extent { partition: u32::try_from(*partition).unwrap_or_default(), start, end })
        });
        extents.collect()
    }

    /// How many records the group has not committed.
    pub(crate) fn lag(&self, topic: &str) -> Result<u64, Fault> {
        let extents = self.extents(topic)?;
        let mut asked = TopicPartitionList::with_capacity(extents.len());
        for extent in &extents {
            asked.add_partition(topic, number(extent.partition));
        }
        let committed = self.consumer.committed_offsets(asked, self.timeout);
        let committed =
            committed.map_err(|error| fault::of(format!("what is committed of {topic} is unknown"), error))?;
        let lag = extents.iter().map(|extent| {
            let found = committed.find_partition(topic, number(extent.partition));
            let at = found.and_then(|found| whole(found.offset())).unwrap_or(extent.start);
            extent.end.saturating_sub(at.max(extent.start))
        });
        Ok(lag.sum())
    }

    /// The partitions that there are, in order.
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

    /// One question for all partitions: the protocol takes the logical offsets in place of a time.
    fn offsets(&self, topic: &str, partitions: &[i32], which: Offset) -> Result<TopicPartitionList, Fault> {
        let failed = |error| fault::of(format!("the extent of {topic} is unknown"), error);
        let mut asked = TopicPartitionList::with_capacity(partitions.len());
        for partition in partitions {
            asked.add_partition_offset(topic, *partition, which).map_err(failed)?;
        }
        let found = self.consumer.offsets_for_times(asked, self.timeout).map_err(failed)?;
        for element in found.elements() {
            element.error().map_err(failed)?;
        }
        Ok(found)
    }
}

fn whole(offset: Offset) -> Option<u64> {
    match offset {
        Offset::Offset(offset) => u64::try_from(offset).ok(),
        Offset::Beginning | Offset::End | Offset::Stored | Offset::Invalid | Offset::OffsetTail(_) => None,
    }
}

/// A partition as the client counts it.
pub(crate) fn number(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}
