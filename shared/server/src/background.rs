//! The tasks beside the API: both lanes, the scheduler and the reconciler, on the same use-cases.

use std::sync::Arc;
use std::time::Duration;

use delivery::deliver::Invocation;
use delivery::rebuild::When;
use domain::{ClaimHolder, Lane, Topic};
use settings::Settings;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::consumer::Consumer;
use crate::system::System;

/// How often the reconciler checks whether the hot state is lost. Consumers and scheduler stand still while it is, so the
/// loss has to be noticed within seconds; the check is one read of the store.
const RECONCILE: Duration = Duration::from_secs(1);

/// The tasks beside the API.
#[derive(Debug)]
pub struct Background {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Background {
    /// Starts all tasks.
    ///
    /// # Errors
    /// A setting that does not fit this machine.
    pub fn start(system: &System, settings: &Settings) -> anyhow::Result<Self> {
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        for lane in [Lane::Fast, Lane::Slow] {
            for consumer in consumers(system, settings, (lane, &stop))? {
                tasks.spawn(consumer.run());
            }
        }
        let (scheduler, token) = (system.scheduler.clone(), stop.clone());
        tasks.spawn(async move { until(&token, scheduler.run(None)).await });
        let (system, token) = (system.clone(), stop.clone());
        tasks.spawn(async move { until(&token, reconcile(&system)).await });
        Ok(Self { tasks, stop })
    }

    /// Stops reading records, waits until the deliveries under way are finished, and writes the last statistics.
    pub async fn shut_down(mut self, system: &System) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(panicked) = ended {
                tracing::error!(%panicked, "a background task panicked");
            }
        }
        system.stats_buffer.flush().await;
    }
}

/// The consumers of one lane. They share the permits that bound its concurrency.
///
/// # Errors
/// A setting that does not fit this machine.
pub fn consumers(
    system: &System,
    settings: &Settings,
    (lane, stop): (Lane, &CancellationToken),
) -> anyhow::Result<Vec<Consumer>> {
    let permits = Arc::new(Semaphore::new(usize::try_from(settings.delivery.concurrency)?));
    let per_key = usize::try_from(settings.kafka.per_key_parallelism.max(1))?;
    let feeds = (system.backend.join)(Topic::of_lane(lane))?;
    Ok(feeds
        .into_iter()
        .map(|feed| Consumer {
            feed,
            deliver: Arc::clone(&system.deliver),
            rebuild: Arc::clone(&system.rebuild),
            invocation: Invocation { holder: holder(system), lane, deadline: None },
            permits: Arc::clone(&permits),
            per_key,
            stop: stop.clone(),
        })
        .collect())
}

fn holder(system: &System) -> ClaimHolder {
    ClaimHolder(format!("{:032x}", system.enqueue.random.bits()))
}

async fn until<T>(stop: &CancellationToken, work: impl Future<Output = T>) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        _ = work => {}
    }
}

/// The reconciler: rebuilds the hot state when it is lost.
pub async fn reconcile(system: &System) {
    let holder = holder(system);
    loop {
        if let Err(fault) = system.rebuild.run(&holder, When::IfLost, None).await {
            tracing::warn!(fault = fault.chain(), "the rebuild failed; the next one continues it");
        }
        system.release.clock.sleep(RECONCILE).await;
    }
}
