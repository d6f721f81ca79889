//! Settings of the log.

use crate::kinds::{Kind, Named, one_of};

section! {
    /// The log.
    "log." Log {
        /// The least important lines that are written.
        level: LogLevel = one_of().or(LogLevel::Info);
        /// How lines are written.
        format: LogFormat = one_of().or(LogFormat::Text);
    }
}

/// The least important lines that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// What helps to find a fault.
    Debug,
    /// What an operator follows the work by.
    Info,
    /// What may become an error.
    Warn,
    /// What failed.
    Error,
}

impl Named for LogLevel {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("trace", Self::Trace),
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("warn", Self::Warn),
        ("error", Self::Error),
    ];
}

impl LogLevel {
    /// The level's name, as it is written in settings and log filters.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, level)| *level == self).map_or("info", |(name, _)| *name)
    }
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Named for LogFormat {
    const NAMES: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}
