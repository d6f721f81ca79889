//! Use-case scheduler: everything that happens at a time of its own. The scheduler function runs it until shortly before
//! its deadline, a server until it stops. Any number of schedulers at once are harmless (CL-1).
//!
//! Two loops run beside each other, so that a health URL that hangs delays no release: one releases what is due and sleeps
//! to the next due entry; the other looks after the endpoints, the gauges and the statistics once a second.

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

/// How often endpoints, gauges and statistics are looked after: they have no due time, and a second is precise enough.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The lag is measured at every tenth look: a query goes to every partition, and only people read the figure.
const LOOKS_PER_LAG: u64 = 10;
/// The lanes' topics, and the label of each lane's lag.
const LANES: [(Topic, &str); 2] = [(Topic::Pending, "fast"), (Topic::Slow, "slow")];

/// Releases what is due, and looks after endpoints, gauges and statistics.
#[derive(Clone)]
pub struct Scheduler {
    /// Releases what is due.
    pub release: Release,
    /// Where it is read whether the hot state is rebuilt.
    pub rebuild: Arc<Rebuild>,
    /// Looks after endpoints.
    pub endpoints: EndpointService,
    /// The log whose lag is measured.
    pub log: Arc<dyn Log>,
    /// The statistics to write.
    pub stats: Arc<StatsBuffer>,
    /// The longest sleep between two looks at the schedule.
    pub poll: Duration,
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ran {
    /// How many webhooks were released.
    pub released: u64,
    /// How many ticks failed. The next tick repeats a failed one.
    pub faults: u64,
}

impl Scheduler {
    /// Runs until `until`, or for ever. A release that was begun is finished: what it leased would have to wait for the
    /// lease's end. Everything else that is under way is dropped; the next run repeats it.
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
                    tracing::warn!(
                        fault = fault.chain(),
                        "due webhooks could not be released; the next tick tries again"
                    );
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

    /// Releases what is due, once the hot state is rebuilt: a half-replayed schedule may hold webhooks that ended long ago.
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
                tracing::warn!(
                    fault = fault.chain(),
                    "a gauge or an unhealthy endpoint could not be looked after; the next second tries again"
                );
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
