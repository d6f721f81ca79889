//! No private language: words that howk once used for itself, and that have no innocent meaning here, stay out of code,
//! documents, scripts and answers.
//!
//! Words that are also plain English (rest, letter, front, told) are the reader's to judge, not this test's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{files, root};

/// What may not stand anywhere, and the word in its place. Written as one word after another: `hand_back`, `HandBack`,
/// "hand-back" and "hand back" are the same, also across the end of a line.
const BANNED: [(&str, &str); 37] = [
    ("gate", "cooldown"),
    ("gates", "cooldowns"),
    ("gated", "held by a cooldown"),
    ("park", "hold"),
    ("parks", "holds"),
    ("parked", "held"),
    ("unpark", "release"),
    ("unparked", "released"),
    ("hand back", "redeliver, republish, or give back (a lease)"),
    ("hands back", "redelivers, republishes, or gives back (a lease)"),
    ("handed back", "redelivered, republished, or given back (a lease)"),
    ("handing back", "redelivering, republishing, or giving back (a lease)"),
    ("handback", "redeliver"),
    ("errand", "command"),
    ("errands", "commands"),
    ("desk", "service"),
    ("troubled", "unhealthy"),
    ("bury", "dead-letter"),
    ("buries", "dead-letters"),
    ("buried", "dead-lettered"),
    ("begun from", "replayed_from"),
    ("patience", "timeout"),
    ("crowded", "at_capacity"),
    ("hindrance", "preflight_error"),
    ("hindrances", "preflight errors"),
    ("stats tally", "StatsBuffer"),
    ("howk dev", "howk"),
    ("as good as", "say what it is"),
    ("tells of", "says, names, lists"),
    ("tell of", "say, name, list"),
    ("told of", "name the subject and what it receives"),
    ("asks for rest", "sends Retry-After"),
    ("nobody", "name the subject: no caller, no process, no member …"),
    ("somebody", "name the subject"),
    ("everybody", "name the subject"),
    ("anybody", "name the subject"),
    ("whoever", "name the subject: the process that, the holder of the claim …"),
];

/// Names of types that are gone, as they were spelled; only in Rust code, for in prose some are plain words.
const GONE: [(&str, &str); 12] = [
    ("Desk", "EndpointService, DeadLetterService"),
    ("Errand", "Command"),
    ("Fate", "Disposition"),
    ("HandBack", "GiveBack"),
    ("Kit", "FunctionContext"),
    ("Mistake", "ValidationError"),
    ("Mistakes", "ValidationErrors"),
    ("Permit", "SendPlan"),
    ("Refusal", "RequestError, InitError"),
    ("Tells", "ReplyKind"),
    ("Told", "Reply"),
    ("Turns", "KeyedQueue"),
];

/// Where one of these is the name that something has outside of howk: the file, the word, and whose name it is.
const INNOCENT: [(&str, &str, &str); 3] = [
    ("localstack/aws/src/event_source/room.rs", "park", "std::thread::park_timeout"),
    ("localstack/aws/src/event_source/room.rs", "unpark", "std::thread::Thread::unpark"),
    ("localstack/aws/src/event_source/room.rs", "Permit", "tokio::sync::mpsc::Permit"),
];

/// Files that are not ours to word: locks, lists of packages, templates that a tool writes from sources read here, and
/// the words themselves.
const NOT_OURS: [&str; 8] = [
    "Cargo.lock",
    "LICENSE",
    "infra/package-lock.json",
    "infra/requirements.txt",
    "infra/test/snapshots",
    "localstack/emulator.txt",
    "tests/architecture/banned_words.rs",
    "tests/verify/package-lock.json",
];

/// A word in lower case, and its line.
type Word = (String, usize);

/// The words of a text. A capital after a small letter begins a word, and so does whatever is no letter and no digit.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut inside, mut line, mut last_is_lower) = (false, 1, false);
    for character in text.chars() {
        if character.is_alphanumeric() {
            if !inside || (last_is_lower && character.is_uppercase()) {
                words.push((String::new(), line));
            }
            if let Some((word, _)) = words.last_mut() {
                word.extend(character.to_lowercase());
            }
        }
        inside = character.is_alphanumeric();
        last_is_lower = character.is_lowercase();
        line += usize::from(character == '\n');
    }
    words
}

/// Whether words begin with those of a phrase.
fn begins_with<'a>(mut words: impl Iterator<Item = &'a Word>, phrase: &str) -> bool {
    phrase.split(' ').all(|wanted| words.next().is_some_and(|(word, _)| word == wanted))
}

/// One that was found: its line, the word, and what to say instead.
type Found = (usize, &'static str, &'static str);

/// The banned words of a text.
fn banned(text: &str) -> Vec<Found> {
    let words = words(text);
    let from = |(at, (_, line)): (usize, &Word)| {
        let begun = BANNED.iter().filter(|(phrase, _)| begins_with(words.iter().skip(at), phrase));
        begun.map(|(phrase, instead)| (*line, *phrase, *instead)).collect::<Vec<_>>()
    };
    words.iter().enumerate().flat_map(from).collect()
}

/// The names that are gone, in the lines of a source that are no comments.
fn gone(source: &str) -> Vec<Found> {
    let code = source.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//"));
    code.flat_map(|(line, number)| {
        let code = line.split(" // ").next().unwrap_or_default();
        let names: Vec<_> = code.split(|character: char| !character.is_alphanumeric() && character != '_').collect();
        let found = GONE.iter().filter(|(name, _)| names.contains(name) && !code.contains('"'));
        found.map(|(name, instead)| (number, *name, *instead)).collect::<Vec<_>>()
    })
    .collect()
}

fn ours() -> Vec<(PathBuf, String)> {
    let ours = files().into_iter().filter(|path| !NOT_OURS.iter().any(|other| path.starts_with(Path::new(other))));
    ours.filter_map(|path| fs::read_to_string(root().join(&path)).ok().map(|text| (path, text))).collect()
}

/// What a file says that it may not, exceptions included. Its own name counts.
fn found_in(path: &Path, text: &str) -> Vec<Found> {
    let name = path.to_string_lossy();
    let names = banned(&name).into_iter().chain(banned(text));
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    names.chain(if is_rust { gone(text) } else { Vec::new() }).collect()
}

fn is_innocent(path: &Path, word: &str) -> bool {
    INNOCENT.iter().any(|(file, name, _)| path == Path::new(file) && *name == word)
}

#[test]
fn words_that_only_howk_knew_are_gone() {
    let mut wrong = Vec::new();
    for (path, text) in ours() {
        let found = found_in(&path, &text).into_iter().filter(|(_, word, _)| !is_innocent(&path, word));
        wrong.extend(found.map(|(line, word, instead)| format!("{}:{line}: \"{word}\": {instead}", path.display())));
    }
    assert!(wrong.is_empty(), "{} words to replace:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let needed = |file: &str, name: &str| {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        found_in(Path::new(file), &text).iter().any(|(_, word, _)| *word == name)
    };
    let idle: Vec<_> = INNOCENT.iter().filter(|(file, name, _)| !needed(file, name)).collect();
    assert!(idle.is_empty(), "no such word there any more: {idle:?}");
}

#[test]
fn every_spelling_is_found_and_nothing_else() {
    for text in ["HandBack", "hand_back", "handed\n    /// back", "the `howk-dev` of old", "NOBODY", "as good\nas"] {
        assert_eq!(banned(text).len(), 1, "{text}");
    }
    for text in ["a nat_gateway", "use parking_lot::Mutex;", "back in hand", "the gateway"] {
        assert_eq!(banned(text), [], "{text}");
    }
    assert_eq!(banned("one\ntwo gates"), [(2, "gates", "cooldowns")]);
    assert_eq!(gone("let turn = Turns::new();").len(), 1);
    for text in ["// Turns of a queue", "use tokio::sync::SemaphorePermit;", "assert!(x, \"Front page\");"] {
        assert_eq!(gone(text), [], "{text}");
    }
}
