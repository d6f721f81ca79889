//! Errors of the Kafka client as faults.

use delivery::{Fault, FaultKind};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// The fault that an error is.
pub(crate) fn of(context: impl Into<String>, error: KafkaError) -> Fault {
    Fault::caused(kind(&error), context, error)
}

/// The fault of a blocking task that was not run, because the runtime is ending.
pub(crate) fn of_runtime(error: tokio::task::JoinError) -> Fault {
    Fault::caused(FaultKind::Transient, "the request to Kafka was not made", error)
}

/// The kind of fault that an error is.
#[expect(clippy::wildcard_enum_match_arm, reason = "most errors of a cluster may pass, and the client adds to them")]
pub(crate) fn kind(error: &KafkaError) -> FaultKind {
    match error {
        KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_) | KafkaError::Nul(_) => FaultKind::Permanent,
        KafkaError::AdminOp(code) => kind_of_code(*code),
        _ => error.rdkafka_error_code().map_or(FaultKind::Transient, kind_of_code),
    }
}

/// Whether a broker was reached and the sign-in or its certificate failed.
pub(crate) fn is_refusal(error: &KafkaError) -> bool {
    let code = error.rdkafka_error_code();
    matches!(code, Some(Code::Authentication | Code::SaslAuthenticationFailed | Code::SSL))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most errors of a cluster may pass, and the client adds to them")]
fn kind_of_code(code: Code) -> FaultKind {
    match code {
        Code::QueueFull => FaultKind::OverLimit,
        Code::MessageSizeTooLarge
        | Code::UnknownTopic
        | Code::UnknownTopicOrPartition
        | Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::PolicyViolation => FaultKind::Permanent,
        _ => FaultKind::Transient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_transient() {
        let kind = |code| kind(&KafkaError::MessageProduction(code));
        assert_eq!(kind(Code::MessageTimedOut), FaultKind::Transient);
        assert_eq!(kind(Code::AllBrokersDown), FaultKind::Transient);
        assert_eq!(kind(Code::NotEnoughReplicas), FaultKind::Transient);
        assert_eq!(kind(Code::QueueFull), FaultKind::OverLimit);
        assert_eq!(kind(Code::MessageSizeTooLarge), FaultKind::Permanent);
        assert_eq!(super::kind(&KafkaError::AdminOp(Code::ClusterAuthorizationFailed)), FaultKind::Permanent);
    }
}
