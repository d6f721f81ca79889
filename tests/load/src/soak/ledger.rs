//! What became of every webhook, by its number.

use std::collections::BTreeMap;

use anyhow::ensure;
use delivery::ports::log::Log;
use domain::{Position, Record, Topic};

use crate::payload;

/// Dead letters read together.
const PAGE: usize = 500;

/// The dead letters so far: read from their topic as it grows, since it keeps the newest only.
#[derive(Debug)]
pub(super) struct Letters {
    /// The next offset by partition.
    next: BTreeMap<u32, u64>,
    /// How often each number was dead-lettered.
    numbers: Vec<u8>,
}

/// The end of the account.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Balance {
    pub(super) delivered: u32,
    pub(super) dead_lettered: u32,
    pub(super) missing: u32,
    /// Delivered more than once, or delivered and dead-lettered.
    pub(super) repeated: u32,
}

impl Letters {
    pub(super) fn new(count: u32) -> Self {
        Self { next: BTreeMap::new(), numbers: vec![0; usize::try_from(count).unwrap_or_default()] }
    }

    /// Reads what is new.
    pub(super) async fn collect(&mut self, log: &dyn Log) -> anyhow::Result<()> {
        for extent in log.extents(Topic::DeadLetter).await? {
            let mut offset = self.next.get(&extent.partition).copied().unwrap_or_default();
            ensure!(offset >= extent.start, "dead letters went before they were read");
            while offset < extent.end {
                let from = Position { partition: extent.partition, offset };
                let page = log.read(Topic::DeadLetter, from, PAGE).await?;
                for record in page.records {
                    if let Ok(Record::DeadLetter(letter)) = record.value {
                        let marks = payload::read(&letter.dispatch.webhook.payload.bytes)?;
                        self.note(marks.n);
                    }
                }
                offset = page.next;
            }
            self.next.insert(extent.partition, offset);
        }
        Ok(())
    }

    fn note(&mut self, number: u32) {
        if let Some(times) = usize::try_from(number).ok().and_then(|index| self.numbers.get_mut(index)) {
            *times = times.saturating_add(1);
        }
    }

    /// Holds the dead letters against what the receiver got.
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
        let letters = Letters { next: BTreeMap::new(), numbers: vec![0, 1, 0, 0, 1] };
        let expected = Balance { delivered: 3, dead_lettered: 2, missing: 1, repeated: 2 };
        assert_eq!(letters.balance(&[1, 0, 0, 2, 1]), expected);
        assert_eq!(letters.balance(&[]).missing, 3);
    }
}
