//! Settings of the transformers behind `/incoming`.

use std::time::Duration;

use crate::kinds::{Kind, Rule, flag, list, mins, ms, span, text, whole};
use crate::reader::Reader;

section! {
    /// Transformers: scripts that turn any incoming request into webhooks.
    "transformer." Transformer {
        /// Whether transformers are served.
        enabled: bool = flag().or(false);
        /// Folders with the scripts; a later one wins.
        script_dirs: Vec<String> = list(text(Rule::ANY)).or(Vec::new());
        /// Folders with the password files; none means the folders of the scripts.
        passwd_dirs: Vec<String> = list(text(Rule::ANY)).or(Vec::new());
        /// How long a transformer may run.
        timeout: Duration = span(ms(1)..=mins(1)).or(ms(500));
        /// How much memory a transformer may use, in MiB.
        memory_limit_mb: u32 = whole(1..=1_024).or(50);
    }
}

impl Transformer {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.enabled && self.script_dirs.is_empty() {
            let keys = ["transformer.enabled", "transformer.script_dirs"];
            reader.conflict(&keys, "true needs at least one folder in transformer.script_dirs");
        }
    }
}
