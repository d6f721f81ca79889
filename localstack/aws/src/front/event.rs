//! A request as an event of payload format 2.0.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use serde_json::{Map, Value, json};

/// Headers that belong to a connection and not to a request.
const OF_THE_CONNECTION: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const TRACE: &str = "x-amzn-trace-id";

/// When a request came, from where, and random bits for its ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub(super) at: Timestamp,
    pub(super) bits: u128,
    pub(super) peer: SocketAddr,
}

/// Writes a request as an event.
pub(super) fn of(parts: &Parts, body: &[u8], arrived: &Arrived) -> String {
    let query = parts.uri.query().unwrap_or_default();
    let mut event = json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": parts.uri.path(),
        "rawQueryString": query,
        "headers": headers(&parts.headers, arrived),
        "requestContext": context(parts, arrived),
        "isBase64Encoded": false,
    });
    if let Value::Object(event) = &mut event {
        add_optional(event, parts, query);
        add_body(event, &parts.headers, body);
    }
    event.to_string()
}

fn add_optional(event: &mut Map<String, Value>, parts: &Parts, query: &str) {
    let cookies = cookies(&parts.headers);
    if !cookies.is_empty() {
        event.insert("cookies".to_owned(), json!(cookies));
    }
    let parameters = joined(url::form_urlencoded::parse(query.as_bytes()).into_owned());
    if !parameters.is_empty() {
        event.insert("queryStringParameters".to_owned(), json!(parameters));
    }
}

/// Adds the body: a text as it is, anything else in base64. An empty body is left out.
fn add_body(event: &mut Map<String, Value>, headers: &HeaderMap, body: &[u8]) {
    if body.is_empty() {
        return;
    }
    let text = std::str::from_utf8(body).ok().filter(|_| is_text(headers));
    event.insert("isBase64Encoded".to_owned(), json!(text.is_none()));
    event.insert("body".to_owned(), text.map_or_else(|| json!(STANDARD.encode(body)), |text| json!(text)));
}

/// Whether an HTTP API passes a body of this type on as text. It does not for a compressed body or for a form.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = kind.starts_with("text/")
        || ["application/json", "application/xml", "application/javascript"].contains(&kind.as_str())
        || kind.ends_with("+json")
        || kind.ends_with("+xml");
    is_text && !headers.contains_key(header::CONTENT_ENCODING)
}

fn headers(headers: &HeaderMap, arrived: &Arrived) -> BTreeMap<String, String> {
    let kept = headers.iter().filter(|(name, _)| {
        !OF_THE_CONNECTION.contains(&name.as_str()) && *name != header::COOKIE && name.as_str() != "x-forwarded-proto"
    });
    let mut joined = joined(kept.map(|(name, value)| (name.as_str().to_owned(), text(value))));
    let peer = arrived.peer.ip().to_string();
    let hops = joined.remove("x-forwarded-for");
    joined.insert("x-forwarded-for".to_owned(), hops.map_or_else(|| peer.clone(), |hops| format!("{hops}, {peer}")));
    joined.insert("x-forwarded-proto".to_owned(), "http".to_owned());
    joined.insert(TRACE.to_owned(), trace(headers, arrived));
    joined
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(header::COOKIE).iter().map(text);
    lines.flat_map(|line| line.split("; ").map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Joins the values of each name into one text, with commas.
fn joined(pairs: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in pairs {
        joined.entry(name).and_modify(|known| known.extend([",", &value])).or_insert(value);
    }
    joined
}

/// A header's value, read as UTF-8.
fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// The trace of a request: the caller's, or a new one, which has no parent yet.
pub(super) fn trace(headers: &HeaderMap, arrived: &Arrived) -> String {
    let fresh = || format!("Root=1-{:08x}-{:024x}", arrived.at.as_secs(), arrived.bits >> 32);
    headers.get(TRACE).map_or_else(fresh, text)
}

fn context(parts: &Parts, arrived: &Arrived) -> Value {
    let agent = parts.headers.get(header::USER_AGENT).map(text).unwrap_or_default();
    let domain = parts.headers.get(header::HOST).map(text).unwrap_or_default();
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(arrived.at.as_secs())).to_string();
    json!({
        "accountId": "000000000000",
        "apiId": "howklocal",
        "domainName": domain,
        "domainPrefix": "howklocal",
        "http": {
            "method": parts.method.as_str(),
            "path": parts.uri.path(),
            "protocol": "HTTP/1.1",
            "sourceIp": arrived.peer.ip().to_string(),
            "userAgent": agent,
        },
        "requestId": format!("{:016x}", arrived.bits >> 64),
        "routeKey": "$default",
        "stage": "$default",
        "time": time,
        "timeEpoch": arrived.at.as_ms(),
    })
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn event(request: Request<&[u8]>) -> Value {
        let (parts, body) = request.into_parts();
        let peer = "127.0.0.1:5".parse().unwrap();
        let arrived = Arrived { at: Timestamp::from_ms(1_769_860_800_000), bits: 7 << 64, peer };
        serde_json::from_str(&of(&parts, body, &arrived)).unwrap()
    }

    #[test]
    fn repeated_names_are_joined_and_cookies_are_listed_apart() {
        let request = Request::post("/a%20b/c?x=1&y=%26&x=2&z")
            .header("x-odd", "one")
            .header("X-Odd", "two")
            .header("cookie", "a=1; b=2")
            .header("cookie", "c=3")
            .header("connection", "close")
            .header("x-forwarded-for", "10.0.0.1")
            .header("x-latin", HeaderValue::from_bytes("Zürich".as_bytes()).unwrap());
        let event = event(request.body(&b""[..]).unwrap());
        assert_eq!(event["rawPath"], "/a%20b/c");
        assert_eq!(event["rawQueryString"], "x=1&y=%26&x=2&z");
        assert_eq!(event["queryStringParameters"], json!({ "x": "1,2", "y": "&", "z": "" }));
        assert_eq!(event["cookies"], json!(["a=1", "b=2", "c=3"]));
        assert_eq!(event["headers"]["x-odd"], "one,two");
        assert_eq!(event["headers"]["x-latin"], "Zürich");
        assert_eq!(event["headers"]["x-forwarded-for"], "10.0.0.1, 127.0.0.1");
        assert!(event["headers"].get("connection").is_none() && event["headers"].get("cookie").is_none());
        assert!(event.get("body").is_none());
        assert_eq!(event["requestContext"]["http"]["method"], "POST");
    }

    #[test]
    fn only_text_is_passed_on_as_it_is() {
        let cases: [(&str, &[u8], bool); 7] = [
            ("application/json; charset=utf-8", b"{}", false),
            ("text/plain", "ü".as_bytes(), false),
            ("application/cloudevents+json", b"{}", false),
            ("application/json", b"\xff", true),
            ("application/x-www-form-urlencoded", b"a=b", true),
            ("application/octet-stream", b"a", true),
            ("", b"a", true),
        ];
        for (kind, body, encoded) in cases {
            let event = event(Request::post("/").header("content-type", kind).body(body).unwrap());
            assert_eq!(event["isBase64Encoded"], encoded, "{kind}");
            let sent = event["body"].as_str().unwrap();
            assert!(if encoded { STANDARD.decode(sent).unwrap() == body } else { sent.as_bytes() == body }, "{kind}");
        }
    }

    #[test]
    fn a_compressed_text_is_not_text() {
        let request = Request::post("/").header("content-type", "text/plain").header("content-encoding", "gzip");
        assert_eq!(event(request.body(&b"abc"[..]).unwrap())["isBase64Encoded"], true);
    }
}
