//! The function's answer to a batch, read as Lambda reads it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::batch::{Batch, Place};

/// What a function's answer says about its batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BatchResponse {
    /// Every record was handled.
    All,
    /// Every record but these was handled.
    AllBut(BTreeSet<Place>),
    /// The answer can't be read, or names a record that is not in the batch: the whole batch counts as failed.
    Unclear,
}

impl BatchResponse {
    /// How many of `of` records have failed.
    pub(super) fn failures(&self, of: u64) -> u64 {
        match self {
            Self::All => 0,
            Self::AllBut(places) => u64::try_from(places.len()).unwrap_or(of),
            Self::Unclear => of,
        }
    }
}

/// Reads an answer. An empty answer, null and an empty list all mean that every record was handled.
pub(super) fn read(answer: &[u8], topic: &str, batch: &Batch) -> BatchResponse {
    if answer.trim_ascii().is_empty() {
        return BatchResponse::All;
    }
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else { return BatchResponse::Unclear };
    let failures = match answer.get("batchItemFailures") {
        None | Some(Value::Null) => return BatchResponse::All,
        Some(Value::Array(failures)) if failures.is_empty() => return BatchResponse::All,
        Some(Value::Array(failures)) => failures,
        Some(_) => return BatchResponse::Unclear,
    };
    let sent: BTreeSet<Place> = batch.records.iter().map(|record| record.place).collect();
    let named: Option<BTreeSet<Place>> =
        failures.iter().map(|failure| place(failure, topic).filter(|place| sent.contains(place))).collect();
    named.map_or(BatchResponse::Unclear, BatchResponse::AllBut)
}

fn place(failure: &Value, topic: &str) -> Option<Place> {
    let named = failure.get("itemIdentifier")?;
    let partition = named.get("partition")?.as_str()?.strip_prefix(topic)?.strip_prefix('-')?;
    Some(Place { partition: partition.parse().ok()?, offset: named.get("offset")?.as_i64()? })
}
