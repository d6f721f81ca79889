//! What is put to the test: howk, in whatever processes it runs.

use domain::Timestamp;

use crate::rig::books::Timeout;
use crate::rig::pair::Signal;

/// howk in some number of processes on the pair's Kafka and Redis.
///
/// Contract: a process that was ended can be started again under its number; starting returns at once.
pub trait Installation: Send + Sync {
    /// How many processes can be struck. They are counted from 0.
    fn processes(&self) -> usize;

    /// Where to post and to ask, such as `http://127.0.0.1:8080`; `turn` spreads callers over the places.
    fn api(&self, turn: usize) -> String;

    /// Does something to a process; after [`Signal::Kill`] and [`Signal::Terminate`] it has ended when this returns.
    fn signal(&self, process: usize, signal: Signal);

    /// Starts a process that has ended.
    fn start(&self, process: usize);

    /// Starts the processes again that ended although no fault struck them.
    fn keep_up(&self);

    /// When the life of a process ended that calls itself so in its requests (`User-Agent`); `None` while it lives, and
    /// when that cannot be seen.
    fn ended_at(&self, sender: &str) -> Option<Timestamp>;

    /// How long a process tries to record a request.
    fn records(&self) -> Timeout;
}
