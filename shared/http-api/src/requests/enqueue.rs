//! The bodies of enqueue: one webhook, or a batch of them, read in one pass.

use std::sync::Arc;

use delivery::enqueue::NewWebhook;
use domain::{ConfigId, Endpoint, MAX_ATTEMPTS_MAX, Payload, PayloadKind, TraceParent};
use serde_json::value::RawValue;

use super::object::{Bounded, Item, Member, Object, RequestBody, body, kind, request_body};
use super::{headers, secrets};
use crate::validation::{RequestError, ValidationError, ValidationErrors};

/// The most webhooks of one batch. The document says the same of `webhooks`.
const BATCH_MAX: usize = 100;
/// The longest idempotency key, in bytes. The document says the same.
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// The deepest nesting of a payload: far beyond what payloads need, and within what the JSON parsers of receivers take.
const PAYLOAD_DEPTH_MAX: usize = 512;
/// The most statuses of `retry_on_status`. The document says the same.
const RETRY_ON_STATUS_MAX: usize = 50;

request_body! {
    /// A webhook to send. Unknown fields are refused.
    #[schema(as = NewWebhook)]
    WebhookBody {
        /// The URL to POST to: http or https, without user and password.
        #[schema(value_type = String, max_length = 2048, format = "uri", example = "https://example.com/hooks")]
        endpoint,
        /// Any JSON, null included. It is sent byte for byte as it stands here.
        #[schema(value_type = serde_json::Value)]
        payload,
        /// Headers of the request, in this order. At most 100 and 16 KiB.
        #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
        headers,
        /// Repeating it within one config id gives the same webhook, delivered once. Whatever else the repeat says is not
        /// compared and changes nothing.
        #[schema(value_type = Option<String>, min_length = 1, max_length = 255)]
        idempotency_key,
        /// What requests are signed with: plain text, or `whsec_` or `whsk_` and base64.
        #[schema(value_type = Option<String>, max_length = 1024)]
        signing_secret,
        /// More secrets, while one is rotated; requests carry a signature of each.
        #[schema(value_type = Option<Vec<String>>, max_items = 5)]
        signing_secrets,
        /// The number of requests at most.
        #[schema(value_type = Option<u32>, minimum = 1, maximum = 100)]
        max_attempts,
        /// Status codes, 300 to 599, that are retried although the rules would not.
        #[schema(value_type = Option<Vec<u16>>, max_items = 50)]
        retry_on_status,
        /// Accept only if a script is configured for the config id.
        #[schema(value_type = Option<bool>)]
        require_script,
    }
}

request_body! {
    /// Webhooks to send, accepted or refused one by one.
    #[schema(as = NewWebhooks)]
    BatchBody {
        /// The webhooks.
        #[schema(value_type = Vec<WebhookBody<'static>>, min_items = 1, max_items = 100)]
        webhooks,
    }
}

/// What a request says about its webhooks outside their fields.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The tenant, from the path.
    pub(crate) config_id: ConfigId,
    /// The `max_attempts` of a webhook that names none.
    pub(crate) default_max_attempts: u32,
    /// The trace of the request.
    pub(crate) trace: Option<TraceParent>,
}

/// One webhook whose fields keep their rules. The address policy has not seen its endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    /// What the use-case takes.
    pub(crate) webhook: NewWebhook,
    /// Whether it may only be accepted with a script.
    pub(crate) require_script: bool,
}

/// Reads the body of a single webhook.
///
/// # Errors
/// A [`RequestError`] with every error.
pub(crate) fn read(bytes: &[u8], context: &Context) -> Result<Submission, RequestError> {
    read_item(body(bytes)?, String::new(), context).map_err(RequestError::Invalid)
}

/// The webhooks of a batch, each with its own errors.
pub(crate) type Batch = Vec<Result<Submission, Vec<ValidationError>>>;

/// Reads the body of a batch: each webhook on its own, in order. 1 to [`BATCH_MAX`] of them.
///
/// # Errors
/// A [`RequestError`] when the batch itself is wrong; what is wrong with one webhook stands in its place.
pub(crate) fn read_batch(bytes: &[u8], context: &Context) -> Result<Batch, RequestError> {
    let mut errors = ValidationErrors::of_body();
    let object = body::<Item<'_>>(bytes)?.object(&mut errors);
    let items = object.and_then(|object| {
        let list = match BatchBody::read(&object, &mut errors).webhooks.raw() {
            Some(raw) => items(raw),
            None => Err("is required".to_owned()),
        };
        errors.check("/webhooks", list)
    });
    let items = errors.into_result(items).map_err(RequestError::Invalid)?;
    let read = |(index, item)| read_item(item, format!("/webhooks/{index}"), context);
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

fn read_item(item: Item<'_>, prefix: String, context: &Context) -> Result<Submission, Vec<ValidationError>> {
    let mut errors = ValidationErrors::of_item(prefix);
    let submission = item.object(&mut errors).and_then(|object| fields(&object, context, &mut errors));
    errors.into_result(submission)
}

fn fields(object: &Object<'_>, context: &Context, errors: &mut ValidationErrors) -> Option<Submission> {
    let body = WebhookBody::read(object, errors);
    let endpoint = errors.check("/endpoint", endpoint(body.endpoint));
    let payload = errors.check("/payload", payload(body.payload));
    let headers = headers::read(body.headers, errors);
    let idempotency_key = errors.check("/idempotency_key", idempotency_key(body.idempotency_key));
    let signing_secrets = secrets::read(body.signing_secret, body.signing_secrets, errors);
    let max_attempts = errors.check("/max_attempts", max_attempts(body.max_attempts));
    let retry_on_status = errors.check("/retry_on_status", retry_on_status(body.retry_on_status));
    let require_script = errors.check("/require_script", require_script(body.require_script));
    let webhook = NewWebhook {
        config_id: context.config_id.clone(),
        endpoint: endpoint?,
        payload: payload?,
        headers,
        idempotency_key: idempotency_key?,
        signing_secrets,
        max_attempts: max_attempts?.unwrap_or(context.default_max_attempts),
        retry_on_status: retry_on_status?,
        trace: context.trace.clone(),
    };
    Some(Submission { webhook, require_script: require_script? })
}

fn endpoint(member: Member<'_>) -> Result<Endpoint, String> {
    let text = member.text()?.ok_or("is required")?;
    Endpoint::parse(&text).map_err(|error| error.to_string())
}

/// The payload may be `null`, but it must be there.
fn payload(member: Member<'_>) -> Result<Payload, String> {
    let text = member.raw().ok_or("is required; it may be null")?;
    if is_deeper_than(text, PAYLOAD_DEPTH_MAX) {
        return Err(format!("is nested deeper than {PAYLOAD_DEPTH_MAX} levels"));
    }
    Ok(Payload { bytes: Arc::from(text.as_bytes()), kind: PayloadKind::Json })
}

fn idempotency_key(member: Member<'_>) -> Result<Option<String>, String> {
    let Some(key) = member.text()? else { return Ok(None) };
    if !(1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()) {
        return Err(format!("must be 1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes long, not {}", key.len()));
    }
    if key.chars().any(char::is_control) {
        return Err("must be printable: it contains a control character".to_owned());
    }
    Ok(Some(key.into_owned()))
}

fn max_attempts(member: Member<'_>) -> Result<Option<u32>, String> {
    let Some(raw) = member.given() else { return Ok(None) };
    let number = raw.parse().ok().filter(|number| (1..=MAX_ATTEMPTS_MAX).contains(number));
    number.map(Some).ok_or_else(|| format!("must be a whole number from 1 to {MAX_ATTEMPTS_MAX}"))
}

fn retry_on_status(member: Member<'_>) -> Result<Vec<u16>, String> {
    let Some(raw) = member.given() else { return Ok(Vec::new()) };
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

fn require_script(member: Member<'_>) -> Result<bool, String> {
    match member.given() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(raw) => Err(format!("must be true or false, not {}", kind(raw))),
    }
}

/// Whether a JSON text nests deeper than `depth_max`. Most texts have too few brackets to need a second look.
fn is_deeper_than(json: &str, depth_max: usize) -> bool {
    json.len() > 2 * depth_max && opens(json) > depth_max && deepest(json) > depth_max
}

/// Counts `[` and `{`, which differ in one bit, in chunks whose count fits a byte: the compiler vectorises that.
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
