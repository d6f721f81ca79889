//! `howk-load functions`: measures the functions' binaries under the Runtime API of `howk-local`.
//!
//! How long each function takes from the start of its process to its first poll, and the memory that it holds then
//! ([`starts`]). The CPU time of the fast lane per webhook by the size of its batches, and how long its invocations take
//! with more and more deliveries in flight ([`lane`]). CPU time is that of the function's process alone. Deliberately
//! absent: a limit of CPU, which Lambda has and this machine hasn't: a function runs on one thread, and at 1,769 MB has
//! one virtual CPU for it.

mod ground;
mod lane;
mod process;
mod starts;

use crate::cli::FunctionsOptions;
use crate::functions::ground::Ground;
use crate::functions::lane::{Batched, Flight};
use crate::functions::starts::Started;
use crate::report::{Report, fine, whole};

/// Measures.
///
/// # Errors
/// When a service or a binary is missing, or a webhook does not arrive.
pub(crate) async fn run(options: &FunctionsOptions) -> anyhow::Result<Report> {
    let ground = Ground::open(options).await?;
    let measured = measure(options, &ground).await;
    ground.clean_up().await?;
    Ok(report(options, &measured?))
}

struct Measured {
    starts: Vec<Started>,
    batches: Vec<Batched>,
    flights: Vec<Flight>,
}

async fn measure(options: &FunctionsOptions, ground: &Ground) -> anyhow::Result<Measured> {
    let starts = starts::of_every_function(ground, options.starts).await?;
    let (mut batches, mut flights) = (Vec::new(), Vec::new());
    for size in &options.batches {
        batches.push(lane::batches_of(ground, *size, &options.shape).await?);
    }
    for in_flight in &options.in_flight {
        flights.push(lane::in_flight(ground, *in_flight, &options.shape).await?);
    }
    Ok(Measured { starts, batches, flights })
}

fn report(options: &FunctionsOptions, measured: &Measured) -> Report {
    let about = format!(
        "medians of {} starts; batches of the fast lane with receivers that answer at once, and with {} ms",
        options.starts,
        crate::receiver::STEADY.as_millis()
    );
    let mut report = Report::new("functions", about, &["what", "ms", "MiB", "CPU ms a webhook", "scripts a webhook"]);
    for Started { name, start_ms, resident_mib } in &measured.starts {
        report.row(vec![format!("start of {name}"), whole(*start_ms), fine(*resident_mib)]);
        report.figure(format!("start_milliseconds, {name}"), *start_ms);
        report.figure(format!("resident_mib, {name}"), *resident_mib);
    }
    for Batched { size, invocation_ms, resident_mib, cpu_ms, scripts } in &measured.batches {
        let cells = [*invocation_ms, *resident_mib, *cpu_ms, *scripts].map(fine);
        report.row(std::iter::once(format!("batch of {size}")).chain(cells).collect());
        report.figure(format!("cpu_milliseconds, batch of {size}"), *cpu_ms);
        report.figure(format!("invocation_milliseconds, batch of {size}"), *invocation_ms);
        report.figure(format!("redis_scripts, batch of {size}"), *scripts);
        report.figure(format!("resident_mib, batch of {size}"), *resident_mib);
    }
    for Flight { count, invocation_ms } in &measured.flights {
        report.row(vec![format!("{count} in flight"), fine(*invocation_ms)]);
        report.figure(format!("invocation_milliseconds, {count} in flight"), *invocation_ms);
    }
    if let Some(count) = before_doubling(&measured.flights) {
        report.row(vec![format!("most in flight before that doubles: {count}")]);
        report.figure("in_flight_before_latency_doubles", f64::from(count));
    }
    report
}

/// The most deliveries in flight whose invocation took less than twice as long as that of the fewest.
fn before_doubling(flights: &[Flight]) -> Option<u32> {
    let fewest = flights.iter().min_by_key(|flight| flight.count)?;
    let within = flights.iter().filter(|flight| flight.invocation_ms < 2.0 * fewest.invocation_ms);
    within.map(|flight| flight.count).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_in_flight_before_the_latency_doubles_is_found() {
        let flights = [(1, 120.0), (16, 125.0), (64, 239.0), (128, 240.0)];
        let flights = flights.map(|(count, invocation_ms)| Flight { count, invocation_ms });
        assert_eq!(before_doubling(&flights), Some(64));
        assert_eq!(before_doubling(&[]), None);
    }
}
