//! The entry to the crate: finds the sources, reads and checks all settings, and lists every error in them.

use std::collections::BTreeMap;

use crate::document::{Found, find};
use crate::ignored;
use crate::lambda::beyond_lambda;
use crate::reader::Reader;
use crate::settings::Settings;
use crate::sources::{Environment, Sources};
use crate::unknown;
use crate::validation_error::{SettingsErrors, ValidationError};

/// Reads and checks all settings.
///
/// # Errors
/// Every error of the file and the variables at once; show them and do not start.
pub fn load(sources: Sources<'_>) -> Result<Settings, SettingsErrors> {
    read_function(sources, &[]).checked()
}

/// Reads and checks all settings, for a deployed function. No operator watches a function start, so a key whose default
/// only suits a developer's machine must be `decided`: set, whatever its value. Each entry holds keys of which one must be
/// set. The caller may add errors of its own before the settings are used.
pub fn read_function(sources: Sources<'_>, decided: &[&[&'static str]]) -> Loaded {
    let Sources { file, environment } = sources;
    let found = find(file, &environment.variables());
    assemble(found, environment, decided)
}

/// Reads and checks settings from what was found.
pub(crate) fn assemble(found: Found, environment: &dyn Environment, decided: &[&[&'static str]]) -> Loaded {
    let mut reader = Reader::new(found, environment);
    let mut settings = Settings::read(&mut reader);
    settings.check(&mut reader);
    for keys in decided {
        settings.check_decided(keys, &mut reader);
    }
    settings.ignored = ignored::set(reader.tree(), &reader.variables);
    let unknown = unknown::errors(&reader);
    reader.errors.extend(unknown);
    Loaded { settings, errors: reader.errors, broken: reader.broken }
}

/// Settings as they were read, right or wrong, so that the caller can report its own errors together with these.
#[derive(Debug)]
pub struct Loaded {
    settings: Settings,
    errors: Vec<ValidationError>,
    /// Whether there is a file that could not be read, so that the values it sets are unknown.
    broken: bool,
}

impl Loaded {
    /// The settings, with defaults in place of what is wrong.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Adds the errors that show when settings are put to use, but for those that a known error may have caused. Each
    /// names the place where its key was set.
    #[must_use]
    pub fn with(mut self, found: impl IntoIterator<Item = ValidationError>) -> Self {
        if !self.broken {
            let known = self.errors.clone();
            let new = found.into_iter().filter(|new| !known.iter().any(|known| known.explains(new)));
            let placed = new.map(|error| match error.key().and_then(|key| self.settings.place_of(key)) {
                Some(place) => error.at(place),
                None => error,
            });
            self.errors.extend(placed);
        }
        self
    }

    /// Adds the errors of settings that a server may have and a function may not, since Lambda cannot carry them.
    #[must_use]
    pub fn on_lambda(self) -> Self {
        let found = beyond_lambda(&self.settings.api);
        self.with(found)
    }

    /// The settings, when nothing is wrong with them.
    ///
    /// # Errors
    /// Every error.
    pub fn checked(self) -> Result<Settings, SettingsErrors> {
        if self.errors.is_empty() { Ok(self.settings) } else { Err(SettingsErrors(self.errors)) }
    }
}

impl Default for Settings {
    /// The settings of a process without file and variables.
    fn default() -> Self {
        Self::read(&mut Reader::new(Found::Nothing, &BTreeMap::new()))
    }
}
