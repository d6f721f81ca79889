//! Filters of dead letters, from a query or a body, and the cursor of their listing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{ConfigId, Endpoint, EndpointHash, ReasonType, Timestamp, WebhookId};

use super::mistakes::{RequestError, ValidationError, ValidationErrors, pointer};
use super::object::{Item, body};
use super::time;

/// The fields of a filter.
pub const FIELDS: [&str; 5] = ["config_id", "endpoint", "reason_type", "since", "until"];

/// Which dead letters are meant; what is `None` admits all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Of this tenant.
    pub config_id: Option<ConfigId>,
    /// Of this endpoint.
    pub endpoint: Option<EndpointHash>,
    /// For this reason.
    pub reason_type: Option<ReasonType>,
    /// Given up at or after this.
    pub since: Option<Timestamp>,
    /// Given up before this; later than `since`.
    pub until: Option<Timestamp>,
}

/// Reads the body of a bulk replay: a filter with at least one field.
///
/// # Errors
/// A [`RequestError`] with every mistake.
pub fn read_replay(bytes: &[u8]) -> Result<Filter, RequestError> {
    let mut mistakes = ValidationErrors::at(String::new());
    let object = body::<Item<'_>>(bytes)?.object(&mut mistakes);
    let filter = object.and_then(|object| {
        object.check_names(&FIELDS, &mut mistakes);
        let mut texts = Vec::new();
        for name in FIELDS {
            let text = mistakes.take(&pointer("", name), object.text(name)).flatten();
            texts.extend(text.map(|text| (name, text)));
        }
        if texts.is_empty() {
            mistakes.note("", format!("give at least one of {}", FIELDS.join(", ")));
        }
        let given = |name: &str| texts.iter().find(|(field, _)| *field == name).map(|(_, text)| text.as_ref());
        filter("/", given, &mut mistakes)
    });
    mistakes.unless_any(filter).map_err(RequestError::Invalid)
}

/// Reads a filter from the parameters of a query.
///
/// # Errors
/// Every [`ValidationError`], by parameter.
pub fn read_query<'a>(given: impl Fn(&str) -> Option<&'a str>) -> Result<Filter, Vec<ValidationError>> {
    let mut mistakes = ValidationErrors::at(String::new());
    let filter = filter("", given, &mut mistakes);
    mistakes.unless_any(filter)
}

/// Reads an endpoint from its hash or its URL.
///
/// # Errors
/// A message that says what is accepted.
pub fn read_endpoint(text: &str) -> Result<EndpointHash, String> {
    EndpointHash::parse(text).or_else(|_| match Endpoint::parse(text) {
        Ok(endpoint) => Ok(endpoint.hash().clone()),
        Err(error) => Err(format!("is neither an endpoint hash nor a URL to send to: {error}")),
    })
}

fn filter<'a>(
    prefix: &str,
    given: impl Fn(&str) -> Option<&'a str>,
    mistakes: &mut ValidationErrors,
) -> Option<Filter> {
    let at = |name: &str| format!("{prefix}{name}");
    let config_id = given("config_id").map(|text| ConfigId::parse(text).map_err(|error| error.to_string()));
    let reason_type = given("reason_type").map(|text| ReasonType::parse(text).ok_or_else(reasons));
    let time = |name: &str| given(name).map(|text| time::parse(text).ok_or_else(not_a_time)).transpose();
    let config_id = mistakes.take(&at("config_id"), config_id.transpose());
    let endpoint = mistakes.take(&at("endpoint"), given("endpoint").map(read_endpoint).transpose());
    let reason_type = mistakes.take(&at("reason_type"), reason_type.transpose());
    let since = mistakes.take(&at("since"), time("since"));
    let until = mistakes.take(&at("until"), time("until"));
    if let (Some(Some(since)), Some(Some(until))) = (since, until)
        && until <= since
    {
        mistakes.note(&at("until"), "must be later than since");
    }
    Some(Filter {
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

/// Writes the cursor of the listing that goes on after this dead letter. Opaque to callers.
pub fn write_cursor(at: Timestamp, id: &WebhookId) -> String {
    let text = format!("{}.{id}", at.as_ms());
    URL_SAFE_NO_PAD.encode(format!("{:08x}.{text}", checksum(&text)))
}

/// Reads a cursor back; `None` when it is not one that [`write_cursor`] wrote.
pub fn read_cursor(cursor: &str) -> Option<(Timestamp, WebhookId)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (sum, text) = text.split_once('.')?;
    let (at, id) = text.split_once('.')?;
    let read = (Timestamp::from_ms(at.parse().ok()?), WebhookId::parse(id).ok()?);
    (sum == format!("{:08x}", checksum(text))).then_some(read)
}

/// FNV-1a: finds slips and guesses. It needs to keep no secret, for a forged cursor shows nothing that a filter hides.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_the_way_there_and_back_and_no_change() {
        let (at, id) = (Timestamp::from_ms(1_700_000_000_123), WebhookId::fresh(Timestamp::from_ms(5), 9));
        let cursor = write_cursor(at, &id);
        assert_eq!(read_cursor(&cursor), Some((at, id)));
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
            RequestError::Invalid(mistakes) => mistakes.into_iter().map(|mistake| mistake.field).collect::<Vec<_>>(),
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
