//! Why an invocation failed, with the stable code that is its error type.

use std::fmt;

use delivery::Fault;
use lambda_runtime::Diagnostic;
use wire::Unreadable;

/// An invocation that failed: its event comes again.
///
/// Shape: a code, stable over releases, which alarms and retry rules may name, and the whole chain of causes as text.
/// Codes: `howk.malformed_event`, and `howk.fault.` with a fault's kind.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    code: String,
    text: String,
}

impl Failure {
    /// The stable code.
    pub fn code(&self) -> &str {
        &self.code
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { code: format!("howk.fault.{}", fault.kind.code()), text: fault.chain() }
    }
}

impl From<Unreadable> for Failure {
    fn from(unreadable: Unreadable) -> Self {
        Self { code: "howk.malformed_event".to_owned(), text: unreadable.to_string() }
    }
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Self { error_type: failure.code, error_message: failure.text }
    }
}

/// What the runtime logs, once.
impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delivery::FaultKind;

    #[test]
    fn the_error_type_is_stable_and_the_message_is_the_whole_chain() {
        let cause = std::io::Error::other("connection refused");
        let fault = Fault::caused(FaultKind::Transient, "the log did not acknowledge", cause);
        let failure = Failure::from(fault);
        assert_eq!(format!("{failure:?}"), "howk.fault.transient: the log did not acknowledge: connection refused");
        let Diagnostic { error_type, error_message } = failure.into();
        assert_eq!(error_type, "howk.fault.transient");
        assert_eq!(error_message, "the log did not acknowledge: connection refused");
        let malformed = wire::lambda::Scheduled::decode("[]").unwrap_err();
        assert_eq!(Failure::from(malformed).code(), "howk.malformed_event");
    }
}
