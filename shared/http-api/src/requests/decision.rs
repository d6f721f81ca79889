//! The body of a decision about an endpoint: which tenant decides.

use domain::ConfigId;

use super::object::{Item, RequestBody, body, request_body};
use crate::validation::{RequestError, ValidationErrors};

request_body! {
    /// The tenant that decides.
    Decider {
        /// The config id whose webhooks to this endpoint are meant.
        #[schema(value_type = String)]
        config_id,
    }
}

/// Reads the body: the tenant that decides.
///
/// # Errors
/// A [`RequestError`] with every error.
pub(crate) fn read(bytes: &[u8]) -> Result<ConfigId, RequestError> {
    let mut errors = ValidationErrors::of_body();
    let object = body::<Item<'_>>(bytes)?.object(&mut errors);
    let config_id = object.and_then(|object| {
        let text = Decider::read(&object, &mut errors).config_id.text();
        let config_id = text
            .and_then(|text| text.ok_or_else(|| "is required".to_owned()))
            .and_then(|text| ConfigId::parse(&text).map_err(|error| error.to_string()));
        errors.check("/config_id", config_id)
    });
    errors.into_result(config_id).map_err(RequestError::Invalid)
}
