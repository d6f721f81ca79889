//! The values of the hot state, as Redis keeps them.
//!
//! `store-redis` calls it. Keys, compression and scripts are the store's. What waits is the JSON value of `howk.state`;
//! everything else is one short line of words, so that memory stays small and a Redis script takes it apart with one
//! pattern. Times are ms since the epoch, `-` is nothing, and a text for people comes last, behind a `+`.
//!
//! Lines carry no version: hot state is rebuilt, and a line of another shape would get another field's name. An
//! [`crate::Unreadable`] is what the store treats as a lost value.

pub mod attempt;
pub mod bucket;
pub mod circuit;
pub mod claim;
pub mod cooldown;
pub mod dead_letter;
pub mod endpoint_state;
mod line;
pub mod setting;
pub mod status;
pub mod tokens;
pub mod waiting;
