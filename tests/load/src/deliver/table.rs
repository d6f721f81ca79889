//! The table of `deliver`, and its aims.

use crate::deliver::round::{IN_MEMORY, ON_SERVICES, Round, Rounds};
use crate::measure::{Sample, median, per};
use crate::report::{Aim, Bound, CPU_EACH, Report};

/// The part of the bare loop's deliveries per CPU second that howk in memory reaches.
const RATIO_MIN: f64 = 0.8;
/// The CPU time that a delivery on Kafka and Redis may cost, in microseconds.
const SERVICES_CPU_US_MAX: f64 = 120.0;
/// Deliveries a second on Kafka and Redis.
const SERVICES_PER_SECOND_MIN: f64 = 7_000.0;

pub(super) const HEADER: [&str; 11] = [
    "side",
    "per CPU second",
    "CPU us each",
    "range",
    "per second",
    "ratio",
    "Redis trips",
    "scripts",
    "Kafka requests",
    "Redis CPU us",
    "Kafka CPU us",
];

/// Adds a row and the aims of each side.
pub(super) fn add(report: &mut Report, signing: &str, sides: &[Rounds]) {
    for side in sides {
        let ratio = side.against.and_then(|name| sides.iter().find(|side| side.name == name)).map(|against| {
            let pairs = side.each.iter().zip(&against.each);
            median(pairs.map(|(own, other)| own.sample.per_cpu_second() / other.sample.per_cpu_second()))
        });
        row(report, &format!("{}, {signing}", side.name), (&side.each, ratio));
        aims(report, signing, (side, ratio));
    }
}

fn aims(report: &mut Report, signing: &str, (side, ratio): (&Rounds, Option<f64>)) {
    let of = |figure: fn(&Sample) -> f64| median(side.each.iter().map(|round| figure(&round.sample)));
    if let Some(ratio) = ratio.filter(|_| side.name == IN_MEMORY) {
        let name = format!("deliveries per CPU second to the bare loop's, in memory, {signing}");
        report.aims.push(Aim::new(name, ratio, Bound::AtLeast(RATIO_MIN)));
    }
    if side.name == ON_SERVICES {
        let name = format!("CPU us of a delivery on Kafka and Redis, {signing}");
        report.aims.push(Aim::new(name, of(Sample::cpu_us_each), Bound::AtMost(SERVICES_CPU_US_MAX)));
        let name = format!("deliveries a second on Kafka and Redis, {signing}");
        report.aims.push(Aim::new(name, of(Sample::per_second), Bound::AtLeast(SERVICES_PER_SECOND_MIN)));
    }
}

fn row(report: &mut Report, side: &str, (rounds, ratio): (&[Round], Option<f64>)) {
    let all = |figure: fn(&Sample) -> f64| rounds.iter().map(move |round| figure(&round.sample));
    let costs = || all(Sample::cpu_us_each);
    let each = |figure: fn(&Round) -> Option<f64>| {
        let values: Vec<f64> = rounds.iter().filter_map(figure).collect();
        (!values.is_empty()).then(|| median(values))
    };
    let figures = [
        ("per CPU second", Some(median(all(Sample::per_cpu_second)))),
        (CPU_EACH, Some(median(costs()))),
        ("per second", Some(median(all(Sample::per_second)))),
        ("ratio", ratio),
        ("Redis trips", each(|round| Some(per(round.traffic?.redis_trips, round.sample.count)))),
        ("scripts", each(|round| Some(per(round.traffic?.redis_commands, round.sample.count)))),
        ("Kafka requests", each(|round| Some(per(round.traffic?.kafka_requests, round.sample.count)))),
        ("Redis CPU us", each(|round| Some(round.sample.us_each(round.servers.redis?)))),
        ("Kafka CPU us", each(|round| Some(round.sample.us_each(round.servers.kafka?)))),
    ];
    report.side(side, &figures, costs());
}
