//! One node: one multiplexed connection, made with the first command and replaced when it is dead.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use delivery::Fault;
use parking_lot::RwLock;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, Pipeline, RedisError, RedisResult, RetryMethod, Value,
};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::config::RedisConfig;
use crate::fault;
use crate::login::{Login, Source};

/// Whether a command may be sent again when its connection died before the reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// A second time changes nothing.
    Safe,
    /// A second time would count twice.
    Never,
}

/// A node.
pub(crate) struct Node {
    client: Client,
    settings: AsyncConnectionConfig,
    timeout: Duration,
    live: RwLock<Option<Live>>,
    /// Held while a connection is made, so that one is made for all commands that wait for it.
    making: Mutex<()>,
}

/// The connection, and how many there were before it.
#[derive(Clone)]
struct Live {
    number: u64,
    connection: MultiplexedConnection,
}

/// The error of a reply that did not come in time.
pub(crate) fn timed_out() -> RedisError {
    io::Error::from(io::ErrorKind::TimedOut).into()
}

/// Whether an error says that its connection is dead. The client has no timeout of its own, so an error of that kind comes
/// from the system: its peer has acknowledged nothing for `TCP_USER_TIMEOUT`.
pub(crate) fn is_dead(error: &RedisError) -> bool {
    matches!(
        error.retry_method(),
        RetryMethod::Reconnect | RetryMethod::ReconnectFromInitialConnections | RetryMethod::RetryImmediately
    )
}

impl Node {
    /// A node without a connection: the first command makes it.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the configuration is wrong.
    pub(crate) fn new(info: ConnectionInfo, config: &RedisConfig) -> Result<Self, Fault> {
        let client = match config.certificates() {
            Some(certificates) => {
                // It fails when another part of the process has installed a provider, which serves as well.
                drop(rustls::crypto::ring::default_provider().install_default());
                Client::build_with_tls(info, certificates)
            }
            None => Client::open(info),
        };
        let mut settings = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        if let Login::From(source) = &config.login {
            settings = settings.set_credentials_provider(Source(Arc::clone(source)));
        }
        Ok(Self {
            client: client.map_err(fault::misconfigured)?,
            settings,
            timeout: config.connect_timeout,
            live: RwLock::default(),
            making: Mutex::default(),
        })
    }

    /// Connects, unless there is a connection.
    pub(crate) async fn connect(&self) -> RedisResult<()> {
        self.live().await.map(drop)
    }

    /// Sends a command, and once more over a new connection when its connection turns out to be dead.
    pub(crate) async fn send(&self, cmd: &Cmd, repeat: Repeat) -> RedisResult<Value> {
        let Live { number, mut connection } = self.live().await?;
        match connection.send_packed_command(cmd).await.and_then(Value::extract_error) {
            Err(error) if is_dead(&error) => {
                let mut replaced = self.after(Some(number)).await?;
                if repeat == Repeat::Never {
                    return Err(error);
                }
                replaced.connection.send_packed_command(cmd).await?.extract_error()
            }
            other => other,
        }
    }

    /// Sends commands in one write. The replies are in their order; a command that was refused has none, and none has one
    /// when the connection died: then each may have been executed or not.
    pub(crate) async fn send_all(&self, commands: &[&Cmd]) -> Vec<Option<Value>> {
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for cmd in commands {
            pipeline.add_command((*cmd).clone());
        }
        let sent = async { self.live().await?.connection.send_packed_commands(&pipeline, 0, commands.len()).await };
        match sent.await {
            Ok(values) => values.into_iter().map(|value| value.extract_error().ok()).collect(),
            Err(_) => vec![None; commands.len()],
        }
    }

    /// Sends a command for a slot that is moving to this node. A dead connection is replaced for the next command.
    pub(crate) async fn send_asking(&self, cmd: &Cmd) -> RedisResult<Value> {
        let mut asking = redis::pipe();
        asking.cmd("ASKING").add_command(cmd.clone());
        let Live { number, mut connection } = self.live().await?;
        let sent = connection.send_packed_commands(&asking, 1, 1).await;
        if sent.as_ref().is_err_and(is_dead) {
            self.after(Some(number)).await?;
        }
        sent?.into_iter().next().unwrap_or(Value::Nil).extract_error()
    }

    async fn live(&self) -> RedisResult<Live> {
        let live = self.live.read().clone();
        match live {
            Some(live) => Ok(live),
            None => self.after(None).await,
        }
    }

    /// The connection after number `dead`, or the first. One caller makes it, and concurrent callers wait for it.
    async fn after(&self, dead: Option<u64>) -> RedisResult<Live> {
        let _making = self.making.lock().await;
        let known = self.live.read().clone();
        if let Some(live) = known.filter(|live| Some(live.number) != dead) {
            return Ok(live);
        }
        let connecting = self.client.get_multiplexed_async_connection_with_config(&self.settings);
        let connection = timeout(self.timeout, connecting).await.map_err(|_| timed_out())??;
        let live = Live { number: dead.map_or(0, |dead| dead + 1), connection };
        *self.live.write() = Some(live.clone());
        if dead.is_some() {
            tracing::info!(number = live.number, "a dead connection to Redis was replaced");
        }
        Ok(live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::{ErrorKind, ServerErrorKind};

    #[test]
    fn a_dead_connection_is_told_from_a_refusal() {
        let io = |kind: io::ErrorKind| RedisError::from(io::Error::from(kind));
        assert!(is_dead(&io(io::ErrorKind::BrokenPipe)) && is_dead(&io(io::ErrorKind::UnexpectedEof)));
        assert!(is_dead(&timed_out()));
        for kind in [ServerErrorKind::NoScript, ServerErrorKind::Moved, ServerErrorKind::NoPerm] {
            assert!(!is_dead(&RedisError::from((ErrorKind::Server(kind), "no"))));
        }
    }
}
