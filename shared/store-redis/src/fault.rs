//! Errors of the Redis client as faults.

use std::error::Error;
use std::io;
use std::sync::Arc;

use delivery::{Fault, FaultKind};
use redis::{ErrorKind, ParsingError, RedisError, ServerErrorKind};

/// Turns an error of the client into a fault that names the command.
pub(crate) fn of(what: &'static str) -> impl Fn(RedisError) -> Fault {
    move |error| Fault::caused(kind(&error), format!("Redis: {what} failed"), error)
}

/// The fault of a configuration that the client refuses.
pub(crate) fn misconfigured(error: RedisError) -> Fault {
    Fault::caused(FaultKind::Permanent, "Redis: the configuration cannot be used", error)
}

/// The fault of a reply of another shape, as of a key that another program wrote.
pub(crate) fn unexpected(what: &'static str) -> impl Fn(ParsingError) -> Fault {
    move |error| {
        Fault::caused(
            FaultKind::Permanent,
            format!("Redis: the reply to {what} has another shape than expected"),
            error,
        )
    }
}

/// The kind of fault that an error is. Redirections and lost slots are transient: a cluster fails over within seconds.
fn kind(error: &RedisError) -> FaultKind {
    match error.code() {
        Some("NOAUTH" | "WRONGPASS" | "NOPERM" | "WRONGTYPE" | "CROSSSLOT") => return FaultKind::Permanent,
        Some("OOM") => return FaultKind::OverLimit,
        Some(_) | None => {}
    }
    let permanent = matches!(
        error.kind(),
        ErrorKind::AuthenticationFailed
            | ErrorKind::InvalidClientConfig
            | ErrorKind::UnexpectedReturnType
            | ErrorKind::RESP3NotSupported
            | ErrorKind::Server(ServerErrorKind::ResponseError)
    );
    if permanent || is_untrusted(error) { FaultKind::Permanent } else { FaultKind::Transient }
}

/// Whether the certificate of the server is signed by no trusted authority.
fn is_untrusted(error: &RedisError) -> bool {
    let shared = error.source().and_then(|cause| cause.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    let io = shared.and_then(|cause| cause.downcast_ref::<io::Error>());
    let tls = io.and_then(io::Error::get_ref).and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_fault_follows_from_the_error() {
        let cases = [
            (redis::make_extension_error("WRONGPASS".to_owned(), None), FaultKind::Permanent),
            (redis::make_extension_error("OOM".to_owned(), None), FaultKind::OverLimit),
            (RedisError::from((ErrorKind::AuthenticationFailed, "no")), FaultKind::Permanent),
            (RedisError::from((ErrorKind::Server(ServerErrorKind::ClusterDown), "down")), FaultKind::Transient),
            (RedisError::from((ErrorKind::Server(ServerErrorKind::Moved), "moved")), FaultKind::Transient),
            (RedisError::from(io::Error::from(io::ErrorKind::TimedOut)), FaultKind::Transient),
        ];
        for (error, expected) in cases {
            let text = error.to_string();
            assert_eq!(of("claim")(error).kind, expected, "{text}");
        }
    }
}
