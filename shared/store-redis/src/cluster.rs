//! A cluster: every command goes to the node that serves its slot, and follows the slot when it moves.
//!
//! # Why not `redis::cluster_async`
//! The library's own cluster client (`redis` 1.8.1, and 2.0.0-rc.2 as well) gets stuck for ever when its only connection to a
//! node dies while commands are in flight. It begins to recover ("beginning reconnect to initial nodes"), never ends that,
//! and sends no command any more; every caller runs into its timeout until the process is replaced. Only a few connections
//! have to be killed under 64 concurrent commands for that. Its recovery and its requests share one lock over the
//! connections, and requests are not polled while it recovers. `redis` 1.7.1 mended one deadlock of this kind (redis-rs
//! issue 2418, pull request 2419: `refresh_slots` against `reconnect_loop`); this one remained. One node is the smallest
//! cluster and the usual one of a test or of a small installation; ElastiCache closes connections on its own whenever it
//! replaces a node.
//!
//! Two more properties would have to be worked around. It repeats a command whose connection died before the reply, which
//! counts statistics twice ([`Repeat::Never`]), and it holds its lock while it connects to every node of a refreshed slot
//! map, so that one silent node holds up the commands for all others (redis-rs issue 2092 describes the same of a reconnect).
//!
//! # When to delete this module
//! `tests/contract/store_redis/library.rs` kills connections under the library's client and fails as soon as it survives.
//! Then replace this module and `slots` by `redis::cluster_async`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use delivery::Fault;
use delivery::pause::DoublingPause;
use parking_lot::RwLock;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, RetryMethod, ServerErrorKind, Value};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::config::RedisConfig;
use crate::node::{Node, Repeat, is_dead};
use crate::slots::{Address, SlotNodes, slot_of};

/// Times that a command is sent again because its node is unreachable or not ready. Their pauses add up to 0.3 s, well within
/// the command's timeout of seconds; an outage that lasts longer, as a failover does, is a transient fault for the caller.
const FAILURES_MAX: u32 = 6;
/// The first pause before a command is sent again: a few times what a round trip within one region takes.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest pause after a failure: the last of [`FAILURES_MAX`] doubling ones.
const PAUSE_AFTER_FAILURE_MAX: Duration = Duration::from_millis(160);
/// The longest pause while a slot moves: the command waits at most this long after the move has ended.
const PAUSE_WHILE_MOVING_MAX: Duration = Duration::from_millis(40);

/// The nodes of a cluster.
pub(crate) struct Cluster {
    config: RedisConfig,
    seeds: Vec<Address>,
    map: RwLock<Arc<Map>>,
    /// Held while the slot map is read, so that concurrent commands read it once.
    refreshing: Mutex<()>,
}

/// The known nodes and slots of the cluster. The map is replaced as a whole.
#[derive(Clone, Default)]
struct Map {
    /// The number of maps before this one.
    number: u64,
    slots: SlotNodes,
    nodes: BTreeMap<Address, Arc<Node>>,
}

fn unserved() -> RedisError {
    (ErrorKind::Server(ServerErrorKind::ClusterDown), "no node serves the slot").into()
}

/// The node that a redirection names.
fn redirected(error: &RedisError) -> Option<Address> {
    RedisConfig::address(error.redirect_node()?.0).ok()
}

/// How to go on after a command that was not executed.
#[derive(Debug, PartialEq, Eq)]
enum NextStep {
    /// Send it once to this node: the slot is moving there, and the keys of the command have arrived.
    Follow(Address),
    /// Refresh the slot map: the slot has moved, to this node if one was named.
    Refresh(Option<Address>),
    /// Wait: only some keys of the command have moved yet, or the redirection names no node.
    Wait,
    /// Wait and refresh the slot map: a node is gone or not ready, and another one may serve its slots by then.
    Recover,
    /// Give up: the command was refused, or may have been executed and must not be repeated.
    End,
}

impl NextStep {
    fn after(error: &RedisError, repeat: Repeat) -> Self {
        if is_dead(error) {
            return if repeat == Repeat::Never { Self::End } else { Self::Recover };
        }
        let (method, kind) = (error.retry_method(), error.kind());
        if matches!(method, RetryMethod::AskRedirect) {
            redirected(error).map_or(Self::Wait, Self::Follow)
        } else if matches!(method, RetryMethod::MovedRedirect) {
            Self::Refresh(redirected(error))
        } else if kind == ErrorKind::Server(ServerErrorKind::TryAgain) {
            Self::Wait
        } else if matches!(method, RetryMethod::WaitAndRetry | RetryMethod::RefreshSlotsAndRetry) {
            Self::Recover
        } else {
            Self::End
        }
    }
}

impl Cluster {
    /// A cluster whose nodes are not known yet: the first command finds them.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the configuration is wrong.
    pub(crate) fn new(config: &RedisConfig) -> Result<Self, Fault> {
        for info in config.connections()? {
            // Otherwise a wrong configuration would show with the first command only.
            drop(Node::new(info, config)?);
        }
        let seeds = config.nodes.iter().map(|node| RedisConfig::address(node)).collect::<Result<_, _>>()?;
        Ok(Self { config: config.clone(), seeds, map: RwLock::default(), refreshing: Mutex::default() })
    }

    /// Finds the nodes and connects to them.
    pub(crate) async fn reach(&self) -> RedisResult<()> {
        self.refresh(0, None).await?;
        let map = self.known();
        // A node that is unreachable now may be reachable when a command needs it.
        futures::future::join_all(map.nodes.values().map(|node| node.connect())).await;
        Ok(())
    }

    /// Sends a command to the node of its slot, again and again while the slot moves. The caller sets the timeout.
    pub(crate) async fn send(&self, cmd: &Cmd, repeat: Repeat) -> RedisResult<Value> {
        let slot = slot_of(cmd);
        let (mut failures, mut moving_to) = (0, None);
        let mut after_failure = DoublingPause::new(PAUSE, PAUSE_AFTER_FAILURE_MAX);
        let mut while_moving = DoublingPause::new(PAUSE, PAUSE_WHILE_MOVING_MAX);
        // A command that is redirected twice in a row waits: the nodes do not agree yet where the slot is.
        let mut is_redirected = false;
        loop {
            let map = self.known();
            let node = map.slots.of(slot).and_then(|address| map.nodes.get(address));
            let sent = match (moving_to.take(), node) {
                (Some(address), _) => self.node_of_moving_slot(&address)?.send_asking(cmd).await,
                (None, Some(node)) => node.send(cmd, repeat).await,
                (None, None) => Err(unserved()),
            };
            let error = match sent {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let step = NextStep::after(&error, repeat);
            if step == NextStep::End || (step == NextStep::Recover && failures == FAILURES_MAX) {
                return Err(error);
            }
            if step == NextStep::Recover {
                sleep(after_failure.take()).await;
                failures += 1;
            } else if step == NextStep::Wait || is_redirected {
                sleep(while_moving.take()).await;
            }
            is_redirected = matches!(step, NextStep::Follow(_) | NextStep::Refresh(_));
            match step {
                NextStep::Follow(address) => moving_to = Some(address),
                NextStep::Refresh(node) => self.refresh(map.number, node.as_ref()).await?,
                NextStep::Recover => self.refresh(map.number, None).await?,
                NextStep::Wait | NextStep::End => {}
            }
        }
    }

    /// Sends commands to the nodes of their slots, all that go to one node in one write. The replies are in the order of the
    /// commands; a command without a reply may have been executed or not.
    pub(crate) async fn send_all(&self, commands: &[&Cmd]) -> Vec<Option<Value>> {
        let map = self.known();
        let mut parts = BTreeMap::<&Address, Vec<(usize, &Cmd)>>::new();
        for (place, cmd) in commands.iter().enumerate() {
            if let Some(node) = map.slots.of(slot_of(cmd)) {
                parts.entry(node).or_default().push((place, cmd));
            }
        }
        let mut answers = vec![None; commands.len()];
        let sent = parts.into_iter().filter_map(|(node, part)| {
            let node = map.nodes.get(node)?;
            Some(async move {
                let (places, commands): (Vec<usize>, Vec<&Cmd>) = part.into_iter().unzip();
                (places, node.send_all(&commands).await)
            })
        });
        for (places, values) in futures::future::join_all(sent).await {
            for (place, value) in places.into_iter().zip(values) {
                if let Some(answer) = answers.get_mut(place) {
                    *answer = value;
                }
            }
        }
        answers
    }

    fn known(&self) -> Arc<Map> {
        Arc::clone(&self.map.read())
    }

    /// A node, known or new.
    fn node(&self, map: &Map, address: &Address) -> RedisResult<Arc<Node>> {
        if let Some(node) = map.nodes.get(address) {
            return Ok(Arc::clone(node));
        }
        let unfit = |fault: Fault| (ErrorKind::InvalidClientConfig, "not a node", fault.to_string()).into();
        let node = self.config.connection_to(address).and_then(|info| Node::new(info, &self.config));
        node.map(Arc::new).map_err(unfit)
    }

    /// A node that a slot is moving to. It may serve no slot yet; it is kept for the commands that follow.
    fn node_of_moving_slot(&self, address: &Address) -> RedisResult<Arc<Node>> {
        let mut map = self.map.write();
        let node = self.node(&map, address)?;
        if !map.nodes.contains_key(address) {
            Arc::make_mut(&mut map).nodes.insert(address.clone(), Arc::clone(&node));
        }
        Ok(node)
    }

    /// Reads the slot map from the first node that answers, beginning with `first`, unless another caller has read it since
    /// the map of `number`.
    async fn refresh(&self, number: u64, first: Option<&Address>) -> RedisResult<()> {
        let _refreshing = self.refreshing.lock().await;
        let known = self.known();
        if known.number != number {
            return Ok(());
        }
        let mut failure = unserved();
        for address in first.into_iter().chain(&self.seeds).chain(known.nodes.keys()) {
            match self.slots_from(&known, address).await {
                Ok(map) => {
                    *self.map.write() = Arc::new(map);
                    return Ok(());
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn slots_from(&self, known: &Map, address: &Address) -> RedisResult<Map> {
        let asked = self.node(known, address)?;
        let reply = asked.send(redis::cmd("CLUSTER").arg("SLOTS"), Repeat::Safe).await?;
        let slots = SlotNodes::read(reply, address)?;
        let mut nodes = BTreeMap::from([(address.clone(), asked)]);
        for node in slots.all() {
            if !nodes.contains_key(node) {
                nodes.insert(node.clone(), self.node(known, node)?);
            }
        }
        Ok(Map { number: known.number + 1, slots, nodes })
    }
}
