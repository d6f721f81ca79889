//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// The whole of howk in one process: API, both lanes, scheduler and reconciler over an in-memory log and store.
///
/// Nothing needs to be installed. Webhooks live as long as the process: on SIGINT or SIGTERM it stops accepting, works
/// off what is pending, and says what still waits. A second signal ends it at once. With --kafka and --redis it works on
/// those, together with any number of its kind, and what waits outlives it.
///
/// Settings come from HOWK_* variables and a YAML file; `--help-settings` lists them all.
///
/// Exit codes: 0 success, 1 failure, 2 bad usage, 78 bad settings.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(name = "howk-dev", version)]
pub struct Cli {
    /// The port to serve the API on (127.0.0.1); 0 picks a free one. Default: api.port, which is 8080.
    #[arg(long)]
    pub port: Option<u16>,

    /// The YAML file with settings. Default: `HOWK_CONFIG`, ./config.yaml, ~/.howk/config.yaml, /etc/howk/config.yaml.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Log what would be sent and answer 200 for every endpoint.
    #[arg(long, conflicts_with = "demo")]
    pub dry: bool,

    /// Show howk at work: a receiver that succeeds, fails, throttles, hangs and is down; ends by itself within a minute.
    #[arg(long)]
    pub demo: bool,

    /// Brokers of a Kafka to work on instead of the in-memory log, as host:port,...; needs --redis and a build with
    /// `--features services`. Its topics are made where they are missing. Or the ARN of an MSK cluster, in a build with
    /// `--features aws`.
    #[arg(long, value_name = "BROKERS", value_delimiter = ',', requires = "redis", conflicts_with = "demo")]
    pub kafka: Vec<String>,

    /// A Redis in cluster mode to work on instead of the in-memory store, as host:port; needs --kafka.
    #[arg(long, value_name = "ADDR", requires = "kafka")]
    pub redis: Option<String>,

    /// Print every setting with its variable, default, bounds and meaning, and exit.
    #[arg(long)]
    pub help_settings: bool,
}
