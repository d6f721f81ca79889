//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

/// The `--json` that names no file.
pub(crate) const STANDARD_OUTPUT: &str = "-";

/// Measures howk beside bare loops that do the same I/O, in one run, on 127.0.0.1 only.
///
/// Build it with `--release`. Figures are CPU time of this process; receivers and generators run as children.
///
/// Exit codes: 0 the run is complete, whether or not its aims are met (they are printed); 1 a run failed or webhooks
/// are missing; 2 bad usage; 3 an aim is missed, with --strict or in `storm`.
#[derive(Debug, Parser)]
#[command(name = "howk-load", version)]
pub(crate) struct Cli {
    /// What is measured.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Also write the results to this file, as JSON; without a file, print JSON in place of the table.
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = STANDARD_OUTPUT)]
    pub(crate) json: Option<PathBuf>,

    /// Exit with 3 when an aim is missed.
    #[arg(long, global = true)]
    pub(crate) strict: bool,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure deliveries per CPU second: howk's delivery path beside the same HTTP client in a bare loop.
    Deliver(DeliverOptions),
    /// Measure accepted webhooks per CPU second: howk's API beside a bare handler that only parses the body; single and
    /// in batches of 100.
    Accept(AcceptOptions),
    /// Measure the time from the POST to the receiver at a steady rate.
    Latency(LatencyOptions),
    /// Measure how long the rebuild of the hot state of many waiting webhooks takes, and check that it is the same as
    /// before.
    Rebuild(RebuildOptions),
    /// Deliver many webhooks to many endpoints, some dead, some slow; check that none is missing and that memory stays
    /// flat.
    Soak(SoakOptions),
    /// Measure the functions' binaries: cold starts, memory, CPU per webhook by batch size, and how many requests an
    /// invocation can have in flight.
    Functions(FunctionsOptions),
    /// Compute the monthly cost of a deployment from a price file and measured figures. Nothing is run.
    Cost(CostOptions),
    /// Retry storms, simulated on howk's own decisions: what comes back at once after a cooldown, by policy.
    Storm(StormOptions),
    /// The receiver of a measurement; started by the others.
    #[command(hide = true)]
    Receiver(ReceiverOptions),
    /// The generator of a measurement; started by the others.
    #[command(hide = true)]
    Generator(GeneratorOptions),
}

/// Real Kafka and Redis to measure on, beside memory. Topics, groups and keys get a prefix of their own.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServicesOptions {
    /// Kafka's brokers as host:port, separated by commas.
    #[arg(long, env = "HOWK_KAFKA_BROKERS", value_delimiter = ',', value_name = "BROKERS")]
    pub(crate) kafka: Vec<String>,

    /// One node of a Redis in cluster mode as host:port.
    #[arg(long, env = "HOWK_REDIS_ADDR", value_name = "ADDR")]
    pub(crate) redis: Option<String>,

    /// Kafka's process id on this machine; its CPU time is reported beside howk's.
    #[arg(long, value_name = "PID")]
    pub(crate) kafka_pid: Option<u32>,

    /// How long the Kafka producer waits for more records of a batch, in ms.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(0..=1_000))]
    pub(crate) linger_ms: u32,

    /// The back ends to measure howk on; "services" are the Kafka and Redis of --kafka and --redis.
    #[arg(long, value_enum, default_value_t = On::Both)]
    pub(crate) on: On,
}

/// The back ends to measure howk on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum On {
    /// In memory, and on the services when they are named.
    Both,
    /// In memory alone.
    Memory,
    /// On the services alone.
    Services,
}

/// What webhooks look like.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shape {
    /// The size of a payload in bytes.
    #[arg(long, default_value_t = 260, value_parser = value_parser!(u32).range(80..=1_000_000))]
    pub(crate) payload_bytes: u32,

    /// How many tenants the webhooks belong to.
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) tenants: u32,
}

/// Options of `cost`.
#[derive(Debug, Args)]
pub(crate) struct CostOptions {
    /// The YAML file of the deployment.
    #[arg(long, value_name = "FILE", default_value = "infra/howk.yaml")]
    pub(crate) settings: PathBuf,

    /// The folder of `howk.schema.json`, `prices.json`, `measured.json` and `topics.json`.
    #[arg(long, value_name = "FOLDER", default_value = "infra")]
    pub(crate) infra: PathBuf,

    /// Webhooks a second, on average over the month.
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    pub(crate) rate: f64,

    /// How long receivers take to answer, such as 100ms.
    #[arg(long, default_value = "100ms", value_parser = humantime::parse_duration)]
    pub(crate) latency: Duration,

    /// Requests that a webhook takes, on average.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(crate) attempts: f64,

    /// Webhooks of one POST.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..=100))]
    pub(crate) per_post: u32,

    /// The size of a payload in bytes.
    #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) payload_bytes: u32,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err("must be more than 0".to_owned()) }
}

/// Options of `storm`.
#[derive(Debug, Args)]
pub(crate) struct StormOptions {
    /// What is simulated.
    #[arg(long, value_enum, default_value_t = Scenario::Fleet)]
    pub(crate) scenario: Scenario,

    /// The seed of every draw; the same seed gives the same output.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// The folder that `storm-SCENARIO.svg` and `storm-SCENARIO.html` are written to.
    #[arg(long, value_name = "DIR", default_value = "target/storm")]
    pub(crate) out: PathBuf,

    /// Clients of the fleet, each with one request a second; fewer leave more to chance.
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u32).range(100..=1_000_000))]
    pub(crate) clients: u32,

    /// What the limiter takes above the steady rate, in percent.
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    pub(crate) headroom: f64,

    /// How long clients send more than the limiter takes, such as 250ms; short beside the 6 s of lockstep's wave.
    #[arg(long, default_value = "250ms", value_parser = humantime::parse_duration)]
    pub(crate) incident: Duration,

    /// What clients send during the incident, in times their steady rate; without it, what makes lockstep's surge 14 %.
    #[arg(long, value_parser = positive)]
    pub(crate) demand: Option<f64>,

    /// How many cohorts the policy of that name has.
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u32).range(2..=1_000))]
    pub(crate) cohorts: u32,
}

/// What `storm` simulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Independent clients behind a rate limiter whose cooldown ends, one policy beside the other.
    Fleet,
}

/// Options of `functions`.
#[derive(Debug, Args)]
pub(crate) struct FunctionsOptions {
    /// The folder of the binaries, `NAME/bootstrap` or `NAME`. Default: those in the target folder of this program.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) functions: Option<PathBuf>,

    /// Starts of each function; medians are reported.
    #[arg(long, default_value_t = 7, value_parser = value_parser!(u32).range(1..=100))]
    pub(crate) starts: u32,

    /// Sizes of batches, separated by commas; each is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100,1000", value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) batches: Vec<u32>,

    /// Deliveries in flight, separated by commas; each is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "1,20,50,100,200,300,500,1000", value_parser = value_parser!(u32).range(1..=1_000))]
    pub(crate) in_flight: Vec<u32>,

    #[command(flatten)]
    pub(crate) services: ServicesOptions,

    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// Options of `deliver`.
#[derive(Debug, Args)]
pub(crate) struct DeliverOptions {
    /// Webhooks of one round.
    #[arg(long, default_value_t = 20_000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: u32,

    /// Rounds of each side, taken in turns; medians are reported.
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,

    /// Requests in flight.
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=1_000))]
    pub(crate) concurrency: u32,

    /// Different URLs of the receiver.
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) endpoints: u32,

    /// Which sides run; one side alone is useful under a profiler.
    #[arg(long, value_enum, default_value_t = Sides::Both)]
    pub(crate) sides: Sides,

    /// Whether webhooks are signed.
    #[arg(long, value_enum, default_value_t = Signing::Both)]
    pub(crate) signing: Signing,

    #[command(flatten)]
    pub(crate) services: ServicesOptions,

    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// Which sides of a comparison run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sides {
    /// howk and the bare loop.
    Both,
    /// howk alone.
    Howk,
    /// The bare loop alone.
    Bare,
}

/// Whether webhooks are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Signing {
    /// First without, then with a secret.
    Both,
    /// Without a secret.
    Off,
    /// With a secret.
    On,
}

/// Options of `accept`.
#[derive(Debug, Args)]
pub(crate) struct AcceptOptions {
    /// Webhooks of one round; batches carry a multiple of 100.
    #[arg(long, default_value_t = 50_000, value_parser = value_parser!(u32).range(100..=1_000_000))]
    pub(crate) count: u32,

    /// Rounds of each side, taken in turns; medians are reported.
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,

    /// Connections of the generator that are in use at once.
    #[arg(long, default_value_t = 32, value_parser = value_parser!(u32).range(1..=1_000))]
    pub(crate) concurrency: u32,

    #[command(flatten)]
    pub(crate) services: ServicesOptions,

    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// Options of `latency`.
#[derive(Debug, Args)]
pub(crate) struct LatencyOptions {
    /// Webhooks a second.
    #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) rate: u32,

    /// How many seconds it lasts.
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,

    #[command(flatten)]
    pub(crate) services: ServicesOptions,

    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// Options of `rebuild`.
#[derive(Debug, Args)]
pub(crate) struct RebuildOptions {
    /// Webhooks that wait.
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u32).range(1_000..=10_000_000))]
    pub(crate) count: u32,

    #[command(flatten)]
    pub(crate) services: ServicesOptions,

    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// Options of `soak`.
#[derive(Debug, Args)]
pub(crate) struct SoakOptions {
    /// Webhooks.
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u32).range(1_000..=10_000_000))]
    pub(crate) count: u32,

    /// Endpoints; a tenth is dead, a tenth answers after 100 to 300 ms.
    #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u32).range(10..=100_000))]
    pub(crate) endpoints: u32,

    /// Requests in flight.
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=1_000))]
    pub(crate) concurrency: u32,

    /// How many accepted webhooks may be unfinished at once.
    #[arg(long, default_value_t = 4_000, value_parser = value_parser!(u32).range(100..=100_000))]
    pub(crate) backlog: u32,

    /// The run fails when it is not complete after this.
    #[arg(long, default_value_t = 600, value_parser = value_parser!(u32).range(1..=86_400))]
    pub(crate) seconds: u32,

    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// What the receiver records of every request, beside counting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Recording {
    /// Nothing.
    Nothing,
    /// How often each number was received.
    Numbers,
    /// How old the payload was.
    Latency,
}

/// Options of `receiver`.
#[derive(Debug, Args)]
pub(crate) struct ReceiverOptions {
    /// What is recorded.
    #[arg(long, value_enum, default_value_t = Recording::Nothing)]
    pub(crate) record: Recording,

    /// How many numbers there are.
    #[arg(long, default_value_t = 0)]
    pub(crate) numbers: u32,
}

/// Options of `generator`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GeneratorOptions {
    /// The port of the API on 127.0.0.1.
    #[arg(long)]
    pub(crate) port: u16,

    /// The port that webhooks go to on 127.0.0.1.
    #[arg(long, default_value_t = 9)]
    pub(crate) to: u16,

    /// Webhooks.
    #[arg(long)]
    pub(crate) count: u32,

    /// Webhooks of one request; 1 uses the route for single ones.
    #[arg(long, default_value_t = 1)]
    pub(crate) batch: u32,

    /// Requests in flight.
    #[arg(long, default_value_t = 32)]
    pub(crate) concurrency: u32,

    /// Requests a second, started on time even when earlier ones are not answered; 0: each connection posts again as
    /// soon as it has its answer.
    #[arg(long, default_value_t = 0)]
    pub(crate) rate: u32,

    /// The path of the receiver that webhooks go to; a number behind it tells endpoints apart.
    #[arg(long, default_value = crate::generator::PATH)]
    pub(crate) path: String,

    #[command(flatten)]
    pub(crate) shape: Shape,
}
