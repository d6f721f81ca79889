//! The contract suites: what every adapter of a port must do, whichever it is.
//!
//! An adapter's test file gives [`contract_tests!`](crate::contract_tests) a function that makes a fresh, isolated
//! instance, and gets one named test per case. Time is an argument of every port, so nothing here sleeps: the same cases
//! run on memory, Redis and Kafka.
#![expect(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a case fails by panicking, which is what it is for"
)]

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

mod cases;
pub mod circuits;
pub mod claims;
pub mod dead_letters;
pub mod endpoints;
pub mod feed;
pub mod leases;
pub mod log;
pub mod model;
pub mod recovery;
pub mod schedule;
pub mod sender;
pub mod stats;
pub mod statuses;
mod store;
mod stream;
pub mod tokens;

pub use sender::SenderUnderTest;
pub use store::Store;
pub use stream::LogUnderTest;

/// A case that takes longer than this hangs. Generous: a consumer group of Kafka may need many seconds to change hands.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Runs one case on a runtime of its own, and fails when it does not end.
///
/// # Panics
/// When the case does, or when it hangs.
pub fn run(case: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(4).enable_all().build().expect("a runtime");
    let ended = runtime.block_on(async { tokio::time::timeout(TIMEOUT, Box::pin(case)).await });
    runtime.shutdown_background();
    ended.expect("the case ends");
}

/// Runs as many tasks as asked for, all let go at the same moment, and returns what they did.
async fn at_once<T, F>(tasks: usize, task: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let start = Arc::new(Barrier::new(tasks));
    let mut running = JoinSet::new();
    for number in 0..tasks {
        let (start, task) = (Arc::clone(&start), task(number));
        running.spawn(async move {
            start.wait().await;
            task.await
        });
    }
    running.join_all().await
}
