//! The payload that a schedule hands over: its own input with the context attributes filled in, or Scheduler's default.

use std::time::{Duration, UNIX_EPOCH};

use domain::Timestamp;
use serde_json::{Value, json};

use crate::lambda::REGION;

/// One firing of a schedule.
#[derive(Debug)]
pub(super) struct Firing<'a> {
    pub(super) function: &'a str,
    pub(super) scheduled: Timestamp,
    pub(super) execution: u128,
    /// 1-based.
    pub(super) attempt: u32,
}

/// Writes the payload.
pub(super) fn of(input: Option<&Value>, firing: &Firing<'_>) -> String {
    let attributes = [
        ("<aws.scheduler.schedule-arn>", arn(firing.function)),
        ("<aws.scheduler.scheduled-time>", time(firing.scheduled)),
        ("<aws.scheduler.execution-id>", format!("{:016x}", firing.execution >> 64)),
        ("<aws.scheduler.attempt-number>", firing.attempt.to_string()),
    ];
    let input = input.cloned().unwrap_or_else(|| by_default(firing));
    attributes.iter().fold(input.to_string(), |text, (name, value)| text.replace(name, value))
}

/// Scheduler's payload for a schedule without input. Its `detail` is a text; that of an EventBridge rule is an object.
fn by_default(firing: &Firing<'_>) -> Value {
    let id = format!("{:032x}", firing.execution);
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| id.get(range).unwrap_or_default());
    json!({
        "version": "0",
        "id": parts.join("-"),
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": "000000000000",
        "time": time(firing.scheduled),
        "region": REGION,
        "resources": [arn(firing.function)],
        "detail": "{}",
    })
}

fn arn(function: &str) -> String {
    format!("arn:aws:scheduler:{REGION}:000000000000:schedule/default/howk-{function}")
}

fn time(at: Timestamp) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at.as_secs())).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firing() -> Firing<'static> {
        let scheduled = Timestamp::from_ms(1_769_860_800_999);
        Firing { function: "scheduler", scheduled, execution: 0xabc << 64, attempt: 2 }
    }

    #[test]
    fn attributes_are_filled_in_anywhere_in_the_input() {
        let input = json!({ "at": "<aws.scheduler.scheduled-time>", "try": ["no. <aws.scheduler.attempt-number>"],
            "id": "<aws.scheduler.execution-id>", "arn": "<aws.scheduler.schedule-arn>" });
        let text = of(Some(&input), &firing());
        let expected = json!({ "at": "2026-01-31T12:00:00Z", "try": ["no. 2"], "id": "0000000000000abc",
            "arn": "arn:aws:scheduler:eu-west-1:000000000000:schedule/default/howk-scheduler" });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn without_input_the_detail_is_a_text() {
        let read: Value = serde_json::from_str(&of(None, &firing())).unwrap();
        assert_eq!(read["detail"], "{}");
        assert_eq!(read["source"], "aws.scheduler");
        assert_eq!(read["time"], "2026-01-31T12:00:00Z");
        assert_eq!(read["id"], "00000000-0000-0abc-0000-000000000000");
    }
}
