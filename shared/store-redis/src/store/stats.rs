//! Port `stats` on Redis: hourly counters, and an estimate of the number of different endpoints.

use std::collections::BTreeMap;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::stats::{Counts, Hour, HourlyStats, Stats};

use crate::link::in_order;
use crate::scripts::{COUNT, COUNT_ENDPOINTS};
use crate::store::{RedisStore, ms};

/// Endpoints that one script counts at most: Redis runs one script at a time, and each endpoint is one PFADD.
const CHUNK_MAX: usize = 512;

/// An hour as `YYYYMMDDHH`, UTC.
fn name(hour: Hour) -> String {
    let (year, month, day) = date(hour.0 / 24);
    format!("{year:04}{month:02}{day:02}{:02}", hour.0 % 24)
}

/// The date of a day since 1970-01-01, counted in years that begin with March, so that a leap day comes last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// The counters that are not zero, by name.
fn named(counts: Counts) -> impl Iterator<Item = (&'static str, u64)> {
    let Counts { enqueued, delivered, failed, exhausted, diverted } = counts;
    let all = [
        ("enqueued", enqueued),
        ("delivered", delivered),
        ("failed", failed),
        ("exhausted", exhausted),
        ("diverted", diverted),
    ];
    all.into_iter().filter(|(_, count)| *count > 0)
}

#[async_trait]
impl Stats for RedisStore {
    async fn add(&self, hour: Hour, stats: &HourlyStats) -> Result<(), Fault> {
        let (hour, keep_ms) = (name(hour), ms(self.retention.stats));
        let mut calls = Vec::new();
        if named(stats.counts).next().is_some() {
            let call = COUNT.on(&[&self.keys.stats(&hour)]).once().arg(keep_ms);
            calls.push(named(stats.counts).fold(call, |call, (name, count)| call.arg(name).arg(count)));
        }
        let endpoints: Vec<_> = stats.endpoints.iter().map(domain::EndpointHash::as_str).collect();
        let key = self.keys.endpoints_of(&hour);
        calls.extend(endpoints.chunks(CHUNK_MAX).map(|some| COUNT_ENDPOINTS.on(&[&key]).arg(keep_ms).arg(some)));
        if !calls.is_empty() {
            self.link.round_trip();
        }
        in_order(calls.into_iter().map(|call| self.link.call::<u8>(call)).collect()).await.map(drop)
    }

    async fn sum(&self, hours: &[Hour]) -> Result<(Counts, u64), Fault> {
        if hours.is_empty() {
            return Ok((Counts::default(), 0));
        }
        let names: Vec<_> = hours.iter().copied().map(name).collect();
        let mut different = redis::cmd("PFCOUNT");
        different.arg(names.iter().map(|hour| self.keys.endpoints_of(hour)).collect::<Vec<_>>());
        let counted = in_order(
            names
                .iter()
                .map(|hour| async move {
                    let mut cmd = redis::cmd("HGETALL");
                    cmd.arg(self.keys.stats(hour));
                    self.link.send_command::<BTreeMap<String, u64>>("reading statistics", &cmd).await
                })
                .collect(),
        );
        self.link.round_trip();
        let (counted, different) =
            futures::join!(counted, self.link.send_command("counting different endpoints", &different));
        let counted = counted?;
        let sum = |name: &str| counted.iter().filter_map(|hour| hour.get(name)).sum();
        let counts = Counts {
            enqueued: sum("enqueued"),
            delivered: sum("delivered"),
            failed: sum("failed"),
            exhausted: sum("exhausted"),
            diverted: sum("diverted"),
        };
        Ok((counts, different?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_named_in_utc() {
        let cases = [
            (0, "1970010100"),
            (1_767_225_600 / 3600, "2026010100"),
            (1_709_164_800 / 3600 + 23, "2024022923"),
            (1_709_251_200 / 3600, "2024030100"),
            (4_107_542_400 / 3600, "2100030100"),
        ];
        for (hour, expected) in cases {
            assert_eq!(name(Hour(hour)), expected);
        }
    }
}
