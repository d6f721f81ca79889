//! Receivers over HTTP that behave as their path says, and remember every request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use clock_system::SystemClock;
use delivery::ports::time::Clock;
use domain::Timestamp;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// How long a slow receiver takes: longer than the fast lane waits, shorter than the slow lane does.
pub const SLOW: Duration = Duration::from_millis(900);
/// The `Retry-After` of one that throttles, in seconds.
const REST: &str = "1";

/// What a receiver does. Counts are of one webhook's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// 200.
    Takes,
    /// 500 so many times, then 200.
    Fails(u32),
    /// 500, always.
    Broken,
    /// 429 with `Retry-After` once, then 200.
    Throttles,
    /// 400.
    Refuses,
    /// 410.
    Gone,
    /// No answer.
    Hangs,
    /// 200 after [`SLOW`].
    Slow,
    /// 200 after so many milliseconds.
    TakesAfter(u32),
    /// No process listens.
    Down,
    /// 503 while [`Receiver::suffer`] is on, else 200.
    Suffers,
}

impl Behaviour {
    fn path(self) -> String {
        match self {
            Self::Takes => "takes".to_owned(),
            Self::Fails(times) => format!("fails/{times}"),
            Self::Broken => "broken".to_owned(),
            Self::Throttles => "throttles".to_owned(),
            Self::Refuses => "refuses".to_owned(),
            Self::Gone => "gone".to_owned(),
            Self::Hangs => "hangs".to_owned(),
            Self::Slow => "slow".to_owned(),
            Self::TakesAfter(ms) => format!("takes-after/{ms}"),
            Self::Down => "down".to_owned(),
            Self::Suffers => "suffers".to_owned(),
        }
    }
}

/// Requests by webhook and attempt.
pub type Requests = BTreeMap<String, BTreeMap<u32, u32>>;

/// Who made a request, and when it came.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// What the sender calls itself.
    pub sender: String,
    /// When its request came.
    pub at: Timestamp,
}

/// The receivers of a run, all on one port of the loopback interface.
#[derive(Debug)]
pub struct Receiver {
    address: std::net::SocketAddr,
    closed: std::net::SocketAddr,
    seen: Arc<Seen>,
    _server: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Mutex<BTreeMap<String, BTreeMap<u32, Vec<Visitor>>>>,
    present: Mutex<BTreeMap<String, Presence>>,
    suffering: AtomicBool,
}

/// Requests for one webhook at one moment.
#[derive(Debug, Default, Clone, Copy)]
struct Presence {
    now: u32,
    peak: u32,
}

impl Receiver {
    /// Starts them.
    ///
    /// # Panics
    /// When no port is to be had.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&seen));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        // No process listens on the lowest port, and the system assigns it to none.
        let closed = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        Self { address, closed, seen, _server: server }
    }

    /// The URL of one of the endpoints that behave so.
    pub fn url(&self, behaviour: Behaviour, endpoint: usize) -> String {
        let address = if behaviour == Behaviour::Down { self.closed } else { self.address };
        format!("http://{address}/{}/{endpoint}", behaviour.path())
    }

    /// Whether those that suffer are failing.
    pub fn suffer(&self, failing: Failing) {
        self.seen.suffering.store(failing == Failing::Yes, Ordering::Relaxed);
    }

    /// Every request so far.
    ///
    /// # Panics
    /// Never: a run makes far fewer than 2^32 requests.
    pub fn requests(&self) -> Requests {
        self.requests_of(|_| true)
    }

    /// Every request so far of certain visitors.
    ///
    /// # Panics
    /// Never: a run makes far fewer than 2^32 requests.
    pub fn requests_of(&self, is_wanted: impl Fn(&Visitor) -> bool) -> Requests {
        let count =
            |visitors: &Vec<Visitor>| u32::try_from(visitors.iter().filter(|one| is_wanted(one)).count()).unwrap();
        let of_id = |attempts: &BTreeMap<u32, Vec<Visitor>>| {
            attempts.iter().map(|(attempt, visitors)| (*attempt, count(visitors))).collect()
        };
        self.seen.requests.lock().iter().map(|(id, attempts)| (id.clone(), of_id(attempts))).collect()
    }

    /// The most requests for one webhook that were there at once.
    pub fn peak(&self, id: &str) -> u32 {
        self.seen.present.lock().get(id).copied().unwrap_or_default().peak
    }
}

/// Whether those that suffer are failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// They answer 503.
    Yes,
    /// They answer 200.
    No,
}

/// Counts a request as present until it is answered or its sender hangs up.
struct Visit {
    seen: Arc<Seen>,
    id: String,
}

impl Visit {
    fn begin(seen: &Arc<Seen>, id: &str) -> Self {
        let mut present = seen.present.lock();
        let presence = present.entry(id.to_owned()).or_default();
        presence.now += 1;
        presence.peak = presence.peak.max(presence.now);
        Self { seen: Arc::clone(seen), id: id.to_owned() }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(presence) = self.seen.present.lock().get_mut(&self.id) {
            presence.now -= 1;
        }
    }
}

async fn receive(State(seen): State<Arc<Seen>>, uri: Uri, headers: HeaderMap) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (id, attempt) = (text("webhook-id"), text("x-webhook-attempt").parse().unwrap_or_default());
    let _visit = Visit::begin(&seen, &id);
    let earlier = {
        let mut requests = seen.requests.lock();
        let of_id = requests.entry(id.clone()).or_default();
        let earlier: usize = of_id.values().map(Vec::len).sum();
        of_id.entry(attempt).or_default().push(Visitor { sender: text("user-agent"), at: SystemClock.now() });
        earlier
    };
    let mut words = uri.path().split('/').skip(1);
    let (behaviour, argument) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match behaviour {
        "fails" if earlier < argument.parse().unwrap_or_default() => {
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        "broken" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "throttles" if earlier == 0 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", REST)]).into_response(),
        "refuses" => StatusCode::BAD_REQUEST.into_response(),
        "gone" => StatusCode::GONE.into_response(),
        "hangs" => std::future::pending().await,
        "slow" => {
            tokio::time::sleep(SLOW).await;
            StatusCode::OK.into_response()
        }
        "takes-after" => {
            tokio::time::sleep(Duration::from_millis(argument.parse().unwrap_or_default())).await;
            StatusCode::OK.into_response()
        }
        "suffers" if seen.suffering.load(Ordering::Relaxed) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        _ => StatusCode::OK.into_response(),
    }
}
