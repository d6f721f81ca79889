//! The hot state is lost, and rebuilt from the log.

use std::collections::BTreeMap;

use clock_system::SystemClock;
use delivery::ports::recovery::Recovery;
use delivery::ports::schedule::Schedule;
use delivery::ports::time::Clock;
use howk_tests::rig::installation::Installation;
use howk_tests::rig::load::{Accepted, Planned};
use howk_tests::rig::pair::Signal;
use howk_tests::rig::receiver::Behaviour;
use howk_tests::rig::servers::Setup;

use super::scene::{Scene, until};

/// Webhooks that wait.
const WAITING: usize = 200;

async fn until_rebuilt(scene: &Scene) {
    let store = scene.stage.store().await;
    until("the hot state is whole", async || store.epoch().await.is_ok_and(|epoch| epoch.is_some())).await;
}

async fn waiting(scene: &Scene) -> u64 {
    let store = scene.stage.store().await;
    store.depth(SystemClock.now()).await.map(|depth| depth.waiting).unwrap_or_default()
}

/// Entries of the retry schedule, and records that belong to them.
fn scheduled(scene: &Scene) -> (u64, u64) {
    let mut connection = scene.pair.connection();
    let mut count = |command: &str, part: &str| -> u64 {
        let of_shard = |shard: u8| {
            let mut length = redis::cmd(command);
            length.arg(format!("{{due:{shard:02}}}:{part}"));
            length.query::<u64>(&mut connection).unwrap()
        };
        (0..16).map(of_shard).sum()
    };
    (count("ZCARD", "at"), count("HLEN", "records"))
}

/// X12, X13: a server that is killed as soon as webhooks count as waiting, and the store lost with it: every one of them
/// has a snapshot and waits again, its record beside its entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x12_x13_whatever_waits_is_in_the_log_and_comes_back_whole() {
    let setup = Setup::quick(1, "x12.").with("HOWK_RETRY_BASE_DELAY", "1h").with("HOWK_RETRY_MAX_DELAY", "2h");
    let setup = setup.with("HOWK_CIRCUIT_BREAKER_FAILURE_THRESHOLD", "1000000");
    let scene = Scene::with(setup).await;
    scene.post("x12", Planned::dead(Behaviour::Broken, 5), (WAITING, 50)).await;
    until("all wait", async || waiting(&scene).await == u64::try_from(WAITING).unwrap()).await;
    scene.servers.signal(0, Signal::Kill);
    let before = scene.stage.store().await.fingerprint().await.unwrap();
    scene.pair.flush();
    assert_eq!(scheduled(&scene), (0, 0));
    scene.servers.start(0);
    until_rebuilt(&scene).await;
    let all = u64::try_from(WAITING).unwrap();
    assert_eq!(scheduled(&scene), (all, all));
    assert_eq!(scene.stage.store().await.fingerprint().await.unwrap(), before, "RB-1");
}

async fn state_of(scene: &Scene, one: &Accepted) -> Option<String> {
    let status = scene.stage.ask(0, &format!("/webhooks/{}/status", one.id)).await?;
    status["state"].as_str().map(str::to_owned)
}

async fn dead_letters(scene: &Scene) -> usize {
    let mut listed = BTreeMap::new();
    for tenant in 0..64 {
        let answer = scene.stage.ask(0, &format!("/deadletters?config_id=tenant-{tenant}")).await;
        let dead_letters = answer.and_then(|answer| answer["deadletters"].as_array().cloned()).unwrap_or_default();
        listed
            .extend(dead_letters.into_iter().map(|dead_letter| (dead_letter["webhook_id"].to_string(), dead_letter)));
    }
    listed.len()
}

/// Y2, Y3, Y4: every partition of `howk.state` ends in tombstones. The rebuild comes to its end all the same, revives
/// nothing that was delivered or given up, and brings statuses and dead letters back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn y2_y3_y4_nothing_is_revived_and_what_ended_is_known_again() {
    let mut scene = Scene::start(2, "y2").await;
    let delivered = scene.post("y2a", Planned::delivered(Behaviour::Fails(1)), (100, 50)).await;
    let dead = scene.post("y2b", Planned::dead(Behaviour::Broken, 2), (20, 20)).await;
    let accepted: Vec<_> = delivered.iter().chain(&dead).cloned().collect();
    scene.stage.settle(&accepted).await;
    let requests = scene.requests();
    for _ in 0..2 {
        scene.pair.flush();
        until_rebuilt(&scene).await;
        until("dead letters are listed again", async || dead_letters(&scene).await == dead.len()).await;
        for (ended, state) in [(&delivered, "delivered"), (&dead, "exhausted")] {
            for one in ended {
                until("its status is back", async || state_of(&scene, one).await.as_deref() == Some(state)).await;
            }
        }
        assert_eq!((waiting(&scene).await, scene.requests()), (0, requests), "nothing is revived");
    }
}

/// Y5, Y6: of three servers that find the store lost one rebuilds it, once. A server that starts later finds it whole and
/// empties nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn y5_y6_one_of_many_rebuilds_and_a_start_empties_nothing() {
    let scene = Scene::start(3, "y5").await;
    let rebuilt = "the hot state is rebuilt";
    until("the first rebuild is over", async || scene.logged(rebuilt) == 1).await;
    scene.pair.flush();
    until("the second is over", async || scene.logged(rebuilt) == 2).await;
    until_rebuilt(&scene).await;
    let store = scene.stage.store().await;
    let epoch = store.epoch().await.unwrap();
    scene.servers.signal(2, Signal::Terminate);
    scene.servers.start(2);
    scene.servers.ready(2).await;
    assert_eq!((store.epoch().await.unwrap(), scene.logged(rebuilt)), (epoch, 2));
}
