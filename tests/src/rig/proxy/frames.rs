//! Kafka's frames as far as the proxy has to know them: which answer is one about metadata, and where it names brokers.

use std::collections::BTreeSet;
use std::io::{Read, Result};

/// The key of metadata requests.
const METADATA: [u8; 2] = [0, 3];
/// Metadata requests of this version and later have compact fields.
const COMPACT_FROM: u8 = 9;

/// Reads one frame, without its length; `None` at the end.
pub(super) fn read(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length).ok()?;
    let mut frame = vec![0; usize::try_from(u32::from_be_bytes(length)).ok()?];
    from.read_exact(&mut frame).ok()?;
    Some(frame)
}

/// A frame with its length before it.
pub(super) fn with_length(frame: &[u8]) -> Vec<u8> {
    let length = u32::try_from(frame.len()).unwrap();
    [&length.to_be_bytes(), frame].concat()
}

/// Questions of one connection that wait for an answer about metadata, by their correlation id.
#[derive(Debug, Default)]
pub(super) struct Questions(BTreeSet<[u8; 4]>);

impl Questions {
    /// Takes a request: key, version, correlation id.
    pub(super) fn note(&mut self, request: &[u8]) {
        if request[..2] == METADATA {
            assert!(request[3] >= COMPACT_FROM, "metadata requests of version {} are unknown here", request[3]);
            self.0.insert(request[4..8].try_into().unwrap());
        }
    }

    /// Whether an answer is one about metadata.
    pub(super) fn are_about(&mut self, answer: &[u8]) -> bool {
        self.0.remove(&answer[..4])
    }
}

/// An answer about metadata that names no broker, and all else as it was.
pub(super) fn without_brokers(answer: &[u8]) -> Vec<u8> {
    // Correlation id, no tags, throttle time; then the brokers.
    let (before, mut rest) = answer.split_at(4 + 1 + 4);
    let brokers = length(&mut rest).unwrap();
    for _ in 0..brokers {
        skip(&mut rest, 4);
        let host = length(&mut rest).unwrap();
        skip(&mut rest, host + 4);
        let rack = length(&mut rest).unwrap_or_default();
        skip(&mut rest, rack);
        assert_eq!(varint(&mut rest).unwrap(), 0, "a broker has no tags");
    }
    [before, &[1], rest].concat()
}

fn skip(rest: &mut &[u8], bytes: usize) {
    *rest = &rest[bytes..];
}

/// The length of what follows; `None` when it is null.
fn length(rest: &mut &[u8]) -> Option<usize> {
    varint(rest).unwrap().checked_sub(1)
}

fn varint(rest: &mut &[u8]) -> Result<usize> {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let mut byte = [0];
        rest.read_exact(&mut byte)?;
        value |= usize::from(byte[0] & 0x7F) << shift;
        if byte[0] & 0x80 == 0 {
            break;
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_no_broker_and_all_else() {
        let broker = [&[0, 0, 0, 1, 2][..], b"h", &[0, 0, 1, 1, 0, 0]].concat();
        let answer = [&[0, 0, 0, 7, 0, 0, 0, 0, 0, 3][..], &broker, &broker, b"topics"].concat();
        let (mut questions, request) = (Questions::default(), [0, 3, 0, 12, 0, 0, 0, 7, 0, 0]);
        questions.note(&request);
        assert!(questions.are_about(&answer) && !questions.are_about(&answer), "it is answered once");
        assert_eq!(without_brokers(&answer), [&[0, 0, 0, 7, 0, 0, 0, 0, 0, 1][..], b"topics"].concat());
        assert_eq!(read(&mut with_length(&answer).as_slice()).unwrap(), answer);
    }
}
