//! Draws the picture from a snapshot, without a clock and without a terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};

use super::howk::HowkState;
use crate::control::StackState;
use crate::lambda::{EnvironmentState, FunctionState, Phase};

/// The snapshot that is drawn.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The URL where webhooks are posted.
    pub url: String,
    /// The stack.
    pub stack: Option<StackState>,
    /// howk's state; none when Redis does not answer.
    pub howk: Option<HowkState>,
    /// Webhooks accepted a second since the last picture.
    pub accepted_rate: f64,
    /// Webhooks delivered a second since the last picture.
    pub delivered_rate: f64,
}

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, seen: &Seen) {
    let Some(stack) = &seen.stack else { return };
    let height = |rows: usize| Constraint::Length(u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(3));
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(4),
        height(stack.functions.len()),
        height(stack.event_sources.len()),
        height(stack.schedules.len()),
        Constraint::Min(0),
    ]);
    let [title, howk, functions, sources, schedules, _] = areas.areas(frame.area());
    frame.render_widget(
        Line::from(vec!["howk ".bold(), seen.url.as_str().into(), "   q or Ctrl-C ends".dim()]),
        title,
    );
    draw_howk(frame, howk, seen);
    draw_functions(frame, functions, &stack.functions);
    draw_sources(frame, sources, stack);
    draw_schedules(frame, schedules, stack);
}

fn draw_howk(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let lines = seen.howk.as_ref().map_or_else(
        || vec![Line::from("Redis does not answer").red()],
        |howk| {
            let rebuilt = if howk.is_rebuilt { "rebuilt".green() } else { "being rebuilt".red() };
            let rates = format!(
                "accepted {:.0}/s   delivered {:.0}/s   this hour: {} accepted, {} delivered, {} dead letters",
                seen.accepted_rate, seen.delivered_rate, howk.enqueued, howk.delivered, howk.exhausted
            );
            let state = format!(
                "   waiting {}, due {}   open circuits {}, unhealthy endpoints {}",
                howk.waiting, howk.due, howk.open_circuits, howk.unhealthy
            );
            vec![Line::from(rates), Line::from(vec!["hot state ".into(), rebuilt, state.into()])]
        },
    );
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("webhooks")), area);
}

fn draw_functions(frame: &mut Frame<'_>, area: Rect, functions: &[FunctionState]) {
    let rows = functions.iter().map(|function| {
        let mean = function.busy_ms.checked_div(function.invocations).unwrap_or_default();
        row([
            function.name.clone(),
            environments(&function.environments),
            function.invocations.to_string(),
            function.errors.to_string(),
            function.timeouts.to_string(),
            function.throttles.to_string(),
            function.queued.to_string(),
            function.cold_starts.to_string(),
            format!("{mean} ms"),
            format!("{} ms", function.last_ms),
        ])
    });
    let header =
        ["function", "environments", "invoked", "errors", "timeouts", "throttled", "queued", "cold", "mean", "last"];
    let widths = [12, 26, 9, 7, 9, 10, 7, 5, 9, 9];
    draw_table(frame, area, "functions", Sheet { header: &header, widths: &widths, rows: rows.collect() });
}

/// The number of environments, and a character for each: `s` starting, `B` busy, `F` busy and frozen, `i` idle, `f` idle and
/// frozen, `x` ended.
fn environments(environments: &[EnvironmentState]) -> String {
    let character = |environment: &EnvironmentState| match (environment.phase, environment.frozen) {
        (Phase::Starting, _) => 's',
        (Phase::Busy, false) => 'B',
        (Phase::Busy, true) => 'F',
        (Phase::Idle, true) => 'f',
        (Phase::Idle, false) => 'i',
        (Phase::Ended, _) => 'x',
    };
    format!("{:>2} {}", environments.len(), environments.iter().map(character).collect::<String>())
}

fn draw_sources(frame: &mut Frame<'_>, area: Rect, stack: &StackState) {
    let rows = stack.event_sources.iter().map(|source| {
        let is = if source.is_paused {
            "paused"
        } else if source.is_polling {
            "polling"
        } else {
            "starting"
        };
        row([
            format!("{} -> {}", source.topic, source.function),
            is.to_owned(),
            source.lag.to_string(),
            source.invocations.to_string(),
            source.records.to_string(),
            source.item_failures.to_string(),
            source.errors.to_string(),
            source.not_tried.to_string(),
            source.given_up.to_string(),
        ])
    });
    let header = ["event source", "", "lag", "batches", "records", "redelivered", "errors", "not tried", "given up"];
    let widths = [30, 8, 8, 9, 9, 12, 7, 10, 9];
    draw_table(frame, area, "event sources", Sheet { header: &header, widths: &widths, rows: rows.collect() });
}

fn draw_schedules(frame: &mut Frame<'_>, area: Rect, stack: &StackState) {
    let rows = stack.schedules.iter().map(|schedule| {
        let is = if schedule.is_paused { "paused" } else { "running" };
        let counts = [schedule.handed_over.to_string(), schedule.given_up.to_string()];
        let [handed_over, given_up] = counts;
        row([schedule.function.clone(), is.to_owned(), handed_over, given_up])
    });
    let header = ["schedule", "", "handed over", "given up"];
    draw_table(frame, area, "schedules", Sheet { header: &header, widths: &[30, 8, 12, 9], rows: rows.collect() });
}

struct Sheet<'a> {
    header: &'a [&'a str],
    widths: &'a [u16],
    rows: Vec<Row<'a>>,
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, title: &str, sheet: Sheet<'_>) {
    let header = Row::new(sheet.header.iter().map(|text| Cell::from(*text))).style(Style::new().dim());
    let table = Table::new(sheet.rows, sheet.widths.iter().map(|width| Constraint::Length(*width)));
    frame.render_widget(table.header(header).block(Block::bordered().title(title)), area);
}

fn row<const N: usize>(cells: [String; N]) -> Row<'static> {
    Row::new(cells.map(Cell::from))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::event_source::SourceState;
    use crate::schedule::ScheduleState;

    fn environment(phase: Phase) -> EnvironmentState {
        let frozen = phase == Phase::Idle;
        EnvironmentState { id: 1, pid: 1, phase, frozen, invocations: 0, init_ms: None, ended: None }
    }

    fn function() -> FunctionState {
        FunctionState {
            name: "fast-lane".to_owned(),
            invocations: 4,
            errors: 1,
            timeouts: 0,
            throttles: 7,
            cold_starts: 3,
            queued: 0,
            given_up: 0,
            busy_ms: 100,
            last_ms: 31,
            reserved_concurrency: None,
            timeout_ms: 1,
            environments: vec![environment(Phase::Busy), environment(Phase::Idle)],
        }
    }

    fn source() -> SourceState {
        SourceState {
            function: "fast-lane".to_owned(),
            topic: "howk.pending".to_owned(),
            is_polling: true,
            is_paused: false,
            invocations: 4,
            records: 9,
            errors: 1,
            not_tried: 0,
            item_failures: 0,
            given_up: 0,
            lag: 1234,
        }
    }

    fn drawn(seen: &Seen) -> String {
        let mut terminal = Terminal::new(TestBackend::new(120, 24)).unwrap();
        terminal.draw(|frame| draw(frame, seen)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_picture_shows_the_snapshot() {
        let schedules =
            vec![ScheduleState { function: "scheduler".to_owned(), handed_over: 5, ..ScheduleState::default() }];
        let stack = StackState { functions: vec![function()], event_sources: vec![source()], schedules };
        let howk = HowkState { is_rebuilt: true, waiting: 42, due: 3, open_circuits: 2, ..HowkState::default() };
        let seen = Seen {
            url: "http://x".to_owned(),
            stack: Some(stack),
            howk: Some(howk),
            accepted_rate: 9.6,
            delivered_rate: 250.4,
        };
        let text = drawn(&seen);
        let parts = [
            "http://x",
            "delivered 250/s",
            "waiting 42, due 3",
            "hot state rebuilt",
            "open circuits 2",
            " 2 Bf",
            "25 ms",
            "1234",
            "polling",
        ];
        for part in parts {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn a_redis_that_does_not_answer_is_shown() {
        let stack = StackState { functions: vec![], event_sources: vec![], schedules: vec![] };
        assert!(drawn(&Seen { stack: Some(stack), ..Seen::default() }).contains("Redis does not answer"));
    }
}
