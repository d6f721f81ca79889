//! One line of words, separated by single spaces.

use std::fmt::Display;
use std::str::FromStr;

use domain::Timestamp;

use crate::code::Code;
use crate::unreadable::Unreadable;

/// Stands for a word that is not there.
const NOTHING: &str = "-";

/// The word of a value that may be missing.
pub(super) fn word(value: Option<impl Display>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

/// The word of a time that may be missing.
pub(super) fn time(at: Option<Timestamp>) -> String {
    word(at.map(Timestamp::as_ms))
}

/// The last word of a line: a text that may be missing, spaces and all.
pub(super) fn text(text: Option<&str>) -> String {
    word(text.map(|text| format!("+{text}")))
}

/// A line that is read word by word.
pub(super) struct Line<'a> {
    what: &'static str,
    rest: Option<&'a str>,
}

impl<'a> Line<'a> {
    /// Begins to read; errors name `what`.
    pub(super) fn of(what: &'static str, line: &'a str) -> Self {
        Self { what, rest: Some(line) }
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Result<&'a str, Unreadable> {
        let rest = self.rest.ok_or_else(|| self.wrong("too few words"))?;
        let (word, rest) = rest.split_once(' ').map_or((rest, None), |(word, rest)| (word, Some(rest)));
        self.rest = rest;
        Ok(word)
    }

    /// The next word as a number or an identity.
    pub(super) fn number<N: FromStr>(&mut self) -> Result<N, Unreadable> {
        let word = self.word()?;
        word.parse().map_err(|_| self.wrong("a word is not the number that belongs there"))
    }

    /// The next word as a number that may be missing.
    pub(super) fn maybe<N: FromStr>(&mut self) -> Result<Option<N>, Unreadable> {
        let word = self.word()?;
        if word == NOTHING {
            return Ok(None);
        }
        word.parse().map(Some).map_err(|_| self.wrong("a word is not the number that belongs there"))
    }

    /// The next word as a time.
    pub(super) fn time(&mut self) -> Result<Timestamp, Unreadable> {
        self.number().map(Timestamp::from_ms)
    }

    /// The next word as a time that may be missing.
    pub(super) fn maybe_time(&mut self) -> Result<Option<Timestamp>, Unreadable> {
        Ok(self.maybe()?.map(Timestamp::from_ms))
    }

    /// The next word as a yes or no.
    pub(super) fn flag(&mut self) -> Result<bool, Unreadable> {
        match self.word()? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(self.wrong("a word is neither 0 nor 1")),
        }
    }

    /// The next word as a member of a closed list.
    pub(super) fn code<C: Code>(&mut self) -> Result<C, Unreadable> {
        C::read(self.word()?)
    }

    /// Everything that is left, as a text that may be missing.
    pub(super) fn text(self) -> Result<Option<String>, Unreadable> {
        match self.rest {
            Some(NOTHING) => Ok(None),
            Some(rest) => match rest.strip_prefix('+') {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(self.wrong("the text does not begin with +")),
            },
            None => Err(self.wrong("too few words")),
        }
    }

    /// Ends the line: nothing may be left.
    pub(super) fn end(self) -> Result<(), Unreadable> {
        if self.rest.is_none() { Ok(()) } else { Err(self.wrong("too many words")) }
    }

    /// An error about this line.
    pub(super) fn wrong(&self, problem: impl Display) -> Unreadable {
        Unreadable::of(self.what, problem)
    }
}
