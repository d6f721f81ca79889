//! A key of the settings, and its names in files, variables and errors.

/// A key as it is declared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// Its path in the file: `retry.base_delay`.
    pub(crate) path: &'static str,
    /// What it means, as one line or more.
    pub(crate) help: &'static str,
}

/// The variable of a key.
pub(crate) fn variable(path: &str) -> String {
    format!("HOWK_{}", path.replace('.', "_").to_ascii_uppercase())
}

/// How an error names a key that the file does not set: `retry.jitter (HOWK_RETRY_JITTER)`.
pub(crate) fn outside_of_file(path: &str) -> String {
    format!("{path} ({})", variable(path))
}
