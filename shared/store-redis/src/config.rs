//! Where Redis is, how the store logs in, its timeouts, and how long it keeps keys.

use std::time::Duration;

use delivery::{Fault, FaultKind};
use redis::io::tcp::TcpSettings;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, TlsCertificates};

use crate::fault;
use crate::login::Login;
use crate::slots::Address;

/// Whether Redis runs in cluster mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Topology {
    /// One or more nodes in cluster mode, as ElastiCache Serverless always is.
    #[default]
    Cluster,
    /// One node without cluster mode.
    Single,
}

/// Which certificates are trusted over TLS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// Certificates of authorities, PEM; those of the system when there are none.
    pub authorities: Option<Vec<u8>>,
}

/// How long keys stay that are not used any more. This is garbage collection: no decision depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// A webhook's claim, status and attempts, after the last write. Those of a held webhook stay.
    pub webhook: Duration,
    /// An endpoint's state, after the last write, when no webhook is held for it and every setting is active.
    pub endpoint: Duration,
    /// A tenant's index of dead letters, after the last one.
    pub dead_letters: Duration,
    /// An hour's counters.
    pub stats: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        let (day, week) = (Duration::from_hours(24), Duration::from_hours(7 * 24));
        Self { webhook: week, endpoint: day, dead_letters: week, stats: 2 * day }
    }
}

/// The configuration of a store.
#[derive(Debug, Clone)]
pub struct RedisConfig {
    /// `host:port` of one node or more; in cluster mode the others are found.
    pub nodes: Vec<String>,
    /// Whether Redis runs in cluster mode.
    pub topology: Topology,
    /// The number of the database; a cluster has only 0.
    pub database: u32,
    /// TLS, if the connections are encrypted.
    pub tls: Option<Tls>,
    /// How connections log in.
    pub login: Login,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// How long a command may take, including its repetitions after a dead connection and while its slot moves.
    pub command_timeout: Duration,
    /// The beginning of every key, outside of the hash tag; it must contain no brace. For tests that share one Redis.
    pub prefix: String,
    /// How long keys stay.
    pub retention: Retention,
}

impl Default for RedisConfig {
    fn default() -> Self {
        Self {
            nodes: vec!["127.0.0.1:6379".to_owned()],
            topology: Topology::default(),
            database: 0,
            tls: None,
            login: Login::None,
            connect_timeout: Duration::from_secs(2),
            command_timeout: Duration::from_secs(2),
            prefix: String::new(),
            retention: Retention::default(),
        }
    }
}

impl RedisConfig {
    /// The nodes as the client takes them.
    ///
    /// # Errors
    /// A permanent [`Fault`] that names the mistake.
    pub(crate) fn connections(&self) -> Result<Vec<ConnectionInfo>, Fault> {
        let wrong = |what: String| Err(Fault::new(FaultKind::Permanent, what));
        if self.prefix.contains(['{', '}']) {
            return wrong(format!("the key prefix \"{}\" must not contain braces", self.prefix));
        }
        if self.nodes.is_empty() {
            return wrong("no Redis node is named".to_owned());
        }
        self.nodes.iter().map(|node| self.connection(node)).collect()
    }

    fn connection(&self, node: &str) -> Result<ConnectionInfo, Fault> {
        self.connection_to(&Self::address(node)?)
    }

    /// Reads `host:port`.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the text has another shape.
    pub(crate) fn address(node: &str) -> Result<Address, Fault> {
        let wrong = || Fault::new(FaultKind::Permanent, format!("\"{node}\" is not host:port"));
        let (host, port) = node.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() { Err(wrong()) } else { Ok((host, port)) }
    }

    /// How to connect to one node.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the client cannot speak as the configuration wants.
    pub(crate) fn connection_to(&self, (host, port): &Address) -> Result<ConnectionInfo, Fault> {
        let (host, port) = (host.clone(), *port);
        let addr = match self.tls {
            Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
            None => ConnectionAddr::Tcp(host, port),
        };
        let info = addr.into_connection_info().map_err(fault::misconfigured)?;
        Ok(info.set_tcp_settings(self.tcp()).set_redis_settings(self.redis()))
    }

    /// A connection whose peer acknowledges nothing for half a command's timeout is dead, as after a freeze of the process. The
    /// other half is for sending the command again over a new connection.
    fn tcp(&self) -> TcpSettings {
        TcpSettings::default().set_nodelay(true).set_user_timeout(self.command_timeout / 2)
    }

    fn redis(&self) -> RedisConnectionInfo {
        let settings = RedisConnectionInfo::default().set_db(i64::from(self.database));
        match &self.login {
            Login::Password { user, password } => {
                let settings = settings.set_password(password.reveal());
                user.as_ref().map_or_else(|| settings.clone(), |user| settings.clone().set_username(user))
            }
            Login::None | Login::From(_) => settings,
        }
    }

    pub(crate) fn certificates(&self) -> Option<TlsCertificates> {
        let tls = self.tls.as_ref()?;
        Some(TlsCertificates { client_tls: None, root_cert: tls.authorities.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake_of(config: &RedisConfig) -> String {
        config.connections().unwrap_err().to_string()
    }

    #[test]
    fn a_mistake_is_named() {
        let nodes = |node: &str| RedisConfig { nodes: vec![node.to_owned()], ..RedisConfig::default() };
        assert_eq!(mistake_of(&nodes("redis")), "\"redis\" is not host:port");
        assert_eq!(mistake_of(&nodes("redis:x")), "\"redis:x\" is not host:port");
        assert_eq!(mistake_of(&nodes(":6379")), "\":6379\" is not host:port");
        assert_eq!(
            mistake_of(&RedisConfig { nodes: Vec::new(), ..RedisConfig::default() }),
            "no Redis node is named"
        );
        let braces = RedisConfig { prefix: "{a}".to_owned(), ..RedisConfig::default() };
        assert_eq!(mistake_of(&braces), "the key prefix \"{a}\" must not contain braces");
    }

    #[test]
    fn addresses_are_read() {
        let config = RedisConfig { nodes: vec!["[::1]:7000".to_owned()], ..RedisConfig::default() };
        let found = config.connections().unwrap();
        assert_eq!(found[0].addr(), &ConnectionAddr::Tcp("::1".to_owned(), 7000));
        let config = RedisConfig { tls: Some(Tls::default()), ..config };
        assert!(matches!(config.connections().unwrap()[0].addr(), ConnectionAddr::TcpTls { insecure: false, .. }));
    }

    #[test]
    fn se_1_a_password_is_not_shown() {
        let password = domain::Secret::new("hunter2");
        let login = Login::Password { user: Some("howk".to_owned()), password };
        let shown = format!("{:?}", RedisConfig { login, ..RedisConfig::default() });
        assert!(shown.contains("howk") && !shown.contains("hunter2"), "{shown}");
    }
}
