//! The bare sides: the same client, the same bytes, the same headers and the same deadline in a plain loop, with as many
//! scripts and records around each request as howk has on Kafka and Redis, or with none.
//!
//! URLs and headers are made once and cloned for each request; nothing is signed, the signatures' headers carry text of
//! the same length. It is the cheapest loop that still puts the same requests on the wire and reads the answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, Method, Request, Url};
use tokio::task::JoinSet;

use crate::cli::DeliverOptions;
use crate::deliver::round::Round;
use crate::howk;
use crate::loops::{Records, Scripts};
use crate::measure::{Meter, realtime_us};
use crate::payload::{self, Marks};
use crate::servers::ServerCpu;
use crate::services::Services;

pub(super) struct Bare {
    io: Arc<Io>,
    services: Option<Services>,
    concurrency: u32,
}

/// What one turn of the loop does, in this order: scripts, the request, a record, scripts.
struct Io {
    requests: Requests,
    scripts: Option<Scripts>,
    records: Option<Records>,
}

struct Requests {
    client: Client,
    urls: Vec<Url>,
    headers: HeaderMap,
    body: Bytes,
    timeout: Duration,
}

impl Bare {
    /// A loop that only makes requests.
    pub(super) fn posting(options: &DeliverOptions, urls: &[String], secret: Option<&str>) -> anyhow::Result<Self> {
        let settings = howk::settings(options.concurrency);
        let body = payload::write(&Marks { n: 0, sent_at_us: realtime_us() }, options.shape.payload_bytes);
        let requests = Requests {
            client: client(options.concurrency)?,
            urls: urls.iter().map(|url| Url::parse(url)).collect::<Result<_, _>>()?,
            headers: headers(&settings.delivery.user_agent, secret.is_some().then_some(()))?,
            body: Bytes::from(body),
            timeout: settings.delivery.fast_timeout,
        };
        let io = Io { requests, scripts: None, records: None };
        Ok(Self { io: Arc::new(io), services: None, concurrency: options.concurrency })
    }

    /// The same with two scripts before and two after each request.
    pub(super) async fn with_scripts(self, services: &Services) -> anyhow::Result<Self> {
        let scripts = Some(Scripts::load(services).await?);
        let io = Arc::into_inner(self.io).context("the loop runs already")?;
        Ok(Self { io: Arc::new(Io { scripts, ..io }), services: Some(services.clone()), ..self })
    }

    /// The same with one record sent after each request.
    pub(super) fn with_records(self, services: &Services) -> anyhow::Result<Self> {
        let records = Some(Records::new(services)?);
        let io = Arc::into_inner(self.io).context("the loop runs already")?;
        Ok(Self { io: Arc::new(Io { records, ..io }), ..self })
    }

    pub(super) async fn round(&self, count: u32) -> anyhow::Result<Round> {
        let next = Arc::new(AtomicU32::new(0));
        let servers = self.servers().await?;
        let meter = Meter::start()?;
        let mut loops = JoinSet::new();
        for _ in 0..self.concurrency {
            let (io, next) = (Arc::clone(&self.io), Arc::clone(&next));
            loops.spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return anyhow::Ok(());
                    }
                    io.turn(n).await?;
                }
            });
        }
        while let Some(ended) = loops.join_next().await {
            ended??;
        }
        let sample = meter.stop(count)?;
        Ok(Round { sample, servers: self.servers().await?.since(servers), traffic: None })
    }

    async fn servers(&self) -> anyhow::Result<ServerCpu> {
        match &self.services {
            Some(services) => ServerCpu::now(services).await,
            None => Ok(ServerCpu::default()),
        }
    }
}

impl Io {
    async fn turn(&self, n: u32) -> anyhow::Result<()> {
        if let Some(scripts) = &self.scripts {
            scripts.run(n).await?;
        }
        self.requests.send(n).await?;
        if let Some(records) = &self.records {
            records.send(n, &self.requests.body).await?;
        }
        if let Some(scripts) = &self.scripts {
            scripts.run(n).await?;
        }
        Ok(())
    }
}

impl Requests {
    async fn send(&self, n: u32) -> anyhow::Result<()> {
        let index = usize::try_from(n)? % self.urls.len().max(1);
        let url = self.urls.get(index).context("there is no URL")?;
        let mut request = Request::new(Method::POST, url.clone());
        request.headers_mut().clone_from(&self.headers);
        *request.timeout_mut() = Some(self.timeout);
        *request.body_mut() = Some(self.body.clone().into());
        let answer = self.client.execute(request).await?;
        let status = answer.status();
        answer.bytes().await?;
        ensure!(status.is_success(), "the receiver answered {status}");
        Ok(())
    }
}

/// The client as `sender-http` sets it up, but for the resolver, which addresses do without.
fn client(concurrency: u32) -> anyhow::Result<Client> {
    let delivery = howk::settings(concurrency).delivery;
    rustls::crypto::ring::default_provider().install_default().ok();
    let builder = Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(delivery.idle_conn_timeout)
        .pool_max_idle_per_host(usize::try_from(delivery.max_idle_conns)?)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true)
        .http1_title_case_headers()
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true);
    Ok(builder.build()?)
}

/// The headers of a delivery, with values as long as the real ones.
fn headers(user_agent: &str, signed: Option<()>) -> anyhow::Result<HeaderMap> {
    let id = format!("wh_{}", "0".repeat(26));
    let seconds = (realtime_us() / 1_000_000).to_string();
    let (hex, base64) = (format!("sha256={}", "0".repeat(64)), format!("v1,{}=", "A".repeat(43)));
    let mut plain = vec![
        ("x-webhook-id", id.as_str()),
        ("x-webhook-attempt", "1"),
        ("x-webhook-timestamp", &seconds),
        ("webhook-id", &id),
        ("webhook-timestamp", &seconds),
    ];
    if signed.is_some() {
        plain.extend([("x-webhook-signature", hex.as_str()), ("webhook-signature", &base64)]);
    }
    let mut headers = HeaderMap::with_capacity(plain.len() + 2);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::try_from(user_agent)?);
    for (name, value) in plain {
        headers.insert(HeaderName::from_static(name), HeaderValue::try_from(value)?);
    }
    Ok(headers)
}
