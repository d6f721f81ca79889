//! Another process, seen from outside.

use std::time::Duration;

use anyhow::Context;
use nix::time::ClockId;
use nix::unistd::Pid;

/// User and system time of a process, all threads, so far.
///
/// # Errors
/// When there is no such process.
pub(super) fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(i32::try_from(pid)?)).context("no CPU clock")?;
    Ok(Duration::from(clock.now().context("the CPU clock of a process that has ended")?))
}

/// The resident memory of a process in MiB.
///
/// # Errors
/// When there is no such process.
pub(super) fn resident_mib(pid: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("a process that has ended")?;
    crate::measure::resident_in(&status)
}
