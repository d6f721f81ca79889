//! A waiting webhook as Redis keeps it: `<dispatch> ` and the record of `wire::hot::waiting`, compressed with zstd.
//!
//! The number of the dispatch comes first so that a script compares dispatches without reading the record.

use std::cell::RefCell;
use std::io;

use domain::Waiting;
use zstd::bulk::{Compressor, Decompressor};

/// Larger than any record that the log takes: its clients allow 64 MiB. It keeps a broken frame from taking all memory.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// The fastest of zstd's standard levels: a rebuild packs every waiting webhook, so its time matters more than memory.
const LEVEL: i32 = 1;

thread_local! {
    // Making a context takes longer than compressing a small record.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Packs a waiting webhook.
///
/// # Errors
/// When there is no memory for it.
pub(crate) fn pack(waiting: &Waiting) -> io::Result<Vec<u8>> {
    let bytes = wire::hot::waiting::encode(waiting);
    let compressed = COMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(compressor) => compressor.compress(&bytes),
        None => kept.insert(Compressor::new(LEVEL)?).compress(&bytes),
    })?;
    let mut packed = format!("{} ", waiting.dispatch.number).into_bytes();
    packed.extend(compressed);
    Ok(packed)
}

/// The bytes of the unpacked record, or those of the packed one if they are more. `lua/lease_due.lua` counts the same way.
pub(crate) fn unpacked_bytes(packed: &[u8]) -> usize {
    compressed(packed).and_then(Decompressor::upper_bound).unwrap_or_default().max(packed.len())
}

fn compressed(packed: &[u8]) -> Option<&[u8]> {
    let space = packed.iter().position(|byte| *byte == b' ')?;
    packed.get(space + 1..)
}

/// Unpacks a waiting webhook; `None` for a value that cannot be read, which counts as lost.
pub(crate) fn unpack(packed: &[u8]) -> Option<Waiting> {
    let compressed = compressed(packed)?;
    let capacity = Decompressor::upper_bound(compressed).filter(|bytes| *bytes <= RECORD_BYTES_MAX)?;
    let bytes = DECOMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(decompressor) => decompressor.decompress(compressed, capacity),
        None => kept.insert(Decompressor::new()?).decompress(compressed, capacity),
    });
    wire::hot::waiting::decode(&bytes.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_value_is_none() {
        for packed in
            [&b""[..], b"1", b"1 ", b"1 {}", b"x \x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]
        {
            assert_eq!(unpack(packed), None, "{packed:?}");
        }
    }
}
