//! What the tests of the decisions begin from: one webhook at one moment, whose endpoint is in its normal state.

use std::sync::Arc;
use std::time::Duration;

use crate::claim::{ClaimFact, Fence};
use crate::effect::{Effect, EndpointState, Write};
use crate::endpoint::Endpoint;
use crate::entropy::Entropy;
use crate::facts::{Facts, LeaseFact, Memory, Moment, Situation};
use crate::id::{ConfigId, WebhookId};
use crate::lane::{Lane, Token};
use crate::policy::Policy;
use crate::record::{Record, Waiting};
use crate::setting::EndpointSetting;
use crate::time::Timestamp;
use crate::webhook::{Dispatch, Payload, PayloadKind, Webhook};

pub(crate) const NOW: Timestamp = at(1_000_000_000);
pub(crate) const FENCE: Fence = Fence(7);

pub(crate) const fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms)
}

/// A point in time so many seconds from now.
pub(crate) fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

/// Everything that a decision looks at, to be changed by each test.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) dispatch: Dispatch,
    pub(crate) facts: Facts,
    pub(crate) policy: Policy,
    pub(crate) moment: Moment,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let facts = Facts {
            memory: Memory::Since(Timestamp::EPOCH),
            claim: ClaimFact::Taken { fence: FENCE, takeover: false },
            endpoint: Some(EndpointState { version: 3, ..EndpointState::default() }),
            setting: EndpointSetting::Active,
            on_endpoint: LeaseFact::Taken,
            on_domain: LeaseFact::Unlimited,
            token: Token::Free,
            holder: "holder".to_owned(),
        };
        let moment = Moment { now: NOW, lane: Lane::Fast, remaining: None, entropy: Entropy::new(1 << 63) };
        Self { dispatch: Dispatch::first(Arc::new(webhook())), facts, policy: Policy::default(), moment }
    }

    /// The same in the slow lane, a token taken.
    pub(crate) fn slow() -> Self {
        let mut scene = Self::new();
        scene.moment.lane = Lane::Slow;
        scene.facts.token = Token::Taken;
        scene
    }

    /// At attempt `attempt` of `max_attempts`.
    #[must_use]
    pub(crate) fn attempt(mut self, attempt: u32, max_attempts: u32) -> Self {
        self.dispatch.attempt = attempt;
        self.webhook().max_attempts = max_attempts;
        self
    }

    pub(crate) fn webhook(&mut self) -> &mut Webhook {
        Arc::make_mut(&mut self.dispatch.webhook)
    }

    pub(crate) fn endpoint(&mut self) -> &mut EndpointState {
        self.facts.endpoint.get_or_insert_default()
    }

    pub(crate) fn situation(&self) -> Situation<'_> {
        Situation { dispatch: &self.dispatch, facts: &self.facts, policy: &self.policy, moment: self.moment }
    }
}

fn webhook() -> Webhook {
    Webhook {
        id: WebhookId::fresh(NOW, 1),
        config_id: ConfigId::parse("tenant").unwrap(),
        endpoint: Endpoint::parse("https://a.example/hooks?token=s3cret").unwrap(),
        payload: Payload { bytes: Arc::from(&b"{}"[..]), kind: PayloadKind::Json },
        headers: Vec::new(),
        idempotency_key: None,
        signing_secrets: Vec::new(),
        max_attempts: 5,
        retry_on_status: Vec::new(),
        created_at: NOW,
        trace: None,
    }
}

/// An effect in a word or two, so that whole lists can be compared.
pub(crate) fn word(effect: &Effect) -> &'static str {
    match effect {
        Effect::Publish(Record::Dispatch(Lane::Fast, _)) => "publish to fast",
        Effect::Publish(Record::Dispatch(Lane::Slow, _)) => "publish to slow",
        Effect::Publish(Record::Result(_)) => "publish result",
        Effect::Publish(Record::DeadLetter(_)) => "publish dead letter",
        Effect::Publish(Record::Undecodable(_)) => "publish undecodable",
        Effect::Publish(Record::Waiting(_)) => "publish waiting",
        Effect::Publish(Record::Tombstone(..)) => "publish tombstone",
        Effect::Publish(Record::Setting(_)) => "publish setting",
        Effect::Write(Write::Schedule(_)) => "schedule",
        Effect::Write(Write::Unschedule(..)) => "unschedule",
        Effect::Write(Write::Hold(_)) => "hold",
        Effect::Write(Write::Unhold(..)) => "unhold",
        Effect::Write(Write::Settle(_)) => "settle",
        Effect::Write(Write::Unclaim(..)) => "unclaim",
        Effect::Write(Write::Merge(_)) => "merge",
        Effect::Write(Write::Report(_)) => "report",
        Effect::Write(Write::GiveBack(_)) => "give back",
        Effect::Write(Write::Decide(_)) => "decide",
        Effect::Write(Write::Index(_)) => "index",
        Effect::Change(_) => "change",
        Effect::Forget(_) => "forget",
    }
}

pub(crate) fn words(effects: &[Effect]) -> Vec<&'static str> {
    effects.iter().map(word).collect()
}

/// Durable first, hot state second, forgetting last. There are two exceptions, and the order begins anew at each: a dead
/// webhook's tombstone comes before its index entry, and the decision that a 410 brings follows the settlement.
pub(crate) fn assert_order(effects: &[Effect]) {
    let rank = |effect: &Effect| match effect {
        Effect::Publish(Record::Tombstone(..)) | Effect::Forget(_) => 2,
        Effect::Publish(_) => 0,
        Effect::Write(_) | Effect::Change(_) => 1,
    };
    let index = effects.iter().position(|effect| word(effect) == "index");
    let (dead_letter, rest) = effects.split_at(index.unwrap_or(0));
    let decision = rest.iter().position(|effect| word(effect) == "publish setting");
    let (end, decision) = rest.split_at(decision.unwrap_or(rest.len()));
    for list in [dead_letter, end, decision] {
        assert!(list.is_sorted_by_key(rank), "{:?}", words(effects));
    }
}

/// The waiting webhook of a list of effects: its record and its hot entry, which must be equal.
pub(crate) fn waiting(effects: &[Effect]) -> Waiting {
    let mut found = effects.iter().filter_map(|effect| {
        if let Effect::Publish(Record::Waiting(waiting))
        | Effect::Write(Write::Schedule(waiting) | Write::Hold(waiting)) = effect
        {
            Some(waiting)
        } else {
            None
        }
    });
    let (record, entry) = (found.next().expect("a snapshot"), found.next().expect("an entry"));
    assert_eq!(record, entry);
    assert_eq!(record.due, record.dispatch.scheduled_at);
    assert!(record.dispatch.waited, "DL-3: a webhook with a snapshot gets a tombstone at its end");
    record.clone()
}
