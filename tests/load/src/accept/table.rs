//! The table of `accept`, and its aims.

use crate::accept::round::{Ground, Round, Rounds};
use crate::measure::{median, per};
use crate::report::{Aim, Bound, CPU_EACH, Report};

/// The CPU time that an accept on Kafka and Redis may cost, in microseconds.
const SERVICES_CPU_US_MAX: f64 = 45.0;
/// The same as a multiple of the bare handler's, in the same run.
const SERVICES_TIMES_MAX: f64 = 1.25;

pub(super) const HEADER: [&str; 12] = [
    "side",
    "per CPU second",
    "CPU us each",
    "range",
    "per second",
    "p50 ms",
    "p99 ms",
    "times the CPU",
    "Redis trips",
    "Kafka requests",
    "Redis CPU us",
    "Kafka CPU us",
];

impl Ground {
    const fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Services(_) => "Kafka and Redis",
        }
    }

    const fn bare(&self) -> &'static str {
        match self {
            Self::Memory => "bare handler",
            Self::Services(_) => "bare handler that sends",
        }
    }
}

/// Adds both sides' rows and the aims.
pub(super) fn add(report: &mut Report, ground: &Ground, (how, rounds): (&str, &Rounds)) {
    let pairs = rounds.howk.iter().zip(&rounds.bare);
    let times = median(pairs.map(|(howk, bare)| howk.sample.cpu_us_each() / bare.sample.cpu_us_each()));
    row(report, &format!("howk on {}, {how}", ground.name()), (&rounds.howk, Some(times)));
    row(report, &format!("{}, {how}", ground.bare()), (&rounds.bare, None));
    if matches!(ground, Ground::Services(_)) && how == "single" {
        let cost = median(rounds.howk.iter().map(|round| round.sample.cpu_us_each()));
        let aims = [
            ("CPU us of an accept on Kafka and Redis", cost, SERVICES_CPU_US_MAX),
            ("times the CPU of the bare handler that sends", times, SERVICES_TIMES_MAX),
        ];
        report.aims.extend(aims.map(|(name, value, most)| Aim::new(name, value, Bound::AtMost(most))));
    }
}

fn row(report: &mut Report, side: &str, (rounds, times): (&[Round], Option<f64>)) {
    let of = |figure: fn(&Round) -> f64| Some(median(rounds.iter().map(figure)));
    let each = |figure: fn(&Round) -> Option<f64>| {
        let values: Vec<f64> = rounds.iter().filter_map(figure).collect();
        (!values.is_empty()).then(|| median(values))
    };
    let figures = [
        ("per CPU second", of(|round| round.sample.per_cpu_second())),
        (CPU_EACH, of(|round| round.sample.cpu_us_each())),
        ("per second", of(|round| round.sample.per_second())),
        ("p50 ms", of(|round| round.latency.p50_ms())),
        ("p99 ms", of(|round| round.latency.p99_ms())),
        ("times the CPU", times),
        ("Redis trips", each(|round| Some(per(round.traffic?.redis_trips, round.sample.count)))),
        ("Kafka requests", each(|round| Some(per(round.traffic?.kafka_requests, round.sample.count)))),
        ("Redis CPU us", each(|round| Some(round.sample.us_each(round.servers.redis?)))),
        ("Kafka CPU us", each(|round| Some(round.sample.us_each(round.servers.kafka?)))),
    ];
    report.side(side, &figures, rounds.iter().map(|round| round.sample.cpu_us_each()));
}
