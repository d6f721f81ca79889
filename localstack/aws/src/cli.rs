//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// howk as on AWS, on this machine: the five functions behind a Lambda Runtime API, an MSK event source, an EventBridge
/// schedule and an HTTP front, on real Kafka and Redis.
///
/// Exit codes: 0 success, 1 failure, 2 bad usage, 78 bad settings.
#[derive(Debug, Parser)]
#[command(name = "howk-local", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start everything and stay; Ctrl-C ends everything that this started.
    ///
    /// Settings come from HOWK_* variables and a YAML file, as for the functions, which get them all. Kafka and Redis are
    /// started by localstack/services, unless `HOWK_KAFKA_BROKERS` and `HOWK_REDIS_ADDR` are set. Unless a setting says
    /// otherwise, receivers on this machine are allowed, callers need no key, Redis is a cluster, and secrets are sealed
    /// with a key that is made for this stack and ends with it.
    Up(Up),
    /// Stop the stack, whichever terminal started it, and the Kafka and Redis of localstack/services.
    Down(Running),
    /// Show what runs; fails when no stack does.
    Status(Running),
}

/// What `up` starts.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Up {
    /// The port to serve the API on (127.0.0.1); 0 picks a free one.
    #[arg(long, default_value_t = 8080)]
    pub port: u16,

    /// The port of Lambda's Invoke API and of the control API (127.0.0.1); 0 picks a free one.
    #[arg(long, default_value_t = 9001)]
    pub lambda_port: u16,

    /// The YAML file with howk's settings. Default: as for the functions, `HOWK_CONFIG` and the usual places.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The folder of the functions' binaries: `DIR/NAME/bootstrap` or `DIR/NAME`. Default: the newest of
    /// `lambda/ARCH/NAME/bootstrap`, `lambda/NAME/bootstrap`, `release/NAME` and `debug/NAME` in Cargo's target folder.
    #[arg(long, value_name = "DIR")]
    pub functions: Option<PathBuf>,

    /// The functions, event sources and schedules to run. Default: infra/functions.json.
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,

    /// Use the Invoke API at this URL, such as that of `cargo lambda watch`; no function is started here then.
    #[arg(long, value_name = "URL", value_parser = http_url)]
    pub invoke_url: Option<String>,

    /// How many invocations of all functions together may run at once.
    #[arg(long, value_name = "N", default_value = "64")]
    pub concurrency: NonZeroUsize,

    /// Let processes run on between invocations. Lambda stops them.
    #[arg(long)]
    pub no_freeze: bool,

    /// Leave Kafka and Redis running at the end, for the next `up`; `down` stops them.
    #[arg(long)]
    pub keep_services: bool,

    /// Show functions, event sources and webhooks live in the terminal. The log goes to .howk/local.log meanwhile.
    #[arg(long)]
    pub view: bool,
}

/// Where a stack runs.
#[derive(Debug, Clone, Copy, Args)]
pub struct Running {
    /// The port of its Invoke API.
    #[arg(long, default_value_t = 9001)]
    pub lambda_port: u16,
}

fn http_url(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).map_err(|error| format!("{error}: it looks like http://127.0.0.1:9000"))?;
    let is_http = matches!(url.scheme(), "http" | "https");
    if is_http { Ok(text.to_owned()) } else { Err(format!("{} is neither http nor https", url.scheme())) }
}
