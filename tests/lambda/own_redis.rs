//! A Redis in cluster mode for one test, which the test may flush and stop.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use testkit::generate::fresh_number;

use crate::rig::until;

/// A Redis that ends with its test.
pub(crate) struct OwnRedis {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl OwnRedis {
    pub(crate) async fn start() -> Self {
        Self::start_at(free_port()).await
    }

    /// A Redis on a port that clients try to reach already.
    pub(crate) async fn start_at(port: u16) -> Self {
        let folder = std::env::temp_dir().join(format!("howk-redis-{}-{}", std::process::id(), fresh_number()));
        std::fs::create_dir_all(&folder).unwrap();
        let bus = free_port();
        let process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--cluster-port", &bus.to_string()])
            .args(["--cluster-enabled", "yes", "--save", "", "--appendonly", "no", "--dir"])
            .arg(&folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server: is it installed? localstack/services up does that");
        let redis = Self { process, folder, port };
        until("Redis answers", async || redis.says(&["ping"]).contains("PONG")).await;
        redis.says(&["cluster", "addslotsrange", "0", "16383"]);
        until("the cluster is ready", async || redis.says(&["cluster", "info"]).contains("cluster_state:ok")).await;
        redis
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Deletes everything.
    pub(crate) fn flush(&self) {
        assert!(self.says(&["flushall"]).contains("OK"));
    }

    fn says(&self, command: &[&str]) -> String {
        let port = self.port.to_string();
        let asked = Command::new("redis-cli").args(["-h", "127.0.0.1", "-p", &port]).args(command).output().unwrap();
        String::from_utf8(asked.stdout).unwrap()
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// How long a stack may take until it is ready. Generous: it only ends a test that has failed already.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);
