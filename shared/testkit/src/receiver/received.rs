//! One request as it came over the wire.

use bytes::Bytes;

/// A request that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The method.
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Names in the sender's case, and values, in the sender's order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, without any transfer coding.
    pub body: Bytes,
    /// The connection that it came on, by the order of their acceptance. 0-based.
    pub connection: usize,
}

impl Received {
    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The values of a header, in order, whatever the case of its name.
    pub fn all(&self, name: &str) -> Vec<String> {
        let of_name = self.headers.iter().filter(|(written, _)| written.eq_ignore_ascii_case(name));
        of_name.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect()
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        self.all(name).into_iter().next()
    }
}
