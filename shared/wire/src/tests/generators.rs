//! Arbitrary records: any Unicode text, control characters included, and every combination of what may be missing.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    Attempt, Cause, ConfigId, Cooldown, DeadLetter, DeliveryResult, Dispatch, Endpoint, EndpointSetting, Lane,
    LastFailure, Next, Payload, PayloadKind, Phase, Position, ReasonType, Record, Sealed, SealedHeader,
    SettingDecision, Status, Timestamp, Undecodable, WaitReason, Waiting, Webhook, WebhookId,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::code::Code;

pub(super) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        vec(any::<char>(), 0..12).prop_map(String::from_iter),
        "[ -~]{0,20}",
        vec(select(vec!['\0', '\n', '\r', '\u{7f}', '"', '\\', ' ', '-', '+', '\u{e9}', '\u{1f980}']), 0..8)
            .prop_map(String::from_iter),
    ]
}

pub(super) fn time() -> impl Strategy<Value = Timestamp> {
    (0..=Timestamp::RFC3339_MAX.as_ms()).prop_map(Timestamp::from_ms)
}

pub(super) fn member<C: Code + std::fmt::Debug>() -> impl Strategy<Value = C> {
    select(C::ALL)
}

pub(super) fn id() -> impl Strategy<Value = WebhookId> {
    (0_u64..1 << 47, any::<u128>()).prop_map(|(ms, random)| WebhookId::fresh(Timestamp::from_ms(ms), random))
}

pub(super) fn config() -> impl Strategy<Value = ConfigId> {
    "[A-Za-z0-9._:-]{1,128}".prop_map(|text| ConfigId::parse(&text).unwrap())
}

pub(super) fn endpoint() -> impl Strategy<Value = Endpoint> {
    "https?://[a-z]{1,9}(:[1-9][0-9]{0,3})?/[A-Za-z\u{e0}-\u{ff}%2F]{0,9}(\\?[a-z=&\"']{0,9})?"
        .prop_filter_map("not an endpoint", |text| Endpoint::parse(&text).ok())
}

/// JSON texts with the spellings that parsers like to change.
pub(super) fn json() -> impl Strategy<Value = String> {
    let spaced = |leaf: &'static str| (leaf, "[ \t\r\n]{0,2}").prop_map(|(leaf, space)| format!("{leaf}{space}"));
    let leaf = prop_oneof![
        spaced("null|true|false"),
        spaced("-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?"),
        spaced("\"([ !#-\\[\\]-~\u{80}-\u{d7ff}]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4}){0,12}\""),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        let pair =
            ("\"(a|b|v|payload|\\\\ud800)\"[ \n]?:[ \t]?", inner.clone()).prop_map(|(key, value)| key + &value);
        prop_oneof![
            vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            vec(pair, 0..5).prop_map(|pairs| format!("{{ {}}}", pairs.join(", "))),
        ]
    })
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        json().prop_map(|text| Payload { bytes: text.as_bytes().into(), kind: PayloadKind::Json }),
        vec(any::<u8>(), 0..60).prop_map(|bytes| Payload { bytes: bytes.into(), kind: PayloadKind::Binary }),
    ]
}

fn webhook() -> impl Strategy<Value = Webhook> {
    let header = (text(), text()).prop_map(|(name, value)| SealedHeader { name, value: Sealed::new(value) });
    let secrets = vec(text().prop_map(Sealed::new), 0..3);
    let identity = (id(), config(), endpoint(), payload());
    let wishes = (vec(header, 0..4), of(text()), secrets, 1..=domain::MAX_ATTEMPTS_MAX, vec(any::<u16>(), 0..4));
    (identity, wishes, time()).prop_map(|((id, config_id, endpoint, payload), wishes, created_at)| {
        let (headers, idempotency_key, signing_secrets, max_attempts, retry_on_status) = wishes;
        Webhook {
            id,
            config_id,
            endpoint,
            payload,
            headers,
            idempotency_key,
            signing_secrets,
            max_attempts,
            retry_on_status,
            created_at,
            trace: domain::TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
                .filter(|_| created_at.as_ms() % 2 == 0),
        }
    })
}

fn dispatch() -> impl Strategy<Value = Dispatch> {
    let failure =
        (time(), of(any::<u16>()), text()).prop_map(|(at, status, error)| LastFailure { at, status, error });
    (webhook(), 1_u64.., 1_u32.., time(), any::<(bool, bool)>(), any::<u64>(), of(failure)).prop_map(
        |(webhook, number, attempt, scheduled_at, (waited, taken_over), replayed_from, last_failure)| Dispatch {
            webhook: Arc::new(webhook),
            number,
            attempt,
            scheduled_at,
            waited,
            taken_over,
            replayed_from,
            last_failure: last_failure.map(Arc::new),
        },
    )
}

pub(super) fn next() -> impl Strategy<Value = Next> {
    (time(), any::<u32>()).prop_map(|(due, attempt)| Next { due, attempt })
}

pub(super) fn status() -> impl Strategy<Value = Status> {
    let whose = (id(), config(), (any::<u64>(), any::<u64>()), time());
    let last = (of(time()), of(any::<u16>()), of(text()));
    let why = (of(member::<WaitReason>()), of(member::<ReasonType>()));
    (whose, member::<Phase>(), any::<u32>(), of(next()), last, why).prop_map(
        |(
            (id, config_id, (replayed_from, dispatch), updated_at),
            phase,
            attempts,
            next,
            (last_attempt_at, last_status, last_error),
            (waiting_for, reason_type),
        )| {
            let pending = Status::pending(id, config_id, dispatch, updated_at);
            let why = Status { waiting_for, reason_type, ..pending };
            Status { replayed_from, phase, attempts, next, last_attempt_at, last_status, last_error, ..why }
        },
    )
}

pub(super) fn attempt() -> impl Strategy<Value = Attempt> {
    let made = (any::<u32>(), any::<u64>(), member::<Cause>(), time(), any::<u64>());
    (made, of(any::<u16>()), of(text())).prop_map(|((number, dispatch, cause, at, took), status, error)| Attempt {
        number,
        dispatch,
        cause,
        at,
        took: Duration::from_nanos(took),
        status,
        error,
    })
}

pub(super) fn cooldown() -> impl Strategy<Value = Cooldown> {
    (time(), time(), of(time()), any::<bool>()).prop_map(|(ends_at, window_end, probe_until, confirmed)| Cooldown {
        ends_at,
        window_end,
        probe_until,
        confirmed,
    })
}

fn waiting() -> impl Strategy<Value = Waiting> {
    (dispatch(), member::<Lane>(), time(), member::<WaitReason>(), of(cooldown()))
        .prop_map(|(dispatch, lane, due, reason, cooldown)| Waiting { dispatch, lane, due, reason, cooldown })
}

fn dead_letter() -> impl Strategy<Value = DeadLetter> {
    let last = (of(text()), of(any::<u16>()), of(text()));
    (dispatch(), member::<ReasonType>(), text(), last, time()).prop_map(
        |(dispatch, reason_type, reason, (last_error, status, response_body), at)| DeadLetter {
            dispatch,
            reason_type,
            reason,
            last_error,
            status,
            response_body,
            at,
        },
    )
}

fn undecodable() -> impl Strategy<Value = Undecodable> {
    let bytes = || of(vec(any::<u8>(), 0..60));
    (text(), any::<u32>(), any::<u64>(), bytes(), bytes(), text(), time()).prop_map(
        |(topic, partition, offset, key, value, error, at)| Undecodable {
            topic,
            position: Position { partition, offset },
            key,
            value,
            error,
            at,
        },
    )
}

fn result() -> impl Strategy<Value = DeliveryResult> {
    (endpoint(), text(), attempt(), status()).prop_map(|(endpoint, url, attempt, status)| DeliveryResult {
        endpoint: endpoint.hash().clone(),
        url,
        attempt,
        status,
    })
}

fn setting() -> impl Strategy<Value = SettingDecision> {
    (endpoint(), config(), member::<EndpointSetting>(), time()).prop_map(
        |(endpoint, config_id, state, decided_at)| SettingDecision {
            endpoint: endpoint.hash().clone(),
            config_id,
            state,
            decided_at,
        },
    )
}

pub(super) fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        (member::<Lane>(), dispatch()).prop_map(|(lane, dispatch)| Record::Dispatch(lane, dispatch)),
        result().prop_map(Record::Result),
        dead_letter().prop_map(Record::DeadLetter),
        undecodable().prop_map(Record::Undecodable),
        waiting().prop_map(Record::Waiting),
        (id(), any::<u64>()).prop_map(|(id, through)| Record::Tombstone(id, through)),
        setting().prop_map(Record::Setting),
    ]
}
