//! The writes of one close, sorted by the keys that they go to.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    ConfigId, DeadLetterEntry, EndpointHash, EndpointReport, EndpointSetting, Fence, Leases, SettingDecision,
    Settlement, WebhookId, Write,
};

use crate::keys::shard_of;
use crate::store::folded::Folded;

/// A write to one webhook.
#[derive(Debug)]
pub(super) enum WebhookWrite {
    /// Settles or merges.
    Settle(Settlement),
    /// Gives a claim back.
    Unclaim(WebhookId, Fence),
}

/// A report, and the lease that is given back with it.
#[derive(Debug)]
pub(super) struct Reported {
    pub(super) report: EndpointReport,
    pub(super) holder: Option<String>,
}

/// The writes, by what they go to.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) due: BTreeMap<u8, Folded>,
    pub(super) held: BTreeMap<(EndpointHash, ConfigId), Folded>,
    pub(super) webhooks: Vec<WebhookWrite>,
    pub(super) reports: Vec<Reported>,
    /// Reports that count nothing: of each endpoint the longest cooldown is enough.
    pub(super) cooldowns: BTreeMap<EndpointHash, EndpointReport>,
    pub(super) releases: Vec<Leases>,
    pub(super) decisions: Vec<SettingDecision>,
    pub(super) dead: BTreeMap<ConfigId, Vec<DeadLetterEntry>>,
    /// Endpoints that may be in trouble after this.
    pub(super) unhealthy: BTreeSet<EndpointHash>,
}

impl Batch {
    pub(super) fn add(&mut self, write: Write) {
        match write {
            Write::Schedule(waiting) => {
                let shard = shard_of(&waiting.dispatch.webhook.id);
                self.due.entry(shard).or_default().put(waiting);
            }
            Write::Unschedule(id, through) => self.due.entry(shard_of(&id)).or_default().take_out(id, through),
            Write::Hold(waiting) => {
                let webhook = &waiting.dispatch.webhook;
                let (hash, config) = (webhook.endpoint.hash().clone(), webhook.config_id.clone());
                self.unhealthy.insert(hash.clone());
                self.held.entry((hash, config)).or_default().put(waiting);
            }
            Write::Unhold(hash, config, id, through) => {
                self.held.entry((hash, config)).or_default().take_out(id, through);
            }
            Write::Settle(settlement) => self.webhooks.push(WebhookWrite::Settle(settlement)),
            Write::Unclaim(id, fence) => self.webhooks.push(WebhookWrite::Unclaim(id, fence)),
            Write::Merge(status) => {
                let settlement = Settlement { fence: None, status, attempt: None };
                self.webhooks.push(WebhookWrite::Settle(settlement));
            }
            Write::Report(report) => self.report(report),
            Write::GiveBack(leases) => self.releases.push(leases),
            Write::Decide(decision) => {
                if decision.state != EndpointSetting::Active {
                    self.unhealthy.insert(decision.endpoint.clone());
                }
                self.decisions.push(decision);
            }
            Write::Index(entry) => self.dead.entry(entry.config_id.clone()).or_default().push(entry),
        }
    }

    fn report(&mut self, report: EndpointReport) {
        let hash = report.endpoint.hash();
        if report.cooldown.is_some() {
            self.unhealthy.insert(hash.clone());
        }
        match (report.cooldown, self.cooldowns.get_mut(hash)) {
            (Some(cooldown), Some(known)) if report.tally.is_empty() => {
                known.cooldown = Some(known.cooldown.map_or(cooldown, |known| known.merge(cooldown)));
                known.keep_since = known.keep_since.max(report.keep_since);
            }
            (Some(_), None) if report.tally.is_empty() => {
                self.cooldowns.insert(hash.clone(), report);
            }
            _ => self.reports.push(Reported { report, holder: None }),
        }
    }

    /// Gives the leases of an endpoint back with its report, if there is one: it is the same slot.
    pub(super) fn join_given_back(&mut self) {
        for leases in &mut self.releases {
            if !leases.on_endpoint || leases.unused_token.is_some() {
                continue;
            }
            let hash = leases.endpoint.hash();
            let free =
                |reported: &&mut Reported| reported.holder.is_none() && reported.report.endpoint.hash() == hash;
            if let Some(reported) = self.reports.iter_mut().find(free) {
                reported.holder = Some(leases.holder.clone());
                leases.on_endpoint = false;
            }
        }
    }
}
