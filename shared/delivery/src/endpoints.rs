//! Use-case endpoints: what is known of them, what their owners decide, and the sweep that looks after unhealthy ones.
//!
//! The API calls it for its readers and owners, the scheduler for its sweep. What a decision, a resumption or a health
//! URL's answer changes, and in which order, is `domain`'s to decide ([`domain::decide`], [`domain::resume`],
//! [`domain::health_answered`]).

use std::sync::Arc;

use domain::{
    ConfigId, Effect, Endpoint, EndpointHash, EndpointSetting, HealthUrls, SettingDecision, decide, health_answered,
    health_url_to_ask, resume,
};
use futures::future::try_join_all;

use crate::effects::{Ports, Progress, perform};
use crate::fault::Fault;
use crate::groups::{bytes_of, groups};
use crate::ports::endpoints::{EndpointView, Endpoints};
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;
use crate::ports::sender::Sender;
use crate::ports::time::Clock;

/// How many held webhooks are read together: a bound on memory. What is published together is bounded by bytes.
const RESUME_BATCH: usize = 200;
/// How many unhealthy endpoints one step of the sweep reads, and how many health URLs it asks at once at most.
const SWEEP_PAGE: usize = 200;

/// Shows endpoints, stores what their owners decide, and looks after the unhealthy ones.
#[derive(Clone)]
pub struct EndpointService {
    /// Where decisions become durable.
    pub log: Arc<dyn Log>,
    /// Where decisions take effect.
    pub hot: Arc<dyn HotState>,
    /// Where the state of endpoints is read.
    pub endpoints: Arc<dyn Endpoints>,
    /// Makes the requests to health URLs.
    pub sender: Arc<dyn Sender>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The health URLs of endpoints.
    pub health_urls: Arc<HealthUrls>,
}

impl EndpointService {
    /// What is known of one endpoint; `None` when it is in its normal state.
    ///
    /// # Errors
    /// A [`Fault`] of the store.
    pub async fn view(&self, hash: &EndpointHash) -> Result<Option<EndpointView>, Fault> {
        self.endpoints.endpoint(hash, self.clock.now()).await
    }

    /// The endpoints that are not in their normal state, after `after`, at most `limit`.
    ///
    /// # Errors
    /// A [`Fault`] of the store.
    pub async fn unhealthy(&self, after: Option<&EndpointHash>, limit: usize) -> Result<Vec<EndpointView>, Fault> {
        let hashes = self.endpoints.unhealthy(after, limit).await?;
        let views = try_join_all(hashes.iter().map(|hash| self.view(hash))).await?;
        Ok(views.into_iter().flatten().collect())
    }

    /// Stores what a tenant decided about an endpoint. When the endpoint is active from now on, what is held for it
    /// becomes due; returns how many webhooks that were.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store. Deciding the same again completes what was left undone.
    pub async fn decide(&self, hash: &EndpointHash, config: &ConfigId, state: EndpointSetting) -> Result<u64, Fault> {
        let (endpoint, config_id) = (hash.clone(), config.clone());
        let decision = SettingDecision { endpoint, config_id, state, decided_at: self.clock.now() };
        self.perform(decide(decision).into()).await?;
        if state.is_active() { self.resume(hash, config).await } else { Ok(0) }
    }

    /// Makes everything due that is held for a tenant's endpoint, group by group.
    async fn resume(&self, hash: &EndpointHash, config: &ConfigId) -> Result<u64, Fault> {
        let mut resumed = 0;
        loop {
            let held = self.endpoints.held(hash, config, RESUME_BATCH).await?;
            if held.is_empty() {
                return Ok(resumed);
            }
            for group in groups(held, |waiting| bytes_of(&waiting.dispatch)) {
                let count = u64::try_from(group.len()).unwrap_or_default();
                self.perform(resume(group, self.clock.now())).await?;
                resumed += count;
            }
        }
    }

    async fn perform(&self, effects: Vec<Effect>) -> Result<(), Fault> {
        let ports = Ports { log: &*self.log, hot: &*self.hot, index: None };
        perform(effects, &mut Progress::default(), ports).await.map(drop)
    }

    /// Looks through the unhealthy endpoints: asks the health URLs of cooldowns that are about to end, and resumes what
    /// is held for an active endpoint. A delivery that had read the owner's former decision may have held it after the
    /// resumption.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store. The next sweep comes to what was left out.
    pub async fn sweep(&self) -> Result<(), Fault> {
        let mut after = None;
        loop {
            let views = self.unhealthy(after.as_ref(), SWEEP_PAGE).await?;
            let Some(last) = views.last() else { return Ok(()) };
            after = Some(last.hash.clone());
            try_join_all(views.iter().map(|view| self.ask_health(view))).await?;
            for view in &views {
                let to_resume = view.settings.iter().filter(|setting| setting.state.is_active() && setting.held > 0);
                for setting in to_resume {
                    self.resume(&view.hash, &setting.config_id).await?;
                }
            }
        }
    }

    async fn ask_health(&self, view: &EndpointView) -> Result<(), Fault> {
        let Some(endpoint) = view.url.as_deref().and_then(|url| Endpoint::parse(url).ok()) else {
            return Ok(());
        };
        let Some(health_url) = health_url_to_ask(&endpoint, &view.state, &self.health_urls, self.clock.now()) else {
            return Ok(());
        };
        let health = self.sender.probe(health_url).await;
        let (url, health_url, word) = (endpoint.shown(), health_url.shown(), health.word());
        tracing::info!(url, health = word, "the health URL {health_url} says before the cooldown ends: {word}");
        self.perform(health_answered(&endpoint, &view.state, health)).await
    }
}
