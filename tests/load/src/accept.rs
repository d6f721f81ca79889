//! `accept`: compares howk's API with a bare handler, in turns, for single webhooks and for batches.
//!
//! In memory the bare handler only parses the body; what howk accepts is read from its topic and dropped, in a back end
//! that is new in every round. On Kafka and Redis the bare handler also sends one record for each webhook and awaits its
//! acknowledgement; what howk accepts stays in its topic. Nothing is delivered meanwhile.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use domain::Topic;
use server::telemetry::RenderMetrics;

use crate::accept::bare::router as bare_router;
use crate::accept::round::{Ground, Round, Rounds};
use crate::accept::served::Served;
use crate::child::Generator;
use crate::cli::{AcceptOptions, GeneratorOptions, On};
use crate::generator::{self, Generated};
use crate::howk;
use crate::loops::Records;
use crate::measure::Meter;
use crate::progress;
use crate::report::Report;
use crate::servers::ServerCpu;
use crate::services::Services;

mod bare;
mod round;
mod served;
mod table;

/// Webhooks of a batch: the most that one request may carry.
const BATCH: u32 = 100;

/// Runs the measurement.
///
/// # Errors
/// When anything is not accepted.
pub(crate) async fn run(options: &AcceptOptions) -> anyhow::Result<Report> {
    let metrics = server::telemetry::start_metrics()?;
    let about = format!(
        "{} webhooks of {} bytes, {} connections, {} tenants, {} rounds of each side in turns, medians",
        options.count, options.shape.payload_bytes, options.concurrency, options.shape.tenants, options.rounds
    );
    let mut report = Report::new("accept", about, &table::HEADER);
    let services = Services::open(&options.services).await?;
    let measured = measure(options, services.as_ref(), (&metrics, &mut report)).await;
    if let Some(services) = services {
        services.clean_up().await?;
    }
    measured.map(|()| report)
}

async fn measure(
    options: &AcceptOptions,
    services: Option<&Services>,
    (metrics, report): (&RenderMetrics, &mut Report),
) -> anyhow::Result<()> {
    let grounds =
        [Some(Ground::Memory).filter(|_| options.services.on != On::Services), ground(options, services).await?];
    for ground in grounds.into_iter().flatten() {
        for (batch, how) in [(1, "single"), (BATCH, "batches of 100")] {
            let run = Run { options, ground: &ground, batch, metrics };
            table::add(report, &ground, (how, &run.rounds().await?));
        }
    }
    Ok(())
}

async fn ground(options: &AcceptOptions, services: Option<&Services>) -> anyhow::Result<Option<Ground>> {
    let Some(services) = services.filter(|_| options.services.on != On::Memory) else { return Ok(None) };
    let clients = services.connect().await?;
    let system = howk::system_on(&howk::settings(options.concurrency), clients.backend.clone()).await?;
    Ok(Some(Ground::Services(Box::new((services.clone(), clients, system)))))
}

struct Run<'a> {
    options: &'a AcceptOptions,
    ground: &'a Ground,
    batch: u32,
    metrics: &'a RenderMetrics,
}

impl Run<'_> {
    async fn rounds(&self) -> anyhow::Result<Rounds> {
        let mut rounds = Rounds::default();
        let bar = progress::bar(u64::from(self.options.rounds), "rounds");
        // Round 0 only warms up caches and the allocator, and is not counted.
        for round in 0..=self.options.rounds {
            let howk = self.howk().await?;
            let bare = self.against(Served::start(bare_router(self.records()?)).await?).await?;
            if round > 0 {
                rounds.howk.push(howk);
                rounds.bare.push(bare);
            }
            bar.set_position(u64::from(round));
        }
        bar.finish_and_clear();
        Ok(rounds)
    }

    fn records(&self) -> anyhow::Result<Option<Records>> {
        match self.ground {
            Ground::Memory => Ok(None),
            Ground::Services(services) => Records::pending(&services.0, self.options.shape.tenants).map(Some),
        }
    }

    async fn howk(&self) -> anyhow::Result<Round> {
        let settings = howk::settings(self.options.concurrency);
        let (ready, metrics) = (Arc::new(AtomicBool::new(true)), Arc::clone(self.metrics));
        match self.ground {
            Ground::Memory => {
                let system = howk::system(&settings, &howk::limits()).await?;
                let mut served = Served::start(server::api::router(&system, &settings, metrics, ready)?).await?;
                served.drain((system.backend.join)(Topic::Pending)?);
                self.against(served).await
            }
            Ground::Services(services) => {
                let (_, clients, system) = &**services;
                let before = clients.settled().await;
                let served = Served::start(server::api::router(system, &settings, metrics, ready)?).await?;
                let round = self.against(served).await?;
                Ok(Round { traffic: Some(clients.settled().await.since(before)), ..round })
            }
        }
    }

    /// Measures a server of this process while a generator posts to it.
    async fn against(&self, served: Served) -> anyhow::Result<Round> {
        let Self { options, batch, .. } = self;
        let mut generator = Generator::start(&GeneratorOptions {
            port: served.port,
            to: 9,
            count: options.count / batch * batch,
            batch: *batch,
            concurrency: options.concurrency,
            rate: 0,
            path: generator::PATH.to_owned(),
            shape: options.shape.clone(),
        })
        .await?;
        let servers = self.servers().await?;
        let meter = Meter::start()?;
        let Generated { accepted, latency } = generator.go().await?;
        let sample = meter.stop(accepted)?;
        let servers = self.servers().await?.since(servers);
        generator.end().await?;
        served.stop().await;
        Ok(Round { sample, latency, servers, traffic: None })
    }

    async fn servers(&self) -> anyhow::Result<ServerCpu> {
        match self.ground {
            Ground::Memory => Ok(ServerCpu::default()),
            Ground::Services(services) => ServerCpu::now(&services.0).await,
        }
    }
}
