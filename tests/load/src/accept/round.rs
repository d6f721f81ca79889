//! What a round of `accept` runs on, and what it took.

use server::system::System;

use crate::measure::{Percentiles, Sample};
use crate::servers::ServerCpu;
use crate::services::{Clients, Services, Traffic};

/// The back end that howk runs on.
pub(super) enum Ground {
    Memory,
    Services(Box<(Services, Clients, System)>),
}

/// The measurements of one round of one side.
pub(super) struct Round {
    pub(super) sample: Sample,
    pub(super) latency: Percentiles,
    pub(super) servers: ServerCpu,
    pub(super) traffic: Option<Traffic>,
}

#[derive(Default)]
pub(super) struct Rounds {
    pub(super) howk: Vec<Round>,
    pub(super) bare: Vec<Round>,
}
