//! The log lines about attempts and about changes of an endpoint's state, in words.
//!
//! Every line is written inside the span of its dispatch, so it carries the webhook's id. A line a program reads has
//! fields beside its text. An attempt is a line at info; what an operator may have to act on is a warning.

use std::fmt;
use std::time::Duration;

use domain::{Circuit, Disposition, EndpointState, Finished, Outcome, ReasonType, Tally, Transition};

/// Logs a finished attempt, and warns of what it ended or began.
pub(super) fn log_attempt(finished: &Finished<'_>, disposition: Disposition) {
    let dispatch = finished.situation.dispatch;
    let took = finished.took();
    tracing::info!(
        attempt = dispatch.attempt,
        max_attempts = dispatch.webhook.max_attempts,
        url = dispatch.webhook.endpoint.shown(),
        status = finished.outcome.status(),
        error = finished.outcome.error(),
        took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        disposition = code(disposition),
        "{}",
        AttemptLine { finished, disposition },
    );
    if let Disposition::DeadLettered(reason_type) = disposition {
        log_dead_letter(finished, reason_type);
    }
    if finished.outcome.lacks_key() {
        tracing::warn!(
            error = finished.outcome.error(),
            "the webhook waits for the key that its secrets are sealed with: add it to secrets.previous_keys"
        );
    }
}

fn log_dead_letter(finished: &Finished<'_>, reason_type: ReasonType) {
    let webhook = &finished.situation.dispatch.webhook;
    let (url, reason) = (webhook.endpoint.shown(), finished.reason(reason_type));
    tracing::warn!(reason_type = reason_type.code(), "the webhook is dead-lettered ({reason_type}): {reason}");
    if reason_type == ReasonType::Gone {
        let config_id = &webhook.config_id;
        tracing::warn!(
            url,
            "{url} answered 410: it is disabled for {config_id}, whose webhooks to it are held until it is enabled"
        );
    }
}

/// Warns of a cooldown that this answer began or prolonged. `state` is the endpoint's state after the answer's report.
pub(super) fn log_new_cooldown(finished: &Finished<'_>, state: &EndpointState) {
    let known = finished.situation.facts.endpoint.as_ref().and_then(|endpoint| endpoint.cooldown);
    let Some(cooldown) = finished.new_cooldown().filter(|new| state.cooldown == Some(*new) && known != Some(*new))
    else {
        return;
    };
    let url = finished.situation.dispatch.webhook.endpoint.shown();
    let (asked, window) = (cooldown.ends_at.since(finished.ended_at), cooldown.window_end.since(cooldown.ends_at));
    tracing::warn!(
        url,
        status = finished.outcome.status(),
        "{url} asked for a cooldown (Retry-After): nothing is sent to it for {}, and what waits for it is released \
         within {} after that",
        Shown(asked),
        Shown(window),
    );
}

/// Logs a change of state that a finished request made: a warning when the circuit changed.
pub(super) fn log_change(finished: &Finished<'_>, before: &EndpointState, transition: &Transition) {
    let url = transition.endpoint.shown();
    if let Some(change) = circuit_change(finished, before, transition.circuit) {
        let Tally { failures, successes, .. } = change.counted;
        tracing::warn!(url, failures, successes, "the circuit of {url} {}", change.words);
    }
    if before.circuit != transition.circuit
        && let (Circuit::HalfOpen { .. }, Circuit::HalfOpen { successes, .. }) = (before.circuit, transition.circuit)
    {
        let needed = finished.situation.policy.circuit.success_threshold();
        tracing::info!(url, "the circuit of {url} stays half-open: {successes} of {needed} probes succeeded");
    }
    if before.cooldown.is_some() && transition.cooldown.is_none() {
        tracing::info!(url, "the cooldown of {url} is over");
    }
}

/// A change of a circuit in words, with the counts that brought it about.
struct CircuitChange {
    words: String,
    counted: Tally,
}

fn circuit_change(finished: &Finished<'_>, before: &EndpointState, after: Circuit) -> Option<CircuitChange> {
    let policy = &finished.situation.policy.circuit;
    let (rest, needed) = (Shown(policy.recovery_timeout()), policy.success_threshold());
    let of_a_probe = |words| Some(CircuitChange { words, counted: Tally::default() });
    match (before.circuit, after) {
        (Circuit::Closed { since }, Circuit::Open { .. }) => {
            let counted = policy.counted(since, &before.buckets, finished.ended_at);
            let Tally { failures, successes, .. } = counted;
            let (window, threshold) = (Shown(policy.failure_window()), policy.failure_threshold());
            let words = format!(
                "opens: {failures} failures and {successes} successes within {window} (it opens at {threshold} failures \
                 that outnumber the successes); nothing is sent to it for {rest}"
            );
            Some(CircuitChange { words, counted })
        }
        (Circuit::HalfOpen { .. }, Circuit::Open { .. }) => {
            of_a_probe(format!("opens again: its probe failed; nothing is sent to it for {rest}"))
        }
        (Circuit::HalfOpen { .. }, Circuit::Closed { .. }) => {
            of_a_probe(format!("closes: {needed} probes in a row succeeded"))
        }
        (_, Circuit::Closed { .. } | Circuit::Open { .. } | Circuit::HalfOpen { .. }) => None,
    }
}

/// Warns that an open circuit becomes half-open, which is stored before its probe is sent.
pub(super) fn log_probe(before: Option<Circuit>, transition: &Transition) {
    if matches!((before, transition.circuit), (Some(Circuit::Open { .. }), Circuit::HalfOpen { .. })) {
        let url = transition.endpoint.shown();
        tracing::warn!(url, "the circuit of {url} is half-open: this attempt is its probe");
    }
}

/// The stable code of a disposition, for programs that read the lines.
const fn code(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Delivered => "delivered",
        Disposition::Retried(_) => "retried",
        Disposition::MovedToSlowLane => "moved_to_slow_lane",
        Disposition::DeadLettered(_) => "dead_lettered",
        Disposition::Superseded => "superseded",
    }
}

/// One attempt in a sentence. It is written only where the level lets it through.
struct AttemptLine<'a> {
    finished: &'a Finished<'a>,
    disposition: Disposition,
}

impl fmt::Display for AttemptLine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { finished, disposition } = self;
        let dispatch = finished.situation.dispatch;
        let (attempt, max) = (dispatch.attempt, dispatch.webhook.max_attempts);
        write!(formatter, "attempt {attempt} of {max} to {}: ", dispatch.webhook.endpoint.shown())?;
        match finished.outcome {
            Outcome::Answered(answer) => write!(formatter, "answered {}", answer.status)?,
            Outcome::Failed { detail, .. } => formatter.write_str(detail)?,
        }
        write!(formatter, " after {}; ", Shown(finished.took()))?;
        match disposition {
            Disposition::Delivered => formatter.write_str("delivered"),
            Disposition::Retried(at) => write!(formatter, "again in {}", Shown(at.since(finished.ended_at))),
            Disposition::MovedToSlowLane => formatter.write_str("again in the slow lane, which waits longer"),
            Disposition::DeadLettered(reason) => write!(formatter, "dead letter ({reason})"),
            Disposition::Superseded => formatter.write_str("another holder had settled this dispatch meanwhile"),
        }
    }
}

/// A duration for people: `7 ms`, `10.3 s`, `4 min 5 s`, `2 h 30 min`.
struct Shown(Duration);

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, secs) = (self.0.as_millis(), self.0.as_secs());
        let pair = |formatter: &mut fmt::Formatter<'_>, (many, large), (few, small)| match few {
            0 => write!(formatter, "{many} {large}"),
            few => write!(formatter, "{many} {large} {few} {small}"),
        };
        match secs {
            0 => write!(formatter, "{ms} ms"),
            1..120 if ms % 1000 < 50 => write!(formatter, "{secs} s"),
            1..120 => write!(formatter, "{:.1} s", self.0.as_secs_f64()),
            120..7200 => pair(formatter, (secs / 60, "min"), (secs % 60, "s")),
            _ => pair(formatter, (secs / 3600, "h"), (secs % 3600 / 60, "min")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_for_people() {
        for (ms, shown) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (1_049, "1 s"),
            (10_300, "10.3 s"),
            (119_900, "119.9 s"),
            (120_000, "2 min"),
            (245_000, "4 min 5 s"),
            (7_200_000, "2 h"),
            (9_000_000, "2 h 30 min"),
            (604_800_000, "168 h"),
        ] {
            assert_eq!(Shown(Duration::from_millis(ms)).to_string(), shown);
        }
    }
}
