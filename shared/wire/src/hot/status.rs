//! A status: field of `{wh:<id>}`, whose key names the webhook's id.
//!
//! Shape: `replayed_from ended dispatch phase attempts due attempt last_attempt_at last_status waiting_for reason_type
//! updated_at config_id last_error`, where due and attempt are those of the next dispatch. Ended is 1 in a terminal phase.
//! The phase, what the webhook waits for and why it was given up are numbers, the place in the domain's list of each: a
//! Redis script orders two statuses by the first eleven numbers, as the domain does (ST-1).

use domain::{ConfigId, Next, ReasonType, Status, WaitReason, WebhookId};

use super::line::{self, Line};
use crate::code::Code;
use crate::unreadable::Unreadable;

/// Writes a status without its id.
pub fn encode(status: &Status) -> String {
    let Status { replayed_from, dispatch, attempts, config_id, .. } = status;
    let updated_at_ms = status.updated_at.as_ms();
    format!(
        "{replayed_from} {} {dispatch} {} {attempts} {} {} {} {} {} {} {updated_at_ms} {config_id} {}",
        u8::from(status.phase.is_terminal()),
        rank(status.phase),
        line::time(status.next.map(|next| next.due)),
        line::word(status.next.map(|next| next.attempt)),
        line::time(status.last_attempt_at),
        line::word(status.last_status),
        line::word(status.waiting_for.map(rank)),
        line::word(status.reason_type.map(rank)),
        line::text(status.last_error.as_deref()),
    )
}

/// Reads the status of webhook `id`.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(id: &WebhookId, text: &str) -> Result<Status, Unreadable> {
    let mut line = Line::of("status", text);
    let replayed_from = line.number()?;
    // Whether it ended, which the phase says, too.
    line.flag()?;
    let dispatch = line.number()?;
    let phase = ranked(&mut line)?.ok_or_else(|| line.wrong("unknown phase"))?;
    Ok(Status {
        replayed_from,
        dispatch,
        phase,
        attempts: line.number()?,
        next: next(&mut line)?,
        last_attempt_at: line.maybe_time()?,
        last_status: line.maybe()?,
        waiting_for: ranked::<WaitReason>(&mut line)?,
        reason_type: ranked::<ReasonType>(&mut line)?,
        updated_at: line.time()?,
        config_id: ConfigId::parse(line.word()?).map_err(|error| line.wrong(error))?,
        last_error: line.text()?,
        id: id.clone(),
    })
}

/// The place of a member in its closed list.
pub(crate) fn rank<C: Code + PartialEq>(member: C) -> usize {
    C::ALL.iter().position(|other| *other == member).unwrap_or_default()
}

/// A word: the place of a member in its closed list; `None` when the word is not there.
fn ranked<C: Code>(line: &mut Line<'_>) -> Result<Option<C>, Unreadable> {
    let Some(rank) = line.maybe::<usize>()? else { return Ok(None) };
    C::ALL.get(rank).copied().map(Some).ok_or_else(|| line.wrong(format_args!("unknown {}", C::PART)))
}

/// Two words: the due time and the attempt of what follows.
pub(super) fn next(line: &mut Line<'_>) -> Result<Option<Next>, Unreadable> {
    match (line.maybe_time()?, line.maybe()?) {
        (Some(due), Some(attempt)) => Ok(Some(Next { due, attempt })),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(line.wrong("half of what follows is missing")),
    }
}
