//! The ports of the hot state on Redis: [`RedisStore`] implements them all.
//!
//! Called by the use-cases of `delivery` through their ports. Written for cluster mode, and for one node that owns all
//! slots: the keys of one script share a hash tag ([`keys`] is their list), and every script gets its keys in KEYS. One
//! multiplexed connection per node carries everything.
//!
//! Two round trips per attempt: *acquire* sends its scripts together, one per hash slot, and so does *apply* with its writes.
//! [`RedisStore::traffic`] counts them. What was accepted is in the log: everything here may be lost at any moment.
//!
//! A write passes through two shapes on its way to Redis: a `Batch` groups the writes of one apply that share a script, and
//! makes `Command`s of them, each with the `ReplyKind` by which its reply is read into a `Reply`.
//!
//! What is deliberately absent: decisions (the scripts in `lua/` do what the pure functions of `domain` say, and the
//! contract suites hold both equal), a clock (every script gets `now`), time to live as logic (it only collects
//! keys that are not used any more), encodings (`wire::hot` has them).
//!
//! Invariants: CL-1, CB-1, LN-1 by scripts that are atomic; ST-1 by a merge in a script; RB-1 by writes that commute.

mod cluster;
mod config;
mod fault;
#[cfg(feature = "iam")]
mod iam;
pub mod keys;
mod link;
mod login;
mod node;
mod scripts;
mod slots;
mod store;

pub use config::{RedisConfig, Retention, Tls, Topology};
#[cfg(feature = "iam")]
pub use iam::{Cache, IamLogins};
pub use link::Traffic;
pub use login::{Login, LoginSource, Logins};
pub use store::RedisStore;
