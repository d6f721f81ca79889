//! `soak`: delivers many webhooks to many endpoints, a tenth of them dead, a tenth slow; checks that no webhook is
//! missing and that memory stays flat.
//!
//! Retries are quick and few and the circuit never trips, so that dead endpoints end in dead letters within the run.
//! Data that is kept by design (finished webhooks, dead letters) is bounded to less than the first tenth, so that it
//! does not look like a leak.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{bail, ensure};
use domain::{Endpoint, Topic};
use in_memory::MemoryLimits;
use indicatif::ProgressBar;
use server::background::Background;
use server::system::System;
use settings::Settings;
use tokio::net::TcpSocket;

use crate::child::Receiver;
use crate::cli::{Recording, SoakOptions};
use crate::howk::{self, Webhooks};
use crate::measure::{instant, resident_mib};
use crate::progress;
use crate::receiver::SLOW;
use crate::report::{Aim, Bound, Report, fine, whole};
use crate::soak::ledger::{Balance, DeadLetters};

mod ledger;

/// How much memory may grow from the first tenth to the last.
const GROWTH_MAX: f64 = 1.2;
const MAX_ATTEMPTS: u32 = 3;
const LOOK_EVERY: Duration = Duration::from_millis(10);
const TENTHS: u64 = 10;

/// Runs the measurement.
///
/// # Errors
/// When a webhook is missing, or the run takes too long.
pub(crate) async fn run(options: &SoakOptions) -> anyhow::Result<Report> {
    let metrics = server::telemetry::start_metrics()?;
    let receiver = Receiver::start(Recording::Numbers, options.count).await?;
    // Bound and never listening: a port that refuses, and that no other program gets.
    let refusing = TcpSocket::new_v4()?;
    refusing.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let settings = settings(options);
    let system = howk::system(&settings, &limits(options.count)).await?;
    let background = Background::start(&system, &settings)?;
    let run = Run {
        webhooks: webhooks(options, receiver.port, refusing.local_addr()?.port())?,
        dead_letters: DeadLetters::new(options.count),
        bar: progress::bar(u64::from(options.count), "webhooks"),
        options,
        system,
        receiver,
    };
    let report = run.complete(background).await;
    drop(metrics);
    report
}

fn settings(options: &SoakOptions) -> Settings {
    let mut settings = howk::settings(options.concurrency);
    settings.retry.base_delay = Duration::from_millis(200);
    settings.retry.max_delay = Duration::from_secs(1);
    settings.circuit_breaker.failure_threshold = 1_000_000;
    settings
}

fn limits(count: u32) -> MemoryLimits {
    let part = |of: u32| usize::try_from(count / of).unwrap_or(usize::MAX);
    // A small run ends before its dead letters are read often enough: so there is room for all of them.
    MemoryLimits { finished_max: part(20), dead_letters_max: part(50).max(1_000), ..howk::limits() }
}

/// Of ten endpoints, the fourth is dead and the eighth is slow.
fn webhooks(options: &SoakOptions, port: u16, refusing: u16) -> anyhow::Result<Webhooks> {
    let url = |n: u32| match n % 10 {
        3 => format!("http://127.0.0.1:{refusing}/dead/{n}"),
        7 => format!("http://127.0.0.1:{port}{SLOW}{n}"),
        _ => format!("http://127.0.0.1:{port}/hook/{n}"),
    };
    Ok(Webhooks {
        endpoints: (0..options.endpoints).map(|n| Endpoint::parse(&url(n))).collect::<Result<_, _>>()?,
        shape: options.shape.clone(),
        secrets: Vec::new(),
        max_attempts: MAX_ATTEMPTS,
    })
}

struct Run<'a> {
    options: &'a SoakOptions,
    system: System,
    webhooks: Webhooks,
    receiver: Receiver,
    dead_letters: DeadLetters,
    bar: ProgressBar,
}

/// The state when another tenth was finished.
#[derive(Debug, Clone, Copy)]
struct Tenth {
    finished: u64,
    seconds: f64,
    resident_mib: f64,
}

impl Run<'_> {
    async fn complete(mut self, background: Background) -> anyhow::Result<Report> {
        let tenths = self.work_off().await?;
        self.bar.finish_and_clear();
        background.shut_down(&self.system).await;
        self.dead_letters.collect(&*self.system.backend.log).await?;
        let balance = self.dead_letters.balance(&self.receiver.numbers().await?);
        self.receiver.end().await?;
        let about = format!(
            "{} webhooks to {} endpoints, 10 % dead, 10 % slow, {} in flight, at most {MAX_ATTEMPTS} attempts",
            self.options.count, self.options.endpoints, self.options.concurrency
        );
        let report = report(about, &tenths, &balance)?;
        ensure!(balance.missing == 0, "{} webhooks are neither delivered nor dead-lettered", balance.missing);
        Ok(report)
    }

    /// Enqueues webhooks while the backlog has room, until none is pending or waiting.
    async fn work_off(&mut self) -> anyhow::Result<Vec<Tenth>> {
        let (count, begun) = (self.options.count, instant());
        let give_up = Duration::from_secs(u64::from(self.options.seconds));
        let (mut accepted, mut tenths) = (0_u32, Vec::new());
        loop {
            let unfinished = self.unfinished().await?;
            let finished = u64::from(accepted).saturating_sub(unfinished);
            let due = u64::try_from(tenths.len())?.saturating_add(1).saturating_mul(u64::from(count)) / TENTHS;
            if finished >= due {
                tenths.push(Tenth {
                    finished,
                    seconds: begun.elapsed().as_secs_f64(),
                    resident_mib: resident_mib()?,
                });
            }
            self.bar.set_position(finished);
            if finished >= u64::from(count) {
                return Ok(tenths);
            }
            if begun.elapsed() > give_up {
                bail!("after {give_up:?}, {unfinished} of {accepted} accepted webhooks are not finished");
            }
            let room = u32::try_from(u64::from(self.options.backlog).saturating_sub(unfinished))?;
            let end = accepted.saturating_add(room).min(count);
            self.webhooks.enqueue(&self.system, accepted, end).await?;
            accepted = end;
            self.dead_letters.collect(&*self.system.backend.log).await?;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// How many webhooks are pending or waiting, by howk's own figures. A release is published before it is removed
    /// from the due set, so a webhook that is just released is counted twice, and never left out.
    async fn unfinished(&self) -> anyhow::Result<u64> {
        let backend = &self.system.backend;
        let waiting = backend.stores.schedule.depth(self.system.release.clock.now()).await?.waiting;
        Ok(waiting + backend.log.lag(Topic::Slow).await? + backend.log.lag(Topic::Pending).await?)
    }
}

fn report(about: String, tenths: &[Tenth], balance: &Balance) -> anyhow::Result<Report> {
    let mut report = Report::new("soak", about, &["finished", "seconds", "resident MiB"]);
    for tenth in tenths {
        report.row(vec![tenth.finished.to_string(), fine(tenth.seconds), fine(tenth.resident_mib)]);
        report.figure(format!("resident MiB at {}", tenth.finished), tenth.resident_mib);
    }
    for (name, number) in balance.entries() {
        report.row(vec![name.to_owned(), number.to_string()]);
        report.figure(name, f64::from(number));
    }
    let Some((first, last)) = tenths.first().zip(tenths.last()) else { bail!("nothing was finished") };
    let seconds = last.seconds.max(1e-9);
    report.figure("seconds", last.seconds);
    report.row(vec!["a second".to_owned(), whole(f64::from(balance.delivered) / seconds)]);
    let growth = last.resident_mib / first.resident_mib;
    report.aims.push(Aim::new("memory after the last tenth to the first", growth, Bound::AtMost(GROWTH_MAX)));
    let repeated = f64::from(balance.repeated);
    report.aims.push(Aim::new("webhooks that were received more than once", repeated, Bound::AtMost(0.0)));
    Ok(report)
}
