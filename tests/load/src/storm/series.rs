//! What the receiver sees over time, in slots of a tenth of a second, and what is read from it.

use std::time::Duration;

use domain::Timestamp;

/// The width of a slot, a tenth of the narrowest bin that is looked at.
pub(crate) const SLOT: Duration = Duration::from_millis(100);
const SLOT_MS: u64 = 100;

/// One tenth of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Requests that arrived.
    pub(crate) requests: u32,
    /// Those of them that were refused.
    pub(crate) refusals: u32,
    /// Requests that were refused and still wait, at the slot's end.
    pub(crate) waiting: u32,
}

/// Slots from the beginning of the simulation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Series(Vec<Slot>);

/// The fullest stretch of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fullest {
    /// When it begins.
    pub(crate) at: Timestamp,
    /// How many requests arrived in it.
    pub(crate) requests: u32,
}

impl Series {
    /// Changes the slot of a moment.
    pub(crate) fn change(&mut self, now: Timestamp, change: impl FnOnce(&mut Slot)) {
        let index = index(now);
        if self.0.len() <= index {
            self.0.resize(index + 1, Slot::default());
        }
        if let Some(slot) = self.0.get_mut(index) {
            change(slot);
        }
    }

    /// The slots from `from` until before `until`.
    pub(crate) fn between(&self, from: Timestamp, until: Timestamp) -> &[Slot] {
        let until = index(until).min(self.0.len());
        self.0.get(index(from).min(until)..until).unwrap_or_default()
    }

    /// Of all stretches of `width` that begin at `from` or at a later slot, the one with the most requests.
    pub(crate) fn fullest(&self, from: Timestamp, width: Duration) -> Fullest {
        let slots = self.0.get(index(from)..).unwrap_or_default();
        let mut fullest = Fullest { at: from, requests: 0 };
        let mut at = from;
        for stretch in slots.windows(slots_in(width)) {
            let requests = requests(stretch);
            if requests > fullest.requests {
                fullest = Fullest { at, requests };
            }
            at = at.plus(SLOT);
        }
        fullest
    }

    /// The requests of each whole bin of `width` between two moments.
    pub(crate) fn bins(&self, from: Timestamp, until: Timestamp, width: Duration) -> Vec<u32> {
        self.between(from, until).chunks_exact(slots_in(width)).map(requests).collect()
    }

    /// Requests a second around each slot, averaged over `width`, with the middle of each stretch.
    pub(crate) fn smoothed(&self, width: Duration) -> Vec<(Timestamp, f64)> {
        let middles = (0..).map(|number| Timestamp::EPOCH.plus(width / 2 + SLOT * number));
        let rates = self.0.windows(slots_in(width)).map(|stretch| f64::from(requests(stretch)) / width.as_secs_f64());
        middles.zip(rates).collect()
    }

    /// All slots, each with its beginning.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (Timestamp, &Slot)> {
        (0..).map(|number| Timestamp::EPOCH.plus(SLOT * number)).zip(&self.0)
    }
}

fn index(at: Timestamp) -> usize {
    usize::try_from(at.as_ms() / SLOT_MS).unwrap_or(usize::MAX)
}

fn slots_in(width: Duration) -> usize {
    usize::try_from(width.as_millis() / SLOT.as_millis()).unwrap_or(usize::MAX).max(1)
}

fn requests(slots: &[Slot]) -> u32 {
    slots.iter().map(|slot| slot.requests).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_ms(seconds * 1_000)
    }

    fn series() -> Series {
        let mut series = Series::default();
        for (seconds, requests) in [(1, 5), (2, 7), (4, 9), (9, 1)] {
            series.change(at(seconds), |slot| slot.requests += requests);
        }
        series
    }

    #[test]
    fn the_fullest_stretch_may_begin_at_any_slot() {
        let fullest = series().fullest(at(1), Duration::from_millis(2_100));
        assert_eq!(fullest, Fullest { at: Timestamp::from_ms(2_000), requests: 16 });
        assert_eq!(series().fullest(at(5), Duration::from_secs(1)).requests, 1);
    }

    #[test]
    fn bins_are_whole_and_side_by_side() {
        assert_eq!(series().bins(at(1), at(8), Duration::from_secs(2)), [12, 9, 0]);
        assert_eq!(series().between(at(1), at(2)).len(), 10);
    }
}
