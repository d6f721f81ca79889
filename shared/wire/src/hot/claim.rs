//! A claim: field of `{wh:<id>}`, taken and checked by a Redis script (CL-1).
//!
//! Shape: `fence settled terminal due attempt held until holder`; due and attempt are those of the dispatch that follows the
//! settled one, held and until are the dispatch and the end of the claim last taken. The pattern
//! `^(%d+) (%d+) ([01]) (%S+) (%S+) (%S+) (%S+) (.*)$` takes it apart.

use domain::{ClaimHolder, ClaimState, Fence};

use super::line::{self, Line};
use super::status;
use crate::unreadable::Unreadable;

/// Writes what is kept of a webhook's claim.
pub fn encode(claim: &ClaimState) -> String {
    let ClaimState { fence: Fence(fence), settled, .. } = claim;
    let held = claim.held.as_ref();
    format!(
        "{fence} {settled} {} {} {} {} {} {}",
        u8::from(claim.terminal),
        line::time(claim.next.map(|next| next.due)),
        line::word(claim.next.map(|next| next.attempt)),
        line::word(held.map(|(dispatch, ..)| dispatch)),
        line::time(held.map(|(.., until)| *until)),
        line::text(held.map(|(_, ClaimHolder(holder), _)| holder.as_str())),
    )
}

/// Reads what is kept of a webhook's claim.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<ClaimState, Unreadable> {
    let mut line = Line::of("claim", text);
    let (fence, settled, terminal) = (line.number()?, line.number()?, line.flag()?);
    let next = status::next(&mut line)?;
    let (dispatch, until) = (line.maybe()?, line.maybe_time()?);
    let half = line.wrong("half of the claim is missing");
    let held = match (dispatch, until, line.text()?) {
        (Some(dispatch), Some(until), Some(holder)) => Some((dispatch, ClaimHolder(holder), until)),
        (None, None, None) => None,
        _ => return Err(half),
    };
    Ok(ClaimState { settled, terminal, next, held, fence: Fence(fence) })
}
