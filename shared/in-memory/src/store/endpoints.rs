//! The state of endpoints: circuit, cooldown, tallies, tokens and leases; per tenant its setting and what is held.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::endpoints::{EndpointView, Endpoints, SettingView};
use delivery::ports::hot_state::{AcquireRequest, Change};
use domain::{
    Bucket, ConfigId, EndpointHash, EndpointReport, EndpointSetting, EndpointState, LeaseFact, SettingDecision,
    Timestamp, Token, Tokens, Transition, Waiting, WebhookId,
};
use parking_lot::Mutex;

use crate::MemoryStore;
use crate::store::leases::{LeaseRequest, Leases};
use crate::store::schedule::fingerprint_of;
use crate::store::shards::Shards;

#[derive(Debug, Default)]
pub(super) struct EndpointShards {
    shards: Shards<BTreeMap<EndpointHash, Entry>>,
    domains: Shards<BTreeMap<String, Leases>>,
    unhealthy: Mutex<BTreeSet<EndpointHash>>,
}

#[derive(Debug, Default)]
struct Entry {
    url: Option<String>,
    state: EndpointState,
    tokens: Tokens,
    leases: Leases,
    settings: BTreeMap<ConfigId, SettingEntry>,
}

#[derive(Debug, Default)]
struct SettingEntry {
    state: EndpointSetting,
    decided_at: Timestamp,
    held: BTreeMap<WebhookId, Waiting>,
}

impl SettingEntry {
    fn is_unhealthy(&self) -> bool {
        self.state != EndpointSetting::Active || !self.held.is_empty()
    }
}

/// What *acquire* finds of an endpoint.
pub(super) struct Acquired {
    pub(super) state: EndpointState,
    pub(super) setting: EndpointSetting,
    pub(super) lease: LeaseFact,
    pub(super) token: Token,
}

impl Entry {
    fn is_unhealthy(&self) -> bool {
        !self.state.is_normal() || self.settings.values().any(SettingEntry::is_unhealthy)
    }

    /// Whether the endpoint is in its normal state and nothing is counted.
    fn is_healthy(&self) -> bool {
        self.state.is_normal() && self.state.buckets.is_empty()
    }

    /// Whether nothing would be lost with the entry.
    fn is_blank(&self) -> bool {
        self.leases.is_empty() && self.settings.is_empty() && self.tokens == Tokens::default() && self.is_healthy()
    }

    fn tally(&mut self, report: &EndpointReport) {
        let buckets = &mut self.state.buckets;
        buckets.retain(|bucket| bucket.start >= report.keep_since);
        if report.tally.is_empty() {
            return;
        }
        match buckets.iter_mut().find(|bucket| bucket.start == report.bucket) {
            Some(bucket) => bucket.tally = bucket.tally.plus(report.tally),
            None => buckets.push(Bucket { start: report.bucket, tally: report.tally }),
        }
    }
}

impl EndpointShards {
    pub(super) fn wipe(&self) {
        self.shards.wipe();
        self.domains.wipe();
        self.unhealthy.lock().clear();
    }

    pub(super) fn acquire(&self, request: &AcquireRequest<'_>, holder: &str) -> Acquired {
        let webhook = &request.dispatch.webhook;
        let hash = webhook.endpoint.hash();
        let mut shard = self.shards.of(hash.as_str());
        let entry = shard.entry(hash.clone()).or_default();
        let wanted =
            LeaseRequest { holder, limit: request.endpoint_limit, now: request.now, until: request.claim.until };
        let token = request.pace.map_or(Token::Free, |pace| {
            let (tokens, token) = entry.tokens.take(pace, request.now);
            entry.tokens = tokens;
            token
        });
        Acquired {
            lease: entry.leases.take(&wanted),
            token,
            state: entry.state.clone(),
            setting: entry.settings.get(&webhook.config_id).map_or(EndpointSetting::Active, |setting| setting.state),
        }
    }

    pub(super) fn acquire_domain(&self, request: &AcquireRequest<'_>, holder: &str) -> LeaseFact {
        let Some(limit) = request.domain_limit else { return LeaseFact::Unlimited };
        let domain = request.dispatch.webhook.endpoint.domain();
        let wanted = LeaseRequest { holder, limit, now: request.now, until: request.claim.until };
        self.domains.of(domain).entry(domain.to_owned()).or_default().take(&wanted)
    }

    pub(super) fn give_back(&self, leases: &domain::Leases) {
        if leases.on_domain {
            let domain = leases.endpoint.domain();
            let mut shard = self.domains.of(domain);
            if let Some(held) = shard.get_mut(domain) {
                held.give_back(&leases.holder);
                if held.is_empty() {
                    shard.remove(domain);
                }
            }
        }
        let hash = leases.endpoint.hash();
        let mut shard = self.shards.of(hash.as_str());
        let Some(entry) = shard.get_mut(hash) else { return };
        if leases.on_endpoint {
            entry.leases.give_back(&leases.holder);
        }
        if let Some(pace) = leases.unused_token {
            entry.tokens = entry.tokens.give_back(pace);
        }
        if entry.is_blank() {
            shard.remove(hash);
        }
    }

    pub(super) fn report(&self, report: &EndpointReport) -> Option<EndpointState> {
        let hash = report.endpoint.hash();
        let is_success = report.tally.counts_no_failure() && report.cooldown.is_none();
        if is_success && self.shards.of(hash.as_str()).get(hash).is_none_or(Entry::is_healthy) {
            return None;
        }
        let state = self.update(hash, |entry| {
            entry.tally(report);
            entry.url = Some(report.endpoint.url().to_owned());
            if let Some(asked) = report.cooldown {
                let cooldown = entry.state.cooldown.map_or(asked, |known| known.merge(asked));
                if entry.state.cooldown != Some(cooldown) {
                    entry.state.cooldown = Some(cooldown);
                    entry.state.version += 1;
                }
            }
            entry.state.clone()
        });
        Some(state)
    }

    pub(super) fn change(&self, transition: &Transition) -> Change {
        self.update(transition.endpoint.hash(), |entry| {
            if entry.state.version != transition.version {
                return Change::Lost(entry.state.clone());
            }
            entry.url = Some(transition.endpoint.url().to_owned());
            entry.state.version += 1;
            entry.state.circuit = transition.circuit;
            entry.state.cooldown = transition.cooldown;
            Change::Made(entry.state.clone())
        })
    }

    pub(super) fn decide(&self, decision: &SettingDecision) {
        self.update(&decision.endpoint, |entry| {
            let setting = entry.settings.entry(decision.config_id.clone()).or_default();
            if (decision.decided_at, decision.state) >= (setting.decided_at, setting.state) {
                setting.state = decision.state;
                setting.decided_at = decision.decided_at;
            }
        });
    }

    pub(super) fn hold(&self, waiting: Waiting) {
        let webhook = &waiting.dispatch.webhook;
        let (hash, config, id) = (webhook.endpoint.hash().clone(), webhook.config_id.clone(), webhook.id.clone());
        self.update(&hash, |entry| {
            entry.url = Some(waiting.dispatch.webhook.endpoint.url().to_owned());
            let held = &mut entry.settings.entry(config).or_default().held;
            let later = held.get(&id).is_some_and(|known| known.dispatch.number > waiting.dispatch.number);
            if !later {
                held.insert(id, waiting);
            }
        });
    }

    pub(super) fn unhold(&self, hash: &EndpointHash, config: &ConfigId, (id, through): (&WebhookId, u64)) {
        if !self.shards.of(hash.as_str()).contains_key(hash) {
            return;
        }
        self.update(hash, |entry| {
            let Some(setting) = entry.settings.get_mut(config) else { return };
            if setting.held.get(id).is_some_and(|known| known.dispatch.number <= through) {
                setting.held.remove(id);
            }
        });
    }

    /// A sum of hashes over what is held, the same in any order.
    pub(super) fn fingerprint(&self) -> u64 {
        let of_shard = |shard: parking_lot::MutexGuard<'_, BTreeMap<EndpointHash, Entry>>| {
            let settings = shard.values().flat_map(|entry| entry.settings.values());
            let held = settings.flat_map(|setting| setting.held.values());
            held.fold(0, |sum: u64, waiting| sum.wrapping_add(fingerprint_of(waiting)))
        };
        self.shards.each().map(of_shard).fold(0, u64::wrapping_add)
    }

    /// Changes an entry and keeps the listing of unhealthy endpoints in step.
    fn update<T>(&self, hash: &EndpointHash, change: impl FnOnce(&mut Entry) -> T) -> T {
        let mut shard = self.shards.of(hash.as_str());
        let entry = shard.entry(hash.clone()).or_default();
        let before = entry.is_unhealthy();
        let result = change(entry);
        match (before, entry.is_unhealthy()) {
            (false, true) => drop(self.unhealthy.lock().insert(hash.clone())),
            (true, false) => drop(self.unhealthy.lock().remove(hash)),
            (false, false) | (true, true) => {}
        }
        result
    }
}

#[async_trait]
impl Endpoints for MemoryStore {
    async fn endpoint(&self, hash: &EndpointHash, now: Timestamp) -> Result<Option<EndpointView>, Fault> {
        let shard = self.endpoints.shards.of(hash.as_str());
        Ok(shard.get(hash).map(|entry| EndpointView {
            hash: hash.clone(),
            url: entry.url.clone(),
            state: entry.state.clone(),
            inflight: entry.leases.count(now),
            settings: entry
                .settings
                .iter()
                .filter(|(_, setting)| setting.is_unhealthy())
                .map(|(config_id, setting)| SettingView {
                    config_id: config_id.clone(),
                    state: setting.state,
                    held: u64::try_from(setting.held.len()).unwrap_or_default(),
                })
                .collect(),
        }))
    }

    async fn unhealthy(&self, after: Option<&EndpointHash>, limit: usize) -> Result<Vec<EndpointHash>, Fault> {
        let unhealthy = self.endpoints.unhealthy.lock();
        Ok(unhealthy.iter().filter(|hash| after.is_none_or(|after| *hash > after)).take(limit).cloned().collect())
    }

    async fn held(&self, hash: &EndpointHash, config: &ConfigId, limit: usize) -> Result<Vec<Waiting>, Fault> {
        let shard = self.endpoints.shards.of(hash.as_str());
        let held = shard.get(hash).and_then(|entry| entry.settings.get(config)).map(|setting| &setting.held);
        Ok(held.map(|held| held.values().take(limit).cloned().collect()).unwrap_or_default())
    }
}
