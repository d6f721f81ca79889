//! The log lines of the lanes: an attempt is one line in words, and what an operator may act on is a warning.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};
use parking_lot::Mutex;
use serde_json::Value;
use tracing::Level;

use crate::{HOUR, MINUTE};

/// The query is a secret, which no line may show (SE-1).
const URL: &str = "https://receiver.example/hook?token=s3cret";
const SHOWN: &str = "https://receiver.example/hook";

/// What was written.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The level and the text of every line that the deliver use-case writes while `act` runs.
///
/// Each line must name its webhook, show no secret and no Rust value.
fn lines(act: impl FnOnce()) -> Vec<(String, String)> {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(Level::INFO)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, act);
    let text = String::from_utf8(buffer.0.lock().clone()).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_deliver = all.filter(|line| {
        line.pointer("/target").and_then(Value::as_str).is_some_and(|target| target.starts_with("delivery::deliver"))
    });
    let shown = of_deliver.map(|line| {
        let field = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
        assert!(field("/span/webhook_id").starts_with("wh_"), "{line}");
        for hidden in ["s3cret", "Some(", "Timestamp", "::", " { "] {
            assert!(!line.to_string().replace("delivery::deliver::lines", "").contains(hidden), "{hidden}: {line}");
        }
        (field("/level"), field("/message"))
    });
    shown.collect()
}

/// The lines of a world in which `count` webhooks are accepted at once and worked on for `lasting`.
fn lines_of(behaviour: fn(usize) -> Reply, count: usize, lasting: Duration) -> Vec<(String, String)> {
    lines(|| {
        let mut world = World::new(1, settings());
        world.endpoints.behave(move |_, _, earlier| behaviour(earlier));
        world.start();
        let mut new = webhook("tenant", URL);
        new.max_attempts = 5;
        world.enqueue(vec![new; count]);
        world.pass(lasting);
    })
}

fn warnings(lines: &[(String, String)]) -> Vec<&str> {
    lines.iter().filter(|(level, _)| level == "WARN").map(|(_, text)| text.as_str()).collect()
}

#[test]
fn an_attempt_is_one_line_that_says_what_follows() {
    let lines = lines_of(|earlier| Reply::status(if earlier == 0 { 500 } else { 200 }, 5), 1, MINUTE);
    let [(first, failed), (second, delivered)] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((first.as_str(), second.as_str()), ("INFO", "INFO"));
    let (before, after) = failed.split_once("again in ").unwrap();
    assert_eq!(before, format!("attempt 1 of 5 to {SHOWN}: answered 500 after 5 ms; "));
    let seconds: f64 = after.strip_suffix(" s").unwrap().parse().unwrap();
    assert!((8.0..=12.0).contains(&seconds), "the first backoff is 10 s, give or take a fifth: {after}");
    assert_eq!(delivered, &format!("attempt 2 of 5 to {SHOWN}: answered 200 after 5 ms; delivered"));
}

#[test]
fn a_timeout_in_the_fast_lane_says_that_the_slow_lane_follows() {
    let lines = lines_of(|earlier| if earlier == 0 { Reply::hang() } else { Reply::status(200, 5) }, 1, MINUTE);
    let expected =
        format!("attempt 1 of 5 to {SHOWN}: no answer in time after 5 s; again in the slow lane, which waits longer");
    assert_eq!(lines.first().unwrap(), &("INFO".to_owned(), expected));
}

#[test]
fn a_dead_letter_is_a_warning_with_its_reason() {
    let lines = lines_of(|_| Reply::status(404, 5), 1, MINUTE);
    let attempt = format!("attempt 1 of 5 to {SHOWN}: answered 404 after 5 ms; dead letter (unrecoverable)");
    assert_eq!(lines.first().unwrap().1, attempt);
    assert_eq!(warnings(&lines), ["the webhook is dead-lettered (unrecoverable): the endpoint answered 404"]);
}

#[test]
fn a_410_warns_of_the_dead_letter_and_of_the_disabled_endpoint() {
    let lines = lines_of(|_| Reply::status(410, 5), 1, MINUTE);
    let dead =
        "the webhook is dead-lettered (gone): the endpoint answered 410: it wants no more webhooks and is disabled";
    let disabled =
        format!("{SHOWN} answered 410: it is disabled for tenant, whose webhooks to it are held until it is enabled");
    assert_eq!(warnings(&lines), [dead, &disabled]);
}

#[test]
fn a_new_cooldown_is_a_warning() {
    let lines =
        lines_of(|earlier| if earlier == 0 { Reply::retry_after(429, 60) } else { Reply::status(200, 5) }, 1, HOUR);
    let cooldown = format!(
        "{SHOWN} asked for a cooldown (Retry-After): nothing is sent to it for 60 s, and what waits for it is released \
         within 30 s after that"
    );
    assert_eq!(warnings(&lines), [cooldown]);
    assert!(lines.contains(&("INFO".to_owned(), format!("the cooldown of {SHOWN} is over"))), "{lines:?}");
}

#[test]
fn every_change_of_a_circuit_is_a_warning_that_says_what_tripped_it() {
    let lines = lines_of(|earlier| Reply::status(if earlier < 6 { 500 } else { 200 }, 5), 5, HOUR);
    let opens = format!(
        "the circuit of {SHOWN} opens: 5 failures and 0 successes within 60 s (it opens at 5 failures that outnumber the \
         successes); nothing is sent to it for 5 min"
    );
    let half = format!("the circuit of {SHOWN} is half-open: this attempt is its probe");
    let again = format!("the circuit of {SHOWN} opens again: its probe failed; nothing is sent to it for 5 min");
    let closes = format!("the circuit of {SHOWN} closes: 2 probes in a row succeeded");
    assert_eq!(warnings(&lines), [&opens, &half, &again, &half, &closes]);
    let first_probe = format!("the circuit of {SHOWN} stays half-open: 1 of 2 probes succeeded");
    assert!(lines.contains(&("INFO".to_owned(), first_probe)), "{lines:?}");
}
