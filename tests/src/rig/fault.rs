//! The faults of a run: drawn from a seed, at most two at once, each undone after a while.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::log::Log;
use domain::{Position, Topic};
use futures::stream::{self, StreamExt};
use testkit::random::SeededRandom;
use tokio::sync::{Mutex, watch};

use crate::rig::installation::Installation;
use crate::rig::pair::{Pair, Service, Signal, say};
use crate::rig::receiver::{Failing, Receiver};

/// Records of one partition that are written a second time, at most.
const DUPLICATES: usize = 50;
/// Attempts at that: Kafka may just have started again.
const DUPLICATING_MAX: u32 = 60;
const PAUSE: Duration = Duration::from_millis(500);
/// Faults that are under way together.
const AT_ONCE: usize = 2;

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A process is killed and started again later.
    Kill,
    /// A process is asked to end, and started again later: members leave and join.
    Terminate,
    /// A process is frozen for longer than its claims and its membership last, and wakes up as if nothing had been.
    Freeze,
    /// Redis loses everything.
    Flush,
    /// Redis is killed; an empty one takes its place.
    ReplaceRedis,
    /// Redis answers no client for a while.
    PauseRedis,
    /// Kafka is stopped, and started again later.
    StopKafka,
    /// Kafka is killed, and started again at once.
    KillKafka,
    /// Kafka answers no client for a while.
    PauseKafka,
    /// Records of the lanes come a second time.
    Duplicate,
    /// Some endpoints fail for a while.
    Outage,
}

/// How often each kind is drawn, in all.
const SHARES: [(Kind, u64); 11] = [
    (Kind::Kill, 36),
    (Kind::Terminate, 8),
    (Kind::Freeze, 4),
    (Kind::Flush, 14),
    (Kind::ReplaceRedis, 6),
    (Kind::PauseRedis, 6),
    (Kind::StopKafka, 3),
    (Kind::KillKafka, 3),
    (Kind::PauseKafka, 4),
    (Kind::Duplicate, 12),
    (Kind::Outage, 4),
];

/// One fault of the schedule.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// What happens.
    pub kind: Kind,
    /// Which process, partition or the like.
    pub target: u64,
    /// How long before it.
    pub after: Duration,
    /// How long it lasts.
    pub lasts: Duration,
}

/// Draws a schedule in which every kind happens at least once.
pub fn draw(seed: u64, count: usize, kafka_down: Duration) -> Vec<Fault> {
    let random = SeededRandom::new(seed);
    let shares: u64 = SHARES.iter().map(|(_, share)| share).sum();
    let one_of_each = SHARES.iter().map(|(kind, _)| *kind);
    let more = std::iter::repeat_with(|| by_share(random.below(shares)));
    let mut kinds: Vec<Kind> = one_of_each.chain(more).take(count).collect();
    random.shuffle(&mut kinds);
    let fault = |kind| Fault {
        kind,
        target: random.next(),
        after: Duration::from_millis(200 + random.below(1500)),
        lasts: lasts(kind, &random, kafka_down),
    };
    kinds.into_iter().map(fault).collect()
}

fn by_share(mut drawn: u64) -> Kind {
    for (kind, share) in SHARES {
        if drawn < share {
            return kind;
        }
        drawn -= share;
    }
    Kind::Kill
}

fn lasts(kind: Kind, random: &SeededRandom, kafka_down: Duration) -> Duration {
    let between = |least: u64, most: u64| Duration::from_millis(least + random.below(most - least));
    match kind {
        Kind::Kill | Kind::Terminate => between(0, 3000),
        Kind::Freeze => between(6000, 10_000),
        Kind::Flush | Kind::Duplicate | Kind::KillKafka => Duration::ZERO,
        Kind::ReplaceRedis => between(0, 1500),
        Kind::PauseRedis | Kind::PauseKafka => between(500, 4000),
        Kind::StopKafka => kafka_down,
        Kind::Outage => between(2000, 5000),
    }
}

/// The processes that can be struck.
pub struct Targets {
    howk: Arc<dyn Installation>,
    pair: Pair,
    receiver: Arc<Receiver>,
    log: Arc<dyn Log>,
    processes: Vec<Mutex<()>>,
    kafka: Mutex<()>,
    redis: Mutex<()>,
    endpoints: Mutex<()>,
}

impl Targets {
    /// All processes that can be struck, all of them running.
    pub fn new(howk: Arc<dyn Installation>, pair: Pair, receiver: Arc<Receiver>, log: Arc<dyn Log>) -> Self {
        let processes = (0..howk.processes()).map(|_| Mutex::default()).collect();
        let (kafka, redis, endpoints) = Default::default();
        Self { howk, pair, receiver, log, processes, kafka, redis, endpoints }
    }

    /// Strikes as the schedule says; `done` counts the faults that are over.
    pub async fn strike_all(&self, schedule: &[Fault], done: &watch::Sender<usize>) {
        stream::iter(schedule.iter().enumerate())
            .for_each_concurrent(AT_ONCE, |(number, fault)| async move {
                tokio::time::sleep(fault.after).await;
                self.strike(fault).await;
                done.send_modify(|done| *done += 1);
                say(&format!("fault {} of {}: {:?} for {:?}", number + 1, schedule.len(), fault.kind, fault.lasts));
            })
            .await;
    }

    async fn strike(&self, fault: &Fault) {
        match fault.kind {
            Kind::Kill => self.end_process(fault, Signal::Kill).await,
            Kind::Terminate => self.end_process(fault, Signal::Terminate).await,
            Kind::Freeze => self.freeze(fault).await,
            Kind::Flush => self.flush().await,
            Kind::ReplaceRedis => self.interrupt(Service::Redis, Pair::kill, fault.lasts).await,
            Kind::PauseRedis => self.pause(Service::Redis, fault.lasts).await,
            Kind::StopKafka => self.interrupt(Service::Kafka, Pair::stop, fault.lasts).await,
            Kind::KillKafka => self.interrupt(Service::Kafka, Pair::kill, fault.lasts).await,
            Kind::PauseKafka => self.pause(Service::Kafka, fault.lasts).await,
            Kind::Duplicate => self.duplicate(fault.target).await,
            Kind::Outage => self.let_suffer(fault.lasts).await,
        }
    }

    const fn turn_of(&self, service: Service) -> &Mutex<()> {
        match service {
            Service::Kafka => &self.kafka,
            Service::Redis => &self.redis,
        }
    }

    async fn flush(&self) {
        let _redis = self.redis.lock().await;
        self.on_pair(Pair::flush).await;
    }

    /// Ends a service, and starts it again later.
    async fn interrupt(&self, service: Service, end: fn(&Pair, Service), lasts: Duration) {
        let _service = self.turn_of(service).lock().await;
        self.on_pair(move |pair| end(pair, service)).await;
        tokio::time::sleep(lasts).await;
        self.on_pair(move |pair| pair.start_again(service)).await;
    }

    async fn let_suffer(&self, lasts: Duration) {
        let _endpoints = self.endpoints.lock().await;
        self.receiver.suffer(Failing::Yes);
        tokio::time::sleep(lasts).await;
        self.receiver.suffer(Failing::No);
    }

    async fn end_process(&self, fault: &Fault, how: Signal) {
        let process = self.process(fault);
        let _process = self.processes[process].lock().await;
        let howk = Arc::clone(&self.howk);
        tokio::task::spawn_blocking(move || howk.signal(process, how)).await.unwrap();
        tokio::time::sleep(fault.lasts).await;
        self.howk.start(process);
    }

    async fn freeze(&self, fault: &Fault) {
        let process = self.process(fault);
        let _process = self.processes[process].lock().await;
        self.howk.signal(process, Signal::Stop);
        tokio::time::sleep(fault.lasts).await;
        self.howk.signal(process, Signal::Continue);
    }

    async fn pause(&self, service: Service, lasts: Duration) {
        let _service = self.turn_of(service).lock().await;
        self.pair.signal(service, Signal::Stop);
        tokio::time::sleep(lasts).await;
        self.pair.signal(service, Signal::Continue);
    }

    /// Writes some of the last records of a lane's partition a second time, as soon as the log lets us.
    async fn duplicate(&self, target: u64) {
        let _kafka = self.kafka.lock().await;
        for _ in 0..DUPLICATING_MAX {
            match self.try_to_duplicate(target).await {
                Ok(()) => return,
                Err(fault) => say(&format!("nothing was duplicated yet: {fault}")),
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("Kafka does not answer although no fault has stopped it");
    }

    async fn try_to_duplicate(&self, target: u64) -> Result<(), delivery::Fault> {
        let topic = if target.is_multiple_of(4) { Topic::Slow } else { Topic::Pending };
        let extents = self.log.extents(topic).await?;
        let written = extents.iter().filter(|extent| extent.end > extent.start).collect::<Vec<_>>();
        let Some(extent) = written.get(usize::try_from(target).unwrap() % written.len().max(1)) else {
            return Ok(());
        };
        let offset = extent.end.saturating_sub(u64::try_from(DUPLICATES).unwrap()).max(extent.start);
        let from = Position { partition: extent.partition, offset };
        let page = self.log.read(topic, from, DUPLICATES).await?;
        let again = page.records.into_iter().filter_map(|record| record.value.ok()).collect();
        self.log.publish(again).await.map(drop)
    }

    fn process(&self, fault: &Fault) -> usize {
        usize::try_from(fault.target).unwrap() % self.processes.len()
    }

    async fn on_pair(&self, act: impl FnOnce(&Pair) + Send + 'static) {
        let pair = self.pair.clone();
        tokio::task::spawn_blocking(move || act(&pair)).await.unwrap();
    }
}
