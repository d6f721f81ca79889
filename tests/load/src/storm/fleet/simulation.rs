//! One run: a fleet, a limiter, an incident, one policy.
//!
//! Clients send steadily. For the length of the incident they send more than the limiter takes; it refuses the excess with
//! `Retry-After` and goes on taking what its tokens allow. Each refused request is sent again as the policy says, on top of
//! the steady traffic, until it is taken. Steady traffic does not stop for a cooldown: what a sender holds for an endpoint
//! is another scenario's.

use std::time::Duration;

use domain::{ConfigId, Timestamp};

use crate::storm::calendar::Calendar;
use crate::storm::draws::Draws;
use crate::storm::fleet::policies::{ANSWER, ClientPolicy, Clients, Due, Refused};
use crate::storm::fleet::terms::{INTERVAL, RETRY_AFTER};
use crate::storm::limiter::TokenBucket;
use crate::storm::series::Series;

/// How far apart a client's requests are, at least and at most: no client keeps the step of another.
const INTERVAL_MS: (u64, u64) = (900, 1_100);
/// How many seconds of its rate the limiter lets through at once: enough that chance alone never has it refuse.
const DEPTH_SECONDS: f64 = 0.1;
/// What is seen later than this after the incident's end is not the incident itself.
const SETTLING: Duration = Duration::from_secs(1);
/// Two numbers by which the streams of draws differ: steady traffic is the same whatever the policy draws.
const STREAMS: [u64; 2] = [0, 0x5eed];

/// The fleet and its limiter.
#[derive(Debug)]
pub(crate) struct Fleet {
    ids: Vec<ConfigId>,
    /// The fleet's steady rate, a second.
    pub(crate) steady: f64,
    /// What the limiter takes, a second.
    pub(crate) limit: f64,
    /// How long the clients send more than the limiter takes.
    pub(crate) incident: Duration,
}

/// What is simulated of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// Steady traffic before the incident.
    pub(crate) before: Duration,
    /// From the incident on, at least.
    pub(crate) least: Duration,
    /// From the incident on, even if requests still wait.
    pub(crate) most: Duration,
}

/// What happened.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) series: Series,
    /// When the incident began.
    pub(crate) began: Timestamp,
    /// When the incident was over and had been answered.
    pub(crate) over: Timestamp,
    /// Requests that the incident had refused.
    pub(crate) refused: u32,
    /// Requests that were refused later, most of them once more.
    pub(crate) refused_after: u32,
    /// The shortest and the longest time from a refusal to the next attempt.
    pub(crate) waits: (Duration, Duration),
    /// From the first refusal until nothing waited any more; `None` when something still did.
    pub(crate) drain: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A client's steady traffic: a new request, and the next one later.
    Steady(usize),
    /// A new request on top.
    Extra(usize),
    /// A refused request's time has come.
    Due(Refused),
    /// A client learns that its request was refused.
    Answered(Refused),
    /// The clients learn that a probe was taken.
    ProbeTaken,
}

impl Fleet {
    /// So many clients of one request each interval, behind a limiter that takes `headroom` more than that.
    ///
    /// # Errors
    /// When a client's id is none, which would be a mistake here.
    pub(crate) fn new(clients: u32, headroom: f64, incident: Duration) -> anyhow::Result<Self> {
        let ids = (0..clients).map(|client| ConfigId::parse(&format!("client-{client}")));
        let steady = f64::from(clients) / INTERVAL.as_secs_f64();
        Ok(Self { ids: ids.collect::<Result<_, _>>()?, steady, limit: steady * (1.0 + headroom), incident })
    }

    /// Simulates it; during the incident the clients send `demand` times their steady rate.
    pub(crate) fn run(&self, policy: &ClientPolicy, demand: f64, (span, seed): (Span, u64)) -> Run {
        let mut scene = Scene::new(self, policy, (span, seed));
        scene.prepare(demand);
        let (least, most) = (scene.began.plus(span.least), scene.began.plus(span.most));
        let mut events = Vec::new();
        loop {
            let (now, next) = scene.calendar.advance(events);
            events = next;
            for event in &events {
                scene.happen(*event, now);
            }
            let waiting = scene.waiting;
            scene.run.series.change(now, |slot| slot.waiting = waiting);
            if now >= most || (now >= least && waiting == 0) {
                break;
            }
        }
        scene.end()
    }
}

struct Scene<'a> {
    fleet: &'a Fleet,
    clients: Clients<'a>,
    calendar: Calendar<Event>,
    limiter: TokenBucket,
    traffic: Draws,
    decisions: Draws,
    began: Timestamp,
    waiting: u32,
    first_refusal: Option<Timestamp>,
    last_taken: Timestamp,
    run: Run,
}

impl<'a> Scene<'a> {
    fn new(fleet: &'a Fleet, policy: &ClientPolicy, (span, seed): (Span, u64)) -> Self {
        let began = Timestamp::EPOCH.plus(span.before);
        let [traffic, decisions] = STREAMS.map(|stream| Draws::new(seed ^ stream));
        Self {
            fleet,
            clients: Clients::new(policy.rule, &fleet.ids),
            calendar: Calendar::new(Timestamp::EPOCH),
            limiter: TokenBucket::full(fleet.limit, fleet.limit * DEPTH_SECONDS, Timestamp::EPOCH),
            traffic,
            decisions,
            began,
            waiting: 0,
            first_refusal: None,
            last_taken: Timestamp::EPOCH,
            run: Run {
                series: Series::default(),
                began,
                over: began.plus(fleet.incident + SETTLING),
                refused: 0,
                refused_after: 0,
                waits: (Duration::MAX, Duration::ZERO),
                drain: None,
            },
        }
    }

    /// Puts in the first request of each client, at any moment of an interval, as if it had sent for long; and the incident's.
    fn prepare(&mut self, demand: f64) {
        for client in 0..self.fleet.ids.len() {
            let interval = self.traffic.entropy().between(INTERVAL_MS.0, INTERVAL_MS.1);
            let first = Timestamp::from_ms(self.traffic.entropy().between(0, interval));
            self.calendar.put(first, Event::Steady(client));
        }
        let last = self.fleet.ids.len().saturating_sub(1);
        let last_index = u64::try_from(last).unwrap_or(u64::MAX);
        let until = self.began.plus(self.fleet.incident);
        let mut extra = (demand - 1.0) * self.fleet.steady * self.fleet.incident.as_secs_f64();
        while extra >= 1.0 {
            extra -= 1.0;
            let client = usize::try_from(self.decisions.entropy().between(0, last_index)).unwrap_or(last);
            let at = self.decisions.entropy().moment(self.began, until);
            self.calendar.put(at, Event::Extra(client));
        }
    }

    fn happen(&mut self, event: Event, now: Timestamp) {
        match event {
            Event::Steady(client) => {
                let interval = self.traffic.entropy().between(INTERVAL_MS.0, INTERVAL_MS.1);
                self.calendar.put(now.plus(Duration::from_millis(interval)), event);
                self.new_request(client, now);
            }
            Event::Extra(client) => self.new_request(client, now),
            Event::Due(refused) => match self.clients.due(&refused, now, self.decisions.entropy()) {
                Due::Send => drop(self.again(refused, now)),
                Due::Probe if self.again(refused, now) => self.calendar.put(now.plus(ANSWER), Event::ProbeTaken),
                Due::Probe => {}
                Due::Wait(at) => self.calendar.put(at, event),
            },
            Event::Answered(refused) => {
                let at = self.clients.retry_at(&refused, self.decisions.entropy());
                self.calendar.put(at, Event::Due(refused));
            }
            Event::ProbeTaken => self.clients.probe_taken(),
        }
    }

    fn new_request(&mut self, client: usize, now: Timestamp) {
        if !self.arrives(now) {
            self.waiting += 1;
            self.refuse(Refused { client, attempts: 1, at: now });
        }
    }

    /// Sends a refused request again; whether it is taken.
    fn again(&mut self, refused: Refused, now: Timestamp) -> bool {
        let waited = now.since(refused.at);
        let (shortest, longest) = self.run.waits;
        self.run.waits = (shortest.min(waited), longest.max(waited));
        let taken = self.arrives(now);
        if taken {
            self.waiting -= 1;
            self.last_taken = now;
        } else {
            self.refuse(Refused { attempts: refused.attempts + 1, at: now, ..refused });
        }
        taken
    }

    /// A request at the limiter; whether it is taken.
    fn arrives(&mut self, now: Timestamp) -> bool {
        let taken = self.limiter.takes(now);
        self.run.series.change(now, |slot| {
            slot.requests += 1;
            slot.refusals += u32::from(!taken);
        });
        if !taken {
            self.first_refusal.get_or_insert(now);
            let refusals = if now < self.run.over { &mut self.run.refused } else { &mut self.run.refused_after };
            *refusals += 1;
        }
        taken
    }

    fn refuse(&mut self, refused: Refused) {
        let at = refused.at.plus(ANSWER);
        self.calendar.put(at, Event::Answered(Refused { at, ..refused }));
    }

    fn end(self) -> Run {
        let drain = self.first_refusal.filter(|_| self.waiting == 0).map(|first| self.last_taken.since(first));
        Run { drain, ..self.run }
    }
}

impl Run {
    /// The fullest stretch of `width` once the incident is over, in percent above the steady rate, and its beginning as
    /// seconds from the incident on.
    pub(crate) fn surge(&self, steady: f64, width: Duration) -> Surge {
        let fullest = self.series.fullest(self.over, width);
        let usual = steady * width.as_secs_f64();
        Surge {
            percent: (f64::from(fullest.requests) / usual - 1.0) * 100.0,
            at: fullest.at.since(self.began).as_secs_f64(),
            retries: (f64::from(fullest.requests) - usual).max(0.0),
        }
    }
}

/// How far the fullest stretch stands out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surge {
    /// Percent above the steady rate.
    pub(crate) percent: f64,
    /// Where it begins, in seconds from the incident on.
    pub(crate) at: f64,
    /// Requests above the steady ones.
    pub(crate) retries: f64,
}

impl Span {
    /// Just long enough to see the first wave of lockstep.
    pub(crate) fn of_first_wave() -> Self {
        let until = RETRY_AFTER + RETRY_AFTER / 5;
        Self { before: SETTLING, least: until, most: until }
    }
}
