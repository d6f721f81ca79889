//! The Redis scripts, called by hash.

use std::sync::OnceLock;

use crate::node::Repeat;
use redis::{Arg, Cmd, ToRedisArgs};

/// One script. Its file in `lua/` says what it takes and replies.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) name: &'static str,
    code: &'static str,
    hash: OnceLock<String>,
}

/// A script with its keys and arguments.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) script: &'static Script,
    pub(crate) cmd: Cmd,
    pub(crate) repeat: Repeat,
}

impl Script {
    const fn new(name: &'static str, code: &'static str) -> Self {
        Self { name, code, hash: OnceLock::new() }
    }

    /// Begins a call; the keys share a slot.
    pub(crate) fn on(&'static self, keys: &[&str]) -> Call {
        let hash = self.hash.get_or_init(|| redis::Script::new(self.code).get_hash().to_owned());
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(hash).arg(keys.len()).arg(keys);
        Call { script: self, cmd, repeat: Repeat::Safe }
    }
}

impl Call {
    /// Adds an argument, or several.
    pub(crate) fn arg(mut self, arg: impl ToRedisArgs) -> Self {
        self.cmd.arg(arg);
        self
    }

    /// Lets the call be sent once only: a second one would count twice.
    pub(crate) fn once(self) -> Self {
        Self { repeat: Repeat::Never, ..self }
    }

    /// The same call with the script itself in place of its hash, for a node that does not know the script. The node keeps it.
    pub(crate) fn in_full(&self) -> Cmd {
        let mut cmd = redis::cmd("EVAL");
        cmd.arg(self.script.code);
        for arg in self.cmd.args_iter().skip(2) {
            if let Arg::Simple(bytes) = arg {
                cmd.arg(bytes);
            }
        }
        cmd
    }
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: Script = Script::new($file, include_str!(concat!("../lua/", $file, ".lua")));)*

        #[cfg(test)]
        const ALL: &[&Script] = &[$(&$name),*];
    };
}

scripts! {
    ACQUIRE_ENDPOINT = "acquire_endpoint";
    CHANGE = "change";
    CLAIM = "claim";
    COUNT = "count";
    COUNT_ENDPOINTS = "count_endpoints";
    CREATE = "create";
    DECIDE = "decide";
    DOMAIN_LEASE = "domain_lease";
    FORGET_DEAD_LETTER = "forget_dead_letter";
    FORGET_DUE = "forget_due";
    GIVE_BACK_TOKEN = "give_back_token";
    HOLD = "hold";
    INDEX_DEAD_LETTERS = "index_dead_letters";
    LEASE_DEAD_LETTER = "lease_dead_letter";
    LEASE_DUE = "lease_due";
    REBUILD_ADVANCE = "rebuild_advance";
    REBUILD_COMPLETE = "rebuild_complete";
    REBUILD_LOCK = "rebuild_lock";
    RECORD_DEAD_LETTER = "record_dead_letter";
    REPORT = "report";
    SCHEDULE = "schedule";
    SETTLE = "settle";
    UNCLAIM = "unclaim";
    UNHOLD = "unhold";
    UNSCHEDULE = "unschedule";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So that a reader sees a script, its keys and its arguments on one screen.
    const LINES_MAX: usize = 40;

    #[test]
    fn every_script_is_short_and_documents_its_keys_arguments_and_reply() {
        for Script { name, code, .. } in ALL {
            assert!(code.lines().count() <= LINES_MAX, "{name} has more than {LINES_MAX} lines");
            for part in ["-- KEYS ", "-- ARGV ", "-- Reply", "-- Atomic: "] {
                assert!(code.contains(part), "the header of {name} has no {part}");
            }
            assert!(!code.contains("'TIME'"), "{name} must get the time as an argument");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_used() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/lua");
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        assert_eq!(files, ALL.iter().map(|script| format!("{}.lua", script.name)).collect::<Vec<_>>());
    }
}
