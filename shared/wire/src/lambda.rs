//! Lambda's events and the answers to them: Kafka events and batch responses, schedules, and the report of a start that
//! failed.
//!
//! The functions and `lambda-kit` call it. HTTP events are absent: `lambda_http` reads those. Unknown fields are skipped;
//! a field that a function needs and cannot read is an error that names its path, never a panic.

mod answer;
mod batch_response;
mod kafka;
mod schedule;

pub use answer::{InitErrorReport, RebuildAnswer, RebuildProgress, ScheduleAnswer};
pub use batch_response::BatchResponse;
pub use kafka::{EventPartition, EventRecord, KafkaEvent};
pub use schedule::Scheduled;

use serde::Deserialize;

use crate::json::without_quoted_text;
use crate::unreadable::Unreadable;

/// Reads an event; the error names the path of what is wrong, and quotes no text of it (SE-1).
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Unreadable> {
    // The path is only looked for when it is needed: following it costs time.
    serde_json::from_str(text).or_else(|_| {
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = serde_path_to_error::deserialize(&mut reader);
        let value = read.map_err(|error| {
            let problem = without_quoted_text(&error.inner().to_string());
            match error.path().to_string().as_str() {
                "." => Unreadable::whole(problem),
                path => Unreadable::of(path, problem),
            }
        })?;
        reader.end().map_err(|error| Unreadable::whole(without_quoted_text(&error.to_string())))?;
        Ok(value)
    })
}
