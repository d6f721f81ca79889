//! The reference model: what must be true of a run, told from what was accepted, what endpoints saw and what the log
//! acknowledged. It knows nothing of how howk works.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Cause, Phase, Record, Timestamp, WebhookId};
use howk_tests::endpoint::Seen;

/// What a run did to the system, which excuses extra requests but never a loss.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Disturbances {
    pub(crate) kills: usize,
    pub(crate) wipes: usize,
    pub(crate) duplicates: usize,
}

impl Disturbances {
    fn none(self) -> bool {
        self.kills + self.wipes + self.duplicates == 0
    }
}

/// Everything that a finished run left behind.
pub(crate) struct Run {
    pub(crate) accepted: BTreeMap<WebhookId, u32>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) published: Vec<Record>,
    pub(crate) disturbances: Disturbances,
}

impl Run {
    /// Every invariant that can be told at the end.
    pub(crate) fn check(&self) {
        self.dl_1_every_webhook_ends();
        self.dl_2_attempts_within_their_maximum();
        self.dl_3_tombstones_follow_an_end();
        self.extra_requests_have_a_cause();
        self.delivered_means_received();
    }

    fn ends(&self) -> BTreeMap<&WebhookId, BTreeSet<Phase>> {
        let mut ends: BTreeMap<&WebhookId, BTreeSet<Phase>> = BTreeMap::new();
        for record in &self.published {
            if let Record::Result(result) = record
                && result.status.phase.is_terminal()
            {
                ends.entry(&result.status.id).or_default().insert(result.status.phase);
            }
        }
        ends
    }

    fn dl_1_every_webhook_ends(&self) {
        let ends = self.ends();
        let lost: Vec<_> = self.accepted.keys().filter(|id| !ends.contains_key(id)).collect();
        assert!(lost.is_empty(), "DL-1: {} of {} webhooks never ended: {lost:?}", lost.len(), self.accepted.len());
        if self.disturbances.none() {
            let torn: Vec<_> = ends.iter().filter(|(_, phases)| phases.len() > 1).collect();
            assert!(torn.is_empty(), "delivered and dead at once: {torn:?}");
        }
    }

    fn dl_2_attempts_within_their_maximum(&self) {
        for seen in &self.seen {
            let id = WebhookId::parse(&seen.id).unwrap();
            assert!(seen.attempt <= self.accepted[&id], "DL-2: attempt {} of {id}", seen.attempt);
        }
    }

    fn dl_3_tombstones_follow_an_end(&self) {
        let mut ended = BTreeSet::new();
        for record in &self.published {
            match record {
                Record::Result(result) if result.status.phase.is_terminal() => {
                    ended.insert(&result.status.id);
                }
                Record::Tombstone(id, _) => assert!(ended.contains(id), "DL-3: a tombstone of {id} before its end"),
                _ => {}
            }
        }
    }

    /// Two requests of one attempt only where a claim was taken over, or a kill or a loss of the hot state explains it.
    fn extra_requests_have_a_cause(&self) {
        let mut requests: BTreeMap<(&str, u32), usize> = BTreeMap::new();
        for seen in &self.seen {
            *requests.entry((&seen.id, seen.attempt)).or_default() += 1;
        }
        let extra: usize = requests.values().map(|count| count - 1).sum();
        let explained = self.published.iter().filter(|record| match record {
            Record::Result(result) => matches!(result.attempt.cause, Cause::Takeover | Cause::Unclaimed),
            _ => false,
        });
        if self.disturbances.wipes == 0 {
            let explained = explained.count();
            assert!(extra <= explained, "{extra} extra requests, {explained} explained");
        }
        if self.disturbances.none() {
            assert_eq!(extra, 0, "nothing disturbed the run, so nothing is sent twice");
        }
    }

    fn delivered_means_received(&self) {
        let received: BTreeSet<&str> =
            self.seen.iter().filter(|seen| seen.status == Some(200)).map(|seen| seen.id.as_str()).collect();
        for (id, phases) in self.ends() {
            if phases.contains(&Phase::Delivered) {
                assert!(received.contains(id.as_str()), "{id} counts as delivered, nobody received it");
            }
        }
    }
}

/// Watches gates: once an endpoint has asked for rest, nothing may begin before (RT-1).
#[derive(Debug, Default)]
pub(crate) struct Gates {
    closed_until: BTreeMap<String, (Timestamp, Timestamp)>,
}

impl Gates {
    /// Notes that an endpoint answered at `at` and asked for rest until `until`.
    pub(crate) fn asked(&mut self, url: &str, at: Timestamp, until: Timestamp) {
        let entry = self.closed_until.entry(url.to_owned()).or_insert((at, until));
        if until > entry.1 {
            *entry = (at, until);
        }
    }

    /// Whether a request at `now` comes too early.
    pub(crate) fn too_early(&self, url: &str, now: Timestamp) -> bool {
        self.closed_until.get(url).is_some_and(|(asked_at, until)| now > *asked_at && now < *until)
    }

    pub(crate) fn forget(&mut self) {
        self.closed_until.clear();
    }
}
