//! The bodies of enqueue: one webhook, or a batch of them, read in one pass.

use std::sync::Arc;

use domain::{Endpoint, Header, MAX_ATTEMPTS_MAX, Payload, PayloadKind, Secret};
use serde_json::value::RawValue;

use super::mistakes::{RequestError, ValidationError, ValidationErrors};
use super::object::{Bounded, Item, Object, body, kind};
use super::{headers, secrets};

/// The fields of one webhook.
pub const FIELDS: [&str; 9] = [
    "endpoint",
    "payload",
    "headers",
    "idempotency_key",
    "signing_secret",
    "signing_secrets",
    "max_attempts",
    "retry_on_status",
    "require_script",
];
/// The most webhooks of one batch.
pub const BATCH_MAX: usize = 100;
/// The longest idempotency key, in bytes.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// The deepest nesting of a payload.
pub const PAYLOAD_DEPTH_MAX: usize = 512;
/// The most statuses of `retry_on_status`.
pub const RETRY_ON_STATUS_MAX: usize = 50;

/// One webhook as its caller wants it; every field keeps its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnqueueRequest {
    /// Where it goes; the address policy has not seen it.
    pub endpoint: Endpoint,
    /// What it carries: the caller's bytes (DL-4).
    pub payload: Payload,
    /// The caller's headers, in order.
    pub headers: Vec<Header>,
    /// One key, one webhook. Bounds: 1 to [`IDEMPOTENCY_KEY_BYTES_MAX`] bytes, printable.
    pub idempotency_key: Option<String>,
    /// What requests are signed with.
    pub signing_secrets: Vec<Secret>,
    /// The number of requests at most, when given. Bounds: 1 to [`MAX_ATTEMPTS_MAX`].
    pub max_attempts: Option<u32>,
    /// Statuses that are retried although the rules would not. Bounds: 300 to 599 each.
    pub retry_on_status: Vec<u16>,
    /// Whether it may only be accepted with a script.
    pub require_script: bool,
}

/// Reads the body of a single webhook.
///
/// # Errors
/// A [`RequestError`] with every mistake.
pub fn read(bytes: &[u8]) -> Result<EnqueueRequest, RequestError> {
    read_item(body(bytes)?, String::new()).map_err(RequestError::Invalid)
}

/// Reads the body of a batch: each webhook on its own, in order. 1 to [`BATCH_MAX`] of them.
///
/// # Errors
/// A [`RequestError`] when the batch itself is wrong; what is wrong with one webhook stands in its place.
pub fn read_batch(bytes: &[u8]) -> Result<Vec<Result<EnqueueRequest, Vec<ValidationError>>>, RequestError> {
    let mut mistakes = ValidationErrors::at(String::new());
    let object = body::<Item<'_>>(bytes)?.object(&mut mistakes);
    let items = object.and_then(|object| {
        object.check_names(&["webhooks"], &mut mistakes);
        let list = match object.raw("webhooks") {
            Some(raw) => items(raw.get()),
            None => Err("is required".to_owned()),
        };
        mistakes.take("/webhooks", list)
    });
    let items = mistakes.unless_any(items).map_err(RequestError::Invalid)?;
    let read = |(index, item)| read_item(item, format!("/webhooks/{index}"));
    Ok(items.into_iter().enumerate().map(read).collect())
}

fn items(raw: &str) -> Result<Vec<Item<'_>>, String> {
    if !raw.starts_with('[') {
        return Err(format!("must be a list, not {}", kind(raw)));
    }
    let Bounded(list) = serde_json::from_str::<Bounded<Item<'_>, BATCH_MAX>>(raw)
        .map_err(|_| "has an item that cannot be read, such as a number out of range")?;
    if (1..=BATCH_MAX).contains(&list.count) {
        Ok(list.first)
    } else {
        Err(format!("must hold 1 to {BATCH_MAX} webhooks, not {}", list.count))
    }
}

fn read_item(item: Item<'_>, prefix: String) -> Result<EnqueueRequest, Vec<ValidationError>> {
    let mut mistakes = ValidationErrors::at(prefix);
    let request = item.object(&mut mistakes).and_then(|object| fields(&object, &mut mistakes));
    mistakes.unless_any(request)
}

fn fields(object: &Object<'_>, mistakes: &mut ValidationErrors) -> Option<EnqueueRequest> {
    object.check_names(&FIELDS, mistakes);
    let endpoint = mistakes.take("/endpoint", endpoint(object));
    let payload = mistakes.take("/payload", payload(object));
    let headers = headers::read(object.given("headers"), mistakes);
    let idempotency_key = mistakes.take("/idempotency_key", idempotency_key(object));
    let signing_secrets = secrets::read(object, mistakes);
    let max_attempts = mistakes.take("/max_attempts", max_attempts(object));
    let retry_on_status = mistakes.take("/retry_on_status", retry_on_status(object));
    let require_script = mistakes.take("/require_script", require_script(object));
    Some(EnqueueRequest {
        endpoint: endpoint?,
        payload: payload?,
        headers,
        idempotency_key: idempotency_key?,
        signing_secrets,
        max_attempts: max_attempts?,
        retry_on_status: retry_on_status?,
        require_script: require_script?,
    })
}

fn endpoint(object: &Object<'_>) -> Result<Endpoint, String> {
    let text = object.text("endpoint")?.ok_or("is required")?;
    Endpoint::parse(&text).map_err(|error| error.to_string())
}

/// The payload may be `null`, but it must be there.
fn payload(object: &Object<'_>) -> Result<Payload, String> {
    let text = object.raw("payload").ok_or("is required; it may be null")?.get();
    if is_deeper_than(text, PAYLOAD_DEPTH_MAX) {
        return Err(format!("is nested deeper than {PAYLOAD_DEPTH_MAX} levels"));
    }
    Ok(Payload { bytes: Arc::from(text.as_bytes()), kind: PayloadKind::Json })
}

fn idempotency_key(object: &Object<'_>) -> Result<Option<String>, String> {
    let Some(key) = object.text("idempotency_key")? else { return Ok(None) };
    if !(1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()) {
        return Err(format!("must be 1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes long, not {}", key.len()));
    }
    if key.chars().any(char::is_control) {
        return Err("must be printable: it contains a control character".to_owned());
    }
    Ok(Some(key.into_owned()))
}

fn max_attempts(object: &Object<'_>) -> Result<Option<u32>, String> {
    let Some(raw) = object.given("max_attempts") else { return Ok(None) };
    let number = raw.parse().ok().filter(|number| (1..=MAX_ATTEMPTS_MAX).contains(number));
    number.map(Some).ok_or_else(|| format!("must be a whole number from 1 to {MAX_ATTEMPTS_MAX}"))
}

fn retry_on_status(object: &Object<'_>) -> Result<Vec<u16>, String> {
    let Some(raw) = object.given("retry_on_status") else { return Ok(Vec::new()) };
    let Ok(Bounded(list)) = serde_json::from_str::<Bounded<&RawValue, RETRY_ON_STATUS_MAX>>(raw) else {
        return Err(format!("must be a list of status codes, not {}", kind(raw)));
    };
    if list.count > RETRY_ON_STATUS_MAX {
        return Err(format!("must not hold more than {RETRY_ON_STATUS_MAX} status codes"));
    }
    let status = |raw: &&RawValue| raw.get().parse().ok().filter(|status| (300..=599).contains(status));
    let statuses: Option<Vec<u16>> = list.first.iter().map(status).collect();
    statuses.ok_or_else(|| "must hold whole numbers from 300 to 599 only".to_owned())
}

fn require_script(object: &Object<'_>) -> Result<bool, String> {
    match object.given("require_script") {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(raw) => Err(format!("must be true or false, not {}", kind(raw))),
    }
}

/// Whether a JSON text nests deeper than `depth_max`. Most texts have too few brackets to need a second look.
fn is_deeper_than(json: &str, depth_max: usize) -> bool {
    json.len() > 2 * depth_max && opens(json) > depth_max && deepest(json) > depth_max
}

/// Counts `[` and `{`, which differ in one bit, in chunks whose count fits a byte: the compiler makes vectors of that.
fn opens(json: &str) -> usize {
    let chunks = json.as_bytes().chunks(usize::from(u8::MAX));
    chunks.map(|chunk| usize::from(chunk.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum::<u8>())).sum()
}

fn deepest(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
