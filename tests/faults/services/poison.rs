//! Records that cannot be read, among good ones. `HOWK_POISON_RECORDS` and `HOWK_POISON_LARGE` make the run longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::time::Clock;
use howk_tests::rig::load::Planned;
use howk_tests::rig::pair::{number, say};
use howk_tests::rig::poison::Poisoner;
use howk_tests::rig::receiver::Behaviour;
use howk_tests::rig::servers::Servers;
use parking_lot::Mutex;

use super::scene::{Scene, until_within};

/// Good webhooks among the poison.
const GOOD: usize = 1000;
/// How often memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long nothing may happen before the rest counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(90);
/// How much more memory a server may hold at the end of the poison than when it had just begun.
const GROWTH_MAX: f64 = 1.5;
/// How long a million dead letters may take to be read again, after everything that webhooks wait for.
const REBUILT_WITHIN: Duration = Duration::from_mins(15);
/// What a server logs at the end of a rebuild.
const REBUILT: &str = "the hot state is rebuilt";
const SERVERS: usize = 2;

/// The memory of a process that is its own, in bytes.
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Looks at the servers' memory for ever.
async fn watch(servers: &Servers, samples: &Mutex<BTreeMap<usize, Vec<u64>>>) {
    loop {
        for server in 0..SERVERS {
            let process = servers.process(server).unwrap();
            samples.lock().entry(server).or_default().extend(resident(process));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The median of a part of the samples, in MiB.
fn median(samples: &[u64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    f64::from(u32::try_from(sorted[sorted.len() / 2] >> 20).unwrap())
}

/// Waits until every poison record is a dead letter.
async fn digest(scene: &mut Scene, total: u64) {
    let mut moved_at = SystemClock.now();
    loop {
        if scene.stage.ledger.read_on().await.unwrap() > 0 {
            moved_at = SystemClock.now();
        }
        let dead = u64::try_from(scene.stage.ledger.undecodable.len()).unwrap();
        if dead >= total {
            return;
        }
        assert!(SystemClock.now().since(moved_at) < STUCK_AFTER, "{dead} of {total} records are dead letters");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Writes poison and posts good webhooks, and waits for the end of both.
async fn run(scene: &mut Scene, poisoner: Poisoner, (records, large): (u64, u64)) {
    let began_at = SystemClock.now();
    let took = || SystemClock.now().since(began_at);
    let writing = tokio::task::spawn_blocking(move || poisoner.write_all(records, large));
    let good = Planned::delivered(Behaviour::Takes);
    let (accepted, written) = futures::join!(scene.post("p15", good, (GOOD, 50)), writing);
    written.unwrap();
    say(&format!("{records} records and {large} of 8 MiB are written after {:?}", took()));
    scene.stage.wait_for_the_end(&accepted).await;
    say(&format!("{GOOD} good webhooks are delivered after {:?}", took()));
    digest(scene, records + large).await;
    say(&format!("all poison is dead letters after {:?}", took()));
    scene.stage.settle(&accepted).await;
}

/// Loses the store, so that every dead letter is read again.
async fn rebuild(scene: &Scene) {
    let began_at = SystemClock.now();
    let rebuilt = scene.logged(REBUILT);
    scene.pair.flush();
    until_within(REBUILT_WITHIN, "the hot state is rebuilt", async || scene.logged(REBUILT) > rebuilt).await;
    say(&format!("the hot state is rebuilt within {:?}", SystemClock.now().since(began_at)));
}

/// P15: poison of every kind, some of it of 8 MiB, among good webhooks. The good ones are delivered, each poison record
/// is a dead letter with a reason, and the servers' memory does not grow with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p15_poison_ends_as_dead_letters_and_blocks_no_webhook() {
    let (records, large) = (number("HOWK_POISON_RECORDS", 20_000), number("HOWK_POISON_LARGE", 20));
    let seed = number("HOWK_FAULT_SEED", u64::from(std::process::id()));
    say(&format!("HOWK_FAULT_SEED={seed} HOWK_POISON_RECORDS={records} HOWK_POISON_LARGE={large} repeats this run"));
    let mut scene = Scene::start(SERVERS, "p15").await;
    let topics = scene.servers.setup().topics();
    let poisoner = Poisoner::new(&scene.pair, [topics.pending, topics.slow], seed);
    let (servers, while_poisoned, while_rebuilt) = (Arc::clone(&scene.servers), Mutex::default(), Mutex::default());
    tokio::select! {
        () = run(&mut scene, poisoner, (records, large)) => {}
        () = watch(&servers, &while_poisoned) => unreachable!("it looks for ever"),
    }
    tokio::select! {
        () = rebuild(&scene) => {}
        () = watch(&servers, &while_rebuilt) => unreachable!("it looks for ever"),
    }
    say(&format!("{:#?}", scene.stage.ledger.reasons));
    assert_eq!(
        u64::try_from(scene.stage.ledger.undecodable.len()).unwrap(),
        records + large,
        "each has its dead letter"
    );
    assert!(scene.stage.ledger.reasons.keys().all(|reason| !reason.is_empty()));
    report("the rebuild", &while_rebuilt.into_inner());
    for (begun, ended) in report("the poison", &while_poisoned.into_inner()) {
        assert!(ended <= begun * GROWTH_MAX, "a server grew from {begun} to {ended} MiB");
    }
}

/// Says how memory went, and returns what each server held in the second fifth of the time and in the last.
fn report(what: &str, samples: &BTreeMap<usize, Vec<u64>>) -> Vec<(f64, f64)> {
    let of_server = |(server, samples): (&usize, &Vec<u64>)| {
        let fifths: Vec<f64> = samples.chunks(samples.len().div_ceil(5)).map(median).collect();
        let peak = samples.iter().max().unwrap() >> 20;
        say(&format!("server {server} during {what}: medians of the fifths {fifths:?} MiB, peak {peak} MiB"));
        (fifths[1.min(fifths.len() - 1)], fifths[fifths.len() - 1])
    };
    samples.iter().map(of_server).collect()
}
