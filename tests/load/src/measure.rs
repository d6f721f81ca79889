//! Clocks, CPU time, resident memory, percentiles.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use hdrhistogram::Histogram;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The longest latency that is recorded exactly, in microseconds; longer ones count as this.
const LATENCY_US_MAX: u64 = 60_000_000;

/// The monotonic clock.
#[expect(clippy::disallowed_methods, reason = "measuring is what this binary does")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Microseconds since the Unix epoch: the clock that all processes of a machine share.
#[expect(clippy::disallowed_methods, reason = "measuring is what this binary does")]
pub(crate) fn realtime_us() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
}

/// User and system time of this process, all threads, so far.
fn cpu() -> anyhow::Result<Duration> {
    let spent = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).context("no CPU clock")?;
    Ok(Duration::from(spent))
}

/// The resident memory of this process, in MiB.
pub(crate) fn resident_mib() -> anyhow::Result<f64> {
    resident_in(&std::fs::read_to_string("/proc/self/status").context("resident memory is read from /proc")?)
}

/// The resident memory in a process's `status` file, in MiB.
pub(crate) fn resident_in(status: &str) -> anyhow::Result<f64> {
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in a process's status")?;
    let kib: u32 = line.trim().trim_end_matches("kB").trim().parse().context("VmRSS is not a number")?;
    Ok(f64::from(kib) / 1024.0)
}

/// Measures the CPU time and the time between its start and its stop.
#[derive(Debug)]
pub(crate) struct Meter {
    started: Instant,
    cpu: Duration,
}

impl Meter {
    pub(crate) fn start() -> anyhow::Result<Self> {
        Ok(Self { started: instant(), cpu: cpu()? })
    }

    /// Ends the measurement of `count` repetitions.
    pub(crate) fn stop(self, count: u32) -> anyhow::Result<Sample> {
        let cpu = cpu()?.saturating_sub(self.cpu);
        Ok(Sample { count, cpu, wall: self.started.elapsed() })
    }

    /// The same, but counts the elapsed time from a later begin on.
    pub(crate) fn stop_since(self, begun: Option<Instant>, count: u32) -> anyhow::Result<Sample> {
        let sample = self.stop(count)?;
        Ok(Sample { wall: begun.map_or(sample.wall, |begun| begun.elapsed()), ..sample })
    }
}

/// The CPU time and the elapsed time of `count` repetitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) count: u32,
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

impl Sample {
    pub(crate) fn per_cpu_second(&self) -> f64 {
        f64::from(self.count) / self.cpu.as_secs_f64().max(1e-9)
    }

    pub(crate) fn per_second(&self) -> f64 {
        f64::from(self.count) / self.wall.as_secs_f64().max(1e-9)
    }

    pub(crate) fn cpu_us_each(&self) -> f64 {
        self.us_each(self.cpu)
    }

    /// A total as microseconds per repetition.
    pub(crate) fn us_each(&self, spent: Duration) -> f64 {
        spent.as_secs_f64() * 1e6 / f64::from(self.count.max(1))
    }
}

/// A total per repetition.
pub(crate) fn per(total: u64, count: u32) -> f64 {
    f64::from(u32::try_from(total).unwrap_or(u32::MAX)) / f64::from(count.max(1))
}

/// The middle value, or the mean of the two in the middle; 0 without values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    f64::midpoint(at(low), at(high))
}

/// A histogram of latencies in microseconds, exact to three digits.
#[derive(Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Latencies {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).map(Self).context("the histogram's bounds")
    }

    /// Counts one latency. 0 counts as 1 microsecond.
    pub(crate) fn record(&mut self, us: u64) {
        self.0.saturating_record(us.max(1));
    }

    pub(crate) fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.0.add(&other.0).context("adding histograms")
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        let us = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Percentiles {
            count: us(self.0.len()),
            p50_us: us(self.0.value_at_quantile(0.50)),
            p99_us: us(self.0.value_at_quantile(0.99)),
            max_us: us(self.0.max()),
        }
    }
}

/// The percentiles of latencies, in microseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u32,
    pub(crate) p50_us: u32,
    pub(crate) p99_us: u32,
    pub(crate) max_us: u32,
}

impl Percentiles {
    pub(crate) fn p50_ms(&self) -> f64 {
        f64::from(self.p50_us) / 1000.0
    }

    pub(crate) fn p99_ms(&self) -> f64 {
        f64::from(self.p99_us) / 1000.0
    }

    pub(crate) fn max_ms(&self) -> f64 {
        f64::from(self.max_us) / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(format!("{}", median([3.0, 1.0, 2.0])), "2");
        assert_eq!(format!("{}", median([4.0, 1.0, 2.0, 3.0])), "2.5");
        assert_eq!(format!("{}", median([])), "0");
    }

    #[test]
    fn percentiles_are_exact_at_three_digits() {
        let mut latencies = Latencies::new().unwrap();
        (1..=1000).for_each(|us| latencies.record(us));
        let percentiles = latencies.percentiles();
        assert_eq!((percentiles.count, percentiles.p50_us, percentiles.p99_us), (1000, 500, 990));
    }

    #[test]
    fn resident_memory_is_read() {
        assert!(resident_mib().unwrap() > 0.5);
    }
}
