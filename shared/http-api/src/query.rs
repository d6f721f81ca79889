//! The parameters of a query string.

use url::form_urlencoded;
use wire::http::ValidationError;

use crate::problem::Problem;

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
        let mut mistakes = Vec::new();
        for (name, value) in form_urlencoded::parse(raw.unwrap_or_default().as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let message = format!("is not a known parameter; known are {}", known.join(", "));
                mistakes.push(ValidationError { field: name.chars().take(64).collect(), message });
            } else if query.get(&name).is_some() {
                mistakes.push(ValidationError { field: name.into_owned(), message: "is given twice".to_owned() });
            } else {
                query.0.push((name.into_owned(), value.into_owned()));
            }
        }
        mistakes.truncate(50);
        if mistakes.is_empty() { Ok(query) } else { Err(Problem::invalid(mistakes)) }
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
