//! The suites of the hot state's ports on a Redis without cluster mode.

use std::sync::Arc;

use store_redis::Topology;
use testkit::contract::{Store, run};
use tokio::sync::OnceCell;

use super::nodes::Server;

/// The server of this process's tests.
static SERVER: OnceCell<Server> = OnceCell::const_new();

async fn server() -> &'static Server {
    SERVER.get_or_init(Server::single).await
}

async fn store() -> Store {
    Store::of(Arc::new(server().await.store(Topology::Single).0))
}

testkit::contract_tests!(store, store);

/// Otherwise the suite above would prove no more than the others.
#[test]
fn the_server_has_no_cluster_mode() {
    run(async {
        let text: String = server().await.ask(&["INFO", "cluster"]).await;
        assert!(text.contains("cluster_enabled:0"), "{text}");
    });
}
