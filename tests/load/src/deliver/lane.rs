//! howk's side: the fast lane's consumers work off what was enqueued before.

use std::time::Duration;

use domain::{Endpoint, Lane, MAX_ATTEMPTS_DEFAULT, Secret, Topic};
use howk_dev::background::consumers;
use howk_dev::system::System;
use settings::Settings;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::DeliverOptions;
use crate::howk::{self, Webhooks};
use crate::measure::{Meter, Sample};

/// How often it is looked whether everything is committed.
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct FastLane {
    system: System,
    settings: Settings,
    webhooks: Webhooks,
    /// The number of the next webhook.
    next: u32,
}

impl FastLane {
    pub(super) async fn new(options: &DeliverOptions, urls: &[String], secret: Option<&str>) -> anyhow::Result<Self> {
        let settings = howk::settings(options.concurrency);
        let system = howk::system(&settings, &howk::limits()).await?;
        let webhooks = Webhooks {
            endpoints: urls.iter().map(|url| Endpoint::parse(url)).collect::<Result<_, _>>()?,
            shape: options.shape.clone(),
            secrets: secret.map(Secret::new).into_iter().collect(),
            max_attempts: MAX_ATTEMPTS_DEFAULT,
        };
        Ok(Self { system, settings, webhooks, next: 0 })
    }

    /// Enqueues, then measures until the last record is committed.
    pub(super) async fn round(&mut self, count: u32) -> anyhow::Result<Sample> {
        let end = self.next.saturating_add(count);
        self.webhooks.enqueue(&self.system, self.next, end).await?;
        self.next = end;
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        let consumers = consumers(&self.system, &self.settings, (Lane::Fast, &stop))?;
        let meter = Meter::start()?;
        for consumer in consumers {
            tasks.spawn(consumer.run());
        }
        while self.system.backend.log.lag(Topic::Pending).await? > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let sample = meter.stop(count)?;
        stop.cancel();
        while let Some(ended) = tasks.join_next().await {
            ended?;
        }
        self.system.tally.flush().await;
        Ok(sample)
    }
}
