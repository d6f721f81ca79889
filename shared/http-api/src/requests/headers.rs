//! Reads the headers of a webhook: an object of strings, each name once. Order and case are kept.
//!
//! Which headers can be sent is `domain`'s rule; the sender applies the same rule again before it sends.

use domain::{HEADERS_MAX, Header, HeaderError, Secret, check_headers_total};
use serde_json::value::RawValue;

use super::object::{Item, Member, kind, text};
use crate::validation::{ValidationErrors, pointer};

/// Reads the `headers` member; absent means none.
pub(super) fn read(member: Member<'_>, errors: &mut ValidationErrors) -> Vec<Header> {
    let Some(raw) = member.given() else { return Vec::new() };
    let Ok(Item::Object(object)) = serde_json::from_str(raw) else {
        errors.add("/headers", format!("must be an object of strings, not {}", kind(raw)));
        return Vec::new();
    };
    if object.has_more() || object.members().len() > HEADERS_MAX {
        errors.add("/headers", HeaderError::TooMany.to_string());
        return Vec::new();
    }
    let mut headers: Vec<Header> = Vec::with_capacity(object.members().len());
    for (name, value) in object.members() {
        let twice = headers.iter().any(|earlier| earlier.name.eq_ignore_ascii_case(name));
        let checked = if twice { Err("is given twice; case does not count".to_owned()) } else { header(name, value) };
        headers.extend(errors.check(&pointer("/headers", name), checked));
    }
    errors.check("/headers", check_headers_total(&headers).map_err(|error| error.to_string()));
    headers
}

fn header(name: &str, value: &RawValue) -> Result<Header, String> {
    let header = Header { name: name.to_owned(), value: Secret::new(text(value.get())?) };
    header.check().map_err(|reason| reason.to_string())?;
    Ok(header)
}
