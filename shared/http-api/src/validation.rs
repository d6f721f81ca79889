//! Errors of a request: a body that is not JSON, or fields that break a rule.

use serde::Serialize;
use utoipa::ToSchema;

/// The most errors that are listed for one item: an answer stays small whatever was sent.
const ERRORS_MAX: usize = 50;
/// The longest name that an error shows, in characters. Every known name is shorter.
pub(crate) const SHOWN_NAME_MAX: usize = 64;
/// Names that are longer than this get no suggestion: comparing them costs time, and no known name is as long.
const COMPARED_NAME_BYTES_MAX: usize = 40;

/// A field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ValidationError {
    /// A JSON pointer into the body, or the name of a path or query parameter.
    #[schema(example = "/webhooks/3/endpoint")]
    pub(crate) field: String,
    /// What to change.
    pub(crate) message: String,
}

/// Why a body cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The body is not JSON.
    Malformed {
        /// The line of the first wrong character. 1-based; 0 when the body is not text at all.
        line: usize,
        /// What was expected; behind a line, its text names line and column.
        detail: String,
    },
    /// The body is JSON, and these fields break a rule. Never empty.
    Invalid(Vec<ValidationError>),
}

/// Collects the errors of one item, each under the item's own pointer.
#[derive(Debug)]
pub(crate) struct ValidationErrors {
    prefix: String,
    found: Vec<ValidationError>,
}

impl ValidationErrors {
    /// An empty list for the whole body, or for a query.
    pub(crate) const fn of_body() -> Self {
        Self::of_item(String::new())
    }

    /// An empty list for the item that stands at the pointer `prefix`.
    pub(crate) const fn of_item(prefix: String) -> Self {
        Self { prefix, found: Vec::new() }
    }

    /// Adds an error of the field at `pointer` within the item.
    pub(crate) fn add(&mut self, pointer: &str, message: impl Into<String>) {
        if self.found.len() < ERRORS_MAX {
            self.found.push(ValidationError { field: format!("{}{pointer}", self.prefix), message: message.into() });
        }
    }

    /// The value of `result`; adds its error under `pointer`.
    pub(crate) fn check<T>(&mut self, pointer: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.add(pointer, message)).ok()
    }

    /// `value`, unless there is an error.
    ///
    /// # Errors
    /// Every error that was added.
    pub(crate) fn into_result<T>(self, value: Option<T>) -> Result<T, Vec<ValidationError>> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(self.found),
        }
    }
}

/// A pointer to the member `name` of the value at `parent`: escaped by RFC 6901, printable, and short.
pub(crate) fn pointer(parent: &str, name: &str) -> String {
    let mut pointer = format!("{parent}/");
    for character in name.chars().take(SHOWN_NAME_MAX) {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            character if character.is_control() => pointer.extend(character.escape_unicode()),
            character => pointer.push(character),
        }
    }
    pointer
}

/// The message about a name that is not among `known`; `noun` says what the name is of. Suggests a known name of which
/// at most a third of the letters differ, without regard to case.
pub(crate) fn unknown_name(noun: &str, name: &str, known: &[&str]) -> String {
    let compared = (name.len() <= COMPARED_NAME_BYTES_MAX).then(|| name.to_ascii_lowercase());
    let closest =
        compared.and_then(|name| known.iter().map(|known| (strsim::levenshtein(&name, known), known)).min());
    match closest {
        Some((distance, known)) if distance <= known.len() / 3 => {
            format!("is not a known {noun}; did you mean \"{known}\"?")
        }
        _ => format!("is not a known {noun}; known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_known_gets_a_suggestion() {
        let known = ["endpoint", "max_attempts"];
        let message = |name: &str| unknown_name("field", name, &known);
        assert_eq!(message("max_attempt"), "is not a known field; did you mean \"max_attempts\"?");
        assert_eq!(message("Endpoint"), "is not a known field; did you mean \"endpoint\"?");
        for name in ["", "zzz", "kitten", &"endpoint".repeat(10)] {
            assert_eq!(message(name), "is not a known field; known are endpoint, max_attempts", "{name}");
        }
    }
}
