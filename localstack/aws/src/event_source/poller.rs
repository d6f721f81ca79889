//! One poller: gathers a batch, hands it to the function until it is handled or given up, commits, and begins again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::batch::{Batch, EventRecord, Gathering, Place};
use super::config::SourceConfig;
use super::consumer::Reader;
use super::control::Watched;
use super::decide::{self, Condition, InvocationResult};
use super::event::{ENVELOPE_BYTES, Origin, PARTITION_BYTES};
use super::on_failure::OnFailure;
use super::response;
use crate::invoker::Invoked;

/// The pause between a failed try and the next: the first, and the longest. It doubles from try to try.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// One poller.
pub(super) struct Poller {
    pub(super) config: Arc<SourceConfig>,
    pub(super) watched: Arc<Watched>,
    pub(super) reader: Reader,
    pub(super) records: mpsc::Receiver<Arc<EventRecord>>,
    /// A record that was read and did not fit into the batch before.
    pub(super) kept: Option<Arc<EventRecord>>,
    pub(super) partitions: usize,
    pub(super) on_failure: Option<Arc<OnFailure>>,
    pub(super) origin: Origin,
    pub(super) stop: CancellationToken,
}

impl Poller {
    /// Polls until it is stopped. An invocation that is under way then is finished; records that are not handled stay
    /// uncommitted.
    pub(super) async fn run(mut self) {
        let stop = self.stop.clone();
        loop {
            let batch = tokio::select! {
                () = stop.cancelled() => return,
                batch = self.gather() => batch,
            };
            let Some(batch) = batch else { return };
            self.work_off(&batch).await;
        }
    }

    /// Gathers a batch until it is full or the window after its first record is over.
    async fn gather(&mut self) -> Option<Batch> {
        self.watched.until_resumed().await;
        let spec = &self.config.spec;
        let bytes = spec.payload_bytes_max.saturating_sub(ENVELOPE_BYTES + self.partitions * PARTITION_BYTES);
        let mut gathering = Gathering::new(spec.batch_size, bytes);
        let first = match self.kept.take() {
            Some(kept) => kept,
            None => self.records.recv().await?,
        };
        self.kept = gathering.take(first).err();
        let clock = Arc::clone(&self.config.clock);
        let mut window = clock.sleep(spec.window);
        while self.kept.is_none() && !gathering.is_full() {
            // Records first, so that those that are there already are taken even with a window of 0.
            let record = tokio::select! {
                biased;
                record = self.records.recv() => record?,
                () = &mut window => break,
            };
            self.kept = gathering.take(record).err();
        }
        Some(gathering.into_batch())
    }

    async fn work_off(&self, batch: &Batch) {
        let mut outstanding = VecDeque::from([batch.clone()]);
        let mut pause = PAUSES.0;
        while let Some(next) = outstanding.pop_front() {
            let (fresh, old) = decide::expired(&next, &self.config.spec, self.config.clock.now());
            if !old.records.is_empty() && !self.give_up(Condition::RecordAgeExceeded, &old).await {
                return;
            }
            let mut waits = false;
            if !fresh.records.is_empty() {
                let Some(tried) = self.try_once(&fresh).await else { return };
                let verdict = decide::after(&fresh, &tried, &self.config.spec);
                if let Some((condition, given_up)) = &verdict.given_up
                    && !self.give_up(*condition, given_up).await
                {
                    return;
                }
                waits = verdict.waits;
                for again in verdict.again.into_iter().rev() {
                    outstanding.push_front(again);
                }
            }
            self.commit(batch, &outstanding).await;
            pause = if waits { self.wait(pause).await } else { PAUSES.0 };
            if outstanding.is_empty() && self.watched.takes_duplicate() {
                outstanding.push_back(batch.clone());
            }
        }
    }

    /// Invokes the function. Returns none when the source was stopped before.
    async fn try_once(&self, batch: &Batch) -> Option<InvocationResult> {
        tokio::select! {
            () = self.stop.cancelled() => return None,
            () = self.watched.until_resumed() => {}
        }
        let function = &self.config.spec.function;
        let invoked = self.config.invoker.invoke(function, self.origin.event(&batch.records)).await;
        log_failed_try(function, &invoked);
        let tried = match invoked {
            Invoked::Answered(answer) => InvocationResult::Answer(response::read(&answer, &self.origin.topic, batch)),
            Invoked::FunctionError(_) => InvocationResult::FunctionError,
            Invoked::TooLarge => InvocationResult::TooLarge,
            Invoked::Throttled | Invoked::Unavailable(_) => InvocationResult::NotTried,
        };
        self.count(batch, &tried);
        Some(tried)
    }

    fn count(&self, batch: &Batch, tried: &InvocationResult) {
        let size = u64::try_from(batch.records.len()).unwrap_or(u64::MAX);
        self.watched.count(|seen| match tried {
            InvocationResult::NotTried | InvocationResult::TooLarge => seen.not_tried += 1,
            InvocationResult::FunctionError => {
                (seen.invocations, seen.records) = (seen.invocations + 1, seen.records + size);
                seen.errors += 1;
            }
            InvocationResult::Answer(said) => {
                (seen.invocations, seen.records) = (seen.invocations + 1, seen.records + size);
                seen.item_failures += said.failures(size);
            }
        });
    }

    /// Writes records that are given up to their destination, and repeats that until it works. Returns false when the source
    /// was stopped before.
    async fn give_up(&self, condition: Condition, batch: &Batch) -> bool {
        let mut pause = PAUSES.0;
        while let Err(error) = self.write(condition, batch).await {
            tracing::warn!("records that are given up could not be written: {error:#}");
            pause = self.wait(pause).await;
            if self.stop.is_cancelled() {
                return false;
            }
        }
        self.log_given_up(condition, batch);
        true
    }

    async fn write(&self, condition: Condition, batch: &Batch) -> anyhow::Result<()> {
        match &self.on_failure {
            Some(topic) => topic.write(condition, batch, self.config.clock.now()).await,
            None => Ok(()),
        }
    }

    /// Logs where each record is: without a destination nothing else keeps it.
    fn log_given_up(&self, condition: Condition, batch: &Batch) {
        let (function, topic) = (&self.config.spec.function, &self.origin.topic);
        for record in &batch.records {
            let Place { partition, offset } = record.place;
            tracing::error!(function, topic, partition, offset, condition = condition.name(), "a record is given up");
        }
        self.watched.count(|seen| seen.given_up += u64::try_from(batch.records.len()).unwrap_or(u64::MAX));
    }

    /// Commits, and repeats that until it works or the source is stopped: a group that is assigning its partitions anew
    /// refuses commits.
    async fn commit(&self, batch: &Batch, outstanding: &VecDeque<Batch>) {
        let positions = decide::committable(batch, outstanding);
        let mut pause = PAUSES.0;
        while let Err(error) = self.reader.commit(positions.clone()).await {
            tracing::warn!(topic = self.origin.topic, "offsets could not be committed: {error:#}");
            if self.stop.is_cancelled() {
                return;
            }
            pause = self.wait(pause).await;
        }
    }

    /// Waits, and returns how long to wait the next time.
    async fn wait(&self, pause: Duration) -> Duration {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.config.clock.sleep(pause) => {}
        }
        pause.saturating_mul(2).min(PAUSES.1)
    }
}

/// Logs why a batch is tried again.
fn log_failed_try(function: &str, invoked: &Invoked) {
    match invoked {
        Invoked::FunctionError(error) => {
            tracing::debug!(function, error = %String::from_utf8_lossy(error), "a batch failed");
        }
        Invoked::Unavailable(why) => tracing::debug!(function, why, "a batch could not be tried"),
        Invoked::Answered(_) | Invoked::Throttled | Invoked::TooLarge => {}
    }
}
