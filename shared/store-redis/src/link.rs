//! The connection to Redis: commands and scripts, counted, each within its timeout.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use delivery::{Fault, FaultKind};
use futures::stream::{self, StreamExt};
use redis::{Cmd, ErrorKind, FromRedisValue, RedisResult, ServerErrorKind, Value};
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::config::{RedisConfig, Topology};
use crate::fault;
use crate::node::{Node, Repeat, timed_out};
use crate::scripts::Call;

/// Calls that go to a node in one write and share one timeout: more could take Redis longer than a command may take.
const TOGETHER_MAX: usize = 64;
/// Commands of one round trip that are under way at the same time. A command's timeout begins when it is sent, so what waits
/// here for the commands before it does not run into its timeout; 512 small ones take Redis a few milliseconds.
const IN_FLIGHT_MAX: usize = 512;

/// What went over the connection since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Round trips: what is sent together is one.
    pub round_trips: u64,
    /// Commands and scripts.
    pub commands: u64,
}

/// The connection to Redis.
pub(crate) struct Link {
    wire: Wire,
    timeout: Duration,
    round_trips: AtomicU64,
    commands: AtomicU64,
}

enum Wire {
    Cluster(Box<Cluster>),
    Single(Box<Node>),
}

impl Link {
    /// A link that connects with the first command.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the configuration is wrong.
    pub(crate) fn new(config: &RedisConfig) -> Result<Self, Fault> {
        let wire = match config.topology {
            Topology::Cluster => Wire::Cluster(Box::new(Cluster::new(config)?)),
            Topology::Single => {
                let info = config.connections()?.into_iter().next();
                let info = info.ok_or_else(|| Fault::new(FaultKind::Permanent, "no Redis node is named"))?;
                Wire::Single(Box::new(Node::new(info, config)?))
            }
        };
        let timeout = config.command_timeout;
        Ok(Self { wire, timeout, round_trips: AtomicU64::new(0), commands: AtomicU64::new(0) })
    }

    /// Connects now.
    ///
    /// # Errors
    /// A [`Fault`] when Redis cannot be reached, or refuses the login.
    pub(crate) async fn reach(&self) -> Result<(), Fault> {
        let reached = match &self.wire {
            Wire::Cluster(cluster) => cluster.reach().await,
            Wire::Single(node) => node.connect().await,
        };
        reached.map_err(fault::of("connecting"))
    }

    /// Counts a round trip: the caller is about to wait for everything that it sends together.
    pub(crate) fn round_trip(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn traffic(&self) -> Traffic {
        Traffic {
            round_trips: self.round_trips.load(Ordering::Relaxed),
            commands: self.commands.load(Ordering::Relaxed),
        }
    }

    /// Sends one command; `what` names it in a fault.
    pub(crate) async fn send_command<T: FromRedisValue>(&self, what: &'static str, cmd: &Cmd) -> Result<T, Fault> {
        let value = self.send(cmd, Repeat::Safe).await.map_err(fault::of(what))?;
        redis::from_redis_value(value).map_err(fault::unexpected(what))
    }

    /// Runs a script by its hash, or by its text on a node that does not know it.
    pub(crate) async fn call<T: FromRedisValue>(&self, call: Call) -> Result<T, Fault> {
        let what = call.script.name;
        let value = match self.send(&call.cmd, call.repeat).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.send(&call.in_full(), call.repeat).await
            }
            other => other,
        };
        redis::from_redis_value(value.map_err(fault::of(what))?).map_err(fault::unexpected(what))
    }

    /// Makes calls together and returns their replies in their order. All of them must be safe to repeat.
    ///
    /// Each node gets its part in one write. A call that is not answered that way, because its slot moves, its script is not
    /// known or the connection died, is made once more by itself.
    pub(crate) async fn call_all(&self, calls: Vec<Call>) -> Vec<Result<Value, Fault>> {
        let (mut parts, mut rest) = (Vec::new(), calls.into_iter().peekable());
        while rest.peek().is_some() {
            parts.push(self.call_chunk(rest.by_ref().take(TOGETHER_MAX).collect()));
        }
        stream::iter(parts).buffered(IN_FLIGHT_MAX / TOGETHER_MAX).flat_map(stream::iter).collect().await
    }

    async fn call_chunk(&self, calls: Vec<Call>) -> Vec<Result<Value, Fault>> {
        let names: Vec<_> = calls.iter().map(|call| call.script.name).collect();
        self.commands.fetch_add(u64::try_from(names.len()).unwrap_or_default(), Ordering::Relaxed);
        let called = timeout(self.timeout, self.together_or_alone(calls)).await;
        called.unwrap_or_else(|_| names.into_iter().map(|what| Err(fault::of(what)(timed_out()))).collect())
    }

    async fn together_or_alone(&self, calls: Vec<Call>) -> Vec<Result<Value, Fault>> {
        let commands: Vec<_> = calls.iter().map(|call| &call.cmd).collect();
        let answers = match &self.wire {
            Wire::Cluster(cluster) => cluster.send_all(&commands).await,
            Wire::Single(node) => node.send_all(&commands).await,
        };
        let mut replies = Vec::with_capacity(answers.len());
        for (call, answer) in calls.into_iter().zip(answers) {
            replies.push(match answer {
                Some(value) => Ok(value),
                None => self.call(call).await,
            });
        }
        replies
    }

    async fn send(&self, cmd: &Cmd, repeat: Repeat) -> RedisResult<Value> {
        self.commands.fetch_add(1, Ordering::Relaxed);
        let sent = async {
            match &self.wire {
                Wire::Cluster(cluster) => cluster.send(cmd, repeat).await,
                Wire::Single(node) => node.send(cmd, repeat).await,
            }
        };
        timeout(self.timeout, sent).await.map_err(|_| timed_out())?
    }
}

/// Reads a reply as a type.
pub(crate) fn read<T: FromRedisValue>(what: &'static str, reply: Result<Value, Fault>) -> Result<T, Fault> {
    redis::from_redis_value(reply?).map_err(fault::unexpected(what))
}

/// Sends requests together and returns their results in no order, once all of them are done.
pub(crate) async fn together<T>(requests: Vec<impl Future<Output = T>>) -> Vec<T> {
    stream::iter(requests).buffer_unordered(IN_FLIGHT_MAX).collect().await
}

/// Sends requests together and returns their results in the order of the requests.
///
/// # Errors
/// The first [`Fault`], once all of them are done.
pub(crate) async fn in_order<T>(requests: Vec<impl Future<Output = Result<T, Fault>>>) -> Result<Vec<T>, Fault> {
    let answers: Vec<_> = stream::iter(requests).buffered(IN_FLIGHT_MAX).collect().await;
    answers.into_iter().collect()
}
