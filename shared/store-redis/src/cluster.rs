//! A cluster: every command goes to the node that owns its slot, and follows the slot when it moves.
//!
//! The client's own cluster connection is not used: when the only connection to a node dies under load, it may wait for
//! itself for ever, and what waits for it with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use delivery::Fault;
use parking_lot::RwLock;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, RetryMethod, ServerErrorKind, Value};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::config::RedisConfig;
use crate::node::{Node, Repeat, is_dead};
use crate::slots::{Address, SlotNodes, slot_of};

/// Times that a command is sent again because its node is not there.
const FAILURES_MAX: u32 = 6;
/// The pause before the first of them; every further one is twice as long.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest pause while a slot moves.
const PAUSE_MAX: Duration = Duration::from_millis(40);

/// The nodes of a cluster.
pub(crate) struct Cluster {
    config: RedisConfig,
    seeds: Vec<Address>,
    map: RwLock<Arc<Map>>,
    /// Held by whoever asks for the slots anew.
    asking: Mutex<()>,
}

/// What is known of the cluster. It is replaced as a whole.
#[derive(Clone, Default)]
struct Map {
    /// How many there were before it.
    number: u64,
    slots: SlotNodes,
    nodes: BTreeMap<Address, Arc<Node>>,
}

fn nobody() -> RedisError {
    (ErrorKind::Server(ServerErrorKind::ClusterDown), "no node owns the slot").into()
}

/// Where a slot is on its way to.
fn redirected(error: &RedisError) -> Option<Address> {
    RedisConfig::address(error.redirect_node()?.0).ok()
}

/// What follows a command that was not done.
#[derive(Debug, PartialEq, Eq)]
enum Course {
    /// The slot is on its way to this node, and the keys are there already.
    Follow(Address),
    /// The slot has moved, to this node if it was named.
    Learn(Option<Address>),
    /// Some keys of the command are on their way and others are not, or it is not said where they are.
    Wait,
    /// A node is gone or not ready: another may take its slots over.
    Recover,
    /// It was refused, or may have been done.
    End,
}

impl Course {
    fn after(error: &RedisError, repeat: Repeat) -> Self {
        if is_dead(error) {
            return if repeat == Repeat::Never { Self::End } else { Self::Recover };
        }
        let (method, kind) = (error.retry_method(), error.kind());
        if matches!(method, RetryMethod::AskRedirect) {
            redirected(error).map_or(Self::Wait, Self::Follow)
        } else if matches!(method, RetryMethod::MovedRedirect) {
            Self::Learn(redirected(error))
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
    /// A cluster of which nobody knows the nodes yet: the first command finds them.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the configuration is wrong.
    pub(crate) fn new(config: &RedisConfig) -> Result<Self, Fault> {
        for info in config.connections()? {
            // It would show with the first command otherwise.
            drop(Node::new(info, config)?);
        }
        let seeds = config.nodes.iter().map(|node| RedisConfig::address(node)).collect::<Result<_, _>>()?;
        Ok(Self { config: config.clone(), seeds, map: RwLock::default(), asking: Mutex::default() })
    }

    /// Finds the nodes and connects to them.
    pub(crate) async fn reach(&self) -> RedisResult<()> {
        self.learn(0, None).await?;
        let map = self.known();
        // A node that is not there now may be when it is needed.
        futures::future::join_all(map.nodes.values().map(|node| node.connect())).await;
        Ok(())
    }

    /// Sends a command to the owner of its slot. As long as the slot moves it is sent again: the caller sets the end.
    pub(crate) async fn send(&self, cmd: &Cmd, repeat: Repeat) -> RedisResult<Value> {
        let slot = slot_of(cmd);
        let (mut failures, mut waits, mut on_its_way) = (0, 0, None);
        // Whoever is sent on at once a second time waits: the nodes do not agree yet.
        let mut is_redirected = false;
        loop {
            let map = self.known();
            let node = map.slots.of(slot).and_then(|address| map.nodes.get(address));
            let sent = match (on_its_way.take(), node) {
                (Some(address), _) => self.met(&address)?.send_asking(cmd).await,
                (None, Some(node)) => node.send(cmd, repeat).await,
                (None, None) => Err(nobody()),
            };
            let error = match sent {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let course = Course::after(&error, repeat);
            if course == Course::End || (course == Course::Recover && failures == FAILURES_MAX) {
                return Err(error);
            }
            if course == Course::Recover {
                sleep(PAUSE * (1 << failures)).await;
                failures += 1;
            } else if course == Course::Wait || is_redirected {
                sleep((PAUSE * (1 << waits)).min(PAUSE_MAX)).await;
                waits = (waits + 1).min(FAILURES_MAX);
            }
            is_redirected = matches!(course, Course::Follow(_) | Course::Learn(_));
            match course {
                Course::Follow(address) => on_its_way = Some(address),
                Course::Learn(node) => self.learn(map.number, node.as_ref()).await?,
                Course::Recover => self.learn(map.number, None).await?,
                Course::Wait | Course::End => {}
            }
        }
    }

    /// Sends commands to the owners of their slots, all that go to one owner in one write. The answers are in the order
    /// of the commands; what was not answered has none, and may have been done or not.
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

    /// A node that a slot is on its way to: it may own none yet, and is kept for the commands that follow.
    fn met(&self, address: &Address) -> RedisResult<Arc<Node>> {
        let mut map = self.map.write();
        let node = self.node(&map, address)?;
        if !map.nodes.contains_key(address) {
            Arc::make_mut(&mut map).nodes.insert(address.clone(), Arc::clone(&node));
        }
        Ok(node)
    }

    /// Asks the nodes, one after the other and `first` before them, who owns which slot, unless somebody has since the map
    /// of `number`.
    async fn learn(&self, number: u64, first: Option<&Address>) -> RedisResult<()> {
        let _asking = self.asking.lock().await;
        let known = self.known();
        if known.number != number {
            return Ok(());
        }
        let mut failure = nobody();
        for address in first.into_iter().chain(&self.seeds).chain(known.nodes.keys()) {
            match self.ask(&known, address).await {
                Ok(map) => {
                    *self.map.write() = Arc::new(map);
                    return Ok(());
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn ask(&self, known: &Map, address: &Address) -> RedisResult<Map> {
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
