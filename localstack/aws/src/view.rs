//! The live view: functions, event sources, schedules and howk's own state, twice a second.

mod draw;
mod howk;
mod screen;

pub use draw::{Seen, draw};
pub use howk::{HowkReader, HowkState};
pub use screen::show;
