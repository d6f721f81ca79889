//! `howk demo`: howk at work, on real HTTP, within a minute.
//!
//! It posts one webhook for each way in which endpoints behave, wipes the hot state in between, and prints the outcome of
//! every attempt. It ends with a summary; its exit code is 0 if every webhook ended as announced.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use domain::{Attempt, Phase, Status, Timestamp, WebhookId};
use in_memory::MemoryStore;
use settings::Settings;

use crate::demo::receiver::{Receiver, Scene};
use server::system::System;

mod receiver;

/// The demo ends after this time at the latest, so that it keeps its promise of a minute.
const LONGEST: Duration = Duration::from_secs(55);
/// When the demo wipes the hot state: the first attempts are over by then, and webhooks wait for their retries.
const LOSS_AFTER: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The settings with delays short enough for a demo of a minute.
pub fn settings(mut settings: Settings) -> Settings {
    settings.retry.base_delay = Duration::from_secs(1);
    settings.retry.max_delay = Duration::from_secs(4);
    settings.delivery.fast_timeout = Duration::from_secs(1);
    settings.delivery.timeout = Duration::from_secs(3);
    settings.kafka.per_key_parallelism = 16;
    settings.log.level = settings::LogLevel::Error;
    settings
}

/// Plays the demo against the API at `api`.
///
/// # Errors
/// When a webhook does not end as announced.
pub async fn play(api: &str, system: &System, store: &Arc<MemoryStore>) -> anyhow::Result<()> {
    let receiver = Receiver::start().await?;
    let mut stage = Stage { system, begun_at: system.release.clock.now(), acts: Vec::new(), shown: BTreeSet::new() };
    stage.open(api, &receiver.scenes).await?;
    let mut lost = false;
    while stage.now() < LONGEST && !stage.watch().await? {
        if !lost && stage.now() >= LOSS_AFTER {
            lost = true;
            stage.lose(store)?;
        }
        system.release.clock.sleep(POLL_INTERVAL).await;
    }
    let result = stage.close().await;
    drop(receiver.serve);
    result
}

struct Stage<'a> {
    system: &'a System,
    begun_at: Timestamp,
    acts: Vec<Act>,
    shown: BTreeSet<(WebhookId, u64, u32)>,
}

#[derive(Clone)]
struct Act {
    scene: Scene,
    id: WebhookId,
}

impl Stage<'_> {
    fn now(&self) -> Duration {
        self.system.release.clock.now().since(self.begun_at)
    }

    fn say(&self, at: Timestamp, what: &str) -> anyhow::Result<()> {
        let seconds = at.since(self.begun_at).as_secs_f64();
        writeln!(std::io::stdout(), "{seconds:7.2}s  {what}").context("standard output is closed")
    }

    async fn open(&mut self, api: &str, scenes: &[Scene]) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        writeln!(out, "howk {} is serving {api}. One webhook each to endpoints that ...", env!("CARGO_PKG_VERSION"))?;
        let client = reqwest::Client::builder().no_proxy().build()?;
        for scene in scenes {
            writeln!(out, "  {:<12} {}", scene.name, scene.about)?;
        }
        writeln!(out)?;
        for scene in scenes {
            let id = post(&client, api, scene).await?;
            self.say(self.system.release.clock.now(), &format!("{:<12} accepted as {id}", scene.name))?;
            self.acts.push(Act { scene: scene.clone(), id });
        }
        Ok(())
    }

    /// Prints the attempts that are new. Returns whether every webhook has ended.
    async fn watch(&mut self) -> anyhow::Result<bool> {
        let mut all_ended = true;
        for act in self.acts.clone() {
            let status = self.status(&act.id).await?;
            all_ended &= status.as_ref().is_some_and(|status| status.phase.is_terminal());
            for attempt in self.system.backend.stores.statuses.attempts(&act.id).await?.unwrap_or_default() {
                if self.shown.insert((act.id.clone(), attempt.dispatch, attempt.number)) {
                    self.say(attempt.at.plus(attempt.took), &line(&act.scene, &attempt, status.as_ref()))?;
                }
            }
        }
        Ok(all_ended)
    }

    fn lose(&self, store: &Arc<MemoryStore>) -> anyhow::Result<()> {
        store.wipe();
        let text = "-- the hot state is lost, all of it; the reconciler rebuilds it from the log --";
        self.say(self.system.release.clock.now(), text)
    }

    async fn close(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        writeln!(out, "\n{:<12} {:<10} {:>8}  last answer", "endpoint", "webhook", "attempts")?;
        let mut unexpected = Vec::new();
        for act in &self.acts {
            let status = self.status(&act.id).await?.context("a webhook has no status after the rebuild")?;
            let state = state(&status);
            let last = status.last_error.clone().unwrap_or_else(|| "200".to_owned());
            writeln!(out, "{:<12} {state:<10} {:>8}  {last}", act.scene.name, status.attempts)?;
            if state != act.scene.ends {
                unexpected.push(format!("{} should end {}", act.scene.name, act.scene.ends));
            }
        }
        ensure!(unexpected.is_empty(), "not as announced: {}", unexpected.join(", "));
        writeln!(out, "\nEvery webhook ended as announced: delivered, or dead-lettered with its reason.")?;
        Ok(())
    }

    async fn status(&self, id: &WebhookId) -> anyhow::Result<Option<Status>> {
        let found = self.system.backend.stores.statuses.statuses(std::slice::from_ref(id)).await?;
        Ok(found.into_iter().next().flatten())
    }
}

async fn post(client: &reqwest::Client, api: &str, scene: &Scene) -> anyhow::Result<WebhookId> {
    let body = format!(
        r#"{{"endpoint":"{}","payload":{{"event":"demo.{}"}},"max_attempts":{},"signing_secret":"demo-secret"}}"#,
        scene.url, scene.name, scene.max_attempts
    );
    let answer = client.post(format!("{api}/webhooks/demo/enqueue")).body(body).send().await?;
    let (status, text) = (answer.status(), answer.text().await?);
    let Some(id) = text.split('"').find_map(|part| WebhookId::parse(part).ok()) else { bail!("{status}: {text}") };
    Ok(id)
}

fn line(scene: &Scene, attempt: &Attempt, status: Option<&Status>) -> String {
    let answer = match (attempt.status, &attempt.error) {
        (Some(status), _) => status.to_string(),
        (None, error) => error.clone().unwrap_or_default(),
    };
    let latest = status.filter(|status| status.attempts == attempt.number);
    let then = match latest.map(|status| (status.phase, status.next)) {
        Some((Phase::Delivered, _)) => "delivered".to_owned(),
        Some((Phase::Dead, _)) => "dead-lettered".to_owned(),
        Some((Phase::Waiting, Some(next))) => {
            format!("again in {:.1}s", next.due.since(attempt.at.plus(attempt.took)).as_secs_f64())
        }
        Some((Phase::Pending | Phase::Delivering, _)) => "continues in the slow lane".to_owned(),
        Some((Phase::Waiting | Phase::Held, _)) | None => "continues".to_owned(),
    };
    format!("{:<12} attempt {}: {answer}, {then}", scene.name, attempt.number)
}

fn state(status: &Status) -> &'static str {
    match status.phase {
        Phase::Delivered => "delivered",
        Phase::Dead => "exhausted",
        Phase::Held => "held",
        Phase::Pending | Phase::Delivering | Phase::Waiting => "unfinished",
    }
}
