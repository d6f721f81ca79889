//! A tombstone on `howk.state`: a null value. The key says whose, the header `dispatch` up to which dispatch.
//!
//! A tombstone without the header covers every dispatch.

use domain::{Record, WebhookId};

use super::headers::DISPATCH;
use crate::unreadable::Unreadable;

/// Reads a tombstone.
pub(super) fn decode(key: Option<&[u8]>, headers: &[(&str, &[u8])]) -> Result<Record, Unreadable> {
    let text = key.and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default();
    let id = WebhookId::parse(text).map_err(|error| Unreadable::of("key of a tombstone", error))?;
    let header = headers.iter().find(|(name, _)| *name == DISPATCH);
    Ok(Record::Tombstone(id, header.map_or(Ok(u64::MAX), |(_, value)| through(value))?))
}

fn through(value: &[u8]) -> Result<u64, Unreadable> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Unreadable::of("header dispatch", "not a number"))
}
