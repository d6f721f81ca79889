//! A real HTTP/1.1 server on loopback that records what it is sent and answers by a script.
//!
//! It reads the wire itself, so header names come out in the case and order in which they were sent. Dropping it ends
//! every connection. Deliberately absent: TLS, HTTP/2, and answers that are not HTTP (`sender-http` tests those).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::Endpoint;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

mod conversation;
mod received;
mod reply;

pub use received::Received;
pub use reply::{Latch, Reply};

/// How long [`FakeReceiver::received`] waits. Generous: it only ends a test that has failed already.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A receiver of webhooks.
pub struct FakeReceiver {
    address: SocketAddr,
    seen: Arc<Seen>,
    /// Aborted, with every connection, when the receiver is dropped.
    _server: JoinSet<()>,
}

/// The script of the receiver and the requests that it saw.
struct Seen {
    connections: AtomicUsize,
    log: Mutex<Log>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Log {
    requests: Vec<Received>,
    scripts: BTreeMap<String, Script>,
    presence: BTreeMap<String, Presence>,
}

struct Script {
    replies: Vec<Reply>,
    next: usize,
}

#[derive(Clone, Copy, Default)]
struct Presence {
    now: usize,
    peak: usize,
}

impl FakeReceiver {
    /// Listens on a free port of loopback. Every path answers 200 until it has a script.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let (connections, log, count) = (AtomicUsize::new(0), Mutex::default(), watch::Sender::new(0));
        let seen = Arc::new(Seen { connections, log, count });
        let mut server = JoinSet::new();
        server.spawn(accept(listener, Arc::clone(&seen)));
        Self { address, seen, _server: server }
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The endpoint of a path, which begins with a slash.
    ///
    /// # Panics
    /// When the path makes no URL.
    pub fn endpoint(&self, path: &str) -> Endpoint {
        Endpoint::parse(&self.url(path)).expect("a path")
    }

    /// What a path answers, request by request; the last reply is repeated. A query is no part of the path.
    pub fn script(&self, path: &str, replies: impl IntoIterator<Item = Reply>) {
        let script = Script { replies: replies.into_iter().collect(), next: 0 };
        self.seen.log.lock().scripts.insert(path.to_owned(), script);
    }

    /// Every request so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<Received> {
        self.seen.log.lock().requests.clone()
    }

    /// The requests to one path, in the order of their arrival.
    pub fn requests_to(&self, path: &str) -> Vec<Received> {
        self.requests().into_iter().filter(|request| request.path() == path).collect()
    }

    /// Waits for so many requests, and returns all there are by then.
    ///
    /// # Panics
    /// When they do not come; it says what came.
    pub async fn received(&self, count: usize) -> Vec<Received> {
        let mut arrived = self.seen.count.subscribe();
        let wanted = arrived.wait_for(|arrived| *arrived >= count);
        let in_time = tokio::time::timeout(TIMEOUT, wanted).await.is_ok();
        let requests = self.requests();
        assert!(in_time, "{} of {count} requests came: {requests:#?}", requests.len());
        requests
    }

    /// Connections that were accepted.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Requests to a path that are being answered.
    pub fn present(&self, path: &str) -> usize {
        self.presence(path).now
    }

    /// The most requests to a path that were being answered at once.
    pub fn peak(&self, path: &str) -> usize {
        self.presence(path).peak
    }

    fn presence(&self, path: &str) -> Presence {
        self.seen.log.lock().presence.get(path).copied().unwrap_or_default()
    }
}

impl Seen {
    /// Records a request and says how to answer it; it counts as present until what is returned is dropped.
    fn arrive(self: &Arc<Self>, request: Received) -> (Reply, Visit) {
        let path = request.path().to_owned();
        let (reply, count) = {
            let mut log = self.log.lock();
            let presence = log.presence.entry(path.clone()).or_default();
            presence.now += 1;
            presence.peak = presence.peak.max(presence.now);
            let reply = log.scripts.get_mut(&path).and_then(Script::turn).unwrap_or_default();
            log.requests.push(request);
            (reply, log.requests.len())
        };
        self.count.send_modify(|arrived| *arrived = (*arrived).max(count));
        (reply, Visit { seen: Arc::clone(self), path })
    }
}

impl Script {
    fn turn(&mut self) -> Option<Reply> {
        let reply = self.replies.get(self.next).or(self.replies.last()).cloned();
        self.next += 1;
        reply
    }
}

/// A request that is being answered.
struct Visit {
    seen: Arc<Seen>,
    path: String,
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(presence) = self.seen.log.lock().presence.get_mut(&self.path) {
            presence.now -= 1;
        }
    }
}

async fn accept(listener: TcpListener, seen: Arc<Seen>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = seen.connections.fetch_add(1, Ordering::SeqCst);
        let seen = Arc::clone(&seen);
        connections.spawn(async move {
            // A client that hangs up in the middle is no concern of the receiver's.
            drop(conversation::hold(stream, &seen, number).await);
        });
        while connections.try_join_next().is_some() {}
    }
}

#[cfg(test)]
mod tests;
