//! Payloads: JSON of an exact size that carries a number and the time of sending.

use anyhow::Context;
use serde::Deserialize;

/// What a payload carries.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Marks {
    /// The number of the webhook.
    pub(crate) n: u32,
    /// The time when it was sent, in microseconds since the Unix epoch.
    pub(crate) sent_at_us: u64,
}

/// Writes a payload of `bytes` bytes, or a little more when that is too few for the marks.
pub(crate) fn write(marks: &Marks, bytes: u32) -> String {
    let mut text = format!("{{\"n\":{},\"sent_at_us\":{},\"pad\":\"", marks.n, marks.sent_at_us);
    let bytes = usize::try_from(bytes).unwrap_or_default();
    text.extend(std::iter::repeat_n('x', bytes.saturating_sub(text.len() + 2)));
    text.push_str("\"}");
    text
}

/// Reads the marks back.
///
/// # Errors
/// When the bytes are not such a payload.
pub(crate) fn read(bytes: &[u8]) -> anyhow::Result<Marks> {
    serde_json::from_slice(bytes).context("the payload is not as it was sent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_its_size_and_carries_its_marks() {
        let text = write(&Marks { n: 77, sent_at_us: 1_700_000_000_000_000 }, 260);
        assert_eq!(text.len(), 260);
        assert_eq!(read(text.as_bytes()).unwrap(), Marks { n: 77, sent_at_us: 1_700_000_000_000_000 });
    }
}
