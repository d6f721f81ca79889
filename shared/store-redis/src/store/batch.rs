//! The writes of one apply as the commands to send.
//!
//! A write becomes a command at once, unless writes share a script: those of one shard of the schedule, of one endpoint
//! queue of a tenant and of one index of dead letters, and a report with the lease that its endpoint's request gives back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use delivery::{Fault, FaultKind};
use domain::{
    ConfigId, DeadLetterEntry, EndpointHash, EndpointReport, EndpointSetting, Leases, SettingDecision, Settlement,
    Waiting, Write,
};

use crate::keys::shard_of;
use crate::store::RedisStore;
use crate::store::command::Command;
use crate::store::list_changes::ListChanges;

/// A report, and the holder of the lease that is given back with it.
type Report = (EndpointReport, Option<String>);

/// The writes of one apply.
pub(super) struct Batch<'a> {
    store: &'a RedisStore,
    /// What needs no grouping.
    commands: Vec<Command>,
    due: BTreeMap<u8, ListChanges>,
    held: BTreeMap<(EndpointHash, ConfigId), ListChanges>,
    reports: Vec<Report>,
    /// Reports that count nothing: of each endpoint the longest cooldown is enough.
    cooldowns: BTreeMap<EndpointHash, EndpointReport>,
    given_back: Vec<Leases>,
    decisions: Vec<SettingDecision>,
    dead_letters: BTreeMap<ConfigId, Vec<DeadLetterEntry>>,
    /// Endpoints that may be unhealthy after these writes.
    unhealthy: BTreeSet<EndpointHash>,
}

impl<'a> Batch<'a> {
    pub(super) const fn new(store: &'a RedisStore) -> Self {
        Self {
            store,
            commands: Vec::new(),
            due: BTreeMap::new(),
            held: BTreeMap::new(),
            reports: Vec::new(),
            cooldowns: BTreeMap::new(),
            given_back: Vec::new(),
            decisions: Vec::new(),
            dead_letters: BTreeMap::new(),
            unhealthy: BTreeSet::new(),
        }
    }

    pub(super) fn add(&mut self, write: Write) {
        match write {
            Write::Schedule(waiting) => {
                let shard = shard_of(&waiting.dispatch.webhook.id);
                self.due.entry(shard).or_default().put(waiting);
            }
            Write::Unschedule(id, through) => self.due.entry(shard_of(&id)).or_default().take_out(id, through),
            Write::Hold(waiting) => self.hold(waiting),
            Write::Unhold(hash, config, id, through) => {
                self.held.entry((hash, config)).or_default().take_out(id, through);
            }
            Write::Settle(settlement) => self.commands.push(self.store.status_command(settlement)),
            Write::Unclaim(id, fence) => self.commands.push(self.store.unclaim_command(&id, fence)),
            Write::Merge(status) => {
                let settlement = Settlement { fence: None, status, attempt: None };
                self.commands.push(self.store.status_command(settlement));
            }
            Write::Report(report) => self.report(report),
            Write::GiveBack(leases) => self.given_back.push(leases),
            Write::Decide(decision) => {
                if decision.state != EndpointSetting::Active {
                    self.unhealthy.insert(decision.endpoint.clone());
                }
                self.decisions.push(decision);
            }
            Write::Index(entry) => self.dead_letters.entry(entry.config_id.clone()).or_default().push(entry),
        }
    }

    fn hold(&mut self, waiting: Waiting) {
        let webhook = &waiting.dispatch.webhook;
        let (hash, config) = (webhook.endpoint.hash().clone(), webhook.config_id.clone());
        self.unhealthy.insert(hash.clone());
        self.held.entry((hash, config)).or_default().put(waiting);
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
            _ => self.reports.push((report, None)),
        }
    }

    /// Gives the leases of an endpoint back with its report, if there is one: it is the same slot.
    fn join_given_back(&mut self) {
        for leases in &mut self.given_back {
            if !leases.on_endpoint || leases.unused_token.is_some() {
                continue;
            }
            let hash = leases.endpoint.hash();
            let is_free = |(report, holder): &&mut Report| holder.is_none() && report.endpoint.hash() == hash;
            if let Some((_, holder)) = self.reports.iter_mut().find(is_free) {
                *holder = Some(leases.holder.clone());
                leases.on_endpoint = false;
            }
        }
    }

    /// Everything to send. The commands of one shard, endpoint queue or index keep their order.
    ///
    /// # Errors
    /// A transient [`Fault`] when a record cannot be compressed.
    pub(super) fn into_commands(mut self) -> Result<Vec<Command>, Fault> {
        self.join_given_back();
        let (store, mut commands) = (self.store, Vec::new());
        if !self.unhealthy.is_empty() {
            commands.push(store.list_command(&self.unhealthy));
        }
        commands.append(&mut self.commands);
        let cooldowns = self.cooldowns.into_values().map(|report| (report, None));
        commands.extend(self.reports.into_iter().chain(cooldowns).map(|report| store.report_command(&report)));
        commands.extend(self.given_back.iter().flat_map(|leases| store.give_back_commands(leases)));
        commands.extend(self.decisions.iter().map(|decision| store.decide_command(decision)));
        for (shard, changes) in self.due {
            commands.extend(store.schedule_commands(shard, changes).map_err(not_compressed)?);
        }
        for ((hash, config), changes) in self.held {
            commands.extend(store.hold_commands((&hash, &config), changes).map_err(not_compressed)?);
        }
        for (config, entries) in self.dead_letters {
            commands.extend(store.index_commands(&config, &entries));
        }
        Ok(commands)
    }
}

fn not_compressed(error: io::Error) -> Fault {
    Fault::caused(FaultKind::Transient, "the record of a waiting webhook could not be compressed", error)
}
