//! Settings as they were read, before anybody may use them.

use crate::lambda::beyond_lambda;
use crate::mistake::{SettingsErrors, ValidationError};
use crate::settings::Settings;

/// What was read, right or wrong, so that whoever puts it to use can tell of their mistakes together with its own.
#[derive(Debug)]
pub struct Loaded {
    pub(crate) settings: Settings,
    pub(crate) mistakes: Vec<ValidationError>,
    /// Whether there is a file that could not be read: then what it says is unknown.
    pub(crate) broken: bool,
}

impl Loaded {
    /// The settings, with defaults in place of what is wrong.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Adds the mistakes that show when settings are put to use, but for those that a known mistake may have caused.
    #[must_use]
    pub fn with(mut self, found: impl IntoIterator<Item = ValidationError>) -> Self {
        if !self.broken {
            let known = self.mistakes.clone();
            let new = found.into_iter().filter(|new| !known.iter().any(|known| known.explains(new)));
            self.mistakes.extend(new);
        }
        self
    }

    /// Adds the mistakes of settings that a server may have and a function may not, since Lambda cannot carry them.
    #[must_use]
    pub fn on_lambda(self) -> Self {
        let found = beyond_lambda(&self.settings.api);
        self.with(found)
    }

    /// The settings, when nothing is wrong with them.
    ///
    /// # Errors
    /// Every mistake.
    pub fn checked(self) -> Result<Settings, SettingsErrors> {
        if self.mistakes.is_empty() { Ok(self.settings) } else { Err(SettingsErrors(self.mistakes)) }
    }
}
