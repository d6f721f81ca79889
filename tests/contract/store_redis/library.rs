//! Whether `store-redis` still needs a cluster client of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use store_redis::Login;
use testkit::contract::run;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::losses::user;
use super::{addr, admin};

/// Commands under way at the same time. With one at a time the library's client survives.
const AT_ONCE: usize = 64;
/// Connections that are killed one after the other. The library's client gets stuck within the first few.
const KILLS_MAX: u32 = 100;
/// A client that answers nothing for this long is stuck: a new connection takes milliseconds, and the library gives up making
/// one after a second.
const STUCK_AFTER: Duration = Duration::from_secs(3);
/// Commands that show that a client goes on after a kill.
const GOES_ON_WITH: u64 = 200;

/// Whether a command is answered in time.
async fn set(mut connection: ClusterConnection, key: usize) -> bool {
    let mut cmd = redis::cmd("SET");
    cmd.arg(format!("library-client:{{{key}}}")).arg(1).arg("EX").arg(60);
    matches!(timeout(STUCK_AFTER, cmd.query_async::<()>(&mut connection)).await, Ok(Ok(())))
}

/// Whether so many more commands are answered in time.
async fn goes_on(done: &AtomicU64) -> bool {
    let wanted = done.load(Ordering::Relaxed) + GOES_ON_WITH;
    let answered = async {
        while done.load(Ordering::Relaxed) < wanted {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(STUCK_AFTER, answered).await.is_ok()
}

/// Kills the client's only connection under load, again and again; whether the client is stuck after one of the kills.
async fn is_stuck_by_a_kill(connection: &ClusterConnection, user: &str) -> bool {
    let (done, mut load) = (Arc::new(AtomicU64::new(0)), JoinSet::new());
    for key in 0..AT_ONCE {
        let (connection, done) = (connection.clone(), Arc::clone(&done));
        load.spawn(async move {
            loop {
                if set(connection.clone(), key).await {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    assert!(goes_on(&done).await, "the library's client works before its connection is killed");
    for _ in 0..KILLS_MAX {
        let mut kill = redis::cmd("CLIENT");
        kill.arg("KILL").arg("USER").arg(user);
        kill.query_async::<u64>(&mut admin().await).await.expect("Redis answers");
        if !goes_on(&done).await {
            return true;
        }
    }
    false
}

/// The reason for `store_redis::cluster`, as its module documentation says: this test fails as soon as the library's own
/// cluster client goes on after its only connection to a node was killed under load.
#[test]
fn the_librarys_cluster_client_still_gets_stuck_when_a_connection_dies_under_load() {
    run(async {
        let (name, login) = user().await;
        let Login::Password { password, .. } = login else { panic!("a user with a password") };
        let url = format!("redis://{name}:{}@{}/", password.reveal(), addr());
        let client = ClusterClient::new(vec![url]).expect("an address");
        let connection = client.get_async_connection().await.expect("Redis is there");
        assert!(
            is_stuck_by_a_kill(&connection, &name).await,
            "the cluster client of the `redis` crate survived {KILLS_MAX} kills of its only connection under load: \
             the fault that shared/store-redis/src/cluster.rs works around is mended. Replace cluster.rs and slots.rs by \
             redis::cluster_async, run the store_redis contract on it, and delete this test"
        );
        let fresh = client.get_async_connection().await.expect("Redis is there");
        assert!(set(fresh, 0).await, "Redis answers a new client, so it is the old client that is stuck");
        assert!(!set(connection, 0).await, "the client recovers without help");
        redis::cmd("ACL").arg("DELUSER").arg(&name).query_async::<u64>(&mut admin().await).await.expect("it is gone");
    });
}
