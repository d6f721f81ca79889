//! Signals to an environment, by the id of its process group, which is that of its process.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The group of an environment's processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group(Pid);

impl Group {
    /// The group of a process that was started in one of its own.
    pub(super) fn of(process: u32) -> Option<Self> {
        i32::try_from(process).ok().filter(|id| *id > 1).map(|id| Self(Pid::from_raw(id)))
    }

    pub(super) fn freeze(self) {
        self.send(Signal::SIGSTOP);
    }

    pub(super) fn thaw(self) {
        self.send(Signal::SIGCONT);
    }

    pub(super) fn terminate(self) {
        self.send(Signal::SIGTERM);
    }

    pub(super) fn kill(self) {
        self.send(Signal::SIGKILL);
    }

    fn send(self, signal: Signal) {
        // An error means that the process has ended by itself. No other process gets its id before its exit is waited for.
        if let Err(error) = killpg(self.0, signal) {
            tracing::debug!(%error, %signal, group = self.0.as_raw(), "a signal found no process");
        }
    }
}
