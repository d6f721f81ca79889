//! Kafka's frames as far as the proxy has to know them: what an answer is about, and what is changed in it.

use std::collections::BTreeMap;
use std::io::{Read, Result};

/// What the broker says that does not coordinate the group it is asked about.
const NOT_COORDINATOR: [u8; 2] = [0, 16];

/// What the proxy knows how to change the answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Which brokers and partitions there are.
    Metadata,
    /// How far a group has come.
    Offsets,
}

impl Question {
    /// What a request asks, by its key.
    fn of(request: &[u8]) -> Option<Self> {
        let (question, known_from) = match request[..2] {
            [0, 3] => (Self::Metadata, 9),
            [0, 9] => (Self::Offsets, 8),
            _ => return None,
        };
        assert!(request[3] >= known_from, "{question:?} of version {} is unknown here", request[3]);
        Some(question)
    }
}

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

/// Questions of one connection that wait for their answer, by their correlation id.
#[derive(Debug, Default)]
pub(super) struct Questions(BTreeMap<[u8; 4], Question>);

impl Questions {
    /// Takes a request: key, version, correlation id.
    pub(super) fn record(&mut self, request: &[u8]) {
        if let Some(question) = Question::of(request) {
            self.0.insert(request[4..8].try_into().unwrap(), question);
        }
    }

    /// What an answer is about.
    pub(super) fn answered(&mut self, answer: &[u8]) -> Option<Question> {
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

/// An answer about offsets of a broker that does not coordinate the group.
pub(super) fn not_coordinated(answer: &[u8]) -> Vec<u8> {
    // Correlation id, no tags, throttle time, one group; then its name.
    let (before, mut rest) = answer.split_at(4 + 1 + 4 + 1);
    let named = rest;
    let name = length(&mut rest).unwrap();
    skip(&mut rest, name);
    let name = &named[..named.len() - rest.len()];
    let (no_topic, no_tags) = ([1], [0]);
    [before, name, &no_topic, &NOT_COORDINATOR, &no_tags, &no_tags].concat()
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
        questions.record(&request);
        assert_eq!(questions.answered(&answer), Some(Question::Metadata));
        assert_eq!(questions.answered(&answer), None, "it is answered once");
        assert_eq!(without_brokers(&answer), [&[0, 0, 0, 7, 0, 0, 0, 0, 0, 1][..], b"topics"].concat());
        assert_eq!(read(&mut with_length(&answer).as_slice()).unwrap(), answer);
    }

    #[test]
    fn an_answer_about_offsets_says_who_does_not_know_them() {
        let mut questions = Questions::default();
        questions.record(&[0, 9, 0, 9, 0, 0, 0, 8, 0, 0]);
        let before = [0, 0, 0, 8, 0, 0, 0, 0, 0, 2, 3, b'g', b'1'];
        let answer = [&before[..], b"topics, and an end"].concat();
        assert_eq!(questions.answered(&answer), Some(Question::Offsets));
        assert_eq!(not_coordinated(&answer), [&before[..], &[1, 0, 16, 0, 0]].concat());
    }
}
