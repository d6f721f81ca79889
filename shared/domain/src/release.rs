//! The decision of a release: the record that hands a due webhook to a lane.
//!
//! `delivery`'s release use-case calls it. It forgets the due entry only after the publish, and only if the entry is
//! still under the release's lease: a newer entry that was written in between is not.

use crate::record::{Record, Waiting};

/// The record that hands a due webhook to its lane. To publish it twice is harmless: the dispatch is claimed once (CL-1).
pub fn release(waiting: Waiting) -> Record {
    Record::Dispatch(waiting.lane, waiting.dispatch)
}
