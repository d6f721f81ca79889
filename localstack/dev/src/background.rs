//! What runs beside the API: both lanes, the scheduler and the reconciler, as tasks on the same use-cases.

use std::sync::Arc;
use std::time::Duration;

use delivery::deliver::Invocation;
use delivery::rebuild::{Rebuilt, When};
use delivery::release::Release;
use domain::{Lane, Owner, Topic};
use settings::Settings;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::consumer::Consumer;
use crate::system::System;

/// How often the scheduler does what is not due at a time of its own.
const TICK: Duration = Duration::from_secs(1);
/// How often the reconciler looks whether the hot state is whole.
const RECONCILE: Duration = Duration::from_secs(1);

/// The tasks beside the API.
#[derive(Debug)]
pub struct Background {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Background {
    /// Starts everything.
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
        let (ours, token, poll) = (system.clone(), stop.clone(), settings.scheduler.poll_interval);
        tasks.spawn(async move { until(&token, schedule(&ours.release, poll)).await });
        let (ours, token) = (system.clone(), stop.clone());
        tasks.spawn(async move { until(&token, look_after(&ours)).await });
        let (ours, token) = (system.clone(), stop.clone());
        tasks.spawn(async move { until(&token, reconcile(&ours)).await });
        Ok(Self { tasks, stop })
    }

    /// Stops taking up records, finishes what is under way, then stops the rest.
    pub async fn shut_down(mut self, system: &System) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(panicked) = ended {
                tracing::error!(%panicked, "a task ended badly");
            }
        }
        system.tally.flush().await;
    }
}

/// The consumers of one lane, which share its permits.
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
            invocation: Invocation { owner: owner(system), lane, deadline: None },
            permits: Arc::clone(&permits),
            per_key,
            stop: stop.clone(),
        })
        .collect())
}

fn owner(system: &System) -> Owner {
    Owner(format!("{:032x}", system.enqueue.random.bits()))
}

async fn until(stop: &CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// The scheduler: releases what is due and sleeps to the next due entry, `poll` at most.
pub async fn schedule(release: &Release, poll: Duration) {
    loop {
        let pause = match release.tick().await {
            Ok(ticked) if ticked.released >= release.batch_max => Duration::ZERO,
            Ok(ticked) => ticked.next_due.map_or(poll, |due| due.since(release.clock.now()).min(poll)),
            Err(fault) => {
                tracing::warn!(%fault, "the scheduler's tick failed; the next one repeats it");
                poll
            }
        };
        release.clock.sleep(pause.max(Duration::from_millis(1))).await;
    }
}

/// What the scheduler does once a second: gauges, gates' health probes, statistics.
pub async fn look_after(system: &System) {
    loop {
        let gauged = system.release.gauge().await;
        let swept = system.endpoints.sweep().await;
        for fault in [gauged, swept].into_iter().filter_map(Result::err) {
            tracing::warn!(%fault, "the endpoints were not looked after; the next second does");
        }
        system.tally.flush().await;
        system.release.clock.sleep(TICK).await;
    }
}

/// The reconciler: rebuilds the hot state when it was lost.
pub async fn reconcile(system: &System) {
    let owner = owner(system);
    loop {
        match system.rebuild.run(&owner, When::IfLost, None).await {
            Ok(Rebuilt::Done { replayed, .. }) => tracing::info!(replayed, "the hot state is whole"),
            Ok(Rebuilt::Whole | Rebuilt::Busy | Rebuilt::Unfinished(_)) => {}
            Err(fault) => tracing::warn!(%fault, "the rebuild stopped; the next one goes on"),
        }
        system.release.clock.sleep(RECONCILE).await;
    }
}
