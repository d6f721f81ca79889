//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Delivers webhooks.
///
/// Exit codes: 0 success, 1 failure, 2 bad usage, 78 bad settings.
#[derive(Debug, Parser)]
#[command(name = "howk", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the API and deliver webhooks, in one process.
    ///
    /// Nothing needs to be installed: without --kafka and --redis, howk runs in memory, and webhooks live as long as the
    /// process. On SIGINT or SIGTERM it stops accepting webhooks, delivers the pending ones, and logs how many still wait.
    /// A second signal ends it at once. With --kafka and --redis any number of servers share the work, and the webhooks
    /// that wait outlive them.
    ///
    /// Settings come from HOWK_* variables and a YAML file; --help-settings lists them all.
    ///
    /// Exit codes: 0 success, 1 failure, 2 bad usage, 78 bad settings.
    Serve(Serve),
    /// Show howk at work, in memory, within a minute.
    ///
    /// It sends webhooks to a receiver of its own that succeeds, fails, throttles, hangs and is down, loses the hot state in
    /// between, and ends by itself. Exit code 0 means that every webhook ended as announced.
    Demo(Demo),
}

/// The options of `serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// The port to serve the API on, at the address `api.host` (127.0.0.1 by default); 0 picks a free one. Default:
    /// api.port, which is 8080.
    #[arg(long)]
    pub port: Option<u16>,

    /// Log what would be sent, send nothing, and count every attempt as answered with 200.
    #[arg(long)]
    pub dry: bool,

    /// Run in memory, which is the default: webhooks end with the process.
    #[arg(long, conflicts_with_all = ["kafka", "redis"])]
    pub in_memory: bool,

    /// Brokers of a Kafka to run on instead of the in-memory log, as host:port,...; needs --redis and a build with
    /// `--features services`. howk makes the topics that are missing. Or the ARN of an MSK cluster, in a build with
    /// `--features aws`.
    #[arg(long, value_name = "BROKERS", value_delimiter = ',', requires = "redis")]
    pub kafka: Vec<String>,

    /// A Redis in cluster mode to run on instead of the in-memory store, as host:port; needs --kafka.
    #[arg(long, value_name = "ADDR", requires = "kafka")]
    pub redis: Option<String>,

    /// The options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// The options of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// The port to serve the API on. Default: a free one.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub port: u16,

    /// The options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// The options of every command.
#[derive(Debug, Args)]
pub struct Common {
    /// The YAML file with settings. Default: `HOWK_CONFIG`, ./config.yaml, ~/.howk/config.yaml, /etc/howk/config.yaml.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print every setting with the value in force and where it comes from, and exit. Secrets are masked.
    #[arg(long, conflicts_with = "help_settings")]
    pub print_settings: bool,

    /// Print every setting with its variable, default, bounds and meaning, and exit.
    #[arg(long)]
    pub help_settings: bool,
}

impl Command {
    /// The options of every command.
    pub const fn common(&self) -> &Common {
        match self {
            Self::Serve(serve) => &serve.common,
            Self::Demo(demo) => &demo.common,
        }
    }
}
