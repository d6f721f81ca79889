//! The hot-state ports in memory: one store that implements them all.
//!
//! Every part has a lock of its own, held for one operation: what is atomic in Redis is atomic here, and nothing more.

use domain::{EndpointState, Write};

use crate::MemoryLimits;
use crate::store::dead_letters::DeadLetterIndex;
use crate::store::endpoints::EndpointShards;
use crate::store::recovery::RecoveryState;
use crate::store::schedule::DueSet;
use crate::store::stats::HourlyTable;
use crate::store::webhooks::WebhookShards;

mod dead_letters;
mod endpoints;
mod hot_state;
mod leases;
mod recovery;
mod schedule;
mod shards;
mod stats;
mod webhooks;

/// Hot state in memory: claims, statuses, endpoints, the schedule, the dead-letter index, statistics.
#[derive(Debug)]
pub struct MemoryStore {
    webhooks: WebhookShards,
    endpoints: EndpointShards,
    due: parking_lot::Mutex<DueSet>,
    dead: parking_lot::Mutex<DeadLetterIndex>,
    stats: parking_lot::Mutex<HourlyTable>,
    recovery: parking_lot::Mutex<RecoveryState>,
}

impl MemoryStore {
    /// An empty store, which counts as lost until a rebuild has completed.
    pub fn new(limits: &MemoryLimits) -> Self {
        Self {
            webhooks: WebhookShards::new(limits.finished_max),
            endpoints: EndpointShards::default(),
            due: parking_lot::Mutex::default(),
            dead: parking_lot::Mutex::new(DeadLetterIndex::new(limits.dead_letters_max)),
            stats: parking_lot::Mutex::default(),
            recovery: parking_lot::Mutex::default(),
        }
    }

    /// Loses everything at once, as a wiped Redis does. What is accepted is in the log.
    pub fn wipe(&self) {
        self.webhooks.wipe();
        self.endpoints.wipe();
        *self.due.lock() = DueSet::default();
        self.dead.lock().wipe();
        *self.stats.lock() = HourlyTable::default();
        *self.recovery.lock() = RecoveryState::default();
    }

    fn write(&self, write: Write) -> Option<EndpointState> {
        match write {
            Write::Schedule(waiting) => self.due.lock().put(waiting),
            Write::Unschedule(id, through) => self.due.lock().take_out(&id, through),
            Write::Hold(waiting) => self.endpoints.hold(waiting),
            Write::Unhold(hash, config, id, through) => self.endpoints.unhold(&hash, &config, (&id, through)),
            Write::Settle(settlement) => self.webhooks.settle(settlement),
            Write::Unclaim(id, fence) => self.webhooks.unclaim(&id, fence),
            Write::Merge(status) => self.webhooks.merge(status),
            Write::Report(report) => return self.endpoints.report(&report),
            Write::GiveBack(leases) => self.endpoints.give_back(&leases),
            Write::Decide(decision) => self.endpoints.decide(&decision),
            Write::Index(entry) => self.dead.lock().put(entry),
        }
        None
    }
}
