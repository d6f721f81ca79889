//! Asking to commit, for whoever must not wait for ever.

use std::sync::Arc;
use std::time::Duration;

use delivery::{Fault, FaultKind};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::topic_partition_list::TopicPartitionList;
use tokio::sync::oneshot;

use crate::fault;

/// How long the answer to a request to commit may take: longer than the client waits for a coordinator.
const COMMIT_MAX: Duration = Duration::from_secs(20);

/// Commits offsets of a topic for the consumer's group, and waits for the broker, 20 s at most.
///
/// The client asks on a thread that nobody waits for at the end of the program: one that has lost its brokers may never
/// answer. The thread keeps the consumer for as long; replace such a consumer with [`retire`](crate::retire), and ask the
/// next one.
///
/// # Errors
/// What the broker says, or transient when it says nothing.
pub async fn commit<C: ConsumerContext + 'static>(
    consumer: Arc<BaseConsumer<C>>,
    topic: &str,
    offsets: TopicPartitionList,
) -> Result<(), Fault> {
    let lost = |why| Fault::new(FaultKind::Transient, format!("nothing was committed of {topic}: {why}"));
    let (told, answer) = oneshot::channel();
    let asking = move || drop(told.send(consumer.commit(&offsets, CommitMode::Sync)));
    let thread = std::thread::Builder::new().name("kafka-commit".to_owned()).spawn(asking);
    thread.map_err(|_| lost("there is no thread to ask on"))?;
    let answered = tokio::time::timeout(COMMIT_MAX, answer).await;
    let answered = answered.map_err(|_| lost("the broker does not answer"))?;
    let answered = answered.map_err(|_| lost("the thread that asked has ended"))?;
    answered.map_err(|error| fault::of(format!("nothing was committed of {topic}"), error))
}
