//! The CPU time of Kafka and of Redis themselves.

use std::time::Duration;

use anyhow::Context;

use crate::services::Services;

/// `/proc` counts in hundredths of a second on every Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// CPU time so far; nothing where it is not known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerCpu {
    pub(crate) kafka: Option<Duration>,
    pub(crate) redis: Option<Duration>,
}

impl ServerCpu {
    /// Reads that of Redis from Redis, and that of Kafka from /proc when Kafka's process id is given.
    ///
    /// # Errors
    /// When Redis does not answer, or there is no such process.
    pub(crate) async fn now(services: &Services) -> anyhow::Result<Self> {
        let kafka = services.kafka_pid.map(of_process).transpose()?;
        let info: String = redis::cmd("INFO").arg("cpu").query_async(&mut services.plain_redis().await?).await?;
        let seconds = |name: &str| {
            info.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':')?.parse::<f64>().ok())
        };
        let redis = seconds("used_cpu_user").zip(seconds("used_cpu_sys"));
        Ok(Self { kafka, redis: redis.map(|(user, system)| Duration::from_secs_f64(user + system)) })
    }

    pub(crate) fn since(self, before: Self) -> Self {
        let spent = |now: Option<Duration>, before: Option<Duration>| {
            now.zip(before).map(|(now, before)| now.saturating_sub(before))
        };
        Self { kafka: spent(self.kafka, before.kafka), redis: spent(self.redis, before.redis) }
    }
}

/// User and system time of a process, all threads.
fn of_process(pid: u32) -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("there is no such process")?;
    let ticks = ticks(&text).context("/proc shows no CPU time")?;
    Ok(Duration::from_secs_f64(f64::from(ticks) / TICKS_A_SECOND))
}

/// The 14th and the 15th field; the second one may hold anything, in parentheses.
fn ticks(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    user.checked_add(system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 120 34 5 6 20 0 1 0 9 9 9";
        assert_eq!(ticks(stat), Some(154));
        assert!(of_process(std::process::id()).unwrap() < Duration::from_hours(1));
    }
}
