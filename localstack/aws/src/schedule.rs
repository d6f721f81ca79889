//! An EventBridge schedule: invokes a function by the clock, asynchronously, at least once.

mod payload;

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::time::{Clock, Random};
use domain::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::payload::Firing;
use crate::invoker::{Invoked, Invoker};
use crate::spec::ScheduleSpec;

/// The pause between a failed try to hand an event over and the next: the first, and the longest. It doubles.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// The parts and settings of a schedule.
#[derive(Clone)]
pub struct ScheduleConfig {
    /// The function, the rate and the payload.
    pub spec: ScheduleSpec,
    /// How functions are invoked.
    pub invoker: Invoker,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
}

/// What the control API and the view show of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScheduleState {
    /// The function that it invokes.
    pub function: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Events that were handed over.
    pub handed_over: u64,
    /// Events that were given up.
    pub given_up: u64,
}

/// Shows and changes a schedule. Clones control the same one.
#[derive(Debug, Clone)]
pub struct ScheduleControl(Arc<Watched>);

#[derive(Debug)]
struct Watched {
    state: Mutex<ScheduleState>,
    paused: watch::Sender<bool>,
    fire: Notify,
}

impl ScheduleControl {
    /// Its state.
    pub fn state(&self) -> ScheduleState {
        ScheduleState { is_paused: *self.0.paused.borrow(), ..self.0.state.lock().clone() }
    }

    /// Skips its times until [`Self::resume`].
    pub fn pause(&self) {
        self.0.paused.send_replace(true);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.0.paused.send_replace(false);
    }

    /// Invokes the function now, in addition to the schedule.
    pub fn fire(&self) {
        self.0.fire.notify_one();
    }
}

/// A running schedule.
#[derive(Debug)]
pub struct Schedule {
    control: ScheduleControl,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Schedule {
    /// Starts it. The first event is due at once.
    pub fn start(config: ScheduleConfig) -> Self {
        let state = ScheduleState { function: config.spec.function.clone(), ..ScheduleState::default() };
        let watched = Watched { state: Mutex::new(state), paused: watch::Sender::new(false), fire: Notify::new() };
        let control = ScheduleControl(Arc::new(watched));
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let run = Run {
            config: Arc::new(config),
            watched: Arc::clone(&control.0),
            stop: stop.clone(),
            tasks: tasks.clone(),
        };
        tasks.spawn(run.by_the_clock());
        Self { control, stop, tasks }
    }

    /// What shows and changes it.
    pub fn control(&self) -> ScheduleControl {
        self.control.clone()
    }

    /// Stops it. Events that are not handed over yet are dropped.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[derive(Clone)]
struct Run {
    config: Arc<ScheduleConfig>,
    watched: Arc<Watched>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Run {
    async fn by_the_clock(self) {
        let clock = Arc::clone(&self.config.clock);
        let mut due = clock.now();
        loop {
            let scheduled = tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.watched.fire.notified() => clock.now(),
                () = clock.sleep(due.since(clock.now())) => {
                    let scheduled = due;
                    due = due.plus(self.config.spec.rate);
                    if *self.watched.paused.borrow() {
                        continue;
                    }
                    scheduled
                }
            };
            for _ in 0..self.config.spec.copies {
                self.tasks.spawn(self.clone().hand_over(scheduled));
            }
        }
    }

    async fn hand_over(self, scheduled: Timestamp) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            handed_over = self.tries(scheduled) => {
                let mut state = self.watched.state.lock();
                if handed_over {
                    state.handed_over += 1;
                } else {
                    state.given_up += 1;
                }
            }
        }
    }

    async fn tries(&self, scheduled: Timestamp) -> bool {
        let ScheduleConfig { spec, clock, random, invoker } = &*self.config;
        let mut pause = PAUSES.0;
        for attempt in 1..=spec.retries.saturating_add(1) {
            let firing = Firing { function: &spec.function, scheduled, execution: random.bits(), attempt };
            let event = payload::of(spec.input.as_ref(), &firing);
            let invoked = invoker.invoke_later(&spec.function, event).await;
            if matches!(invoked, Invoked::Answered(_)) {
                return true;
            }
            tracing::warn!(function = spec.function, ?invoked, "a schedule could not hand its event over");
            if clock.now().plus(pause).since(scheduled) > spec.event_age {
                return false;
            }
            clock.sleep(pause).await;
            pause = pause.saturating_mul(2).min(PAUSES.1);
        }
        false
    }
}
