//! The suites on the in-memory adapter.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::ports::log::{Feed, Log};
use domain::{EndpointSetting, Record, Topic};
use in_memory::{MemoryLimits, MemoryLog, MemoryStore};
use testkit::contract::{LogUnderTest, Store};
use testkit::generate::{at, decision, dispatch};

/// More superseded records than a partition keeps before it is compacted.
const SUPERSEDED: usize = 2000;

async fn store() -> Store {
    Store::of(Arc::new(MemoryStore::new(&MemoryLimits::default())))
}

struct Memory(Arc<MemoryLog>);

async fn log() -> Memory {
    Memory(Arc::new(MemoryLog::new(&MemoryLimits::default())))
}

#[async_trait]
impl LogUnderTest for Memory {
    fn log(&self) -> Arc<dyn Log> {
        Arc::<MemoryLog>::clone(&self.0)
    }

    async fn join(&self, topic: Topic) -> Arc<dyn Feed> {
        Arc::new(self.0.join(topic))
    }

    /// Compaction runs when a partition holds many superseded records, so every partition gets some.
    async fn compact(&self, topic: Topic) -> bool {
        assert_eq!(topic, Topic::State, "the only compacted topic");
        let partitions = self.0.extents(topic).await.expect("the log answers").len();
        let mut filled = std::collections::BTreeSet::new();
        while filled.len() < partitions {
            let key = Record::Setting(decision(&dispatch(), EndpointSetting::Active, at(0)));
            let positions = self.0.publish(vec![key; SUPERSEDED]).await.expect("the log takes records");
            filled.extend(positions.first().map(|position| position.partition));
        }
        true
    }
}

testkit::contract_tests!(store, store);
testkit::contract_tests!(log, log);
