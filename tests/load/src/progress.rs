//! Progress on standard error, when that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `steps`; drawn nowhere when standard error is no terminal.
pub(crate) fn bar(steps: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    bar.with_message(what)
}
