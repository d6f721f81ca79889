//! The terminal: the view takes it over, and restores it at its end in every case.

use std::io::Stderr;
use std::time::Duration;

use anyhow::Context;
use clock_system::SystemClock;
use delivery::ports::time::Clock;
use domain::Timestamp;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use settings::Settings;

use super::draw::{Seen, draw};
use super::howk::{HowkReader, HowkState};
use crate::stack::Stack;

/// The pause between two pictures.
const EVERY: Duration = Duration::from_millis(500);
/// How long a picture waits for Redis: less than the pause, so that a slow Redis doesn't stop the view.
const REDIS_TIMEOUT: Duration = Duration::from_millis(400);

/// Shows the stack at work, until q or Ctrl-C is typed.
///
/// # Errors
/// When the terminal can't be used.
pub async fn show(stack: &Stack, settings: &Settings) -> anyhow::Result<()> {
    let (controls, clock) = (stack.controls(), SystemClock);
    let reader = HowkReader::new(settings).await?;
    let mut screen = Screen::take()?;
    let mut seen = Seen { url: stack.url.clone(), ..Seen::default() };
    let mut before: Option<(Timestamp, HowkState)> = None;
    loop {
        let now = clock.now();
        seen.stack = Some(controls.state());
        seen.howk = tokio::time::timeout(REDIS_TIMEOUT, reader.read()).await.ok().and_then(Result::ok);
        if let (Some((then, old)), Some(new)) = (before, seen.howk) {
            let seconds = now.since(then).as_secs_f64();
            seen.accepted_rate = rate(old.enqueued, new.enqueued, seconds);
            seen.delivered_rate = rate(old.delivered, new.delivered, seconds);
        }
        before = seen.howk.map(|howk| (now, howk));
        screen.terminal.draw(|frame| draw(frame, &seen)).context("the view could not be drawn")?;
        if tokio::task::spawn_blocking(wants_to_end).await?? {
            return Ok(());
        }
    }
}

/// Webhooks a second; 0 after a new hour began, because the counters are the hour's.
fn rate(before: u64, after: u64, seconds: f64) -> f64 {
    let count = u32::try_from(after.saturating_sub(before)).unwrap_or(u32::MAX);
    if seconds > 0.0 { f64::from(count) / seconds } else { 0.0 }
}

/// Waits for the next picture, or for a key that ends the view.
fn wants_to_end() -> anyhow::Result<bool> {
    if !event::poll(EVERY)? {
        return Ok(false);
    }
    let Event::Key(key) = event::read()? else { return Ok(false) };
    let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    Ok(is_interrupt || key.code == KeyCode::Char('q'))
}

struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
}

impl Screen {
    fn take() -> anyhow::Result<Self> {
        enable_raw_mode().context("the terminal can't be taken")?;
        let mut stderr = std::io::stderr();
        execute!(stderr, EnterAlternateScreen)?;
        Ok(Self { terminal: Terminal::new(CrosstermBackend::new(stderr))? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Errors are ignored: nothing else can be done to restore a terminal.
        execute!(self.terminal.backend_mut(), LeaveAlternateScreen).ok();
        disable_raw_mode().ok();
    }
}
