//! `deliver`: compares howk's delivery path with bare loops that do the same I/O, in turns.
//!
//! The path begins at the fast lane's topic and ends with the commit: read, acquire, decide, sign, send, settle, apply.
//! Enqueueing happens before the clock starts. In memory the I/O is one request; on Kafka and Redis it is two
//! round trips of two scripts each, one record sent and one request.

use anyhow::ensure;

use crate::child::Receiver;
use crate::cli::{DeliverOptions, On, Recording, Sides, Signing};
use crate::deliver::bare::Bare;
use crate::deliver::lane::FastLane;
use crate::deliver::round::{IN_MEMORY, ON_SERVICES, Rounds};
use crate::progress;
use crate::report::Report;
use crate::services::Services;

mod bare;
mod lane;
mod round;
mod table;

const SECRET: &str = "whsec_aG93ay1sb2FkLW1lYXN1cmVzLXdpdGgtdGhpcw==";

/// One side of the comparison. Each bare loop is compared with howk in memory or with howk on the services.
enum Side {
    Howk(Box<FastLane>),
    Bare(Bare),
}

/// A side, and what its rounds took.
struct Turn {
    side: Side,
    rounds: Rounds,
}

const POST: &str = "bare: POST";
const POST_AND_SCRIPTS: &str = "bare: POST, 2 x 2 scripts";
const EVERYTHING: &str = "bare: POST, 2 x 2 scripts, send";

/// Runs the measurement.
///
/// # Errors
/// When anything is not delivered.
pub(crate) async fn run(options: &DeliverOptions) -> anyhow::Result<Report> {
    server::telemetry::start_metrics()?;
    let about = format!(
        "{} webhooks of {} bytes, {} in flight, {} endpoints, {} tenants, {} rounds of each side in turns, medians",
        options.count,
        options.shape.payload_bytes,
        options.concurrency,
        options.endpoints,
        options.shape.tenants,
        options.rounds
    );
    let mut report = Report::new("deliver", about, &table::HEADER);
    let secrets: &[Option<&str>] = match options.signing {
        Signing::Off => &[None],
        Signing::On => &[Some(SECRET)],
        Signing::Both => &[None, Some(SECRET)],
    };
    let services = Services::open(&options.services).await?;
    let measured = async {
        for secret in secrets {
            let turns = measure(options, services.as_ref(), *secret).await?;
            let rounds: Vec<_> = turns.into_iter().map(|turn| turn.rounds).collect();
            table::add(&mut report, if secret.is_some() { "signed" } else { "unsigned" }, &rounds);
        }
        anyhow::Ok(())
    };
    let measured = measured.await;
    if let Some(services) = services {
        services.clean_up().await?;
    }
    measured.map(|()| report)
}

async fn measure(
    options: &DeliverOptions,
    services: Option<&Services>,
    secret: Option<&str>,
) -> anyhow::Result<Vec<Turn>> {
    let receiver = Receiver::start(Recording::Nothing, 0).await?;
    let urls: Vec<String> =
        (0..options.endpoints).map(|n| format!("http://127.0.0.1:{}/hook/{n}", receiver.port)).collect();
    let mut turns = turns(options, services, (&urls, secret)).await?;
    let mut delivered = 0;
    let bar = progress::bar(u64::from(options.rounds), "rounds");
    // Round 0 only warms up connections, caches and the allocator, and is not counted.
    for round in 0..=options.rounds {
        for turn in &mut turns {
            let measured = match &mut turn.side {
                Side::Howk(lane) => lane.round(options.count).await?,
                Side::Bare(bare) => bare.round(options.count).await?,
            };
            delivered = check(&receiver, delivered, options.count).await?;
            turn.rounds.each.extend((round > 0).then_some(measured));
        }
        bar.set_position(u64::from(round));
    }
    bar.finish_and_clear();
    receiver.end().await?;
    Ok(turns)
}

async fn turns(
    options: &DeliverOptions,
    services: Option<&Services>,
    (urls, secret): (&[String], Option<&str>),
) -> anyhow::Result<Vec<Turn>> {
    let (howk, bare) = (options.sides != Sides::Bare, options.sides != Sides::Howk);
    let mut turns = Vec::new();
    let mut add = |name, against, side| turns.push(Turn { side, rounds: Rounds { name, against, each: Vec::new() } });
    let on = options.services.on;
    if howk && on != On::Services {
        add(IN_MEMORY, Some(POST), Side::Howk(Box::new(FastLane::in_memory(options, urls, secret).await?)));
    }
    if bare {
        add(POST, None, Side::Bare(Bare::posting(options, urls, secret)?));
    }
    let Some(services) = services.filter(|_| on != On::Memory) else { return Ok(turns) };
    if howk {
        let lane = FastLane::on_services(services, options, (urls, secret)).await?;
        add(ON_SERVICES, Some(EVERYTHING), Side::Howk(Box::new(lane)));
    }
    if bare {
        let posting = Bare::posting(options, urls, secret)?.with_scripts(services).await?;
        add(POST_AND_SCRIPTS, None, Side::Bare(posting));
        let posting = Bare::posting(options, urls, secret)?.with_scripts(services).await?;
        add(EVERYTHING, None, Side::Bare(posting.with_records(services)?));
    }
    Ok(turns)
}

/// Fails unless the receiver got every webhook of the round exactly once.
async fn check(receiver: &Receiver, before: u64, count: u32) -> anyhow::Result<u64> {
    let now = receiver.count().await?;
    ensure!(now == before + u64::from(count), "{count} webhooks were sent, {} were received", now - before);
    Ok(now)
}
