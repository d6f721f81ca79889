//! Nouns of the domain with sensible fields: every one fresh, so that tests never meet in one store.
//!
//! A test sets the fields that it is about with `..`; all others are the same at every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::{
    Attempt, Cause, ConfigId, DeadLetter, DeadLetterEntry, DeliveryResult, Dispatch, Endpoint, EndpointReport,
    EndpointSetting, Lane, LastFailure, MAX_ATTEMPTS_DEFAULT, Next, Payload, PayloadKind, Phase, Position,
    ReasonType, SettingDecision, Status, Tally, Timestamp, WaitReason, Waiting, Webhook, WebhookId,
};

use crate::random::scramble;

/// The time that generated nouns live at: 2026-01-01T00:00:00Z.
pub const BEGIN: Timestamp = Timestamp::from_ms(1_767_225_600_000);

/// So many milliseconds after [`BEGIN`].
pub const fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(BEGIN.as_ms() + ms)
}

/// A number that this process has not given before.
pub fn fresh_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// A fresh webhook id; their order is not the order of their making.
pub fn webhook_id() -> WebhookId {
    let number = fresh_number();
    WebhookId::fresh(BEGIN, (u128::from(scramble(number)) << 64) | u128::from(scramble(!number)))
}

/// A fresh tenant.
///
/// # Panics
/// Never.
pub fn config_id() -> ConfigId {
    ConfigId::parse(&format!("tenant-{}", fresh_number())).expect("it fits the alphabet")
}

/// A fresh domain name.
pub fn domain_name() -> String {
    format!("d{}.test", fresh_number())
}

/// A fresh endpoint on a port of loopback that is closed.
pub fn endpoint() -> Endpoint {
    endpoint_on("127.0.0.1:9")
}

/// A fresh endpoint of a host.
///
/// # Panics
/// When that is not a host.
pub fn endpoint_on(host: &str) -> Endpoint {
    Endpoint::parse(&format!("http://{host}/hook/{}", fresh_number())).expect("a host")
}

/// A fresh webhook of a fresh tenant to a fresh endpoint.
pub fn webhook() -> Webhook {
    Webhook {
        id: webhook_id(),
        config_id: config_id(),
        endpoint: endpoint(),
        payload: Payload {
            bytes: Arc::from(&b"{\"event\":\"order.paid\",\"amount\":1e2}"[..]),
            kind: PayloadKind::Json,
        },
        headers: Vec::new(),
        idempotency_key: None,
        signing_secrets: Vec::new(),
        max_attempts: MAX_ATTEMPTS_DEFAULT,
        retry_on_status: Vec::new(),
        created_at: BEGIN,
        trace: None,
    }
}

/// The first dispatch of a fresh webhook.
pub fn dispatch() -> Dispatch {
    Dispatch::first(Arc::new(webhook()))
}

/// The first dispatch of a fresh webhook to `endpoint`.
pub fn dispatch_to(endpoint: &Endpoint) -> Dispatch {
    Dispatch::first(Arc::new(Webhook { endpoint: endpoint.clone(), ..webhook() }))
}

/// The first dispatch of a fresh webhook of a tenant to `endpoint`.
pub fn dispatch_of(config: &ConfigId, endpoint: &Endpoint) -> Dispatch {
    Dispatch::first(Arc::new(Webhook { config_id: config.clone(), endpoint: endpoint.clone(), ..webhook() }))
}

/// The same webhook, handed over for the `number`-th time.
pub fn numbered(dispatch: &Dispatch, number: u64) -> Dispatch {
    Dispatch { number, ..dispatch.clone() }
}

/// What waits for `due`, after a failed attempt.
pub fn waiting(dispatch: &Dispatch, due: Timestamp) -> Waiting {
    let error = "the endpoint answered 503".to_owned();
    let failure = Arc::new(LastFailure { at: BEGIN, status: Some(503), error });
    Waiting {
        dispatch: Dispatch { waited: true, scheduled_at: due, last_failure: Some(failure), ..dispatch.clone() },
        lane: Lane::Fast,
        due,
        reason: WaitReason::Retry,
        cooldown: None,
    }
}

/// What is held since `since`.
pub fn held(dispatch: &Dispatch, since: Timestamp) -> Waiting {
    Waiting { reason: WaitReason::Paused, ..waiting(dispatch, since) }
}

/// The status of a dispatch in a phase; of one that waits or is held with what is next and why it waits, of a dead one
/// with the reason.
pub fn status(dispatch: &Dispatch, phase: Phase) -> Status {
    let webhook = &dispatch.webhook;
    let waits = matches!(phase, Phase::Waiting | Phase::Held);
    let next = waits.then(|| Next { due: BEGIN.plus(Duration::from_secs(10)), attempt: dispatch.attempt + 1 });
    let waiting_for = match phase {
        Phase::Waiting => Some(WaitReason::Retry),
        Phase::Held => Some(WaitReason::Paused),
        Phase::Pending | Phase::Delivering | Phase::Dead | Phase::Delivered => None,
    };
    let attempts = if phase.is_settled() { dispatch.attempt } else { dispatch.attempt - 1 };
    Status {
        replayed_from: dispatch.replayed_from,
        phase,
        attempts,
        next,
        waiting_for,
        reason_type: (phase == Phase::Dead).then_some(ReasonType::Exhausted),
        ..Status::pending(webhook.id.clone(), webhook.config_id.clone(), dispatch.number, BEGIN)
    }
}

/// The failed attempt of a dispatch.
pub fn attempt(dispatch: &Dispatch) -> Attempt {
    Attempt {
        number: dispatch.attempt,
        dispatch: dispatch.number,
        cause: if dispatch.attempt == 1 { Cause::First } else { Cause::Retry },
        at: BEGIN,
        took: Duration::from_millis(37),
        status: Some(503),
        error: Some("the endpoint answered 503".to_owned()),
    }
}

/// The published result of a dispatch that ended in `phase`.
pub fn result(dispatch: &Dispatch, phase: Phase) -> DeliveryResult {
    let endpoint = &dispatch.webhook.endpoint;
    DeliveryResult {
        endpoint: endpoint.hash().clone(),
        url: endpoint.shown().to_owned(),
        attempt: attempt(dispatch),
        status: status(dispatch, phase),
    }
}

/// The dead letter of a dispatch.
pub fn dead_letter(dispatch: &Dispatch, at: Timestamp) -> DeadLetter {
    DeadLetter {
        dispatch: dispatch.clone(),
        reason_type: ReasonType::Exhausted,
        reason: "all 20 attempts failed".to_owned(),
        last_error: Some("the endpoint answered 503".to_owned()),
        status: Some(503),
        response_body: Some("come back later".to_owned()),
        at,
    }
}

/// The index entry of a dispatch's dead letter.
pub fn dead_letter_entry(dispatch: &Dispatch, at: Timestamp) -> DeadLetterEntry {
    DeadLetterEntry {
        id: dispatch.webhook.id.clone(),
        config_id: dispatch.webhook.config_id.clone(),
        endpoint: dispatch.webhook.endpoint.hash().clone(),
        reason_type: ReasonType::Exhausted,
        at,
        position: Position { partition: 1, offset: fresh_number() },
    }
}

/// A decision of the owner of a dispatch's endpoint.
pub fn decision(dispatch: &Dispatch, state: EndpointSetting, decided_at: Timestamp) -> SettingDecision {
    SettingDecision {
        endpoint: dispatch.webhook.endpoint.hash().clone(),
        config_id: dispatch.webhook.config_id.clone(),
        state,
        decided_at,
    }
}

/// A report that adds a tally to the bucket of [`BEGIN`].
pub fn report(endpoint: &Endpoint, tally: Tally) -> EndpointReport {
    EndpointReport { endpoint: endpoint.clone(), bucket: BEGIN, keep_since: Timestamp::EPOCH, tally, cooldown: None }
}
