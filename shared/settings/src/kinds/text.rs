//! Texts, texts that may be missing, and secrets.

use domain::Secret;
use serde_json::Value;

use super::{Kind, Parsed, problem, quoted};

/// What a text must be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// For people: `a host and a port, such as localhost:9092`.
    pub(crate) allowed: &'static str,
    /// Whether a text is that.
    pub(crate) holds: fn(&str) -> bool,
}

impl Rule {
    /// Any text without control characters, at least one character.
    pub(crate) const ANY: Self = Self {
        allowed: "text, not empty",
        holds: |text| !text.trim().is_empty() && !text.chars().any(char::is_control),
    };

    /// `host:port`.
    pub(crate) const HOST_PORT: Self = Self {
        allowed: "a host and a port, such as localhost:9092",
        holds: |text| {
            text.rsplit_once(':').is_some_and(|(host, port)| {
                let odd = |c: char| c.is_whitespace() || c.is_control() || "/@,?#".contains(c);
                !host.is_empty() && !host.contains(odd) && port.parse::<u16>().is_ok_and(|port| port > 0)
            })
        },
    };
}

/// A text under a rule.
#[derive(Debug)]
pub(crate) struct Text(Rule);

/// A text under a rule; a YAML number or boolean is refused, because its spelling is lost.
pub(crate) fn text(rule: Rule) -> Text {
    Text(rule)
}

impl Kind for Text {
    type Value = String;

    fn allowed(&self) -> String {
        self.0.allowed.to_owned()
    }

    fn parse(&self, raw: &Value) -> Parsed<String> {
        match raw {
            Value::String(text) if (self.0.holds)(text) => Ok(text.clone()),
            Value::Number(_) | Value::Bool(_) => problem(format!("{} is not text: put it in quotes", quoted(raw))),
            Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => {
                problem(format!("{} is not {}", quoted(raw), self.0.allowed))
            }
        }
    }

    fn show(&self, value: &String) -> Value {
        Value::String(value.clone())
    }
}

/// A secret, with its least length in characters.
#[derive(Debug)]
pub(crate) struct Hidden(usize);

/// A secret of at least so many characters.
pub(crate) fn secret(chars_min: usize) -> Hidden {
    Hidden(chars_min)
}

impl Kind for Hidden {
    type Value = Secret;

    fn allowed(&self) -> String {
        match self.0 {
            0 | 1 => "a secret".to_owned(),
            least => format!("a secret of at least {least} characters"),
        }
    }

    fn parse(&self, raw: &Value) -> Parsed<Secret> {
        match raw {
            Value::String(text) if text.contains('\u{fffd}') => problem("[REDACTED] is not valid UTF-8".to_owned()),
            Value::String(text) if text.chars().count() >= self.0 => Ok(Secret::new(text.clone())),
            Value::String(_) => problem(format!("[REDACTED] is not {}", self.allowed())),
            Value::Number(_) | Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => {
                problem("[REDACTED] is not text: put it in quotes".to_owned())
            }
        }
    }

    fn show(&self, _: &Secret) -> Value {
        Value::from("[REDACTED]")
    }

    fn is_secret(&self) -> bool {
        true
    }
}

/// A value that may be missing; the empty text means missing.
#[derive(Debug)]
pub(crate) struct Optional<K>(K);

/// A value that may be missing.
pub(crate) fn optional<K: Kind>(kind: K) -> Optional<K> {
    Optional(kind)
}

impl<K: Kind> Kind for Optional<K> {
    type Value = Option<K::Value>;

    fn allowed(&self) -> String {
        format!("nothing, or {}", self.0.allowed())
    }

    fn parse(&self, raw: &Value) -> Parsed<Self::Value> {
        if raw.is_null() || raw.as_str() == Some("") {
            return Ok(None);
        }
        self.0.parse(raw).map(Some)
    }

    fn show(&self, value: &Self::Value) -> Value {
        value.as_ref().map_or(Value::Null, |value| self.0.show(value))
    }

    fn is_secret(&self) -> bool {
        self.0.is_secret()
    }
}
