//! What happens to a batch after an invocation: a plain function of the batch, the invocation's result and the mapping's
//! settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Timestamp;

use super::batch::{Batch, EventRecord, Place};
use super::response::BatchResponse;
use crate::spec::{EventSourceSpec, PartialResponse};

/// How often a batch is tried again when the mapping has a destination for failures and sets no `retries_max`: AWS's number.
const RETRIES_WITH_DESTINATION: u32 = 10;

/// The result of one try to invoke the function with a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InvocationResult {
    /// The function answered.
    Answer(BatchResponse),
    /// The function failed, timed out or died.
    FunctionError,
    /// It could not be tried, which counts as no failure.
    NotTried,
    /// The event is larger than Lambda takes.
    TooLarge,
}

/// Why records are given up, by AWS's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    RetriesExhausted,
    RecordAgeExceeded,
    PayloadTooLarge,
}

impl Condition {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::RetriesExhausted => "RetryAttemptsExhausted",
            Self::RecordAgeExceeded => "RecordAgeExceeded",
            Self::PayloadTooLarge => "PayloadSizeExceeded",
        }
    }
}

/// What to do with a batch that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Verdict {
    /// Batches to try next, in this order, before any later record of their partitions.
    pub(super) again: Vec<Batch>,
    /// Records that are given up, and why.
    pub(super) given_up: Option<(Condition, Batch)>,
    /// Whether to wait before trying again.
    pub(super) waits: bool,
}

/// Decides about a batch that was tried.
pub(super) fn after(batch: &Batch, tried: &InvocationResult, spec: &EventSourceSpec) -> Verdict {
    match tried {
        InvocationResult::Answer(BatchResponse::All) => Verdict::default(),
        InvocationResult::Answer(_) if !spec.report_batch_item_failures => Verdict::default(),
        InvocationResult::Answer(BatchResponse::AllBut(named)) => {
            failed(&batch.with(to_repeat(batch, named, spec.partial_response)), spec)
        }
        InvocationResult::FunctionError if spec.bisect && batch.records.len() > 1 => halves(batch),
        InvocationResult::FunctionError | InvocationResult::Answer(BatchResponse::Unclear) => failed(batch, spec),
        InvocationResult::NotTried => Verdict { again: vec![batch.clone()], given_up: None, waits: true },
        InvocationResult::TooLarge if batch.records.len() > 1 => halves(batch),
        InvocationResult::TooLarge => {
            Verdict { given_up: Some((Condition::PayloadTooLarge, batch.clone())), ..Verdict::default() }
        }
    }
}

/// Splits a batch into the records that may still be handed over, and those that are too old.
pub(super) fn expired(batch: &Batch, spec: &EventSourceSpec, now: Timestamp) -> (Batch, Batch) {
    let is_old = |record: &Arc<EventRecord>| {
        spec.retry.record_age_max.is_some_and(|most| now.since(Timestamp::from_ms(record.at_ms)) > most)
    };
    let (old, fresh): (Vec<_>, Vec<_>) = batch.records.iter().cloned().partition(is_old);
    (batch.with(fresh), batch.with(old))
}

/// The offset up to which each partition of a batch may be committed while some of its records are outstanding.
pub(super) fn committable<'a>(batch: &Batch, outstanding: impl IntoIterator<Item = &'a Batch>) -> BTreeMap<i32, i64> {
    let mut next: BTreeMap<i32, i64> =
        batch.ends().into_iter().map(|(partition, last)| (partition, last + 1)).collect();
    for record in outstanding.into_iter().flat_map(|batch| &batch.records) {
        if let Some(next) = next.get_mut(&record.place.partition) {
            *next = (*next).min(record.place.offset);
        }
    }
    next
}

/// The records to try again when the function named some as failed.
fn to_repeat(batch: &Batch, named: &BTreeSet<Place>, reading: PartialResponse) -> Vec<Arc<EventRecord>> {
    let comes_again = |place: &Place| match reading {
        PartialResponse::OnlyFailed => named.contains(place),
        PartialResponse::FromFirstFailed => {
            named.iter().any(|failed| failed.partition == place.partition && failed.offset <= place.offset)
        }
    };
    batch.records.iter().filter(|record| comes_again(&record.place)).cloned().collect()
}

/// Tries a failed batch again until its retries are used up.
fn failed(batch: &Batch, spec: &EventSourceSpec) -> Verdict {
    let failures = batch.failures + 1;
    let most = spec.retry.retries_max.or(spec.on_failure_topic.as_ref().map(|_| RETRIES_WITH_DESTINATION));
    if most.is_some_and(|most| failures > most) {
        let batch = Batch { failures, ..batch.clone() };
        return Verdict { given_up: Some((Condition::RetriesExhausted, batch)), ..Verdict::default() };
    }
    Verdict { again: vec![Batch { failures, ..batch.clone() }], given_up: None, waits: true }
}

/// Splits a batch in two, the first half first. Splitting counts as no failure: it ends by itself, at single records.
fn halves(batch: &Batch) -> Verdict {
    let (first, second) = batch.records.split_at(batch.records.len() / 2);
    Verdict { again: vec![batch.with(first.to_vec()), batch.with(second.to_vec())], given_up: None, waits: false }
}
