//! The schedule, with a scripted Invoke API.

use std::sync::Arc;
use std::time::Duration;

use clock_system::{SystemClock, SystemRandom};
use howk_local::schedule::{Schedule, ScheduleConfig};
use howk_local::spec::ScheduleSpec;
use serde_json::json;

use crate::emulator::{Emulator, Reply};
use crate::rig::until;

fn schedule(spec: ScheduleSpec, emulator: &Emulator) -> Schedule {
    let (clock, random) = (Arc::new(SystemClock), Arc::new(SystemRandom));
    Schedule::start(ScheduleConfig { spec, invoker: emulator.invoker.clone(), clock, random })
}

fn every_hour() -> ScheduleSpec {
    ScheduleSpec { rate: Duration::from_hours(1), ..ScheduleSpec::new("tick") }
}

#[tokio::test]
async fn it_invokes_at_once_and_then_by_its_rate() {
    let emulator = Emulator::start([]).await;
    let input = Some(json!({ "attempt_number": "<aws.scheduler.attempt-number>" }));
    let schedule = schedule(ScheduleSpec { rate: Duration::from_millis(50), input, ..every_hour() }, &emulator);
    let asked = emulator.asked_times(3).await;
    assert!(asked.iter().all(|asked| asked.kind == "Event" && asked.function == "tick"));
    assert_eq!(asked[0].event, json!({ "attempt_number": "1" }));
    until("they are counted", async || schedule.control().state().handed_over >= 3).await;
    schedule.control().pause();
    schedule.stop().await;
}

#[tokio::test]
async fn without_input_it_hands_over_scheduler_s_payload() {
    let emulator = Emulator::start([]).await;
    let _schedule = schedule(every_hour(), &emulator);
    let event = emulator.asked_times(1).await.remove(0).event;
    assert_eq!((&event["source"], &event["detail"]), (&json!("aws.scheduler"), &json!("{}")));
}

#[tokio::test]
async fn at_least_once_may_be_twice() {
    let emulator = Emulator::start([]).await;
    let _schedule = schedule(ScheduleSpec { copies: 2, ..every_hour() }, &emulator);
    emulator.asked_times(2).await;
    emulator.stays_at(2).await;
}

#[tokio::test]
async fn an_event_that_could_not_be_handed_over_is_tried_again_and_given_up_when_it_is_too_old() {
    let emulator = Emulator::start([Reply::Throttle, Reply::Answer(String::new())]).await;
    let input = Some(json!("<aws.scheduler.attempt-number>"));
    let once = schedule(ScheduleSpec { input, ..every_hour() }, &emulator);
    let asked = emulator.asked_times(2).await;
    assert_eq!((&asked[0].event, &asked[1].event), (&json!("1"), &json!("2")));
    until("it is handed over", async || once.control().state().handed_over == 1).await;

    let never = Emulator::start([Reply::Throttle]).await;
    let old = schedule(ScheduleSpec { event_age: Duration::from_millis(1), ..every_hour() }, &never);
    until("it is given up", async || old.control().state().given_up == 1).await;
    never.stays_at(1).await;
}

#[tokio::test]
async fn a_paused_schedule_skips_its_times_and_fires_on_demand() {
    let emulator = Emulator::start([]).await;
    let schedule = schedule(ScheduleSpec { rate: Duration::from_millis(50), ..every_hour() }, &emulator);
    emulator.asked_times(1).await;
    schedule.control().pause();
    // An event may still be on its way.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = emulator.asked().len();
    emulator.stays_at(before).await;
    schedule.control().fire();
    emulator.asked_times(before + 1).await;
}
