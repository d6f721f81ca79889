//! The measurements of `deliver`, by side.

use crate::measure::Sample;
use crate::servers::ServerCpu;
use crate::services::Traffic;

pub(super) const IN_MEMORY: &str = "howk in memory";
pub(super) const ON_SERVICES: &str = "howk on Kafka and Redis";

/// The measurements of one round of one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) sample: Sample,
    pub(super) servers: ServerCpu,
    pub(super) traffic: Option<Traffic>,
}

/// The rounds of one side.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) name: &'static str,
    /// The side that its ratio is to.
    pub(super) against: Option<&'static str>,
    pub(super) each: Vec<Round>,
}
