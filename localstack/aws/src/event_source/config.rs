//! The parts and settings of an event source.

use std::sync::Arc;

use delivery::ports::time::Clock;

use super::event::Origin;
use crate::invoker::Invoker;
use crate::spec::EventSourceSpec;

/// The parts and settings of an event source.
#[derive(Clone)]
pub struct SourceConfig {
    /// How it reads and invokes, with topics by their names in the cluster.
    pub spec: EventSourceSpec,
    /// The brokers, as host:port.
    pub brokers: Vec<String>,
    /// The consumer group of the mapping.
    pub group: String,
    /// How functions are invoked.
    pub invoker: Invoker,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl SourceConfig {
    pub(super) fn origin(&self) -> Origin {
        Origin { topic: self.spec.topic.clone(), brokers: self.brokers.join(",") }
    }
}
