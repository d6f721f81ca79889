//! Flows: one webhook's life through the real use-cases, consumers, scheduler and reconciler, on a clock moved by hand.
//!
//! Each test carries the id of the fault of the original, or of the pain of other senders' users, that it answers.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world fails")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test picks the records that it is about")]

mod circuit;
mod commits;
mod handler;
mod intake;
mod invocations;
mod lanes;
mod log_lines;
mod losses;
mod reasons;
mod recovery;
mod redeliveries;
mod retries;
mod schedules;
mod settings;
mod shutdown;
mod volumes;

use std::time::Duration;

use domain::{Phase, Record, Status, WebhookId};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};

const URL: &str = "https://receiver.example/hook";
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A world with one process, whose endpoints answer with `status`.
fn world(status: u16) -> World {
    let mut world = World::new(1, settings());
    world.endpoints.behave(move |_, _, _| Reply::status(status, 5));
    world.start();
    world
}

/// Accepts one webhook with at most this many attempts.
fn enqueue(world: &mut World, max_attempts: u32) -> WebhookId {
    let mut new = webhook("tenant", URL);
    new.max_attempts = max_attempts;
    world.enqueue(vec![new]).remove(0)
}

fn enqueue_many(world: &mut World, count: usize) -> Vec<WebhookId> {
    world.enqueue((0..count).map(|_| webhook("tenant", URL)).collect())
}

fn status(world: &mut World, id: &WebhookId) -> Status {
    world.status(id).unwrap()
}

fn phase(world: &mut World, id: &WebhookId) -> Phase {
    status(world, id).phase
}

fn count(world: &World, wanted: impl Fn(&Record) -> bool) -> usize {
    world.witness.published().iter().filter(|record| wanted(record)).count()
}
