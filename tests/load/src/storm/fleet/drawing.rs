//! The plots and the page of a fleet.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use domain::Timestamp;

use crate::report::Report;
use crate::storm::chart::{Chart, Panel, number};
use crate::storm::fleet::outcome::Outcome;
use crate::storm::fleet::simulation::{Fleet, Run};
use crate::storm::fleet::targets::SURGE_MAX;
use crate::storm::fleet::terms::{BIN, RETRY_AFTER};
use crate::storm::page::Page;
use crate::storm::series::{SLOT, Slot};

const NAME: &str = "storm-fleet";
/// What is drawn, in seconds from the incident on.
const SPAN: (f64, f64) = (-15.0, 180.0);
/// Lines have a point for so many slots.
const SLOTS_OF_A_POINT: usize = 5;
/// Slots of a second.
const SLOTS_OF_A_SECOND: usize = 10;
/// Room above the highest value, as a share of it.
const ROOM: f64 = 1.15;
/// Where an axis of percent begins, so that the steady rate's own spread shows.
const PERCENT_MIN: f64 = -2.0;

/// Writes the SVG, and the page around it.
///
/// # Errors
/// When the folder or a file cannot be written.
pub(crate) fn write(outcome: &Outcome, report: &Report, folder: &Path) -> anyhow::Result<()> {
    let svg = outcome.chart().svg()?;
    let title = "Retry storm of a fleet behind a rate limiter";
    let page = Page { title, report, svg: &svg, notes: &outcome.notes() }.html();
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for (ending, content) in [("svg", &svg), ("html", &page)] {
        let file = folder.join(format!("{NAME}.{ending}"));
        std::fs::write(&file, content).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

impl Outcome {
    fn chart(&self) -> Chart {
        Chart {
            title: format!(
                "After a rate limit's cooldown of 60 s: {} requests/s, demand {:.1} times that for {}",
                number(self.fleet.steady),
                self.demand,
                humantime::format_duration(self.fleet.incident),
            ),
            time: "seconds since the incident".to_owned(),
            span: SPAN.0..SPAN.1,
            legend: self.results.iter().map(|result| result.policy.name.to_owned()).collect(),
            moments: vec![
                (0.0, "incident".to_owned()),
                (RETRY_AFTER.as_secs_f64(), "Retry-After is over".to_owned()),
            ],
            panels: vec![self.rate(), self.refusals(), self.queue()],
        }
    }

    fn lines(&self, line: impl Fn(&Run) -> Vec<(Timestamp, f64)>) -> Vec<Vec<(f64, f64)>> {
        let lines = self.results.iter().map(|result| {
            let began = result.run.began;
            let seconds = |at: Timestamp| at.since(began).as_secs_f64() - began.since(at).as_secs_f64();
            line(&result.run).into_iter().map(|(at, value)| (seconds(at), value)).collect()
        });
        lines.collect()
    }

    fn rate(&self) -> Panel {
        let steady = self.fleet.steady;
        let lines = self.lines(|run| {
            let smoothed = run.series.smoothed(BIN).into_iter().step_by(SLOTS_OF_A_POINT);
            smoothed.map(|(at, rate)| (at, (rate / steady - 1.0) * 100.0)).collect()
        });
        let limit = (self.fleet.limit / steady - 1.0) * 100.0;
        Panel {
            title: "Request rate, mean of 6 s".to_owned(),
            axis: "% over the steady rate".to_owned(),
            range: PERCENT_MIN..highest(&lines, SPAN.0).max(limit) * ROOM,
            lines,
            levels: vec![(limit, "the limiter's rate".to_owned()), (SURGE_MAX, "the window's target".to_owned())],
        }
    }

    fn refusals(&self) -> Panel {
        let lines = self.lines(|run| {
            let slots: Vec<(Timestamp, &Slot)> = run.series.slots().collect();
            let seconds = slots.chunks(SLOTS_OF_A_SECOND).filter_map(|slots| {
                let refusals = slots.iter().map(|(_, slot)| slot.refusals).sum::<u32>();
                slots.first().map(|(at, _)| (at.plus(Duration::from_millis(500)), f64::from(refusals)))
            });
            seconds.collect()
        });
        let refused = self.results.first().map_or(0, |first| first.run.refused);
        let after = self.fleet.incident.as_secs_f64() + 2.0;
        Panel {
            title: format!(
                "Refusals (the incident's own, {} of them, reach beyond the top)",
                number(f64::from(refused))
            ),
            axis: "requests/s".to_owned(),
            range: 0.0..(highest(&lines, after) * ROOM).max(1.0),
            lines,
            levels: Vec::new(),
        }
    }

    fn queue(&self) -> Panel {
        let lines = self.lines(|run| {
            let slots = run.series.slots().step_by(SLOTS_OF_A_POINT);
            slots.map(|(at, slot)| (at.plus(SLOT), f64::from(slot.waiting))).collect()
        });
        Panel {
            title: "Queue: refused requests that wait for their retry".to_owned(),
            axis: "requests".to_owned(),
            range: 0.0..(highest(&lines, SPAN.0) * ROOM).max(1.0),
            lines,
            levels: Vec::new(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let refused = self.results.first().map_or(0.0, |first| f64::from(first.run.refused));
        let Fleet { steady, limit, incident, .. } = &self.fleet;
        vec![
            format!(
                "The model. {clients} clients send one request a second each, 0.9 to 1.1 s apart. The limiter is a token bucket: \
                 {limit} requests/s, a tenth of a second's tokens kept. For {incident} the clients send {demand:.2} times their \
                 steady rate; {refused} requests, {seconds:.2} s of steady traffic, find no token and are refused with \
                 Retry-After: 60. Each is sent again as its policy says, on top of the steady traffic, which does not stop.",
                clients = number(*steady),
                limit = number(*limit),
                incident = humantime::format_duration(*incident),
                demand = self.demand,
                refused = number(refused),
                seconds = refused / steady,
            ),
            "Why this demand. Unless --demand names it, it is searched: that at which lockstep's fullest 6 s are 14 % above the \
             steady rate, with draws of its own. The surge of the other policies, and every drain, follow from it."
                .to_owned(),
            "What the ratio is. Lockstep brings everything back in 6 s (57 to 63), the window in 30 s (60 to 90): a fifth of the \
             surge, at best. An incident that is long beside 6 s smears lockstep's wave but not the window's, and the ratio \
             shrinks."
                .to_owned(),
            "What the drain is: from the first refusal until nothing waits. Where the limit is below lockstep's surge, lockstep is \
             refused again and needs a second minute, and the window is sooner done. Where the limit lies above the surge \
             (--headroom 20), nothing is refused again, and the window takes 90 s where lockstep takes 63: there its drain \
             misses the target, because there is no storm to prevent."
                .to_owned(),
            format!(
                "What chance is: three standard deviations of a bin of 6 s, from the bins before the incident and the number of \
                 retries in the gentlest policy's fullest bin: {:.2} % of the steady rate.",
                self.chance(),
            ),
        ]
    }
}

/// The highest value of any line from a moment on.
fn highest(lines: &[Vec<(f64, f64)>], from: f64) -> f64 {
    let values = lines.iter().flatten().filter(|(at, _)| *at >= from && *at <= SPAN.1);
    values.map(|(_, value)| *value).fold(0.0, f64::max)
}
