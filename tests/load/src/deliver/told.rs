//! The table of `deliver`, and its aims.

use crate::deliver::{IN_MEMORY, ON_SERVICES, Round, Turn};
use crate::measure::{Sample, median, per};
use crate::report::{Aim, Bound, CPU_EACH, Report};

/// What howk in memory should reach of the bare loop.
const RATIO_MIN: f64 = 0.8;
/// What a delivery on Kafka and Redis should cost at most, in microseconds of CPU.
const SERVICES_CPU_US_MAX: f64 = 120.0;
/// How many a second should be delivered there at least.
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

pub(super) fn tell(report: &mut Report, signing: &str, turns: &[Turn]) {
    for turn in turns {
        let ratio = turn.against.and_then(|name| turns.iter().find(|turn| turn.name == name)).map(|against| {
            let pairs = turn.rounds.iter().zip(&against.rounds);
            median(pairs.map(|(own, other)| own.sample.per_cpu_second() / other.sample.per_cpu_second()))
        });
        row(report, &format!("{}, {signing}", turn.name), (&turn.rounds, ratio));
        aims(report, signing, (turn, ratio));
    }
}

fn aims(report: &mut Report, signing: &str, (turn, ratio): (&Turn, Option<f64>)) {
    let of = |figure: fn(&Sample) -> f64| median(turn.rounds.iter().map(|round| figure(&round.sample)));
    if let Some(ratio) = ratio.filter(|_| turn.name == IN_MEMORY) {
        let name = format!("deliveries per CPU second to the bare loop's, in memory, {signing}");
        report.aims.push(Aim::new(name, ratio, Bound::AtLeast(RATIO_MIN)));
    }
    if turn.name == ON_SERVICES {
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
