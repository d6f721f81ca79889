//! What is wrong with a body: not JSON at all, or fields that break a rule.

/// The most mistakes that one item's answer lists; an answer stays small whatever was sent.
const MISTAKES_MAX: usize = 50;
/// The longest name that a pointer shows, in characters.
const SHOWN_NAME_MAX: usize = 64;

/// One field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// A JSON pointer into the body (RFC 6901), or the name of a query parameter.
    pub field: String,
    /// What to change. Never holds a secret or a header's value.
    pub message: String,
}

/// Why a body is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestError {
    /// It is not JSON.
    Malformed {
        /// The line of the first offending character. 1-based; 0 when it is not text at all.
        line: usize,
        /// Its column. 1-based.
        column: usize,
        /// What was expected.
        detail: String,
    },
    /// It is JSON, and these fields break a rule. Never empty.
    Invalid(Vec<ValidationError>),
}

/// Gathers the mistakes of one item, each under the item's own pointer.
#[derive(Debug)]
pub(super) struct ValidationErrors {
    prefix: String,
    found: Vec<ValidationError>,
}

impl ValidationErrors {
    /// An empty list for the item that stands at `prefix`; the whole body is the empty pointer.
    pub(super) fn at(prefix: String) -> Self {
        Self { prefix, found: Vec::new() }
    }

    /// Notes a mistake of the field at `pointer` within the item.
    pub(super) fn note(&mut self, pointer: &str, message: impl Into<String>) {
        if self.found.len() < MISTAKES_MAX {
            self.found.push(ValidationError { field: format!("{}{pointer}", self.prefix), message: message.into() });
        }
    }

    /// Takes what `result` holds; notes its error under `pointer`.
    pub(super) fn take<T>(&mut self, pointer: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.note(pointer, message)).ok()
    }

    /// `value` if no mistake was found.
    pub(super) fn unless_any<T>(self, value: Option<T>) -> Result<T, Vec<ValidationError>> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(self.found),
        }
    }
}

/// A pointer to the member `name` of what `parent` points to: escaped as RFC 6901 wants, printable, and short.
pub(super) fn pointer(parent: &str, name: &str) -> String {
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
