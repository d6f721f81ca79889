//! The body of a decision about an endpoint: whose it is.

use domain::ConfigId;

use super::mistakes::{RequestError, ValidationErrors};
use super::object::{Item, body};

/// The fields of a decision.
pub const FIELDS: [&str; 1] = ["config_id"];

/// Reads the body: the tenant that decides.
///
/// # Errors
/// A [`RequestError`] with every mistake.
pub fn read(bytes: &[u8]) -> Result<ConfigId, RequestError> {
    let mut mistakes = ValidationErrors::at(String::new());
    let object = body::<Item<'_>>(bytes)?.object(&mut mistakes);
    let config_id = object.and_then(|object| {
        object.check_names(&FIELDS, &mut mistakes);
        let config_id = object
            .text("config_id")
            .and_then(|text| text.ok_or_else(|| "is required".to_owned()))
            .and_then(|text| ConfigId::parse(&text).map_err(|error| error.to_string()));
        mistakes.take("/config_id", config_id)
    });
    mistakes.unless_any(config_id).map_err(RequestError::Invalid)
}
