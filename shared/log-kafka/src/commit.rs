//! Committing with a bounded wait.

use std::sync::Arc;
use std::time::Duration;

use delivery::{Fault, FaultKind};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::topic_partition_list::TopicPartitionList;
use tokio::sync::oneshot;

use crate::fault;

/// How long the answer to a commit may take: longer than the client itself waits for a coordinator, so that its own error
/// comes first where there is one.
const COMMIT_MAX: Duration = Duration::from_secs(20);

/// Commits offsets of a topic for the consumer's group, and waits for the broker, 20 s at most.
///
/// The client commits on a thread of its own, which does not keep the process from ending: a client that has lost its brokers
/// may never answer. The thread keeps the consumer until then; replace such a consumer with [`retire`](crate::retire), and
/// commit with the next one.
///
/// # Errors
/// The broker's error, or a transient fault when there is no answer.
pub async fn commit<C: ConsumerContext + 'static>(
    consumer: Arc<BaseConsumer<C>>,
    topic: &str,
    offsets: TopicPartitionList,
) -> Result<(), Fault> {
    let lost = |why| Fault::new(FaultKind::Transient, format!("nothing was committed of {topic}: {why}"));
    let (answered, answer) = oneshot::channel();
    let committing = move || drop(answered.send(consumer.commit(&offsets, CommitMode::Sync)));
    let thread = std::thread::Builder::new().name("kafka-commit".to_owned()).spawn(committing);
    thread.map_err(|_| lost("there is no thread to commit on"))?;
    let answered = tokio::time::timeout(COMMIT_MAX, answer).await;
    let answered = answered.map_err(|_| lost("the broker does not answer"))?;
    let answered = answered.map_err(|_| lost("the thread that commits has ended"))?;
    answered.map_err(|error| fault::of(format!("nothing was committed of {topic}"), error))
}
