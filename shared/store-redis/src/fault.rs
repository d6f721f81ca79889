//! What went wrong with Redis, as a fault of howk's.

use std::error::Error;
use std::io;
use std::sync::Arc;

use delivery::{Fault, FaultKind};
use redis::{ErrorKind, ParsingError, RedisError, ServerErrorKind};

/// KeyedQueue an error of the client into a fault that says what was asked.
pub(crate) fn of(what: &'static str) -> impl Fn(RedisError) -> Fault {
    move |error| Fault::caused(kind(&error), format!("Redis: {what} failed"), error)
}

/// The fault of a configuration that the client cannot use, whatever it calls that.
pub(crate) fn misconfigured(error: RedisError) -> Fault {
    Fault::caused(FaultKind::Permanent, "Redis: the configuration cannot be used", error)
}

/// The fault of a reply of another shape: another program's key, or a script that is not ours.
pub(crate) fn unexpected(what: &'static str) -> impl Fn(ParsingError) -> Fault {
    move |error| {
        Fault::caused(FaultKind::Permanent, format!("Redis: the reply to {what} is not what it should be"), error)
    }
}

/// Whether an error passes by itself. Redirections and lost slots do: a cluster fails over within seconds.
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

/// Whether nobody that we trust vouches for the server.
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
    fn who_acts_follows_from_the_error() {
        let cases = [
            (redis::make_extension_error("WRONGPASS".to_owned(), None), FaultKind::Permanent),
            (redis::make_extension_error("OOM".to_owned(), None), FaultKind::OverLimit),
            (RedisError::from((ErrorKind::AuthenticationFailed, "no")), FaultKind::Permanent),
            (RedisError::from((ErrorKind::Server(ServerErrorKind::ClusterDown), "down")), FaultKind::Transient),
            (RedisError::from((ErrorKind::Server(ServerErrorKind::Moved), "moved")), FaultKind::Transient),
            (RedisError::from(io::Error::from(io::ErrorKind::TimedOut)), FaultKind::Transient),
        ];
        for (error, expected) in cases {
            let told = error.to_string();
            assert_eq!(of("claim")(error).kind, expected, "{told}");
        }
    }
}
