//! The suites of the hot state's ports on a cluster of two nodes: no two keys of a case need to be on the same.

use std::sync::Arc;

use delivery::ports::hot_state::HotState;
use delivery::ports::statuses::Statuses;
use domain::{Phase, Write};
use store_redis::Topology;
use testkit::contract::{Store, run};
use testkit::generate::{at, dispatch, numbered, status, waiting};
use tokio::sync::OnceCell;

use super::nodes::Pair;

/// The last slot of the first node.
const HALF: u16 = 8191;

/// The nodes of this process's tests.
static PAIR: OnceCell<Pair> = OnceCell::const_new();

async fn pair() -> &'static Pair {
    PAIR.get_or_init(|| Pair::start(HALF)).await
}

async fn store() -> Store {
    let [first, _] = &pair().await.0;
    Store::of(Arc::new(first.store(Topology::Cluster).0))
}

testkit::contract_tests!(store, store);

/// The writes of one apply go to both nodes, and one read comes from both.
#[test]
fn an_apply_is_spread_over_both_nodes() {
    run(async {
        let [first, second] = &pair().await.0;
        let (store, prefix) = first.store(Topology::Cluster);
        let all: Vec<_> = (0..50).map(|_| dispatch()).collect();
        let statuses = all.iter().map(|first| Write::Merge(status(first, Phase::Waiting)));
        let schedule = all.iter().map(|first| Write::Schedule(waiting(&numbered(first, 2), at(1))));
        store.apply(statuses.chain(schedule).collect()).await.expect("written");
        let ids: Vec<_> = all.iter().map(|first| first.webhook.id.clone()).collect();
        let known = store.statuses(&ids).await.expect("it answers");
        assert_eq!(known.iter().flatten().count(), 50);
        for server in [first, second] {
            let keys: Vec<String> = server.ask(&["KEYS", &format!("{prefix}*")]).await;
            assert!(keys.iter().any(|key| key.contains("{wh:")), "{keys:?}");
            assert!(keys.iter().any(|key| key.contains("{due:")), "{keys:?}");
        }
    });
}
