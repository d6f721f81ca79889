//! Redis servers of the tests' own: two that share the slots of a cluster, or one without cluster mode.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use store_redis::{RedisConfig, RedisStore, Topology};
use testkit::generate::fresh_number;
use tokio::time::sleep;

/// Runs `redis-server` until the input ends, which it does with the process that holds it, however that ends.
const KEEPER: &str = r#"folder=$(mktemp -d) && cd "$folder" || exit 1
redis-server --dir "$folder" "$@" >/dev/null & server=$!
cat >/dev/null
kill "$server"; wait "$server"; rm -rf "$folder""#;

/// How often a condition is looked at until it holds.
const LOOKS_MAX: u32 = 3000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Waits until something holds.
pub(super) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let mut looks = 0;
    while !holds().await {
        assert!(looks < LOOKS_MAX, "never: {what}");
        looks += 1;
        sleep(BETWEEN_LOOKS).await;
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

/// One server. Nothing of it is kept.
pub(super) struct Server {
    keeper: Child,
    pub(super) port: u16,
}

impl Server {
    /// A server without cluster mode.
    pub(super) async fn single() -> Self {
        Self::start(&[]).await
    }

    async fn clustered() -> Self {
        let bus = free_port().to_string();
        Self::start(&["--cluster-enabled", "yes", "--cluster-allow-replica-migration", "no", "--cluster-port", &bus])
            .await
    }

    async fn start(settings: &[&str]) -> Self {
        let port = free_port();
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "redis", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"]);
        // What ends the tests from the keyboard must leave the keeper to its work.
        command.arg(port.to_string()).args(settings).stdin(Stdio::piped()).process_group(0);
        let server = Self { keeper: command.spawn().expect("a shell"), port };
        until("redis-server answers (is it installed? localstack/services up does that)", async || {
            server.connected().await.is_some()
        })
        .await;
        server
    }

    async fn connected(&self) -> Option<MultiplexedConnection> {
        let client = redis::Client::open(format!("redis://{}/", self.address())).expect("an address");
        client.get_multiplexed_async_connection().await.ok()
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends a command over a new connection: the caller may live on another runtime than the caller before.
    pub(super) async fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let (name, args) = words.split_first().expect("a command");
        let mut connection = self.connected().await.expect("the server is there");
        redis::cmd(name).arg(args).query_async(&mut connection).await.expect("the server does it")
    }

    /// Errors that the server has answered with, of this kind.
    pub(super) async fn refused(&self, kind: &str) -> u64 {
        let text: String = self.ask(&["INFO", "errorstats"]).await;
        let counts: BTreeMap<_, _> = text.lines().filter_map(|line| line.trim().split_once(":count=")).collect();
        counts.get(format!("errorstat_{kind}").as_str()).map_or(0, |count| count.parse().expect("a number"))
    }

    /// Connections that it has accepted so far, this one included.
    pub(super) async fn connections(&self) -> u64 {
        let text: String = self.ask(&["INFO", "stats"]).await;
        let count = text.lines().find_map(|line| line.trim().strip_prefix("total_connections_received:"));
        count.expect("it counts them").parse().expect("a number")
    }

    /// A store with a prefix of its own, which looks here first. It has more time than a function's, for a slot may be on its
    /// way as long as the test likes.
    pub(super) fn store(&self, topology: Topology) -> (RedisStore, String) {
        let prefix = format!("t{}-{}:", std::process::id(), fresh_number());
        let nodes = vec![self.address()];
        let config = RedisConfig {
            nodes,
            topology,
            prefix: prefix.clone(),
            command_timeout: Duration::from_secs(30),
            ..RedisConfig::default()
        };
        (RedisStore::new(&config).expect("nothing is wrong with it"), prefix)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        self.keeper.wait().ok();
    }
}

/// Two servers of one cluster.
pub(super) struct Pair(pub(super) [Server; 2]);

impl Pair {
    /// The first owns the slots up to `last`, the second the others, if there are any.
    pub(super) async fn start(last: u16) -> Self {
        let pair = Self([Server::clustered().await, Server::clustered().await]);
        let [first, second] = &pair.0;
        let () = first.ask(&["CLUSTER", "SET-CONFIG-EPOCH", "1"]).await;
        let () = second.ask(&["CLUSTER", "SET-CONFIG-EPOCH", "2"]).await;
        let () = first.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", &last.to_string()]).await;
        if last < 16_383 {
            let () = second.ask(&["CLUSTER", "ADDSLOTSRANGE", &(last + 1).to_string(), "16383"]).await;
        }
        let (_, bus): (String, String) = second.ask(&["CONFIG", "GET", "cluster-port"]).await;
        let () = first.ask(&["CLUSTER", "MEET", "127.0.0.1", &second.port.to_string(), &bus]).await;
        for server in &pair.0 {
            until("both know of all slots", async || server.knows_all().await).await;
        }
        pair
    }

    /// The server that a slot is at, and the other.
    pub(super) async fn by_slot(&self, slot: &str) -> (&Server, &Server) {
        let [first, second] = &self.0;
        let counted: Vec<Vec<redis::Value>> = first.ask(&["CLUSTER", "SLOTS"]).await;
        let slot: u16 = slot.parse().expect("a slot");
        let node = counted.into_iter().find_map(|range| {
            let [from, to, node] =
                <[redis::Value; 3]>::try_from(range.into_iter().take(3).collect::<Vec<_>>()).ok()?;
            let (from, to): (u16, u16) = (redis::from_redis_value(from).ok()?, redis::from_redis_value(to).ok()?);
            let (_, port, ..): (String, u16, redis::Value, redis::Value) = redis::from_redis_value(node).ok()?;
            (from..=to).contains(&slot).then_some(port)
        });
        if node.expect("the slot is owned") == first.port { (first, second) } else { (second, first) }
    }
}

impl Server {
    async fn knows_all(&self) -> bool {
        let text: String = self.ask(&["CLUSTER", "INFO"]).await;
        let says = |line: &str| text.lines().any(|found| found.trim() == line);
        says("cluster_state:ok") && says("cluster_slots_ok:16384") && says("cluster_known_nodes:2")
    }
}
