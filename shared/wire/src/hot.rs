//! The values of the hot state, as Redis keeps them.
//!
//! `store-redis` calls it. Keys and scripts are the store's. What waits is the JSON value of `howk.state`, compressed; every
//! other value is one short line of words, so that memory stays small and a Redis script takes it apart with one pattern.
//! Times are ms since the Unix epoch, `-` is nothing, and a text for people comes last, behind a `+`.
//!
//! Lines carry no version, because hot state is rebuilt. The store treats a value that gives an [`crate::Unreadable`] as
//! lost.

pub mod attempt;
pub mod bucket;
pub mod circuit;
pub mod claim;
pub mod cooldown;
pub mod dead_letter;
pub mod endpoint_state;
pub mod epoch;
mod line;
pub mod rebuild_cursor;
pub mod setting;
pub mod status;
pub mod tokens;
pub mod waiting;
