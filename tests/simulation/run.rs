//! One run of one seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use delivery::ports::endpoints::Endpoints as _;
use domain::{Circuit, EndpointHash, Timestamp, WebhookId};
use futures::FutureExt;
use howk_tests::endpoint::{Reply, Seen};
use howk_tests::world::{World, settings, webhook};
use parking_lot::Mutex;
use settings::Settings;

use crate::model::{Cooldowns, Disturbances, Run};

const TENANTS: u64 = 8;
const ENDPOINTS: u64 = 12;
const STEPS: u64 = 120;

/// Runs one seed and checks every invariant.
pub(crate) fn run(seed: u64) {
    let mut simulation = Simulation::new(seed);
    for _ in 0..STEPS {
        simulation.step();
    }
    simulation.heal();
    let run = Run {
        accepted: simulation.accepted.clone(),
        seen: simulation.world.endpoints.seen(),
        aborted: simulation.world.endpoints.aborted(),
        published: simulation.world.witness.published(),
        disturbances: simulation.disturbances,
    };
    let violations = simulation.watch.violations.lock().clone();
    assert!(violations.is_empty(), "{} violations, the first: {}", violations.len(), violations[0]);
    run.check();
    assert_eq!(simulation.world.endpoints.present(), 0, "LN-1: nothing is in flight once all have ended");
}

struct Simulation {
    world: World,
    dice: Dice,
    accepted: BTreeMap<WebhookId, u32>,
    disturbances: Disturbances,
    processes: Vec<usize>,
    watch: Arc<Watch>,
    /// Whether this seed kills, loses and repeats at all.
    rough: bool,
}

/// What is checked at every request.
#[derive(Default)]
struct Watch {
    cooldowns: Mutex<Cooldowns>,
    /// Until when a loss of the hot state, or a kill, excuses what the store no longer knows.
    excused_until: Mutex<Timestamp>,
    violations: Mutex<Vec<String>>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut world = World::new(seed, quick_settings());
        let dice = Dice(seed ^ 0x9e37_79b9_7f4a_7c15);
        let processes = vec![world.start(), world.start()];
        let watch = Arc::new(Watch::default());
        behave(&world, seed, &watch);
        inspect(&world, &watch);
        let (accepted, disturbances) = (BTreeMap::new(), Disturbances::default());
        Self { world, dice, accepted, disturbances, processes, watch, rough: !seed.is_multiple_of(4) }
    }

    fn step(&mut self) {
        match self.dice.roll(100) {
            0..=54 => self.enqueue(),
            85..=87 if self.rough => self.kill(),
            88..=90 if self.rough => self.repeat(),
            91..=92 if self.rough => self.wipe(),
            93..=94 => self.jump(),
            _ => self.pass(),
        }
    }

    fn enqueue(&mut self) {
        let count = 1 + self.dice.roll(8);
        let new: Vec<_> = (0..count)
            .map(|_| {
                let (tenant, endpoint) = (self.dice.roll(TENANTS), self.dice.roll(ENDPOINTS));
                let mut new = webhook(&format!("tenant-{tenant}"), &url(endpoint));
                new.max_attempts = 1 + u32::try_from(self.dice.roll(6)).unwrap();
                new
            })
            .collect();
        let maxima: Vec<u32> = new.iter().map(|new| new.max_attempts).collect();
        let ids = self.world.enqueue(new);
        self.accepted.extend(ids.into_iter().zip(maxima));
    }

    fn pass(&mut self) {
        let ms = 1 + self.dice.roll(20_000);
        self.world.pass(Duration::from_millis(ms));
    }

    fn jump(&mut self) {
        let minutes = 1 + self.dice.roll(30);
        self.world.clock.advance(Duration::from_secs(60 * minutes));
        // A process that slept so long has lost its leases without noticing it.
        self.excuse();
    }

    fn kill(&mut self) {
        let victim = usize::try_from(self.dice.roll(2)).unwrap();
        self.world.kill(self.processes[victim]);
        self.processes[victim] = self.world.start();
        self.disturbances.kills += 1;
        self.excuse();
    }

    fn wipe(&mut self) {
        self.world.lose_hot_state();
        self.disturbances.wipes += 1;
        self.watch.cooldowns.lock().forget();
        self.excuse();
    }

    /// Publishes an old dispatch once more, as a redelivery does.
    fn repeat(&mut self) {
        let published = self.world.witness.published();
        let dispatches: Vec<_> =
            published.into_iter().filter(|record| matches!(record, domain::Record::Dispatch(..))).collect();
        if dispatches.is_empty() {
            return;
        }
        let pick = usize::try_from(self.dice.roll(u64::try_from(dispatches.len()).unwrap())).unwrap();
        let (log, record) = (Arc::clone(&self.world.system.backend.log), dispatches[pick].clone());
        self.world.run(async move { log.publish(vec![record]).await }).unwrap();
        self.disturbances.duplicates += 1;
    }

    fn excuse(&mut self) {
        *self.watch.excused_until.lock() = self.world.now().plus(Duration::from_mins(1));
    }

    /// Lets every endpoint recover, and everything end.
    fn heal(&mut self) {
        self.world.endpoints.behave(|_, _, _| Reply::status(200, 5));
        for _ in 0..60 {
            self.world.pass(Duration::from_mins(10));
            if self.world.ended().len() >= self.accepted.len() && self.world.waiting() == 0 {
                break;
            }
        }
    }
}

fn quick_settings() -> Settings {
    let mut settings = settings();
    settings.concurrency.max_inflight_per_endpoint = 4;
    settings.circuit_breaker.recovery_timeout = Duration::from_secs(30);
    settings.retry.base_delay = Duration::from_secs(2);
    settings.retry.max_delay = Duration::from_mins(2);
    settings
}

fn url(endpoint: u64) -> String {
    format!("https://endpoint-{endpoint}.example/hook")
}

/// Endpoint 0 always answers 200; each of the others fails in a way of its own.
fn behave(world: &World, seed: u64, watch: &Arc<Watch>) {
    let watch = Arc::clone(watch);
    world.endpoints.behave(move |url, now, earlier| {
        let number: u64 =
            url.trim_start_matches("https://endpoint-").trim_end_matches(".example/hook").parse().unwrap();
        let mut dice =
            Dice(seed ^ number.wrapping_mul(0x1234_5678_9abc_def1) ^ u64::try_from(earlier).unwrap() ^ now.as_ms());
        let reply = one_of(number, now, &mut dice);
        if let Some(asked) = reply.answer.as_ref().and_then(|answer| answer.retry_after) {
            let answered_at = now.plus(reply.after);
            watch.cooldowns.lock().asked(url, answered_at, answered_at.plus(asked));
        }
        reply
    });
}

fn one_of(number: u64, now: Timestamp, dice: &mut Dice) -> Reply {
    let up = (now.as_secs() / 45).is_multiple_of(2);
    match number {
        0 | 1 => Reply::status(200, 1 + dice.roll(300)),
        2 if up => Reply::status(200, 20),
        2 => Reply::status(500, 20),
        3 if up => Reply::status(200, 50),
        3 | 4 => Reply::refused(),
        5 => Reply::status(200, 4_000 + dice.roll(12_000)),
        6 => Reply::hang(),
        7 if dice.roll(3) == 0 => Reply::retry_after(429, 1 + dice.roll(40)),
        8 if dice.roll(10) == 0 => Reply::status(400, 5),
        9 if dice.roll(2) == 0 => Reply::status(503, 5),
        10 if dice.roll(6) == 0 => Reply::retry_after(503, dice.roll(5)),
        11 => Reply::status(302, 5),
        _ => Reply::status(200, 30),
    }
}

/// CB-1, LN-1 and RT-1 are checked at every request.
fn inspect(world: &World, watch: &Arc<Watch>) {
    let (store, watch) = (Arc::clone(&world.store), Arc::clone(watch));
    world.endpoints.inspect(move |seen: &Seen| {
        if seen.at < *watch.excused_until.lock() {
            return;
        }
        let violate = |what: &str| watch.violations.lock().push(format!("{what}: {seen:?}"));
        if seen.concurrent > 4 {
            violate("LN-1: more requests at once than allowed");
        }
        if watch.cooldowns.lock().too_early(&seen.url, seen.at) {
            violate("RT-1: before its Retry-After");
        }
        let hash = EndpointHash::of(&seen.url);
        let view = store.endpoint(&hash, seen.at).now_or_never().unwrap().unwrap();
        let circuit = view.map(|view| view.state.circuit).unwrap_or_default();
        if matches!(circuit, Circuit::Open { .. }) {
            violate("CB-1: through an open circuit");
        }
    });
}

/// `SplitMix64`: small, seeded, the same everywhere.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % sides
    }
}
