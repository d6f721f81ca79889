//! The fast lane: the CPU of a webhook by the size of its batch, and the duration of an invocation by the requests in
//! flight.

use std::time::Duration;

use anyhow::{Context, ensure};
use howk_local::stack::Stack;

use super::ground::{Ground, LOOK_EVERY, TIMEOUT};
use super::process;
use crate::child::{Generator, Receiver};
use crate::cli::{GeneratorOptions, Recording, Shape};
use crate::generator;
use crate::measure::{instant, per};
use crate::receiver;

const LANE: &str = "fast-lane";
/// Requests in flight where that is not what is measured.
const IN_FLIGHT: u32 = 64;
/// How many webhooks are measured for one batch size: this many batches, but within the bounds.
const WEBHOOKS: (u32, u32) = (300, 5_000);
const BATCHES: u32 = 20;
/// Invocations that are measured for one number of requests in flight.
const INVOCATIONS: u32 = 4;
/// Webhooks of one POST, and POSTs at once.
const POSTED: u32 = 100;
const POSTS: u32 = 4;

/// Batches of one size.
#[derive(Debug)]
pub(super) struct Batched {
    pub(super) size: u32,
    /// Of an invocation.
    pub(super) invocation_ms: f64,
    /// Of the process, at the end.
    pub(super) resident_mib: f64,
    /// CPU of the process for a webhook.
    pub(super) cpu_ms: f64,
    /// Scripts that Redis ran for a webhook.
    pub(super) scripts: f64,
}

/// The measurement of one number of deliveries in flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) count: u32,
    /// The duration of an invocation.
    pub(super) invocation_ms: f64,
}

/// Measures batches of a size, with receivers that answer at once.
///
/// # Errors
/// When a webhook does not arrive.
pub(super) async fn batches_of(ground: &Ground, size: u32, shape: &Shape) -> anyhow::Result<Batched> {
    let course = Course::start(ground, (size, IN_FLIGHT), generator::PATH).await?;
    // Warms up: connections are opened, and one-time work is done.
    course.deliver(ground, size.max(POSTED), shape).await?;
    let count = size.saturating_mul(BATCHES).clamp(WEBHOOKS.0, WEBHOOKS.1).div_ceil(POSTED) * POSTED;
    let spent = course.deliver(ground, count, shape).await?;
    let resident_mib = process::resident_mib(course.pid()?)?;
    course.end().await?;
    Ok(Batched {
        size,
        invocation_ms: spent.invocation_ms(),
        resident_mib,
        cpu_ms: spent.cpu.as_secs_f64() * 1e3 / f64::from(count),
        scripts: per(spent.scripts, count),
    })
}

/// Measures invocations with so many deliveries in flight, with receivers that take a while.
///
/// # Errors
/// When a webhook does not arrive.
pub(super) async fn in_flight(ground: &Ground, count: u32, shape: &Shape) -> anyhow::Result<Flight> {
    let course = Course::start(ground, (count, count), receiver::STEADY_PATH).await?;
    course.deliver(ground, count, shape).await?;
    let spent = course.deliver(ground, count.saturating_mul(INVOCATIONS), shape).await?;
    course.end().await?;
    Ok(Flight { count, invocation_ms: spent.invocation_ms() })
}

/// A stack and a receiver.
struct Course {
    stack: Stack,
    receiver: Receiver,
    path: &'static str,
}

/// What the lane used.
struct Spent {
    cpu: Duration,
    busy_ms: u64,
    invocations: u64,
    scripts: u64,
}

impl Spent {
    fn invocation_ms(&self) -> f64 {
        per(self.busy_ms, u32::try_from(self.invocations).unwrap_or(u32::MAX))
    }
}

impl Course {
    async fn start(ground: &Ground, (batch, in_flight): (u32, u32), path: &'static str) -> anyhow::Result<Self> {
        let receiver = Receiver::start(Recording::Nothing, 0).await?;
        Ok(Self { stack: ground.stack(batch, in_flight).await?, receiver, path })
    }

    /// Posts webhooks while the event source is paused, then lets the lane deliver them all.
    async fn deliver(&self, ground: &Ground, count: u32, shape: &Shape) -> anyhow::Result<Spent> {
        let source = self.stack.source(LANE).context("the lane has an event source")?;
        source.pause();
        self.post(count, shape).await?;
        let (pid, arrived) = (self.pid()?, self.receiver.count().await?);
        let (cpu, state, scripts) = (process::cpu(pid)?, self.state()?, ground.scripts().await?);
        source.resume();
        let begun = instant();
        while self.receiver.count().await? < arrived + u64::from(count) || source.state().lag > 0 {
            ensure!(begun.elapsed() < TIMEOUT, "{count} webhooks do not arrive");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let now = self.state()?;
        ensure!(self.pid()? == pid && now.errors == state.errors, "the lane failed: see its log");
        Ok(Spent {
            cpu: process::cpu(pid)?.saturating_sub(cpu),
            busy_ms: now.busy_ms - state.busy_ms,
            invocations: now.invocations - state.invocations,
            scripts: ground.scripts().await? - scripts,
        })
    }

    async fn post(&self, count: u32, shape: &Shape) -> anyhow::Result<()> {
        let port = reqwest::Url::parse(&self.stack.url)?.port().context("the front has a port")?;
        let (to, shape, path) = (self.receiver.port, shape.clone(), self.path.to_owned());
        // A count that does not fill its POSTs is posted one by one.
        let batch = if count.is_multiple_of(POSTED) { POSTED } else { 1 };
        let options = GeneratorOptions { port, to, count, batch, concurrency: POSTS, rate: 0, path, shape };
        let mut generator = Generator::start(&options).await?;
        generator.go().await?;
        generator.end().await
    }

    fn state(&self) -> anyhow::Result<howk_local::lambda::FunctionState> {
        self.stack.lambda().state_of(LANE).context("there is a fast lane")
    }

    /// The lane's one process.
    fn pid(&self) -> anyhow::Result<u32> {
        let environments = self.state()?.environments;
        ensure!(environments.len() == 1, "one partition is read by one process, not by {}", environments.len());
        environments.first().map(|environment| environment.pid).context("the lane has a process")
    }

    async fn end(self) -> anyhow::Result<()> {
        self.stack.shut_down().await;
        self.receiver.end().await
    }
}
