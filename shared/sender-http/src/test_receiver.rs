//! A receiver for this crate's tests: raw sockets on loopback, so that every byte that was sent can be looked at, and
//! answers that no HTTP library would give.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clock_system::SystemRandom;
use delivery::ports::sender::{Request, Sender};
use delivery::ports::vault::Vault;
use domain::{ConfigId, Dispatch, Endpoint, Outcome, Payload, PayloadKind, Sealed, SealedHeader, Secret};
use domain::{Timestamp, Webhook, WebhookId};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use vault_xchacha::XChaChaVault;

use crate::{AddressPolicy, HttpSender, PrivateAddresses, SenderConfig};

pub(crate) const ID: &str = "wh_01ARZ3NDEKTSV4RRFFQ69G5FAV";
pub(crate) const TENANT: &str = "tenant";
pub(crate) const NOW: Timestamp = Timestamp::from_ms(1_614_265_330_999);

/// What the receiver does with each request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Writes these bytes and waits for the next request.
    Bytes(Vec<u8>),
    /// Writes these bytes and hangs up.
    Last(Vec<u8>),
    /// Writes these bytes, then nothing more, without hanging up.
    Hang(Vec<u8>),
    /// Writes these bytes, then one byte every 50 ms, for ever.
    Trickle(Vec<u8>),
    /// Writes these bytes, then zeros as fast as they are taken.
    Flood(Vec<u8>),
}

impl Reply {
    pub(crate) fn with_body(status: &str, body: &str) -> Self {
        let length = body.len();
        Self::Bytes(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes())
    }
}

/// One request as it came over the wire.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// Names as written, and values, in order.
    pub(crate) fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let lines = self.head.split(|byte| *byte == b'\n').skip(1);
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let colon = line.iter().position(|byte| *byte == b':').expect("a header line");
                let name = String::from_utf8(line[..colon].to_vec()).expect("an ASCII name");
                (name, line[colon + 2..].to_vec())
            })
            .collect()
    }

    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let of_name = |(written, _): &(String, Vec<u8>)| written.eq_ignore_ascii_case(name);
        let values = self.headers().into_iter().filter(of_name);
        values.map(|(_, value)| String::from_utf8_lossy(&value).into_owned()).collect()
    }
}

#[derive(Debug, Default)]
struct Seen {
    accepts: AtomicUsize,
    written: AtomicUsize,
    requests: Mutex<Vec<Received>>,
}

/// Gives every request the same answer, and records the requests.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) port: u16,
    seen: Arc<Seen>,
    _tasks: JoinSet<()>,
}

impl Receiver {
    pub(crate) async fn start(reply: Reply) -> Self {
        Self::start_with(reply, None).await
    }

    /// Starts a receiver that speaks TLS when it is given the means.
    pub(crate) async fn start_with(reply: Reply, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Seen::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, reply, tls, Arc::clone(&seen)));
        Self { port, seen, _tasks: tasks }
    }

    pub(crate) async fn answering(status: &str, body: &str) -> Self {
        Self::start(Reply::with_body(status, body)).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    pub(crate) fn accepts(&self) -> usize {
        self.seen.accepts.load(Ordering::SeqCst)
    }

    pub(crate) fn written(&self) -> usize {
        self.seen.written.load(Ordering::SeqCst)
    }

    pub(crate) async fn requests(&self) -> Vec<Received> {
        self.seen.requests.lock().await.clone()
    }

    pub(crate) async fn only_request(&self) -> Received {
        let mut requests = self.requests().await;
        assert_eq!(requests.len(), 1, "one request");
        requests.remove(0)
    }
}

async fn accept(listener: TcpListener, reply: Reply, tls: Option<TlsAcceptor>, seen: Arc<Seen>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        seen.accepts.fetch_add(1, Ordering::SeqCst);
        let (reply, tls, seen) = (reply.clone(), tls.clone(), Arc::clone(&seen));
        connections.spawn(async move {
            let Some(tls) = tls else {
                return drop(converse(stream, reply, seen).await);
            };
            if let Ok(stream) = tls.accept(stream).await {
                drop(converse(stream, reply, seen).await);
            }
        });
    }
}

async fn converse<S>(mut stream: S, reply: Reply, seen: Arc<Seen>) -> std::io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(received) = receive(&mut stream).await? {
        seen.requests.lock().await.push(received);
        match &reply {
            Reply::Bytes(bytes) => stream.write_all(bytes).await?,
            Reply::Last(bytes) => return stream.write_all(bytes).await,
            Reply::Hang(bytes) => {
                stream.write_all(bytes).await?;
                std::future::pending::<()>().await;
            }
            Reply::Trickle(bytes) => {
                stream.write_all(bytes).await?;
                let mut tick = tokio::time::interval(Duration::from_millis(50));
                loop {
                    tick.tick().await;
                    stream.write_all(b"x").await?;
                }
            }
            Reply::Flood(bytes) => {
                stream.write_all(bytes).await?;
                loop {
                    let written = stream.write(&[0; 16 * 1024]).await?;
                    seen.written.fetch_add(written, Ordering::SeqCst);
                }
            }
        }
    }
    Ok(())
}

async fn receive<S: AsyncRead + Unpin>(stream: &mut S) -> std::io::Result<Option<Received>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return Ok(None),
        }
    }
    let mut received = Received { head, body: Vec::new() };
    let length = received.all("content-length").first().map_or(0, |length| length.parse().expect("a length"));
    received.body = vec![0; length];
    stream.read_exact(&mut received.body).await?;
    Ok(Some(received))
}

/// A sender that may call loopback.
pub(crate) fn local_sender() -> HttpSender {
    HttpSender::new(local_config(), vault()).expect("a sender")
}

pub(crate) fn local_config() -> SenderConfig {
    let address_policy = AddressPolicy { private: PrivateAddresses::Allowed, denied: Vec::new() };
    SenderConfig { address_policy, ..SenderConfig::default() }
}

/// The vault of every test here.
pub(crate) fn vault() -> Arc<dyn Vault> {
    let vault = XChaChaVault::new(&Secret::new("the tests' key"), &[], Arc::new(SystemRandom));
    Arc::new(vault.expect("a vault"))
}

pub(crate) fn sealed(secret: &str) -> Sealed {
    let tenant = ConfigId::parse(TENANT).expect("a config id");
    vault().seal(&tenant, &Secret::new(secret)).expect("a seal")
}

pub(crate) fn header(name: &str, value: &str) -> SealedHeader {
    SealedHeader { name: name.to_owned(), value: sealed(value) }
}

pub(crate) fn webhook(url: &str, body: &[u8]) -> Webhook {
    Webhook {
        id: WebhookId::parse(ID).expect("an id"),
        config_id: ConfigId::parse(TENANT).expect("a config id"),
        endpoint: Endpoint::parse(url).expect("an endpoint"),
        payload: Payload { bytes: body.into(), kind: PayloadKind::Json },
        headers: Vec::new(),
        idempotency_key: None,
        signing_secrets: Vec::new(),
        max_attempts: 3,
        retry_on_status: Vec::new(),
        created_at: NOW,
        trace: None,
    }
}

pub(crate) async fn send(sender: &HttpSender, webhook: Webhook) -> Outcome {
    send_within(sender, webhook, Duration::from_secs(10)).await
}

/// Sends, and fails when it takes more than the deadline and some slack.
pub(crate) async fn send_within(sender: &HttpSender, webhook: Webhook, timeout: Duration) -> Outcome {
    let dispatch = Dispatch { attempt: 2, ..Dispatch::first(Arc::new(webhook)) };
    let sent = sender.send(Request { dispatch: &dispatch, now: NOW, timeout });
    tokio::time::timeout(timeout + Duration::from_secs(2), sent).await.expect("it ends by its deadline")
}
