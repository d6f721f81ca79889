//! Settings of the Redis client.

use std::time::Duration;

use domain::Secret;

use crate::kinds::{Kind, Named, Rule, flag, list, mins, ms, one_of, optional, secret, secs, span, text, whole};
use crate::reader::Reader;

section! {
    /// Redis: where it is and how to sign in.
    "redis." Redis {
        /// The server, or one node of the cluster, as host:port.
        addr: String = text(Rule::HOST_PORT).or("localhost:6379".to_owned());
        /// How to log in: not at all, with a password, or with the AWS identity to ElastiCache. Unset, it is password when
        /// there is one.
        auth: Option<RedisAuth> = optional(one_of()).or(None);
        /// User name; needs a password, or iam.
        username: Option<String> = optional(text(Rule::ANY)).or(None);
        /// Password of the server.
        password: Option<Secret> = optional(secret(1)).or(None);
        /// Number of the database; a cluster has only 0.
        db: u32 = whole(0..=1_023).or(0);
        /// Whether connections are encrypted; with iam they always are.
        tls: bool = flag().or(false);
        /// A file of CA certificates (PEM) to trust in place of the system's; needs TLS.
        ca_file: Option<String> = optional(text(Rule::ANY)).or(None);
        /// Whether the server is a cluster.
        cluster: bool = flag().or(false);
    }
    nested {
        /// The cache to log in to with the AWS identity.
        iam: RedisIam;
        /// Finding the server by sentinels.
        sentinel: RedisSentinel;
        /// How long to wait.
        timeouts: RedisTimeouts;
    }
}

section! {
    /// The ElastiCache to log in to with the AWS identity; `redis.username` is the user, whose id and name are the same.
    "redis.iam_" RedisIam {
        /// The id of the replication group, or the name of the serverless cache.
        cache: Option<String> = optional(text(CACHE)).or(None);
        /// Whether it is a serverless cache.
        serverless: bool = flag().or(false);
    }
}

section! {
    /// Finding the server by sentinels instead of its address.
    "redis.sentinel_" RedisSentinel {
        /// The original's sentinels, as host:port. howk does not ask sentinels, and does not start with them: name the server
        /// in `redis.addr`, or use a cluster.
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
            reader.conflict(&keys, "goes together with redis.sentinel_master_name; set both or neither");
        }
        if self.cluster && sentinels {
            let keys = ["redis.cluster", "redis.sentinel_addrs"];
            reader.conflict(&keys, "true excludes redis.sentinel_addrs; remove one of them");
        }
        if self.cluster && self.db != 0 {
            reader.conflict(
                &["redis.db", "redis.cluster"],
                format!("{} is not 0, but a cluster has no other database; set it to 0", self.db),
            );
        }
        self.check_login(reader);
        if self.ca_file.is_some() && !self.tls && self.login() != RedisAuth::Iam {
            reader.conflict(&["redis.ca_file", "redis.tls"], "needs redis.tls: true; set it, or remove the file");
        }
    }

    /// How to log in: as set, or as the password suggests.
    pub fn login(&self) -> RedisAuth {
        let implied = if self.password.is_some() { RedisAuth::Password } else { RedisAuth::None };
        self.auth.unwrap_or(implied)
    }

    fn check_login(&self, reader: &mut Reader) {
        let auth = self.login();
        let by_iam = auth == RedisAuth::Iam;
        if auth == RedisAuth::Password && self.password.is_none() {
            reader.conflict(&["redis.auth", "redis.password"], "password needs redis.password; set it");
        }
        if auth != RedisAuth::Password && self.password.is_some() {
            reader.conflict(
                &["redis.auth", "redis.password"],
                "excludes redis.password, unless it is password; remove one of them",
            );
        }
        if auth == RedisAuth::None && self.username.is_some() {
            reader.conflict(
                &["redis.username", "redis.password"],
                "needs redis.password too, or redis.auth iam; set one of them",
            );
        }
        if by_iam && (self.username.is_none() || self.iam.cache.is_none()) {
            let keys = ["redis.auth", "redis.username", "redis.iam_cache"];
            reader.conflict(&keys, "iam needs redis.username and redis.iam_cache; set both");
        }
        if !by_iam && self.iam.cache.is_some() {
            reader.conflict(&["redis.iam_cache", "redis.auth"], "is for redis.auth iam; set that, or remove it");
        }
        if self.iam.serverless && !self.cluster {
            reader.conflict(
                &["redis.iam_serverless", "redis.cluster"],
                "needs redis.cluster: true, since a serverless cache is a cluster; set it",
            );
        }
    }
}

/// How to log in to Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisAuth {
    /// Not at all.
    None,
    /// With [`Redis::password`], and [`Redis::username`] if it is not the default user.
    Password,
    /// With the AWS identity of the process, as [`Redis::username`], to [`Redis::iam`].
    Iam,
}

impl Named for RedisAuth {
    const NAMES: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("password", Self::Password), ("iam", Self::Iam)];
}

const CACHE: Rule = Rule {
    allowed: "1 to 40 lower-case letters, digits or dashes, the first a letter",
    holds: |text| {
        (1..=40).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    },
};
