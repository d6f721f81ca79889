//! The parameters of a query string.

use url::form_urlencoded;

use crate::problem::Problem;
use crate::validation::{SHOWN_NAME_MAX, ValidationError, ValidationErrors, unknown_name};

/// The longest page of a listing.
pub(crate) const LIMIT_MAX: usize = 200;
/// The length of a page whose caller names none.
const LIMIT_DEFAULT: usize = 50;

/// The parameters of one request, each known and given once.
#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query string that may have the `known` parameters.
    pub(crate) fn read(raw: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let mut query = Self(Vec::new());
        let mut errors = ValidationErrors::of_body();
        for (name, value) in form_urlencoded::parse(raw.unwrap_or_default().as_bytes()) {
            if !known.contains(&name.as_ref()) {
                errors.add(
                    &name.chars().take(SHOWN_NAME_MAX).collect::<String>(),
                    unknown_name("parameter", &name, known),
                );
            } else if query.get(&name).is_some() {
                errors.add(&name, "is given twice");
            } else {
                query.0.push((name.into_owned(), value.into_owned()));
            }
        }
        errors.into_result(Some(query)).map_err(Problem::invalid)
    }

    /// A parameter's value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The parameter `limit`. Bounds: 1 to [`LIMIT_MAX`].
    pub(crate) fn limit(&self) -> Result<usize, ValidationError> {
        let Some(text) = self.get("limit") else { return Ok(LIMIT_DEFAULT) };
        let number = text.parse().ok().filter(|number| (1..=LIMIT_MAX).contains(number));
        let message = || format!("must be a whole number from 1 to {LIMIT_MAX}");
        number.ok_or_else(|| ValidationError { field: "limit".to_owned(), message: message() })
    }
}
