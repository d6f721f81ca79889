//! The nouns of howk and its four decisions: admit, settle, release, rebuild.
//!
//! Every decision is a plain function of (facts, policy, now, entropy) and returns an ordered list of [`Effect`]s.
//! `delivery` calls them and is the only one who performs what they return. Deliberately absent: async, clocks,
//! randomness, serialisation, I/O, logging; a test fails on a manifest that could bring them in.
#![warn(missing_docs)]

mod admit;
mod circuit;
mod claim;
mod cooldown;
mod dead_letter;
mod effect;
mod endpoint;
mod entropy;
mod facts;
mod header;
mod id;
mod lane;
mod outcome;
mod policy;
mod policy_error;
mod rebuild;
mod record;
mod release;
mod release_window;
mod retry;
#[cfg(test)]
mod samples;
mod secret;
mod setting;
mod settle;
mod signing;
mod status;
mod tally;
mod time;
mod trace;
mod webhook;

pub use admit::{Admission, Probes, Redeliver, SendPlan, admit, admit_effects, compensate};
pub use circuit::{Circuit, CircuitAnswer, CircuitPolicy, Health};
pub use claim::{ClaimFact, ClaimHolder, ClaimRequest, ClaimState, Duplicate, Fence};
pub use cooldown::{Cooldown, CooldownAnswer, HEALTH_BUSY_DELAY, HEALTH_PROBE_LEAD, RETRY_AFTER_MAX};
pub use dead_letter::{DeadLetter, DeadLetterEntry, Position, ReasonType, Undecodable};
pub use effect::{Effect, EndpointReport, EndpointState, Leases, Settlement, Transition, Write};
pub use endpoint::{Endpoint, EndpointError, URL_BYTES_MAX};
pub use entropy::Entropy;
pub use facts::{Facts, LeaseFact, Memory, Moment, Situation, lease_holder};
pub use header::{
    HEADER_BYTES_MAX, HEADERS_MAX, Header, HeaderError, HeaderReason, SealedHeader, check_headers,
    check_headers_total,
};
pub use id::{ConfigId, EndpointHash, IdError, WebhookId};
pub use lane::{Lane, LanePolicy, Pace, SETTLE_MARGIN, Token, Tokens};
pub use outcome::{Answer, EXCERPT_BYTES_MAX, FailureKind, Outcome, Verdict};
pub use policy::{InflightLimits, OnStoreFailure, Policy, ResponseBody};
pub use policy_error::PolicyError;
pub use rebuild::{Cooldowns, index_entry, rebuild};
pub use record::{DeliveryResult, Record, Topic, WaitReason, Waiting};
pub use release::release;
pub use release_window::{COHORT_STEP, ReleasePolicy};
pub use retry::RetryPolicy;
pub use secret::{Sealed, Secret};
pub use setting::{EndpointSetting, SettingDecision};
pub use settle::{Disposition, Finished, Settled, follow_up, settle, superseded};
pub use signing::{SECRET_BYTES_MAX, SECRETS_MAX, SecretError, SigningKey};
pub use status::{ATTEMPTS_KEPT, Attempt, Cause, Next, Phase, Status};
pub use tally::{BUCKETS_PER_WINDOW, Bucket, Tally, bucket_start, recent};
pub use time::Timestamp;
pub use trace::TraceParent;
pub use webhook::{Dispatch, LastFailure, Payload, PayloadKind, Webhook};

/// The highest `max_attempts` that is accepted.
pub const MAX_ATTEMPTS_MAX: u32 = 100;
/// The `max_attempts` of a webhook that names none.
pub const MAX_ATTEMPTS_DEFAULT: u32 = 20;
