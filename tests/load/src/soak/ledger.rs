//! The end of every webhook, by its number.

use std::collections::BTreeMap;

use anyhow::ensure;
use delivery::ports::log::Log;
use domain::{Position, Record, Topic};

use crate::payload;

/// How many dead letters are read at once.
const PAGE: usize = 500;

/// The dead letters so far. They are read while the run goes on, since the topic keeps only the newest.
#[derive(Debug)]
pub(super) struct DeadLetters {
    /// The next offset by partition.
    next: BTreeMap<u32, u64>,
    /// How often each number was dead-lettered.
    numbers: Vec<u8>,
}

/// The totals of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Balance {
    pub(super) delivered: u32,
    pub(super) dead_lettered: u32,
    pub(super) missing: u32,
    /// Delivered more than once, or delivered and dead-lettered.
    pub(super) repeated: u32,
}

impl DeadLetters {
    pub(super) fn new(count: u32) -> Self {
        Self { next: BTreeMap::new(), numbers: vec![0; usize::try_from(count).unwrap_or_default()] }
    }

    /// Reads the new dead letters.
    pub(super) async fn collect(&mut self, log: &dyn Log) -> anyhow::Result<()> {
        for extent in log.extents(Topic::DeadLetter).await? {
            let mut offset = self.next.get(&extent.partition).copied().unwrap_or_default();
            ensure!(offset >= extent.start, "dead letters were deleted before they were read");
            while offset < extent.end {
                let from = Position { partition: extent.partition, offset };
                let page = log.read(Topic::DeadLetter, from, PAGE).await?;
                for record in page.records {
                    if let Ok(Record::DeadLetter(dead_letter)) = record.value {
                        let marks = payload::read(&dead_letter.dispatch.webhook.payload.bytes)?;
                        self.count(marks.n);
                    }
                }
                offset = page.next;
            }
            self.next.insert(extent.partition, offset);
        }
        Ok(())
    }

    fn count(&mut self, number: u32) {
        if let Some(times) = usize::try_from(number).ok().and_then(|index| self.numbers.get_mut(index)) {
            *times = times.saturating_add(1);
        }
    }

    /// Compares the dead letters with what the receiver got.
    pub(super) fn balance(&self, received: &[u8]) -> Balance {
        let mut balance = Balance { delivered: 0, dead_lettered: 0, missing: 0, repeated: 0 };
        let received = received.iter().copied().chain(std::iter::repeat(0));
        for (dead, received) in self.numbers.iter().copied().zip(received) {
            balance.delivered += u32::from(received > 0);
            balance.dead_lettered += u32::from(dead > 0);
            match u16::from(dead) + u16::from(received) {
                0 => balance.missing += 1,
                1 => {}
                _ => balance.repeated += 1,
            }
        }
        balance
    }
}

impl Balance {
    pub(super) fn entries(&self) -> [(&'static str, u32); 4] {
        let Self { delivered, dead_lettered, missing, repeated } = *self;
        [
            ("delivered", delivered),
            ("dead-lettered", dead_lettered),
            ("missing", missing),
            ("more than once", repeated),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_accounted_for() {
        let dead_letters = DeadLetters { next: BTreeMap::new(), numbers: vec![0, 1, 0, 0, 1] };
        let expected = Balance { delivered: 3, dead_lettered: 2, missing: 1, repeated: 2 };
        assert_eq!(dead_letters.balance(&[1, 0, 0, 2, 1]), expected);
        assert_eq!(dead_letters.balance(&[]).missing, 3);
    }
}
