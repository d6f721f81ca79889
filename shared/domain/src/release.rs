//! The third decision: a due webhook becomes a dispatch again.
//!
//! The due entry is forgotten only after the publish, and only if its lease still holds: a newer entry written in
//! between has none.

use crate::record::{Record, Waiting};

/// The record that hands a due webhook over. Publishing it twice is harmless: the dispatch is claimed once (CL-1).
pub fn release(waiting: Waiting) -> Record {
    Record::Dispatch(waiting.lane, waiting.dispatch)
}
