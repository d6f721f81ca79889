//! howk's side: the fast lane's consumers deliver the webhooks that were enqueued before.

use std::sync::Arc;

use delivery::ports::log::Feed;
use domain::{Endpoint, Lane, MAX_ATTEMPTS_DEFAULT, Secret};
use server::background::consumers;
use server::system::System;
use settings::Settings;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::DeliverOptions;
use crate::deliver::round::Round;
use crate::howk::{self, Webhooks};
use crate::measure::Meter;
use crate::servers::ServerCpu;
use crate::services::{Clients, Services};
use crate::watched::{Progress, watch};

pub(super) struct FastLane {
    /// The system that delivers.
    system: System,
    /// The system that enqueues: its traffic is not counted.
    callers: System,
    settings: Settings,
    webhooks: Webhooks,
    services: Option<(Services, Clients)>,
    /// The number of the next webhook.
    next: u32,
}

impl FastLane {
    pub(super) async fn in_memory(
        options: &DeliverOptions,
        urls: &[String],
        secret: Option<&str>,
    ) -> anyhow::Result<Self> {
        let settings = howk::settings(options.concurrency);
        let system = howk::system(&settings, &howk::limits()).await?;
        let webhooks = webhooks(options, urls, secret)?;
        Ok(Self { callers: system.clone(), system, settings, webhooks, services: None, next: 0 })
    }

    pub(super) async fn on_services(
        services: &Services,
        options: &DeliverOptions,
        (urls, secret): (&[String], Option<&str>),
    ) -> anyhow::Result<Self> {
        let settings = howk::settings(options.concurrency);
        let (clients, callers) = (services.connect().await?, services.connect().await?);
        let system = howk::system_on(&settings, clients.backend.clone()).await?;
        let callers = howk::system_on(&settings, callers.backend).await?;
        let webhooks = webhooks(options, urls, secret)?;
        Ok(Self { system, callers, settings, webhooks, services: Some((services.clone(), clients)), next: 0 })
    }

    /// Enqueues, then measures until the last record is committed.
    ///
    /// CPU time includes joining the consumer group and fetching ahead; the time that passes begins with the first
    /// record that is read.
    pub(super) async fn round(&mut self, count: u32) -> anyhow::Result<Round> {
        let end = self.next.saturating_add(count);
        self.webhooks.enqueue(&self.callers, self.next, end).await?;
        self.next = end;
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        let (system, progress) = self.watched();
        let (servers, before) = self.counted_before().await?;
        let meter = Meter::start()?;
        for consumer in consumers(&system, &self.settings, (Lane::Fast, &stop))? {
            tasks.spawn(consumer.run());
        }
        let first_at = progress.committed(count).await;
        let sample = meter.stop_since(first_at, count)?;
        let mut round = Round { sample, servers: ServerCpu::default(), traffic: None };
        if let (Some((services, clients)), Some(before)) = (&self.services, before) {
            round.servers = ServerCpu::now(services).await?.since(servers);
            round.traffic = Some(clients.settled().await.since(before));
        }
        stop.cancel();
        while let Some(ended) = tasks.join_next().await {
            ended?;
        }
        self.system.stats_buffer.flush().await;
        Ok(round)
    }

    /// The system with feeds that are watched.
    fn watched(&self) -> (System, Arc<Progress>) {
        let progress = Arc::new(Progress::default());
        let (join, watching) = (Arc::clone(&self.system.backend.join), Arc::clone(&progress));
        let mut system = self.system.clone();
        system.backend.join =
            Arc::new(move |topic| -> anyhow::Result<Vec<Arc<dyn Feed>>> { Ok(watch(join(topic)?, &watching)) });
        (system, progress)
    }

    async fn counted_before(&self) -> anyhow::Result<(ServerCpu, Option<crate::services::Traffic>)> {
        let Some((services, clients)) = &self.services else { return Ok((ServerCpu::default(), None)) };
        let traffic = clients.settled().await;
        Ok((ServerCpu::now(services).await?, Some(traffic)))
    }
}

fn webhooks(options: &DeliverOptions, urls: &[String], secret: Option<&str>) -> anyhow::Result<Webhooks> {
    Ok(Webhooks {
        endpoints: urls.iter().map(|url| Endpoint::parse(url)).collect::<Result<_, _>>()?,
        shape: options.shape.clone(),
        secrets: secret.map(Secret::new).into_iter().collect(),
        max_attempts: MAX_ATTEMPTS_DEFAULT,
    })
}
