//! `rebuild`: measures how long the rebuild of the hot state of many waiting webhooks takes after a loss, and checks that
//! the state is the same as before.
//!
//! Each webhook is put into the log and into the due set as a failed attempt puts it there.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, ensure};
use delivery::rebuild::{Rebuilt, When};
use domain::{
    ClaimHolder, Dispatch, Endpoint, Lane, LastFailure, MAX_ATTEMPTS_DEFAULT, Record, WaitReason, Waiting, Webhook,
    WebhookId, Write,
};
use in_memory::MemoryStore;
use server::system::Sending;
use server::system::{Backend, System};

use crate::cli::{On, RebuildOptions};
use crate::howk::{self, Webhooks};
use crate::measure::{Meter, Sample};
use crate::report::{Aim, Bound, Report, fine, whole};
use crate::services::Services;

/// The aim: how many seconds a rebuild may take.
const SECONDS_MAX: f64 = 10.0;
/// Webhooks that are added together.
const BATCH: u32 = 1_000;
/// Different endpoints.
const ENDPOINTS: u32 = 64;
/// When the first webhook is due, from now.
const DUE_IN: Duration = Duration::from_hours(1);
const CONCURRENCY: u32 = 64;
const HEADER: [&str; 7] = ["on", "seconds", "CPU s", "per second", "records", "hash before", "hash after"];

/// The way in which the hot state is lost.
enum Loss<'a> {
    Memory(Arc<MemoryStore>),
    Services(&'a Services),
}

/// Runs the measurement.
///
/// # Errors
/// When the hot state is not the same as before.
pub(crate) async fn run(options: &RebuildOptions) -> anyhow::Result<Report> {
    let about =
        format!("{} waiting webhooks of {} bytes, the hot state lost", options.count, options.shape.payload_bytes);
    let mut report = Report::new("rebuild", about, &HEADER);
    let settings = howk::settings(CONCURRENCY);
    if options.services.on != On::Services {
        let (backend, store) = Backend::in_memory(&howk::limits());
        let system = System::new(&settings, backend, Sending::Real)?;
        one(&mut report, "memory", (options, &system, Loss::Memory(store))).await?;
    }
    let Some(services) = Services::open(&options.services).await? else { return Ok(report) };
    let measured = async {
        let clients = services.connect().await?;
        let system = System::new(&settings, clients.backend.clone(), Sending::Real)?;
        one(&mut report, "Kafka and Redis", (options, &system, Loss::Services(&services))).await
    };
    let measured = measured.await;
    services.clean_up().await?;
    measured.map(|()| report)
}

async fn one(
    report: &mut Report,
    on: &str,
    (options, system, loss): (&RebuildOptions, &System, Loss<'_>),
) -> anyhow::Result<()> {
    fill(options, system).await?;
    let before = system.backend.stores.recovery.fingerprint().await?;
    match &loss {
        Loss::Memory(store) => store.wipe(),
        Loss::Services(services) => drop(services.wipe_redis().await?),
    }
    let emptied = system.backend.stores.recovery.fingerprint().await?;
    ensure!(emptied != before && !system.rebuild.is_rebuilt().await?, "the hot state was not lost");
    let meter = Meter::start()?;
    let rebuilt = system.rebuild.run(&ClaimHolder("howk-load".to_owned()), When::IfLost, None).await?;
    let sample = meter.stop(options.count)?;
    let Rebuilt::Done { replayed, fingerprint } = rebuilt else { bail!("the rebuild ended with {rebuilt:?}") };
    ensure!(fingerprint == before, "{on}: the state hash was {before:016x} and is {fingerprint:016x}");
    add_rows(report, on, (&sample, replayed, [before, fingerprint]));
    Ok(())
}

/// Adds the waiting webhooks.
async fn fill(options: &RebuildOptions, system: &System) -> anyhow::Result<()> {
    let webhooks = Webhooks {
        endpoints: (0..ENDPOINTS)
            .map(|n| Endpoint::parse(&format!("http://127.0.0.1:9/hook/{n}")))
            .collect::<Result<_, _>>()?,
        shape: options.shape.clone(),
        secrets: Vec::new(),
        max_attempts: MAX_ATTEMPTS_DEFAULT,
    };
    let mut next = 0;
    while next < options.count {
        let end = next.saturating_add(BATCH).min(options.count);
        let waiting = (next..end).map(|n| waiting(&webhooks, system, n)).collect::<anyhow::Result<Vec<_>>>()?;
        system.backend.log.publish(waiting.iter().cloned().map(Record::Waiting).collect()).await?;
        system.backend.stores.hot.apply(waiting.into_iter().map(Write::Schedule).collect()).await?;
        next = end;
    }
    Ok(())
}

/// Webhook number `n` after its first attempt failed.
fn waiting(webhooks: &Webhooks, system: &System, n: u32) -> anyhow::Result<Waiting> {
    let new = webhooks.webhook(n)?;
    let now = system.release.clock.now();
    let webhook = Webhook {
        id: WebhookId::fresh(now, system.enqueue.random.bits()),
        config_id: new.config_id,
        endpoint: new.endpoint,
        payload: new.payload,
        headers: Vec::new(),
        idempotency_key: new.idempotency_key,
        signing_secrets: Vec::new(),
        max_attempts: new.max_attempts,
        retry_on_status: new.retry_on_status,
        created_at: now,
        trace: new.trace,
    };
    let due = now.plus(DUE_IN + Duration::from_millis(u64::from(n)));
    let failure = LastFailure { at: now, status: Some(503), error: "the endpoint answered 503".to_owned() };
    let dispatch = Dispatch { waited: true, ..Dispatch::first(Arc::new(webhook)).next_attempt(due, failure) };
    Ok(Waiting { dispatch, lane: Lane::Fast, due, reason: WaitReason::Retry, cooldown: None })
}

fn add_rows(report: &mut Report, on: &str, (sample, replayed, hashes): (&Sample, u64, [u64; 2])) {
    let seconds = sample.wall.as_secs_f64();
    report.figure(format!("seconds, {on}"), seconds);
    report.figure(format!("CPU seconds, {on}"), sample.cpu.as_secs_f64());
    report.figure(format!("per second, {on}"), sample.per_second());
    let mut cells = vec![on.to_owned(), fine(seconds), fine(sample.cpu.as_secs_f64()), whole(sample.per_second())];
    cells.push(replayed.to_string());
    cells.extend(hashes.map(|hash| format!("{hash:016x}")));
    report.row(cells);
    report.aims.push(Aim::new(format!("seconds of a rebuild, {on}"), seconds, Bound::AtMost(SECONDS_MAX)));
}
