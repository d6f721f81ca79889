//! Use-case scheduler: what happens at its time. The scheduler function runs it until shortly before its deadline, a
//! server for as long as it lives. Any number at once are harmless (CL-1).
//!
//! Two loops beside each other: one releases what is due and sleeps to the next due entry; one looks after the endpoints,
//! the gauges and the statistics once a second, so that a health URL that hangs holds up no release.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use domain::{Timestamp, Topic};
use futures::future::{self, Either};

use crate::endpoints::EndpointService;
use crate::fault::Fault;
use crate::observe;
use crate::ports::log::Log;
use crate::rebuild::Rebuild;
use crate::release::{Release, Ticked};
use crate::stats_buffer::StatsBuffer;

/// How often what has no time of its own is looked after.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Every how many looks the lag is measured: it is for people, and asks every partition.
const LOOKS_PER_LAG: u64 = 10;
/// The lanes' topics and what their lag is called.
const LANES: [(Topic, &str); 2] = [(Topic::Pending, "fast"), (Topic::Slow, "slow")];

/// Does what is due.
#[derive(Clone)]
pub struct Scheduler {
    /// Releases what is due.
    pub release: Release,
    /// Whether work may go on.
    pub rebuild: Arc<Rebuild>,
    /// Looks after endpoints.
    pub endpoints: EndpointService,
    /// Whose lag is measured.
    pub log: Arc<dyn Log>,
    /// What was counted.
    pub stats: Arc<StatsBuffer>,
    /// The longest sleep between two looks at the schedule.
    pub poll: Duration,
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ran {
    /// How many webhooks were released.
    pub released: u64,
    /// How many ticks failed; the next ones repeated them.
    pub faults: u64,
}

impl Scheduler {
    /// Runs until `until`, or for ever. A release that was begun is finished: what it leased would have to wait for the
    /// lease's end. What else is under way is dropped; the next run does it.
    pub async fn run(&self, until: Option<Timestamp>) -> Ran {
        let (releasing, looking_after) = (pin!(self.release_until(until)), pin!(self.look_after()));
        match future::select(releasing, looking_after).await {
            Either::Left((ran, _)) => ran,
            Either::Right(((), releasing)) => releasing.await,
        }
    }

    async fn release_until(&self, until: Option<Timestamp>) -> Ran {
        let (clock, mut ran) = (&self.release.clock, Ran::default());
        loop {
            let pause = match self.tick().await {
                Ok(Some(ticked)) => {
                    ran.released += u64::try_from(ticked.released).unwrap_or_default();
                    self.pause_after(ticked)
                }
                Ok(None) => self.poll,
                Err(fault) => {
                    tracing::warn!(fault = fault.chain(), "the scheduler's tick failed; the next one repeats it");
                    ran.faults += 1;
                    self.poll
                }
            };
            let left = until.map_or(Duration::MAX, |until| until.since(clock.now()));
            if left <= pause {
                return ran;
            }
            clock.sleep(pause.max(Duration::from_millis(1))).await;
        }
    }

    /// Releases what is due, once the hot state is whole: what a rebuild has replayed halfway may be long settled.
    async fn tick(&self) -> Result<Option<Ticked>, Fault> {
        if self.rebuild.is_rebuilt().await? { self.release.tick().await.map(Some) } else { Ok(None) }
    }

    fn pause_after(&self, ticked: Ticked) -> Duration {
        if ticked.released >= self.release.batch_max {
            return Duration::ZERO;
        }
        ticked.next_due.map_or(self.poll, |due| due.since(self.release.clock.now()).min(self.poll))
    }

    async fn look_after(&self) {
        for look in 0_u64.. {
            let (gauged, lag, swept) =
                futures::join!(self.release.gauge(), self.gauge_lag(look), self.endpoints.sweep());
            for fault in [gauged, lag, swept].into_iter().filter_map(Result::err) {
                tracing::warn!(fault = fault.chain(), "not all was looked after; the next second does");
            }
            self.stats.flush().await;
            self.release.clock.sleep(LOOK_EVERY).await;
        }
    }

    async fn gauge_lag(&self, look: u64) -> Result<(), Fault> {
        if !look.is_multiple_of(LOOKS_PER_LAG) {
            return Ok(());
        }
        for (topic, lane) in LANES {
            observe::gauge_lag(lane, self.log.lag(topic).await?);
        }
        Ok(())
    }
}
