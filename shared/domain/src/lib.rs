//! The nouns of howk and every decision about them.
//!
//! | decision | the question | called |
//! |---|---|---|
//! | [`admit`] | is a request made now | before a request |
//! | [`settle`] | what does an outcome mean | after a request |
//! | [`release`] | which record hands over a due webhook | when a due time has come |
//! | [`rebuild`] | what does a record restore | when the hot state was lost |
//! | [`replay`] | how does a dead letter's webhook begin again | by an operator |
//! | [`resume`] | how does what was held become due | by an operator, and by the scheduler's sweep |
//! | [`decide`] | how does an owner's setting take effect | by an operator, and after a 410 |
//! | [`health_url_to_ask`], [`health_answered`] | is a cooldown over | by the scheduler's sweep |
//!
//! Every decision is a plain function of (facts, policy, now, entropy) and returns ordered [`Effect`]s. `delivery` calls
//! the decisions and has one interpreter that performs effects. Deliberately absent: async, clocks, randomness,
//! serialisation, I/O, logging; a test fails on a manifest that could bring them in.
#![warn(missing_docs)]

mod admit;
mod circuit;
mod claim;
mod cooldown;
mod dead_letter;
mod decide;
mod effect;
mod endpoint;
mod entropy;
mod facts;
mod header;
mod health;
mod health_url;
mod id;
mod lane;
mod outcome;
mod policy;
mod policy_error;
mod rebuild;
mod record;
mod recovery;
mod release;
mod release_window;
mod replay;
mod resume;
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
mod wait_reason;
mod webhook;

pub use admit::{Admission, Probes, Redeliver, SendPlan, admit, admit_effects, compensate};
pub use circuit::{Circuit, CircuitAnswer, CircuitPolicy};
pub use claim::{ClaimFact, ClaimHolder, ClaimRequest, ClaimState, Duplicate, Fence};
pub use cooldown::{Cooldown, CooldownAnswer, HEALTH_BUSY_DELAY, HEALTH_PROBE_LEAD, RETRY_AFTER_MAX};
pub use dead_letter::{DeadLetter, DeadLetterEntry, Position, ReasonType, Undecodable};
pub use decide::decide;
pub use effect::{Effect, EndpointReport, EndpointState, Leases, Settlement, Transition, Trip, Write};
pub use endpoint::{Endpoint, EndpointError, URL_BYTES_MAX};
pub use entropy::Entropy;
pub use facts::{Facts, LeaseFact, Memory, Moment, Situation, lease_holder};
pub use header::{
    HEADER_BYTES_MAX, HEADERS_MAX, Header, HeaderError, HeaderReason, SealedHeader, check_headers,
    check_headers_total,
};
pub use health::Health;
pub use health_url::{HealthUrls, health_answered, health_url_to_ask};
pub use id::{ConfigId, EndpointHash, IdError, WebhookId};
pub use lane::{Lane, LanePolicy, Pace, SETTLE_MARGIN, Token, Tokens};
pub use outcome::{Answer, EXCERPT_BYTES_MAX, FailureKind, Outcome, Verdict};
pub use policy::{InflightLimits, OnStoreFailure, Policy, ResponseBody};
pub use policy_error::PolicyError;
pub use rebuild::{Cooldowns, index_entry, rebuild};
pub use record::{DeliveryResult, Record, Topic, WaitReason, Waiting};
pub use recovery::{Epoch, RebuildCursor, RebuildScope};
pub use release::release;
pub use release_window::{COHORT_STEP, ReleasePolicy};
pub use replay::{Replay, ReplayFacts, replay, replay_effects};
pub use resume::resume;
pub use retry::RetryPolicy;
pub use secret::{Sealed, Secret};
pub use setting::{EndpointSetting, SettingDecision};
pub use settle::{Disposition, Finished, Settled, follow_up, settle, superseded};
pub use signing::{SECRET_BYTES_MAX, SECRETS_MAX, SecretError, Signatures, SigningKey};
pub use status::{ATTEMPTS_KEPT, Attempt, Cause, Next, Phase, Status};
pub use tally::{BUCKETS_PER_WINDOW, Bucket, Tally, bucket_start, recent};
pub use time::Timestamp;
pub use trace::TraceParent;
pub use webhook::{Dispatch, LastFailure, Payload, PayloadKind, Webhook};

/// The highest `max_attempts` that is accepted. With the default delays a hundred attempts span eleven days,
/// longer than the log keeps its records.
pub const MAX_ATTEMPTS_MAX: u32 = 100;
/// The `max_attempts` of a webhook that names none: with the default delays its last attempt comes 28 hours after
/// the first.
pub const MAX_ATTEMPTS_DEFAULT: u32 = 20;
