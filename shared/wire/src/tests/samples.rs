//! One value of every kind, with every field set.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    Attempt, Cause, ConfigId, Cooldown, DeadLetter, DeliveryResult, Dispatch, Endpoint, EndpointSetting, Epoch, Lane,
    LastFailure, Next, Payload, PayloadKind, Phase, Position, ReasonType, RebuildCursor, RebuildScope, Record,
    Sealed, SealedHeader, SettingDecision, Status, Timestamp, TraceParent, Undecodable, WaitReason, Waiting, Webhook,
    WebhookId,
};

pub(super) const NOON: Timestamp = Timestamp::from_ms(1_769_860_800_000);

pub(super) fn later(ms: u64) -> Timestamp {
    NOON.plus(Duration::from_millis(ms))
}

pub(super) fn id() -> WebhookId {
    WebhookId::parse("wh_01KG9V3C005G7ZZZZZZZZZZZZZ").unwrap()
}

pub(super) fn config() -> ConfigId {
    ConfigId::parse("shop:orders").unwrap()
}

pub(super) fn endpoint() -> Endpoint {
    Endpoint::parse("https://example.com/hooks?team=7").unwrap()
}

pub(super) fn payload(text: &str) -> Payload {
    Payload { bytes: text.as_bytes().into(), kind: PayloadKind::Json }
}

fn header(name: &str, value: &str) -> SealedHeader {
    SealedHeader { name: name.to_owned(), value: Sealed::new(format!("seal1.e165450e.{value}")) }
}

pub(super) fn webhook(payload: Payload) -> Webhook {
    Webhook {
        id: id(),
        config_id: config(),
        endpoint: endpoint(),
        payload,
        headers: vec![header("X-Trace", "b"), header("x-trace", "a"), header("X-Trace", "b")],
        idempotency_key: Some("order-42".to_owned()),
        signing_secrets: vec![Sealed::new("seal1.e165450e.new"), Sealed::new("seal1.e165450e.old")],
        max_attempts: 20,
        retry_on_status: vec![409, 423],
        created_at: NOON,
        trace: None,
    }
}

/// A webhook with nothing but what it must have.
pub(super) fn bare_dispatch() -> Dispatch {
    Dispatch::first(Arc::new(Webhook {
        headers: Vec::new(),
        idempotency_key: None,
        signing_secrets: Vec::new(),
        retry_on_status: Vec::new(),
        ..webhook(Payload { bytes: [0_u8, 159, 146, 150].as_slice().into(), kind: PayloadKind::Binary })
    }))
}

/// A bare webhook that belongs to a trace.
fn traced_dispatch() -> Dispatch {
    let trace = TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    Dispatch::first(Arc::new(Webhook { trace, ..(*bare_dispatch().webhook).clone() }))
}

pub(super) fn dispatch() -> Dispatch {
    let webhook =
        Arc::new(webhook(payload("{\"b\":1.10, \"a\": [1e308,\"\\ud800 \u{e9}\"],\"b\":9007199254740993}")));
    let error = "the endpoint answered 503".to_owned();
    let last_failure = Some(Arc::new(LastFailure { at: later(29_000), status: Some(503), error }));
    Dispatch {
        number: 4,
        attempt: 3,
        scheduled_at: later(30_123),
        waited: true,
        taken_over: false,
        replayed_from: 2,
        last_failure,
        webhook,
    }
}

pub(super) fn attempt() -> Attempt {
    Attempt {
        number: 3,
        dispatch: 4,
        cause: Cause::Retry,
        at: later(30_150),
        took: Duration::from_nanos(1_234_567),
        status: Some(503),
        error: Some("the endpoint answered 503".to_owned()),
    }
}

pub(super) fn status() -> Status {
    Status {
        phase: Phase::Waiting,
        attempts: 3,
        next: Some(Next { due: later(90_000), attempt: 4 }),
        waiting_for: Some(WaitReason::Retry),
        last_attempt_at: Some(later(30_150)),
        last_status: Some(503),
        last_error: Some("the endpoint answered 503".to_owned()),
        ..Status::pending(id(), config(), 4, later(30_152))
    }
}

pub(super) fn epoch() -> Epoch {
    Epoch { number: 3, completed_at: later(5_000), replayed: 100_000, statuses_pending: true }
}

pub(super) fn rebuild_cursor() -> RebuildCursor {
    let (offsets, ends) = (vec![7, 0], vec![9, 12]);
    RebuildCursor { phase: 1, offsets, ends, replayed: 42, scope: RebuildScope::Waiting, begun_at: later(0) }
}

pub(super) fn cooldown() -> Cooldown {
    Cooldown { probe_until: Some(later(70_000)), confirmed: true, ..Cooldown::new(later(60_000), later(90_000)) }
}

pub(super) fn waiting() -> Waiting {
    Waiting {
        dispatch: dispatch(),
        lane: Lane::Slow,
        due: later(90_000),
        reason: WaitReason::Retry,
        cooldown: Some(cooldown()),
    }
}

pub(super) fn dead_letter() -> DeadLetter {
    DeadLetter {
        dispatch: dispatch(),
        reason_type: ReasonType::Exhausted,
        reason: "every attempt failed".to_owned(),
        last_error: Some("the endpoint answered 503".to_owned()),
        status: Some(503),
        response_body: Some("come back later\n".to_owned()),
        at: later(31_000),
    }
}

pub(super) fn undecodable() -> Undecodable {
    Undecodable {
        topic: "howk.pending".to_owned(),
        position: Position { partition: 3, offset: 99 },
        key: Some(b"shop:orders".to_vec()),
        value: Some(b"{\"v\":1,".to_vec()),
        error: "not a readable record: EOF while parsing a value at line 1 column 7".to_owned(),
        at: later(5),
    }
}

pub(super) fn setting() -> SettingDecision {
    SettingDecision {
        endpoint: endpoint().hash().clone(),
        config_id: config(),
        state: EndpointSetting::Paused,
        decided_at: later(7),
    }
}

pub(super) fn result() -> DeliveryResult {
    DeliveryResult {
        endpoint: endpoint().hash().clone(),
        url: endpoint().shown().to_owned(),
        attempt: attempt(),
        status: status(),
    }
}

/// Every kind of record by the name of its golden file.
pub(super) fn records() -> Vec<(&'static str, Record)> {
    let held = Waiting { reason: WaitReason::Paused, cooldown: None, ..waiting() };
    let delivered = Attempt { status: Some(200), error: None, ..attempt() };
    let ended = Status { next: None, waiting_for: None, ..status() };
    let done = Status { phase: Phase::Delivered, last_error: None, last_status: Some(200), ..ended.clone() };
    let dead = Status { phase: Phase::Dead, reason_type: Some(ReasonType::Exhausted), ..ended };
    vec![
        ("pending", Record::Dispatch(Lane::Fast, dispatch())),
        ("pending-bare-binary", Record::Dispatch(Lane::Fast, bare_dispatch())),
        ("pending-traced", Record::Dispatch(Lane::Fast, traced_dispatch())),
        ("slow", Record::Dispatch(Lane::Slow, Dispatch { taken_over: true, ..dispatch().again(later(60_000)) })),
        ("result-retry", Record::Result(result())),
        ("result-delivered", Record::Result(DeliveryResult { attempt: delivered, status: done, ..result() })),
        ("result-dead", Record::Result(DeliveryResult { status: dead, ..result() })),
        ("dead-letter", Record::DeadLetter(dead_letter())),
        ("undecodable", Record::Undecodable(undecodable())),
        ("state-waiting", Record::Waiting(waiting())),
        ("state-held", Record::Waiting(held)),
        ("state-setting", Record::Setting(setting())),
        ("state-tombstone", Record::Tombstone(id(), 4)),
    ]
}
