//! Children: processes of this program under a hidden subcommand. Their CPU time is not counted as this process's.
//!
//! A child prints one line when it is ready, and ends when its standard input is closed, so also when its parent dies.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};

use crate::cli::{GeneratorOptions, Recording};
use crate::generator::Generated;
use crate::measure::Percentiles;

/// How long a child may take to get ready.
const READY_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Child {
    process: tokio::process::Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Child {
    fn start(arguments: &[String]) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program's own path")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().context("a child could not be started")?;
        let stdin = process.stdin.take().context("the child has no standard input")?;
        let stdout = process.stdout.take().context("the child has no standard output")?;
        Ok(Self { process, stdin, lines: BufReader::new(stdout).lines() })
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        self.lines.next_line().await?.context("a child ended early")
    }

    async fn ready(&mut self) -> anyhow::Result<String> {
        tokio::time::timeout(READY_WITHIN, self.line()).await.context("a child did not get ready")?
    }

    async fn end(mut self) -> anyhow::Result<()> {
        drop(self.stdin);
        let status = self.process.wait().await?;
        ensure!(status.success(), "a child ended with {status}");
        Ok(())
    }
}

/// The receiver of a measurement.
#[derive(Debug)]
pub(crate) struct Receiver {
    child: Child,
    client: reqwest::Client,
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
}

impl Receiver {
    /// Starts a receiver that records this of every request; `numbers` is how many different payloads there are.
    ///
    /// # Errors
    /// When it does not get ready.
    pub(crate) async fn start(recording: Recording, numbers: u32) -> anyhow::Result<Self> {
        let recording = match recording {
            Recording::Nothing => "nothing",
            Recording::Numbers => "numbers",
            Recording::Latency => "latency",
        };
        let arguments = ["receiver", "--record", recording, "--numbers", &numbers.to_string()].map(str::to_owned);
        let mut child = Child::start(&arguments)?;
        let port = child.ready().await?.parse().context("the receiver's first line is its port")?;
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { child, client, port })
    }

    /// How many requests it answered.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) async fn count(&self) -> anyhow::Result<u64> {
        serde_json::from_slice(&self.get("count").await?).context("the receiver's count")
    }

    /// How often each number was received, up to 255; more counts as 255.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) async fn numbers(&self) -> anyhow::Result<Vec<u8>> {
        self.get("numbers").await
    }

    /// How old payloads were when they were received.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) async fn latency(&self) -> anyhow::Result<Percentiles> {
        serde_json::from_slice(&self.get("latency").await?).context("the receiver's latencies")
    }

    async fn get(&self, what: &str) -> anyhow::Result<Vec<u8>> {
        let url = format!("http://127.0.0.1:{}/_/{what}", self.port);
        let answer = self.client.get(url).send().await?.error_for_status()?;
        Ok(answer.bytes().await?.to_vec())
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it ended with an error.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        self.child.end().await
    }
}

/// The generator of a measurement: it posts the webhooks.
#[derive(Debug)]
pub(crate) struct Generator(Child);

impl Generator {
    /// Starts a generator; it waits for [`Self::go`].
    ///
    /// # Errors
    /// When it does not get ready.
    pub(crate) async fn start(options: &GeneratorOptions) -> anyhow::Result<Self> {
        let GeneratorOptions { port, to, count, batch, concurrency, rate, path, shape } = options;
        let numbers = [
            ("port", u32::from(*port)),
            ("to", u32::from(*to)),
            ("count", *count),
            ("batch", *batch),
            ("concurrency", *concurrency),
            ("rate", *rate),
            ("payload-bytes", shape.payload_bytes),
            ("tenants", shape.tenants),
        ];
        let mut arguments = vec!["generator".to_owned()];
        arguments.push(format!("--path={path}"));
        arguments.extend(numbers.iter().map(|(name, number)| format!("--{name}={number}")));
        let mut child = Child::start(&arguments)?;
        child.ready().await?;
        Ok(Self(child))
    }

    /// Lets it begin and waits for its report.
    ///
    /// # Errors
    /// When any webhook was not accepted.
    pub(crate) async fn go(&mut self) -> anyhow::Result<Generated> {
        self.0.stdin.write_all(b"go\n").await?;
        let report = self.0.line().await?;
        serde_json::from_str(&report).context("the generator's report")
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it ended with an error.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        self.0.end().await
    }
}
