//! Settings of the Redis client.

use std::time::Duration;

use domain::Secret;

use crate::kinds::{Kind, Rule, flag, list, mins, ms, optional, secret, secs, span, text, whole};
use crate::reader::Reader;

section! {
    /// Redis: where it is and how to sign in.
    "redis." Redis {
        /// The server, or one node of the cluster, as host:port.
        addr: String = text(Rule::HOST_PORT).or("localhost:6379".to_owned());
        /// User name; needs a password.
        username: Option<String> = optional(text(Rule::ANY)).or(None);
        /// Password of the server.
        password: Option<Secret> = optional(secret(1)).or(None);
        /// Number of the database; a cluster has only 0.
        db: u32 = whole(0..=1_023).or(0);
        /// Whether connections are encrypted.
        tls: bool = flag().or(false);
        /// Whether the server is a cluster.
        cluster: bool = flag().or(false);
        /// The original's bound on connections; without effect here, where one connection to each node carries everything.
        pool_size: u32 = whole(1..=10_000).or(100);
        /// The original's number of idle connections; without effect here, where the one to each node is kept.
        min_idle_conns: u32 = whole(0..=10_000).or(10);
    }
    nested {
        /// Finding the server by sentinels.
        sentinel: RedisSentinel;
        /// How long to wait.
        timeouts: RedisTimeouts;
    }
}

section! {
    /// Finding the server by sentinels instead of its address.
    "redis.sentinel_" RedisSentinel {
        /// The original's sentinels, as host:port. They are not asked here, and a start with them is refused: name the
        /// server in `redis.addr`, or use a cluster.
        addrs: Vec<String> = list(text(Rule::HOST_PORT)).or(Vec::new());
        /// The name of the master that the sentinels watch.
        master_name: Option<String> = optional(text(Rule::ANY)).or(None);
    }
}

section! {
    /// How long to wait for Redis.
    "redis." RedisTimeouts {
        /// How long to wait for a connection.
        dial_timeout: Duration = span(ms(1)..=mins(5)).or(secs(5));
        /// How long to wait for an answer.
        read_timeout: Duration = span(ms(1)..=mins(5)).or(secs(3));
        /// How long a command may take to be written.
        write_timeout: Duration = span(ms(1)..=mins(5)).or(secs(3));
    }
}

impl Redis {
    pub(crate) fn check(&self, reader: &mut Reader) {
        let sentinels = !self.sentinel.addrs.is_empty();
        if sentinels != self.sentinel.master_name.is_some() {
            let keys = ["redis.sentinel_addrs", "redis.sentinel_master_name"];
            reader.conflict(&keys, "goes together with redis.sentinel_master_name: set both or neither");
        }
        if self.cluster && sentinels {
            let keys = ["redis.cluster", "redis.sentinel_addrs"];
            reader.conflict(&keys, "true excludes redis.sentinel_addrs");
        }
        if self.cluster && self.db != 0 {
            reader.conflict(
                &["redis.db", "redis.cluster"],
                format!("{} is not 0, but a cluster has no other", self.db),
            );
        }
        if self.username.is_some() && self.password.is_none() {
            reader.conflict(&["redis.username", "redis.password"], "needs redis.password too");
        }
        if self.min_idle_conns > self.pool_size {
            let problem = format!("{} is more than redis.pool_size, {}", self.min_idle_conns, self.pool_size);
            reader.conflict(&["redis.min_idle_conns", "redis.pool_size"], problem);
        }
    }
}
