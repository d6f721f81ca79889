//! What a receiver answers, and when.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

/// Holds answers back until the test lets them go. Clones are one latch.
#[derive(Debug, Clone)]
pub struct Latch {
    open: watch::Sender<bool>,
}

impl Default for Latch {
    fn default() -> Self {
        Self::closed()
    }
}

impl Latch {
    /// A latch that holds.
    pub fn closed() -> Self {
        Self { open: watch::Sender::new(false) }
    }

    /// Lets everything go that it holds or will hold.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    async fn opened(&self) {
        // The sender is `self`, so the channel cannot close.
        drop(self.open.subscribe().wait_for(|open| *open).await);
    }
}

/// An answer to one request.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    timeout: Timeout,
}

#[derive(Debug, Clone)]
enum Timeout {
    None,
    Until(Latch),
    For(Duration),
    Endless,
}

impl Default for Reply {
    fn default() -> Self {
        Self::status(200)
    }
}

impl Reply {
    /// A status, at once, without a body.
    pub const fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), timeout: Timeout::None }
    }

    /// No answer, ever; the connection stays open until the client closes it.
    pub fn hang() -> Self {
        Self { timeout: Timeout::Endless, ..Self::status(200) }
    }

    /// With a header, after those it has.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a body; its length is announced unless a `Content-Length` header says otherwise.
    #[must_use]
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Not before the latch opens.
    #[must_use]
    pub fn when(self, latch: &Latch) -> Self {
        Self { timeout: Timeout::Until(latch.clone()), ..self }
    }

    /// Not before so much real time has passed: for tests of load, not of logic.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { timeout: Timeout::For(delay), ..self }
    }

    /// Waits until the answer may be sent.
    pub(super) async fn ripen(&self) {
        match &self.timeout {
            Timeout::None => {}
            Timeout::Until(latch) => latch.opened().await,
            Timeout::For(delay) => tokio::time::sleep(*delay).await,
            Timeout::Endless => std::future::pending().await,
        }
    }

    /// The bytes to send.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut lines = vec![format!("HTTP/1.1 {} scripted", self.status)];
        let announced = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if !announced && self.status != 204 {
            lines.push(format!("Content-Length: {}", self.body.len()));
        }
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        let mut bytes = lines.join("\r\n").into_bytes();
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}
