//! Use-case endpoints: what is known of them, what their owners decide, and what the scheduler looks after.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    ConfigId, Cooldown, Dispatch, Endpoint, EndpointHash, EndpointSetting, HEALTH_PROBE_LEAD, Health, Lane, Record,
    SettingDecision, Transition, WaitReason, Waiting, Write,
};

use crate::fault::Fault;
use crate::groups::{bytes_of, groups};
use crate::ports::endpoints::{EndpointView, Endpoints};
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;
use crate::ports::sender::{self, Sender};
use crate::ports::time::Clock;

/// How many held webhooks are asked for together.
const UNPARK_BATCH: usize = 200;
/// How many unhealthy endpoints are looked at together.
const SWEEP_PAGE: usize = 200;

/// Looks after endpoints.
#[derive(Clone)]
pub struct EndpointService {
    /// Where decisions become durable.
    pub log: Arc<dyn Log>,
    /// Where decisions count.
    pub hot: Arc<dyn HotState>,
    /// What is known.
    pub endpoints: Arc<dyn Endpoints>,
    /// Who asks health URLs.
    pub sender: Arc<dyn Sender>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Health URLs by the pattern of their endpoints' domains.
    pub health_urls: Arc<HealthUrls>,
}

/// Health URLs by pattern: `*` any domain, `*.x.com` `x.com` and what is below it, otherwise the domain itself.
#[derive(Debug, Clone, Default)]
pub struct HealthUrls(pub Vec<(String, Endpoint)>);

impl HealthUrls {
    /// The health URL of a domain: the first pattern that fits.
    pub fn of(&self, domain: &str) -> Option<&Endpoint> {
        self.0.iter().find(|(pattern, _)| fits(pattern, domain)).map(|(_, url)| url)
    }
}

fn fits(pattern: &str, domain: &str) -> bool {
    let (pattern, domain) = (pattern.to_ascii_lowercase(), domain.to_ascii_lowercase());
    match pattern.strip_prefix("*.") {
        Some(parent) => domain == parent || domain.ends_with(&format!(".{parent}")),
        None => pattern == "*" || pattern == domain,
    }
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
        let views = futures::future::try_join_all(hashes.iter().map(|hash| self.view(hash))).await?;
        Ok(views.into_iter().flatten().collect())
    }

    /// Records what a tenant decides about an endpoint; when that is to go on, what was held goes out.
    ///
    /// Durable first: a decision survives the loss of the hot state. Deciding the same again is harmless, and completes
    /// what a crash left undone.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store.
    pub async fn decide(&self, hash: &EndpointHash, config: &ConfigId, state: EndpointSetting) -> Result<u64, Fault> {
        let decision = SettingDecision {
            endpoint: hash.clone(),
            config_id: config.clone(),
            state,
            decided_at: self.clock.now(),
        };
        self.log.publish(vec![Record::Setting(decision.clone())]).await?;
        self.hot.apply(vec![Write::Decide(decision)]).await?;
        if state == EndpointSetting::Active { self.unhold(hash, config).await } else { Ok(0) }
    }

    /// Schedules everything that is held for a tenant's endpoint: snapshot, due entry, and only then off the list.
    async fn unhold(&self, hash: &EndpointHash, config: &ConfigId) -> Result<u64, Fault> {
        let mut released = 0;
        loop {
            let held = self.endpoints.held(hash, config, UNPARK_BATCH).await?;
            if held.is_empty() {
                return Ok(released);
            }
            for group in groups(held, |waiting| bytes_of(&waiting.dispatch)) {
                released += self.unhold_group(hash, config, group).await?;
            }
        }
    }

    async fn unhold_group(&self, hash: &EndpointHash, config: &ConfigId, group: Vec<Waiting>) -> Result<u64, Fault> {
        let due: Vec<Waiting> = group.into_iter().map(|waiting| self.due_now(waiting)).collect();
        let released = u64::try_from(due.len()).unwrap_or_default();
        self.log.publish(due.iter().cloned().map(Record::Waiting).collect()).await?;
        self.hot.apply(due.iter().cloned().map(Write::Schedule).collect()).await?;
        let forget = due.into_iter().map(|waiting| {
            let id = waiting.dispatch.webhook.id.clone();
            Write::Unhold(hash.clone(), config.clone(), id, waiting.dispatch.number)
        });
        self.hot.apply(forget.collect()).await?;
        Ok(released)
    }

    fn due_now(&self, waiting: Waiting) -> Waiting {
        let now = self.clock.now();
        let dispatch = Dispatch { scheduled_at: now, ..waiting.dispatch };
        Waiting { dispatch, lane: Lane::Fast, due: now, reason: WaitReason::Retry, ..waiting }
    }

    /// Looks through the unhealthy endpoints: asks the health URLs of cooldowns that are about to open, and unholds what was
    /// held by a delivery that had not seen its owner's decision to go on.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store; what was missed is seen the next time.
    pub async fn sweep(&self) -> Result<(), Fault> {
        let mut after = None;
        loop {
            let views = self.unhealthy(after.as_ref(), SWEEP_PAGE).await?;
            let Some(last) = views.last() else { return Ok(()) };
            after = Some(last.hash.clone());
            futures::future::try_join_all(views.iter().map(|view| self.probe_cooldown(view))).await?;
            for view in &views {
                for setting in view
                    .settings
                    .iter()
                    .filter(|setting| setting.state == EndpointSetting::Active && setting.held > 0)
                {
                    self.unhold(&view.hash, &setting.config_id).await?;
                }
            }
        }
    }

    async fn probe_cooldown(&self, view: &EndpointView) -> Result<(), Fault> {
        let Some((cooldown, endpoint, health_url)) = self.cooldown_to_probe(view) else {
            return Ok(());
        };
        let health = match self.sender.probe(health_url).await {
            sender::Health::Ready => Health::Good,
            sender::Health::Busy => Health::Bad,
        };
        tracing::info!(url = endpoint.shown(), ?health, "asked a health URL before its cooldown opens");
        let transition = Transition {
            endpoint,
            version: view.state.version,
            circuit: view.state.circuit,
            cooldown: Some(cooldown.after_health_probe(health)),
        };
        // Lost to another change: the next sweep looks again.
        self.hot.change(&transition).await.map(drop)
    }

    fn cooldown_to_probe(&self, view: &EndpointView) -> Option<(Cooldown, Endpoint, &Endpoint)> {
        let now = self.clock.now();
        let cooldown = view.state.cooldown?;
        let lead = Duration::from_millis(1) + HEALTH_PROBE_LEAD;
        let near = now.plus(lead) > cooldown.ends_at && now < cooldown.window_end && !cooldown.confirmed;
        let endpoint = Endpoint::parse(view.url.as_deref()?).ok()?;
        let health_url = self.health_urls.of(endpoint.domain())?;
        near.then_some((cooldown, endpoint, health_url))
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn d6_patterns_match_any_subdomains_or_exactly() {
        assert!(fits("*", "a.b"));
        assert!(fits("*.x.com", "a.x.com") && fits("*.x.com", "x.com") && !fits("*.x.com", "ax.com"));
        assert!(fits("X.com", "x.COM") && !fits("x.com", "a.x.com"));
    }
}
