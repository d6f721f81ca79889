//! The answer to a batch: which of its records must be delivered again.
//!
//! An item is named by an object, unlike the items of queues and streams. Event sources differ in what they do next: some
//! deliver the named records again, others every record from the first named one on. Both are right for howk, because a
//! dispatch that was settled is dropped when it comes again.

use domain::Position;
use serde::Serialize;

use super::kafka::EventPartition;

/// The records that must be delivered again; none when the whole batch was handled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchResponse {
    batch_item_failures: Vec<ItemFailure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemFailure {
    item_identifier: ItemIdentifier,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ItemIdentifier {
    partition: String,
    offset: u64,
}

impl BatchResponse {
    /// Names records of one topic that must be delivered again.
    pub fn failed(topic: &str, positions: &[Position]) -> Self {
        let failure = |position: &Position| {
            let partition =
                EventPartition { topic: topic.to_owned(), partition: position.partition, records: vec![] };
            ItemFailure { item_identifier: ItemIdentifier { partition: partition.name(), offset: position.offset } }
        };
        Self { batch_item_failures: positions.iter().map(failure).collect() }
    }

    /// How many records are named.
    pub fn failures(&self) -> usize {
        self.batch_item_failures.len()
    }
}
