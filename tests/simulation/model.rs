//! The reference model: what must be true of a run, judged by what was accepted, what endpoints saw and what the log
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
    pub(crate) aborted: usize,
    pub(crate) published: Vec<Record>,
    pub(crate) disturbances: Disturbances,
}

impl Run {
    /// Every invariant that can be judged at the end.
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
        let story = lost.first().map(|id| self.story(id)).unwrap_or_default();
        assert!(lost.is_empty(), "DL-1: {} of {} webhooks never ended: {story}", lost.len(), self.accepted.len());
        if self.disturbances.none() {
            let torn: Vec<_> = ends.iter().filter(|(_, phases)| phases.len() > 1).collect();
            assert!(torn.is_empty(), "delivered and dead at once: {torn:?}");
        }
    }

    /// What was published about one webhook, a line each.
    fn story(&self, id: &WebhookId) -> String {
        let shown = self.published.iter().filter_map(|record| match record {
            Record::Dispatch(lane, d) if d.webhook.id == *id => {
                Some(format!("dispatch {} in {lane:?} at {:?}, attempt {}", d.number, d.scheduled_at, d.attempt))
            }
            Record::Waiting(w) if w.dispatch.webhook.id == *id => {
                Some(format!("waits as {} to {:?} for {:?}", w.dispatch.number, w.due, w.reason))
            }
            Record::Result(r) if r.status.id == *id => {
                Some(format!("result {:?} of {:?}", r.status.phase, r.attempt))
            }
            _ => None,
        });
        let lines: Vec<String> = shown.collect();
        format!("{id}\n  {}", lines.join("\n  "))
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

    /// Two results of one attempt only where a claim was taken over or could not be taken; a request without a result
    /// only where its sender was killed. A loss of the hot state takes the claims along.
    fn extra_requests_have_a_cause(&self) {
        let mut attempts = BTreeSet::new();
        let mut results = 0;
        for record in &self.published {
            let Record::Result(result) = record else { continue };
            results += 1;
            let first = attempts.insert((&result.status.id, result.attempt.number));
            let explained = matches!(result.attempt.cause, Cause::Takeover | Cause::Unclaimed);
            let excused = explained || self.disturbances.wipes > 0;
            assert!(first || excused, "sent twice without a cause: {:?}, {}", result, self.story(&result.status.id));
        }
        assert_eq!(self.seen.len(), results + self.aborted, "every request has a result, or its sender was killed");
        if self.disturbances.none() {
            assert_eq!(attempts.len(), self.seen.len(), "nothing disturbed the run, so nothing is sent twice");
        }
    }

    fn delivered_means_received(&self) {
        let received: BTreeSet<&str> =
            self.seen.iter().filter(|seen| seen.status == Some(200)).map(|seen| seen.id.as_str()).collect();
        for (id, phases) in self.ends() {
            if phases.contains(&Phase::Delivered) {
                assert!(received.contains(id.as_str()), "{id} counts as delivered, and no endpoint received it");
            }
        }
    }
}

/// Watches cooldowns: once an endpoint has sent Retry-After, no request may begin before its time (RT-1).
#[derive(Debug, Default)]
pub(crate) struct Cooldowns {
    closed_until: BTreeMap<String, (Timestamp, Timestamp)>,
}

impl Cooldowns {
    /// Records that an endpoint answered at `at` with a Retry-After until `until`.
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
