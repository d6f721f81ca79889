//! A status: field of `{wh:<id>}`, whose key says the webhook's id.
//!
//! Shape: `life ended dispatch rank attempts due attempt last_attempt_at last_status updated_at config_id last_error`, where
//! due and attempt are those of what follows. Ended is 1 in a terminal phase, rank the phase's place in the order of life, 0
//! to 5: a Redis script orders two statuses by the first numbers (ST-1).

use domain::{ConfigId, Next, Phase, Status, WebhookId};

use super::line::{self, Line};
use crate::code::Code;
use crate::unreadable::Unreadable;

/// Writes a status without its id.
pub fn encode(status: &Status) -> String {
    let Status { replayed_from, dispatch, attempts, config_id, .. } = status;
    let updated_at_ms = status.updated_at.as_ms();
    format!(
        "{replayed_from} {} {dispatch} {} {attempts} {} {} {} {} {updated_at_ms} {config_id} {}",
        u8::from(status.phase.is_terminal()),
        rank(status.phase),
        line::time(status.next.map(|next| next.due)),
        line::word(status.next.map(|next| next.attempt)),
        line::time(status.last_attempt_at),
        line::word(status.last_status),
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
    let phase = phase(&mut line)?;
    Ok(Status {
        replayed_from,
        dispatch,
        phase,
        attempts: line.number()?,
        next: next(&mut line)?,
        last_attempt_at: line.maybe_time()?,
        last_status: line.maybe()?,
        updated_at: line.time()?,
        config_id: ConfigId::parse(line.word()?).map_err(|error| line.wrong(error))?,
        last_error: line.text()?,
        id: id.clone(),
    })
}

/// The place of a phase in the order of life, as a status' second number.
pub fn rank(phase: Phase) -> usize {
    Phase::ALL.iter().position(|member| *member == phase).unwrap_or_default()
}

fn phase(line: &mut Line<'_>) -> Result<Phase, Unreadable> {
    let rank: usize = line.number()?;
    Phase::ALL.get(rank).copied().ok_or_else(|| line.wrong("unknown phase"))
}

/// Two words: the due time and the attempt of what follows.
pub(super) fn next(line: &mut Line<'_>) -> Result<Option<Next>, Unreadable> {
    match (line.maybe_time()?, line.maybe()?) {
        (Some(due), Some(attempt)) => Ok(Some(Next { due, attempt })),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(line.wrong("half of what follows is missing")),
    }
}
