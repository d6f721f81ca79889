//! How a connection logs in: not at all, with a password, or with short-lived passwords from a source.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use delivery::{Fault, FaultKind};
use domain::Secret;
use futures::stream::{Stream, StreamExt};
use redis::{BasicAuth, ErrorKind, RedisError, RedisResult, StreamingCredentialsProvider};

/// User names with passwords, each valid until the next one.
pub type Logins = Pin<Box<dyn Stream<Item = Result<(String, Secret), Fault>> + Send>>;

/// A source of short-lived passwords, such as the tokens of AWS IAM.
pub trait LoginSource: Send + Sync {
    /// The logins of one connection: the first at once, another whenever the one before is about to end. Every connection has
    /// a stream of its own, and logs in again with each item.
    fn logins(&self) -> Logins;
}

/// How a connection logs in.
#[derive(Clone)]
pub enum Login {
    /// Not at all: Redis asks for no password.
    None,
    /// A user of Redis' access control, or the default user.
    Password {
        /// The user; the default one when there is none.
        user: Option<String>,
        /// The password.
        password: Secret,
    },
    /// With the logins of a source.
    From(Arc<dyn LoginSource>),
}

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Password { user, password } => {
                formatter.debug_struct("Password").field("user", user).field("password", password).finish()
            }
            Self::From(_) => formatter.write_str("From(..)"),
        }
    }
}

/// A source of logins in the shape that the client takes.
pub(crate) struct Source(pub(crate) Arc<dyn LoginSource>);

impl StreamingCredentialsProvider for Source {
    fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send + 'static>> {
        let converted = |login: Result<(String, Secret), Fault>| match login {
            Ok((user, password)) => Ok(BasicAuth::new(user, password.reveal().to_owned())),
            Err(fault) => {
                let kind = match fault.kind {
                    FaultKind::Permanent => ErrorKind::AuthenticationFailed,
                    FaultKind::Transient | FaultKind::OverLimit => ErrorKind::Io,
                };
                Err(RedisError::from((kind, "no login for Redis", fault.to_string())))
            }
        };
        Box::pin(self.0.logins().map(converted))
    }
}
