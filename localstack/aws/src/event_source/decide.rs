//! What becomes of a batch after an invocation: a plain function of the batch, what was said, and the mapping's settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Timestamp;

use super::batch::{Batch, EventRecord, Place};
use super::response::Said;
use crate::spec::{EventSourceSpec, PartialResponse};

/// How often a batch is tried again where nothing is said but a destination for failures: AWS's number.
const RETRIES_WITH_DESTINATION: u32 = 10;

/// What came of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Came {
    /// The function answered.
    Answer(Said),
    /// The function failed, timed out or died.
    FunctionError,
    /// It could not be tried; that counts as nothing.
    NotTried,
    /// It is too large ever to be tried.
    TooLarge,
}

/// Why records are given up, in the words of AWS.
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

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Verdict {
    /// To be tried next, in this order, before anything else of their partitions.
    pub(super) again: Vec<Batch>,
    /// Given up.
    pub(super) given_up: Option<(Condition, Batch)>,
    /// Whether to wait before trying again.
    pub(super) waits: bool,
}

/// Decides about a batch that was tried.
pub(super) fn after(batch: &Batch, came: &Came, spec: &EventSourceSpec) -> Verdict {
    match came {
        Came::Answer(Said::All) => Verdict::default(),
        Came::Answer(_) if !spec.report_batch_item_failures => Verdict::default(),
        Came::Answer(Said::AllBut(named)) => {
            failed(&batch.with(to_repeat(batch, named, spec.partial_response)), spec)
        }
        Came::FunctionError if spec.bisect && batch.records.len() > 1 => halves(batch),
        Came::FunctionError | Came::Answer(Said::Unclear) => failed(batch, spec),
        Came::NotTried => Verdict { again: vec![batch.clone()], given_up: None, waits: true },
        Came::TooLarge if batch.records.len() > 1 => halves(batch),
        Came::TooLarge => {
            Verdict { given_up: Some((Condition::PayloadTooLarge, batch.clone())), ..Verdict::default() }
        }
    }
}

/// Separates what is too old to be handed over.
pub(super) fn expired(batch: &Batch, spec: &EventSourceSpec, now: Timestamp) -> (Batch, Batch) {
    let is_old = |record: &Arc<EventRecord>| {
        spec.retry.record_age_max.is_some_and(|most| now.since(Timestamp::from_ms(record.at_ms)) > most)
    };
    let (old, fresh): (Vec<_>, Vec<_>) = batch.records.iter().cloned().partition(is_old);
    (batch.with(fresh), batch.with(old))
}

/// Up to where each partition of a batch may be committed while some of it is outstanding.
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

/// Which records come again when some were named.
fn to_repeat(batch: &Batch, named: &BTreeSet<Place>, reading: PartialResponse) -> Vec<Arc<EventRecord>> {
    let comes_again = |place: &Place| match reading {
        PartialResponse::OnlyFailed => named.contains(place),
        PartialResponse::FromFirstFailed => {
            named.iter().any(|failed| failed.partition == place.partition && failed.offset <= place.offset)
        }
    };
    batch.records.iter().filter(|record| comes_again(&record.place)).cloned().collect()
}

/// A failed batch comes again until its retries are used up.
fn failed(batch: &Batch, spec: &EventSourceSpec) -> Verdict {
    let failures = batch.failures + 1;
    let most = spec.retry.retries_max.or(spec.on_failure_topic.as_ref().map(|_| RETRIES_WITH_DESTINATION));
    if most.is_some_and(|most| failures > most) {
        let batch = Batch { failures, ..batch.clone() };
        return Verdict { given_up: Some((Condition::RetriesExhausted, batch)), ..Verdict::default() };
    }
    Verdict { again: vec![Batch { failures, ..batch.clone() }], given_up: None, waits: true }
}

/// A batch in two, the first half first. Splitting uses up no try: it ends by itself, with single records.
fn halves(batch: &Batch) -> Verdict {
    let (first, second) = batch.records.split_at(batch.records.len() / 2);
    Verdict { again: vec![batch.with(first.to_vec()), batch.with(second.to_vec())], given_up: None, waits: false }
}
