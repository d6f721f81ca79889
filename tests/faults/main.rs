//! Faults: a process that stops after every single effect of every decision, and every port call failing once. Whatever
//! was accepted ends delivered or dead-lettered (DL-1).
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test picks the records that it is about")]

mod acts;
mod crash_points;
mod outages;
mod scenes;
mod services;
mod trips;
