//! A webhook that waits, in the due set and the held list: `<dispatch> ` and the value of `howk.state`, compressed with
//! zstd.
//!
//! The number stands in front so that a Redis script compares dispatches without reading the record.

use std::cell::RefCell;
use std::io;

use domain::Waiting;
use zstd::bulk::{Compressor, Decompressor};

use crate::record;
use crate::unreadable::Unreadable;

/// Larger than any record that the log takes.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// The fastest level that zstd calls standard: memory matters less than the time of a rebuild.
const LEVEL: i32 = 1;
/// What errors name.
const PART: &str = "waiting webhook";

thread_local! {
    // Making a context takes longer than compressing a small record.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Writes a waiting webhook.
///
/// # Errors
/// When there is no memory for it.
pub fn encode(waiting: &Waiting) -> io::Result<Vec<u8>> {
    let bytes = record::waiting::encode(waiting);
    let compressed = COMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(compressor) => compressor.compress(&bytes),
        None => kept.insert(Compressor::new(LEVEL)?).compress(&bytes),
    })?;
    let mut packed = format!("{} ", waiting.dispatch.number).into_bytes();
    packed.extend(compressed);
    Ok(packed)
}

/// How many bytes a value has when it is decompressed, or as it is when those are more: `lease_due.lua` counts alike.
pub fn unpacked_bytes(packed: &[u8]) -> usize {
    compressed(packed).and_then(Decompressor::upper_bound).unwrap_or_default().max(packed.len())
}

/// Reads a waiting webhook.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(packed: &[u8]) -> Result<Waiting, Unreadable> {
    let compressed = compressed(packed).ok_or_else(|| Unreadable::of(PART, "no dispatch in front"))?;
    let capacity = Decompressor::upper_bound(compressed)
        .filter(|bytes| *bytes <= RECORD_BYTES_MAX)
        .ok_or_else(|| Unreadable::of(PART, "not compressed with zstd, or too large"))?;
    let bytes = DECOMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(decompressor) => decompressor.decompress(compressed, capacity),
        None => kept.insert(Decompressor::new()?).decompress(compressed, capacity),
    });
    record::waiting::decode(&bytes.map_err(|error| Unreadable::of(PART, error))?)
}

fn compressed(packed: &[u8]) -> Option<&[u8]> {
    let space = packed.iter().position(|byte| *byte == b' ')?;
    packed.get(space + 1..)
}
