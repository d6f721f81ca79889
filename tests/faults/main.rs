//! Faults: a process stops after every single effect of every decision, and every port call fails once. Every accepted
//! webhook ends delivered or dead-lettered (DL-1).
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test picks the records that it is about")]

mod acts;
mod crash_points;
mod outages;
mod scenes;
mod services;
mod trips;
