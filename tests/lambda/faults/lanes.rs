//! What Lambda does to the lanes: it throttles, times out and kills them.

use std::time::Duration;

use howk_tests::rig::load::{Accepted, Planned};
use howk_tests::rig::pair::number;
use howk_tests::rig::receiver::Behaviour;
use testkit::random::SeededRandom;

use super::scene::{Scene, quick};
use crate::rig::{some, until};

/// How long an invocation of a lane may take: enough for any request and the margins, too little for [`SERIES`] of them.
const TIMEOUT: Duration = Duration::from_secs(9);
/// Webhooks of one tenant, one after the other.
const SERIES: usize = 10;
/// How many times a lane is killed between effects.
const KILLS: u64 = 8;

/// No concurrency for a function, or as much as it likes.
fn throttle(scene: &Scene, function: &str, reserved: Option<usize>) {
    assert!(scene.functions.stack.lambda().set_limits(function, |limits| limits.reserved = reserved));
}

/// Lanes and scheduler without concurrency hold work up and lose none; the log keeps it until they run again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn throttled_functions_hold_work_up_and_lose_none() {
    let scene = Scene::start("throttle").await;
    let mut accepted = Vec::new();
    for function in ["fast-lane", "slow-lane", "scheduler"] {
        throttle(&scene, function, Some(0));
        let before = scene.functions.stack.lambda().state_of(function).unwrap().throttles;
        for (name, behaviour) in
            [("takes", Behaviour::Takes), ("slow", Behaviour::Slow), ("fails", Behaviour::Fails(1))]
        {
            accepted.extend(scene.post(&format!("{function}-{name}"), Planned::delivered(behaviour), (20, 10)).await);
        }
        let throttles = async || scene.functions.stack.lambda().state_of(function).unwrap().throttles;
        until(&format!("{function} is throttled"), async || throttles().await >= before + 3).await;
        if function == "fast-lane" {
            assert_eq!(scene.requests(), 0, "no lane can send");
        }
        throttle(&scene, function, None);
    }
    let balance = scene.settle(&accepted).await;
    assert_eq!(balance.extra, 0, "{:?}", balance.causes);
}

/// A throttled front answers 503. Callers that repeat the request (as the load does) are accepted once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_throttled_front_refuses_and_accepts_once_when_it_may() {
    let scene = Scene::start("refused").await;
    throttle(&scene, "enqueue", Some(0));
    let url = format!("{}/webhooks/tenant/enqueue", scene.functions.stack.url);
    let refused = scene.stage.client.post(url).body("{}").send().await.unwrap();
    assert_eq!(refused.status(), 503);
    let lifting = async {
        let throttles = async || scene.functions.stack.lambda().state_of("enqueue").unwrap().throttles;
        until("callers are refused", async || throttles().await >= 5).await;
        throttle(&scene, "enqueue", None);
    };
    let (accepted, ()) =
        futures::join!(scene.post("refused", Planned::delivered(Behaviour::Takes), (50, 10)), lifting);
    let balance = scene.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (50, 0));
}

/// A batch that needs longer than its invocation may take: the lane begins the requests that it has time for and has the
/// other records redelivered. So Lambda never has to kill it, and no request is sent twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_has_too_little_time_for_a_batch_has_the_other_records_redelivered() {
    let setup = quick("late").with("HOWK_KAFKA_PER_KEY_PARALLELISM", "1");
    let scene = Scene::with(setup, |_, config| config.spec.function("fast-lane").unwrap().timeout = TIMEOUT).await;
    let source = scene.source("fast-lane");
    source.pause();
    let accepted = scene.post("late", Planned::delivered(Behaviour::TakesAfter(400)), (4 * SERIES, SERIES)).await;
    source.resume();
    until("a record is redelivered", async || source.state().item_failures > 0).await;
    until("all was sent", async || scene.requests() >= 40).await;
    let timeouts = scene.functions.stack.lambda().state_of("fast-lane").unwrap().timeouts;
    let balance = scene.settle(&accepted).await;
    assert_eq!((timeouts, balance.requests, balance.extra), (0, 40, 0), "{:?}", balance.causes);
}

/// Lanes that stand still in the middle of their requests run into their deadline: Lambda kills them, the event source
/// repeats the batch, and a request that is sent again is marked as taken over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_times_out_at_work_is_taken_over() {
    let scene = Scene::with(quick("timeout"), |_, config| {
        for lane in ["fast-lane", "slow-lane"] {
            config.spec.function(lane).unwrap().timeout = TIMEOUT;
        }
    })
    .await;
    // Webhooks to slow endpoints are diverted to the slow lane, which is frozen with them.
    let mut accepted = scene.post("slow", Planned::delivered(Behaviour::Slow), (20, 10)).await;
    let lambda = scene.functions.stack.lambda().clone();
    let stop_at_work = async |lane: &str, requests: u32| {
        until("requests are under way", async || scene.requests() >= requests).await;
        until(&format!("{lane} stands still at work"), async || {
            scene.functions.at_work(lane).is_some_and(|environment| lambda.freeze(environment))
        })
        .await;
    };
    stop_at_work("slow-lane", 21).await;
    accepted.extend(scene.post("quick", Planned::delivered(Behaviour::TakesAfter(300)), (20, 10)).await);
    stop_at_work("fast-lane", 30).await;
    for lane in ["fast-lane", "slow-lane"] {
        let timeouts = async || lambda.state_of(lane).unwrap().timeouts;
        until(&format!("{lane} has timed out"), async || timeouts().await > 0).await;
    }
    let balance = scene.settle(&accepted).await;
    assert!(balance.causes.contains_key("takeover"), "{:?}", balance.causes);
}

/// Kills a lane that is at work.
async fn kill(scene: &Scene, lane: &str) {
    let lambda = scene.functions.stack.lambda();
    until(&format!("{lane} was killed at work"), async || {
        scene.functions.at_work(lane).is_some_and(|environment| lambda.kill(environment))
    })
    .await;
}

/// Killed in the middle of requests, which their receivers answer all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_is_killed_in_the_middle_of_requests_is_taken_over() {
    let scene = Scene::start("mid-request").await;
    let mut accepted = Vec::new();
    for (lane, behaviour) in [("fast-lane", Behaviour::TakesAfter(400)), ("slow-lane", Behaviour::Slow)] {
        // The lane that is to be killed is the one that makes the last request.
        let requests = if lane == "slow-lane" { 60 } else { 10 };
        let before = scene.requests();
        accepted.extend(scene.post(lane, Planned::delivered(behaviour), (40, 10)).await);
        until("requests are under way", async || scene.requests() >= before + requests).await;
        kill(&scene, lane).await;
    }
    let balance = scene.settle(&accepted).await;
    assert!(balance.causes.contains_key("takeover"), "{:?}", balance.causes);
}

/// Killed in the middle of a batch: what was settled of it is not sent again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_is_killed_in_the_middle_of_a_batch_repeats_only_what_was_not_settled() {
    let scene = Scene::with(quick("mid-batch").with("HOWK_KAFKA_PER_KEY_PARALLELISM", "1"), |_, _| {}).await;
    let source = scene.source("fast-lane");
    source.pause();
    let accepted =
        scene.post("mid-batch", Planned::delivered(Behaviour::TakesAfter(100)), (8 * SERIES, SERIES)).await;
    source.resume();
    // Half of them: with one at a time of each tenant, most of those are settled.
    until("half of the batch was sent", async || scene.requests() >= 40).await;
    kill(&scene, "fast-lane").await;
    let balance = scene.settle(&accepted).await;
    assert!(balance.extra <= 16, "{} extra, {:?}: as many at most as were under way", balance.extra, balance.causes);
}

/// Killed at seeded moments under load, wherever between two effects that is. `HOWK_FAULT_SEED` repeats a run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lanes_that_are_killed_between_any_two_effects_lose_nothing() {
    let seed = number("HOWK_FAULT_SEED", u64::from(std::process::id()));
    let (scene, random) = (Scene::start("between").await, SeededRandom::new(seed));
    let mut accepted: Vec<Accepted> = Vec::new();
    for round in 0..KILLS {
        let behaviours = [Behaviour::Takes, Behaviour::Fails(1), Behaviour::Refuses, Behaviour::Slow];
        for behaviour in behaviours {
            let planned = if behaviour == Behaviour::Refuses {
                Planned::dead(behaviour, 20)
            } else {
                Planned::delivered(behaviour)
            };
            accepted.extend(scene.post(&format!("{round}-{behaviour:?}"), planned, (20, 10)).await);
        }
        let lane = if random.below(3) == 0 { "slow-lane" } else { "fast-lane" };
        some("a lane at work", async || scene.functions.at_work(lane)).await;
        tokio::time::sleep(Duration::from_micros(random.below(60_000))).await;
        kill(&scene, lane).await;
    }
    scene.settle(&accepted).await;
}
