//! A poller's access to Kafka: reads the partitions that it is given, and commits to the group of its mapping.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::metadata::{MetadataPartition, MetadataTopic};
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::batch::EventRecord;
use super::client::{CurrentClient, QUERY_TIMEOUT};
use super::config::SourceConfig;
use super::control::Watched;
use super::reading::Reading;

/// One poller's access to Kafka.
pub(super) struct Reader {
    current: Arc<CurrentClient>,
}

impl Reader {
    pub(super) fn new(config: &Arc<SourceConfig>, watched: &Arc<Watched>) -> anyhow::Result<Self> {
        Ok(Self { current: Arc::new(CurrentClient::new(config, watched)?) })
    }

    /// The partitions of the topic. When the cluster doesn't answer, a new client asks the next time. Blocks.
    pub(super) fn partitions(&self) -> anyhow::Result<Vec<i32>> {
        let topic = &self.current.config.spec.topic;
        let client = self.current.client();
        // Serves the client's reports: until partitions are assigned nothing else polls it.
        drop(client.poll(Duration::ZERO));
        let known = match client.fetch_metadata(Some(topic), QUERY_TIMEOUT) {
            Ok(known) => known,
            Err(error) => {
                self.current.replace(|_| Ok(()))?;
                return Err(error.into());
            }
        };
        let found = known.topics().iter().find(|found| found.name() == topic).filter(|found| found.error().is_none());
        let partitions: Vec<i32> =
            found.into_iter().flat_map(MetadataTopic::partitions).map(MetadataPartition::id).collect();
        anyhow::ensure!(!partitions.is_empty(), "there is no topic {topic}");
        Ok(partitions)
    }

    /// Reads partitions on a thread of its own, until it is stopped or the receiver of the records is gone.
    pub(super) fn read(
        &self,
        partitions: Vec<i32>,
        records: mpsc::Sender<Arc<EventRecord>>,
        stop: CancellationToken,
    ) -> std::io::Result<()> {
        let reading = Reading::new(&self.current, stop);
        let thread = std::thread::Builder::new().name("event-source".to_owned());
        thread.spawn(move || reading.run(&partitions, &records)).map(drop)
    }

    /// Commits up to where each partition was handled.
    pub(super) async fn commit(&self, mut next: BTreeMap<i32, i64>) -> anyhow::Result<()> {
        let watched = &self.current.watched;
        next.retain(|partition, next| watched.is_beyond(*partition, *next));
        if next.is_empty() {
            return Ok(());
        }
        let topic = &self.current.config.spec.topic;
        let mut list = TopicPartitionList::new();
        for (partition, next) in &next {
            list.add_partition_offset(topic, *partition, Offset::Offset(*next))?;
        }
        log_kafka::commit(self.current.client(), topic, list).await?;
        watched.record_committed(&next);
        Ok(())
    }
}
