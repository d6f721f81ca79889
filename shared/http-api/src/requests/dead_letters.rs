//! Filters of dead letters, from a query or a body, and the cursor of their listing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use delivery::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter};
use domain::{ConfigId, Endpoint, EndpointHash, ReasonType, Timestamp, WebhookId};

use super::object::{Item, RequestBody, body, request_body};
use crate::time;
use crate::validation::{RequestError, ValidationError, ValidationErrors, pointer};

request_body! {
    /// Which dead letters to replay; at least one field.
    ReplayFilter {
        /// Of this config id.
        #[schema(value_type = Option<String>)]
        config_id,
        /// Of this endpoint: its hash or its URL.
        #[schema(value_type = Option<String>)]
        endpoint,
        /// For this reason.
        #[schema(value_type = Option<String>, example = "exhausted")]
        reason_type,
        /// Given up at or after this.
        #[schema(value_type = Option<String>, format = DateTime)]
        since,
        /// Given up before this.
        #[schema(value_type = Option<String>, format = DateTime)]
        until,
    }
}

/// Reads the body of a bulk replay: a filter with at least one field.
///
/// # Errors
/// A [`RequestError`] with every error.
pub(crate) fn read_replay(bytes: &[u8]) -> Result<DeadLetterFilter, RequestError> {
    let mut errors = ValidationErrors::of_body();
    let object = body::<Item<'_>>(bytes)?.object(&mut errors);
    let filter = object.and_then(|object| {
        let mut texts = Vec::new();
        for (name, member) in ReplayFilter::read(&object, &mut errors).members() {
            let text = errors.check(&pointer("", name), member.text()).flatten();
            texts.extend(text.map(|text| (name, text)));
        }
        if texts.is_empty() {
            errors.add("", format!("give at least one of {}", ReplayFilter::FIELDS.join(", ")));
        }
        let given = |name: &str| texts.iter().find(|(field, _)| *field == name).map(|(_, text)| text.as_ref());
        filter("/", given, &mut errors)
    });
    errors.into_result(filter).map_err(RequestError::Invalid)
}

/// Reads a filter from the parameters of a query.
///
/// # Errors
/// Every [`ValidationError`], by parameter.
pub(crate) fn read_query<'a>(
    given: impl Fn(&str) -> Option<&'a str>,
) -> Result<DeadLetterFilter, Vec<ValidationError>> {
    let mut errors = ValidationErrors::of_body();
    let filter = filter("", given, &mut errors);
    errors.into_result(filter)
}

/// Reads an endpoint from its hash or its URL.
///
/// # Errors
/// A message that says what is accepted.
fn read_endpoint(text: &str) -> Result<EndpointHash, String> {
    EndpointHash::parse(text).or_else(|_| match Endpoint::parse(text) {
        Ok(endpoint) => Ok(endpoint.hash().clone()),
        Err(error) => Err(format!("is neither an endpoint hash nor a URL to send to: {error}")),
    })
}

fn filter<'a>(
    prefix: &str,
    given: impl Fn(&str) -> Option<&'a str>,
    errors: &mut ValidationErrors,
) -> Option<DeadLetterFilter> {
    let at = |name: &str| format!("{prefix}{name}");
    let config_id = given("config_id").map(|text| ConfigId::parse(text).map_err(|error| error.to_string()));
    let reason_type = given("reason_type").map(|text| ReasonType::parse(text).ok_or_else(reasons));
    let time = |name: &str| given(name).map(|text| time::parse(text).ok_or_else(not_a_time)).transpose();
    let config_id = errors.check(&at("config_id"), config_id.transpose());
    let endpoint = errors.check(&at("endpoint"), given("endpoint").map(read_endpoint).transpose());
    let reason_type = errors.check(&at("reason_type"), reason_type.transpose());
    let since = errors.check(&at("since"), time("since"));
    let until = errors.check(&at("until"), time("until"));
    if let (Some(Some(since)), Some(Some(until))) = (since, until)
        && until <= since
    {
        errors.add(&at("until"), "must be later than since");
    }
    Some(DeadLetterFilter {
        config_id: config_id?,
        endpoint: endpoint?,
        reason_type: reason_type?,
        since: since?,
        until: until?,
    })
}

fn reasons() -> String {
    format!("must be one of {}", ReasonType::ALL.map(ReasonType::code).join(", "))
}

fn not_a_time() -> String {
    "must be an RFC 3339 time, such as 2026-01-31T23:59:59Z".to_owned()
}

/// Writes a cursor as text, opaque to callers.
pub(crate) fn write_cursor(cursor: &DeadLetterCursor) -> String {
    let text = format!("{}.{}", cursor.at.as_ms(), cursor.id);
    URL_SAFE_NO_PAD.encode(format!("{:08x}.{text}", checksum(&text)))
}

/// Reads a cursor back; `None` when it is not one that [`write_cursor`] wrote.
pub(crate) fn read_cursor(cursor: &str) -> Option<DeadLetterCursor> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (sum, text) = text.split_once('.')?;
    let (at, id) = text.split_once('.')?;
    let read = DeadLetterCursor { at: Timestamp::from_ms(at.parse().ok()?), id: WebhookId::parse(id).ok()? };
    (sum == format!("{:08x}", checksum(text))).then_some(read)
}

/// FNV-1a: finds slips and guesses. It is no secret: a forged cursor shows nothing that a filter hides.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_the_way_there_and_back_and_no_change() {
        let (at, id) = (Timestamp::from_ms(1_700_000_000_123), WebhookId::fresh(Timestamp::from_ms(5), 9));
        let place = DeadLetterCursor { at, id };
        let cursor = write_cursor(&place);
        assert_eq!(read_cursor(&cursor), Some(place));
        for index in 0..cursor.len() {
            let mut bytes = cursor.clone().into_bytes();
            bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
            assert_eq!(read_cursor(std::str::from_utf8(&bytes).unwrap()), None, "byte {index}");
        }
        for bad in ["", "x", "%", "AAAA", &format!("{cursor}="), &"A".repeat(10_000)] {
            assert_eq!(read_cursor(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_replay_needs_a_filter_and_names_what_is_wrong() {
        let fields = |body: &str| match read_replay(body.as_bytes()).unwrap_err() {
            RequestError::Invalid(errors) => errors.into_iter().map(|error| error.field).collect::<Vec<_>>(),
            RequestError::Malformed { .. } => vec!["malformed".to_owned()],
        };
        assert_eq!(fields("{}"), [""]);
        assert_eq!(fields(r#"{"config_id":null}"#), [""]);
        assert_eq!(fields("[]"), [""]);
        assert_eq!(
            fields(r#"{"config_id":"a b","since":"x","until":1,"reason_type":"?","endpoint":"ftp://h","x":1}"#),
            ["/x", "/until", "/config_id", "/endpoint", "/reason_type", "/since"]
        );
        assert_eq!(fields(r#"{"since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"}"#), ["/until"]);
        let filter = read_replay(br#"{"endpoint":"https://a.example/x","reason_type":"gone"}"#).unwrap();
        assert_eq!(filter.endpoint, Some(EndpointHash::of("https://a.example/x")));
        assert_eq!(filter.reason_type, Some(ReasonType::Gone));
    }
}
