//! Results: an aligned table for people, JSON for programs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// The figure that is shown with its range.
pub(crate) const CPU_EACH: &str = "CPU us each";

/// The results of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The subcommand.
    pub(crate) command: &'static str,
    /// A description of what was measured.
    pub(crate) about: String,
    /// The table: the header first.
    #[serde(skip)]
    pub(crate) table: Vec<Vec<String>>,
    /// Every figure by its name.
    pub(crate) figures: BTreeMap<String, f64>,
    /// The aims, and whether they are met.
    pub(crate) aims: Vec<Aim>,
}

/// A figure and its bound.
#[derive(Debug, Serialize)]
pub(crate) struct Aim {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) bound: Bound,
    pub(crate) met: bool,
}

/// The bound of a figure.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
}

impl Display for Bound {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(to, "at least {least}"),
            Self::AtMost(most) => write!(to, "at most {most}"),
            Self::Between(least, most) => write!(to, "{least} to {most}"),
        }
    }
}

impl Aim {
    pub(crate) fn new(name: impl Into<String>, value: f64, bound: Bound) -> Self {
        let met = match bound {
            Bound::AtLeast(least) => value >= least,
            Bound::AtMost(most) => value <= most,
            Bound::Between(least, most) => (least..=most).contains(&value),
        };
        Self { name: name.into(), value, bound, met }
    }
}

impl Report {
    pub(crate) fn new(command: &'static str, about: String, header: &[&str]) -> Self {
        let table = vec![header.iter().map(|&title| title.to_owned()).collect()];
        Self { command, about, table, figures: BTreeMap::new(), aims: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.table.push(cells);
    }

    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64) {
        self.figures.insert(name.into(), value);
    }

    /// Adds one side of a comparison: a row of its figures, with the range of its rounds behind the CPU of each, and the
    /// figures by name. A figure that was not measured is an empty cell.
    pub(crate) fn side(
        &mut self,
        side: &str,
        figures: &[(&str, Option<f64>)],
        costs: impl Iterator<Item = f64> + Clone,
    ) {
        let (least, most) = (costs.clone().fold(f64::INFINITY, f64::min), costs.fold(0.0, f64::max));
        let mut cells = vec![side.to_owned()];
        for (name, value) in figures {
            if let Some(value) = value {
                self.figure(format!("{name}, {side}"), *value);
            }
            let shown = |value| if name.ends_with("second") { whole(value) } else { fine(value) };
            cells.push(value.map(shown).unwrap_or_default());
            if *name == CPU_EACH {
                cells.push(format!("{least:.1} to {most:.1}"));
            }
        }
        self.row(cells);
    }

    /// The aims that are missed.
    pub(crate) fn missed(&self) -> impl Iterator<Item = &Aim> {
        self.aims.iter().filter(|aim| !aim.met)
    }

    /// Writes the table and the aims.
    ///
    /// # Errors
    /// When `to` cannot be written.
    pub(crate) fn write(&self, to: &mut impl Write) -> anyhow::Result<()> {
        writeln!(to, "{}: {}\n", self.command, self.about)?;
        let columns = self.table.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.table.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.table {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(index, (cell, width))| match index {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            writeln!(to, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        for aim in &self.aims {
            let verdict = if aim.met { "met" } else { "missed" };
            writeln!(to, "\naim {verdict}: {} is {:.2} ({})", aim.name, aim.value, aim.bound)?;
        }
        Ok(())
    }

    /// Figures and aims as JSON.
    ///
    /// # Errors
    /// Never: every part of a report has its JSON.
    pub(crate) fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Saves figures and aims as JSON.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn save(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::write(file, self.json()? + "\n").with_context(|| format!("{} cannot be written", file.display()))
    }
}

/// A whole number, rounded.
pub(crate) fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// Two places.
pub(crate) fn fine(value: f64) -> String {
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_a_missed_aim_is_printed() {
        let mut report = Report::new("deliver", "a test".to_owned(), &["side", "rate"]);
        report.row(vec!["howk".to_owned(), whole(12_345.6)]);
        report.row(vec!["the bare loop".to_owned(), whole(7.0)]);
        report.aims.push(Aim::new("ratio", 0.5, Bound::AtLeast(0.8)));
        let mut text = Vec::new();
        report.write(&mut text).unwrap();
        let expected = "deliver: a test\n\nside            rate\nhowk           12346\nthe bare loop      7\n\n\
                        aim missed: ratio is 0.50 (at least 0.8)\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!(report.missed().map(|aim| aim.name.as_str()).collect::<Vec<_>>(), ["ratio"]);
    }
}
