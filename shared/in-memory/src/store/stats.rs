//! Port `stats` in memory: two days of hourly counters.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::stats::{Counts, Hour, HourlyStats, Stats};
use domain::EndpointHash;

use crate::MemoryStore;

/// Hours that are kept.
const HOURS_MAX: usize = 48;

#[derive(Debug, Default)]
pub(super) struct HourlyTable {
    hours: BTreeMap<Hour, HourlyStats>,
}

impl HourlyTable {
    fn add(&mut self, hour: Hour, stats: &HourlyStats) {
        let entry = self.hours.entry(hour).or_default();
        let (sum, add) = (&mut entry.counts, &stats.counts);
        sum.enqueued += add.enqueued;
        sum.delivered += add.delivered;
        sum.failed += add.failed;
        sum.exhausted += add.exhausted;
        sum.diverted += add.diverted;
        entry.endpoints.extend(stats.endpoints.iter().cloned());
        while self.hours.len() > HOURS_MAX {
            self.hours.pop_first();
        }
    }
}

#[async_trait]
impl Stats for MemoryStore {
    async fn add(&self, hour: Hour, stats: &HourlyStats) -> Result<(), Fault> {
        self.stats.lock().add(hour, stats);
        Ok(())
    }

    async fn sum(&self, hours: &[Hour]) -> Result<(Counts, u64), Fault> {
        let table = self.stats.lock();
        let mut sum = HourlyTable::default();
        let asked = hours.iter().filter_map(|hour| table.hours.get(hour));
        asked.for_each(|stats| sum.add(Hour(0), stats));
        let HourlyStats { counts, endpoints } = sum.hours.pop_first().map(|(_, stats)| stats).unwrap_or_default();
        Ok((counts, different(&endpoints)))
    }
}

fn different(endpoints: &BTreeSet<EndpointHash>) -> u64 {
    u64::try_from(endpoints.len()).unwrap_or_default()
}
