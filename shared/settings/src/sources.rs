//! Where settings come from: one file, and the variables of the process.
//!
//! Binaries pass [`ProcessEnvironment`]; tests pass a map. Nothing else in the repository reads the
//! environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What [`crate::load`] reads.
pub struct Sources<'a> {
    /// The file to read, as given on a command line; it must exist. Without one: `HOWK_CONFIG`, which must
    /// exist too, else the first that exists of `./config.yaml`, `~/.howk/config.yaml` and
    /// `/etc/howk/config.yaml`, else none.
    pub file: Option<PathBuf>,
    /// The variables.
    pub environment: &'a dyn Environment,
}

/// A set of variables.
pub trait Environment {
    /// All variables, read once; bytes that are no UTF-8 are replaced by U+FFFD.
    fn variables(&self) -> BTreeMap<String, String>;

    /// Variables that name a value kept elsewhere which could not be read, with what to do about it: each is an error of
    /// its key, listed with all the others.
    fn unavailable(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

impl Environment for BTreeMap<String, String> {
    fn variables(&self) -> BTreeMap<String, String> {
        self.clone()
    }
}

/// The variables of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variables(&self) -> BTreeMap<String, String> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
        let variables = std::env::vars_os();
        variables
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect()
    }
}
