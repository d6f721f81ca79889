//! The one place where secrets become text and text becomes secrets (SE-1).
//!
//! Signing secrets and the values of callers' headers pass through here, and through nothing else. They are written in
//! clear so far: sealing them belongs into these two functions, and no other code needs to change its shape for it.

use std::borrow::Cow;

use domain::Secret;

/// A secret as it stands in a record.
pub(crate) fn to_text(secret: &Secret) -> Cow<'_, str> {
    Cow::Borrowed(secret.reveal())
}

/// A secret as read from a record.
pub(crate) fn from_text(text: Cow<'_, str>) -> Secret {
    Secret::new(text)
}
