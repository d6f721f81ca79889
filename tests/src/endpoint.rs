//! Endpoints as the tests want them: what they answer, how long they take, and how many requests are there at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use delivery::ports::sender::{AddressRefused, Health, Request, Sender};
use delivery::ports::time::Clock;
use domain::{Answer, Endpoint, FailureKind, Outcome, Timestamp};
use parking_lot::Mutex;

/// What an endpoint does with one request.
#[derive(Debug, Clone)]
pub struct Reply {
    /// How long it takes.
    pub after: Duration,
    /// What it answers; `None` for a refused connection.
    pub answer: Option<Answer>,
}

impl Reply {
    /// An answer after some milliseconds.
    pub fn status(status: u16, after_ms: u64) -> Self {
        let answer = Some(Answer { status, ..Answer::default() });
        Self { after: Duration::from_millis(after_ms), answer }
    }

    /// A status with a `Retry-After`, at once.
    pub fn retry_after(status: u16, seconds: u64) -> Self {
        let retry_after = Some(Duration::from_secs(seconds));
        Self { after: Duration::from_millis(20), answer: Some(Answer { status, retry_after, ..Answer::default() }) }
    }

    /// A refused connection.
    pub fn refused() -> Self {
        Self { after: Duration::from_millis(1), answer: None }
    }

    /// No answer within any timeout.
    pub fn hang() -> Self {
        Self::status(200, 3_600_000)
    }
}

/// A request as an endpoint saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The URL.
    pub url: String,
    /// The webhook.
    pub id: String,
    /// The attempt that the request names. 1-based.
    pub attempt: u32,
    /// The dispatch that made it.
    pub dispatch: u64,
    /// When it came.
    pub at: Timestamp,
    /// Requests at this endpoint at that moment, this one included.
    pub concurrent: usize,
    /// The status of its answer, if it waits for one.
    pub status: Option<u16>,
}

/// How endpoints behave: a function of the URL, the time and the number of requests seen there before.
pub type Behaviour = dyn Fn(&str, Timestamp, usize) -> Reply + Send + Sync;
/// Looks at every request when it comes.
pub type Inspector = dyn Fn(&Seen) + Send + Sync;

/// All endpoints of a world, as a sender.
pub struct Endpoints {
    clock: Arc<dyn Clock>,
    behaviour: Mutex<Arc<Behaviour>>,
    inspector: Mutex<Arc<Inspector>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    aborted: usize,
    count: BTreeMap<String, usize>,
    present: BTreeMap<String, usize>,
}

impl Endpoints {
    /// Endpoints that answer 200 after 5 ms.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            behaviour: Mutex::new(Arc::new(|_: &str, _, _| Reply::status(200, 5))),
            inspector: Mutex::new(Arc::new(|_: &Seen| {})),
            state: Mutex::default(),
        }
    }

    /// Changes how they behave.
    pub fn behave(&self, behaviour: impl Fn(&str, Timestamp, usize) -> Reply + Send + Sync + 'static) {
        *self.behaviour.lock() = Arc::new(behaviour);
    }

    /// Looks at every request from now on.
    pub fn inspect(&self, inspector: impl Fn(&Seen) + Send + Sync + 'static) {
        *self.inspector.lock() = Arc::new(inspector);
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().seen.clone()
    }

    /// Requests whose sender was killed before their answer.
    pub fn aborted(&self) -> usize {
        self.state.lock().aborted
    }

    /// Requests that are being answered.
    pub fn present(&self) -> usize {
        self.state.lock().present.values().sum()
    }

    fn arrive(&self, request: &Request<'_>) -> (Reply, Presence<'_>) {
        let webhook = &request.dispatch.webhook;
        let url = webhook.endpoint.url().to_owned();
        let (earlier, concurrent) = {
            let mut state = self.state.lock();
            let concurrent = state.present.entry(url.clone()).or_default();
            *concurrent += 1;
            let concurrent = *concurrent;
            let count = state.count.entry(url.clone()).or_default();
            *count += 1;
            (*count - 1, concurrent)
        };
        let at = self.clock.now();
        let behaviour = Arc::clone(&self.behaviour.lock());
        let reply = behaviour(&url, at, earlier);
        let in_time = reply.after < request.timeout;
        let seen = Seen {
            url: url.clone(),
            id: webhook.id.to_string(),
            attempt: request.dispatch.attempt,
            dispatch: request.dispatch.number,
            at,
            concurrent,
            status: reply.answer.as_ref().filter(|_| in_time).map(|answer| answer.status),
        };
        let inspector = Arc::clone(&self.inspector.lock());
        inspector(&seen);
        self.state.lock().seen.push(seen);
        (reply, Presence { endpoints: self, url, answered: false })
    }
}

/// A request that is being answered. Dropping it ends it, as the death of its process does.
struct Presence<'a> {
    endpoints: &'a Endpoints,
    url: String,
    answered: bool,
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        let mut state = self.endpoints.state.lock();
        state.aborted += usize::from(!self.answered);
        if let Some(present) = state.present.get_mut(&self.url) {
            *present -= 1;
        }
    }
}

#[async_trait]
impl Sender for Endpoints {
    async fn send(&self, request: Request<'_>) -> Outcome {
        let (reply, mut presence) = self.arrive(&request);
        self.clock.sleep(reply.after.min(request.timeout)).await;
        presence.answered = true;
        match reply.answer {
            _ if reply.after >= request.timeout => {
                Outcome::Failed { kind: FailureKind::Timeout, detail: "no answer in time".to_owned() }
            }
            Some(answer) => Outcome::Answered(answer),
            None => Outcome::Failed { kind: FailureKind::Connect, detail: "connection refused".to_owned() },
        }
    }

    fn vet(&self, _endpoint: &Endpoint) -> Result<(), AddressRefused> {
        Ok(())
    }

    async fn probe(&self, health_url: &Endpoint) -> Health {
        let behaviour = Arc::clone(&self.behaviour.lock());
        let reply = behaviour(health_url.url(), self.clock.now(), 0);
        if reply.answer.is_some_and(|answer| answer.status == 200) { Health::Good } else { Health::Bad }
    }
}
