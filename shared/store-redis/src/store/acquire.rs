//! The parts of *acquire*: one script for each hash slot.

use std::time::Duration;

use delivery::Fault;
use delivery::ports::hot_state::AcquireRequest;
use domain::{ClaimFact, EndpointSetting, EndpointState, LeaseFact, Pace, Token};
use redis::Value;

use crate::link::read;
use crate::scripts::{ACQUIRE_ENDPOINT, CLAIM, Call, DOMAIN_LEASE};
use crate::store::replies::{self, Fields};
use crate::store::{RedisStore, ms};

/// How much longer a key with leases lives than the last of them: longer than any lease (the longest request is a matter of
/// minutes), so that the key never ends before a lease that is renewed.
const LEASES_KEPT: Duration = Duration::from_hours(1);
/// The longest interval between two tokens, in microseconds (two years). Lua counts in doubles, which are exact up to 2^53: a time
/// in microseconds since 1970 is below 2^51, and this leaves room for adding intervals to it.
const INTERVAL_US_MAX: u64 = 1 << 46;

/// What *acquire* finds of an endpoint.
pub(super) struct Acquired {
    pub(super) state: Option<EndpointState>,
    pub(super) setting: EndpointSetting,
    pub(super) lease: LeaseFact,
    pub(super) token: Token,
}

impl Acquired {
    /// What is assumed when the store does not answer.
    pub(super) const UNKNOWN: Self =
        Self { state: None, setting: EndpointSetting::Active, lease: LeaseFact::Unlimited, token: Token::Free };
}

/// A pace as scripts take it: the interval and the burst, in microseconds.
pub(super) fn pace_us(pace: Pace) -> (u64, u64) {
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).min(INTERVAL_US_MAX);
    let interval = micros(pace.interval).max(1);
    (interval, micros(pace.burst).max(interval))
}

/// Reads whether the claim was taken.
pub(super) fn claimed(reply: Result<Value, Fault>) -> Result<ClaimFact, Fault> {
    let reply: Vec<String> = read(CLAIM.name, reply)?;
    Ok(replies::claim(&reply))
}

/// Reads an endpoint's state, and whether its lease and token were taken.
pub(super) fn acquired(reply: Result<Value, Fault>) -> Result<Acquired, Fault> {
    let (lease, token, setting, fields): (u8, String, String, Fields) = read(ACQUIRE_ENDPOINT.name, reply)?;
    Ok(Acquired {
        state: Some(replies::endpoint(&fields)),
        setting: replies::setting(&setting),
        lease: if lease == 1 { LeaseFact::Taken } else { LeaseFact::Full },
        token: replies::token(&token),
    })
}

/// Reads whether the lease on a domain was taken. Without a limit there is no script and no reply.
pub(super) fn domain_lease(reply: Option<Result<Value, Fault>>) -> Result<LeaseFact, Fault> {
    let Some(reply) = reply else { return Ok(LeaseFact::Unlimited) };
    let taken: u8 = read(DOMAIN_LEASE.name, reply)?;
    Ok(if taken == 1 { LeaseFact::Taken } else { LeaseFact::Full })
}

impl RedisStore {
    pub(super) fn claim_call(&self, request: &AcquireRequest<'_>) -> Call {
        let claim = &request.claim;
        CLAIM
            .on(&[&self.keys.webhook(&request.dispatch.webhook.id)])
            .arg(claim.dispatch)
            .arg(claim.replayed_from)
            .arg(&claim.holder.0)
            .arg(claim.until.as_ms())
            .arg(request.now.as_ms())
            .arg(ms(self.retention.webhook))
    }

    pub(super) fn endpoint_call(&self, request: &AcquireRequest<'_>, holder: &str) -> Call {
        let webhook = &request.dispatch.webhook;
        let keys = self.keys.endpoint(webhook.endpoint.hash());
        let setting = self.keys.setting(webhook.endpoint.hash(), &webhook.config_id);
        let (interval_us, burst_us) = request.pace.map_or((0, 0), pace_us);
        ACQUIRE_ENDPOINT
            .on(&[&keys.state, &keys.inflight, &setting])
            .arg(holder)
            .arg(request.endpoint_limit)
            .arg(request.now.as_ms())
            .arg(request.claim.until.as_ms())
            .arg(ms(LEASES_KEPT))
            .arg(interval_us)
            .arg(burst_us)
            .arg(ms(self.retention.endpoint))
    }

    /// `None` without a limit.
    pub(super) fn domain_call(&self, request: &AcquireRequest<'_>, holder: &str) -> Option<Call> {
        let limit = request.domain_limit?;
        let call = DOMAIN_LEASE
            .on(&[&self.keys.domain(request.dispatch.webhook.endpoint.domain())])
            .arg(holder)
            .arg(limit)
            .arg(request.now.as_ms())
            .arg(request.claim.until.as_ms())
            .arg(ms(LEASES_KEPT));
        Some(call)
    }
}
