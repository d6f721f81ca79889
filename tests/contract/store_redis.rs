//! The suites of the hot state's ports on real Redis in cluster mode, and what only Redis can get wrong.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use settings::{Environment, ProcessEnvironment};
use store_redis::{Login, RedisConfig, RedisStore, Topology};
use testkit::contract::Store;
use testkit::generate::fresh_number;

mod iam;
mod library;
mod losses;
mod moves;
mod nodes;
mod secure;
mod single;
mod traffic;
mod two_nodes;
mod volumes;

/// The Redis to test on.
fn addr() -> String {
    let variables = ProcessEnvironment.variables();
    let named = variables.get("HOWK_REDIS_ADDR").filter(|text| !text.is_empty());
    named.expect("HOWK_REDIS_ADDR is not set: start Redis with localstack/services up").clone()
}

/// A store of its own on the shared Redis, and a connection beside it.
struct Instance {
    store: Arc<RedisStore>,
    prefix: String,
    admin: MultiplexedConnection,
}

impl Instance {
    async fn new(login: Login) -> Self {
        Self::of(Topology::Cluster, login).await
    }

    async fn of(topology: Topology, login: Login) -> Self {
        let instance = Self::not_connected(topology, login).await;
        instance.store.reach().await.expect("Redis is there");
        instance
    }

    /// A store that connects when it is asked for something.
    async fn not_connected(topology: Topology, login: Login) -> Self {
        let prefix = format!("t{}-{}:", std::process::id(), fresh_number());
        let nodes = vec![addr()];
        let config = RedisConfig { nodes, topology, prefix: prefix.clone(), login, ..RedisConfig::default() };
        let store = Arc::new(RedisStore::new(&config).expect("nothing is wrong with it"));
        Self { store, prefix, admin: admin().await }
    }

    async fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let (name, args) = words.split_first().expect("a command");
        redis::cmd(name).arg(args).query_async(&mut self.admin.clone()).await.expect("Redis answers")
    }

    /// Every key of this store, without its prefix, in order.
    async fn keys(&self) -> Vec<String> {
        let pattern = format!("{}*", self.prefix);
        let mut keys: Vec<String> = self.ask(&["KEYS", &pattern]).await;
        for key in &mut keys {
            *key = key.replacen(&self.prefix, "", 1);
        }
        keys.sort();
        keys
    }

    fn ports(&self) -> Store {
        Store::of(Arc::clone(&self.store))
    }
}

async fn admin() -> MultiplexedConnection {
    let client = redis::Client::open(format!("redis://{}/", addr())).expect("an address");
    client.get_multiplexed_async_connection().await.expect("Redis is there")
}

/// The suites' stores connect as a function's do that started while Redis was away: with their first command.
async fn store() -> Store {
    Instance::not_connected(Topology::Cluster, Login::None).await.ports()
}

testkit::contract_tests!(store, store);
