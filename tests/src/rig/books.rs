//! The books at the end of a run: what was accepted against what was received and recorded.
//!
//! A request is recorded once it is over. So one whose process dies before that leaves no record, and its death is the
//! cause of whatever was sent once more. Everything else must be in the records.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Attempt, Cause, WebhookId};

use crate::rig::ledger::Entry;
use crate::rig::load::{Accepted, End};
use crate::rig::receiver::{Behaviour, Requests};

/// What the books say.
#[derive(Debug, Default)]
pub struct Balance {
    /// Webhooks that were accepted.
    pub accepted: usize,
    /// Requests that receivers saw.
    pub requests: u64,
    /// Requests beyond the first of one attempt.
    pub extra: u64,
    /// Causes of recorded attempts.
    pub causes: BTreeMap<&'static str, u64>,
    /// Why recorded attempts failed.
    pub errors: BTreeMap<String, u64>,
    /// Everything that is wrong, in words.
    pub mistakes: Vec<String>,
}

/// What is balanced.
#[derive(Debug, Clone, Copy)]
pub struct Books<'a> {
    /// Requests that receivers saw.
    pub requests: &'a Requests,
    /// Those among them whose process ended soon after, maybe before it could record them.
    pub orphans: &'a Requests,
    /// What was recorded.
    pub entries: &'a BTreeMap<WebhookId, Entry>,
    /// How long those who live try to record a request.
    pub records: Timeout,
}

/// How long a process tries to record a request that it made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// As long as it lives.
    Endless,
    /// To the end of its invocation. When the log is away for longer, the record of the dispatch comes again, and the
    /// request that is made then says in its cause that it may be one too many.
    OfAnInvocation,
}

/// Balances the books.
pub fn balance(accepted: &[Accepted], books: Books<'_>) -> Balance {
    let mut balance = Balance { accepted: accepted.len(), ..Balance::default() };
    let ids: BTreeSet<&WebhookId> = accepted.iter().map(|one| &one.id).collect();
    if ids.len() != accepted.len() {
        balance.mistakes.push(format!("{} webhooks share an id", accepted.len() - ids.len()));
    }
    let (no_entry, none) = (Entry::default(), BTreeMap::new());
    for one in accepted {
        let page = Page {
            one,
            entry: books.entries.get(&one.id).unwrap_or(&no_entry),
            seen: books.requests.get(one.id.as_str()).unwrap_or(&none),
            orphans: books.orphans.get(one.id.as_str()).unwrap_or(&none),
            records: books.records,
        };
        balance.count(page);
        balance.mistakes.extend(page.mistakes());
    }
    let strangers = books.requests.keys().filter(|id| !ids.iter().any(|known| known.as_str() == *id)).count();
    if strangers > 0 {
        balance.mistakes.push(format!("{strangers} webhooks were sent whose acceptance no caller saw"));
    }
    balance
}

impl Balance {
    fn count(&mut self, page: Page<'_>) {
        self.requests += page.seen.values().map(|count| u64::from(*count)).sum::<u64>();
        self.extra += page.seen.values().map(|count| u64::from(count.saturating_sub(1))).sum::<u64>();
        for attempt in &page.entry.attempts {
            *self.causes.entry(name(attempt.cause)).or_default() += 1;
            if let Some(error) = &attempt.error {
                *self.errors.entry(error.clone()).or_default() += 1;
            }
        }
    }
}

const fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::First => "first",
        Cause::Retry => "retry",
        Cause::Replay => "replay",
        Cause::Takeover => "takeover",
        Cause::Unclaimed => "unclaimed",
    }
}

/// Whether the record of a request says that it may be one too many, and why.
const fn has_cause(attempt: &Attempt) -> bool {
    matches!(attempt.cause, Cause::Takeover | Cause::Unclaimed)
}

/// What is known of one webhook: requests are counted by attempt.
#[derive(Debug, Clone, Copy)]
struct Page<'a> {
    one: &'a Accepted,
    entry: &'a Entry,
    seen: &'a BTreeMap<u32, u32>,
    orphans: &'a BTreeMap<u32, u32>,
    records: Timeout,
}

impl Page<'_> {
    fn mistakes(self) -> impl Iterator<Item = String> {
        let requests = [self.unrecorded(), self.uncaused(), self.twice_the_first(), self.beyond_the_end()];
        let found = [self.ending(), self.bounds()].into_iter().chain(requests);
        found.flatten().map(move |what| {
            format!(
                "{} ({:?}, {} attempts at most): {what}; received {:?}, {:?} of them by processes that ended, recorded {:?}",
                self.one.id,
                self.one.planned.behaviour,
                self.one.planned.max_attempts,
                self.seen,
                self.orphans,
                self.entry
            )
        })
    }

    /// DL-1: it ended, as it must, and the receiver saw it.
    fn ending(self) -> Option<String> {
        let entry = self.entry;
        let unseen = self.seen.is_empty() && self.one.planned.behaviour != Behaviour::Down;
        match self.one.planned.end {
            _ if unseen => Some("the receiver never saw it".to_owned()),
            End::Delivered if entry.delivered.is_none() => Some("it was not delivered".to_owned()),
            End::Delivered if !entry.dead_letters.is_empty() => Some("it was delivered and dead-lettered".to_owned()),
            End::Dead if entry.dead_letters.is_empty() => Some("it has no dead letter".to_owned()),
            End::Dead if entry.delivered.is_some() => Some("it was dead-lettered and delivered".to_owned()),
            End::Dead if !entry.dead => Some("no result says that it was given up".to_owned()),
            End::Delivered | End::Dead => None,
        }
    }

    /// DL-2: no attempt beyond the last.
    fn bounds(self) -> Option<String> {
        let recorded = self.entry.attempts.iter().map(|attempt| attempt.number).max().unwrap_or_default();
        let most = self.seen.keys().max().copied().unwrap_or_default().max(recorded);
        (most > self.one.planned.max_attempts).then(|| format!("attempt {most} was one too many"))
    }

    /// A process that lives on records every request, a function for as long as its invocation lasts.
    fn unrecorded(self) -> Option<String> {
        let excused = |number: u32| match self.records {
            Timeout::Endless => self.orphaned(number),
            Timeout::OfAnInvocation => self.orphaned(number) + self.caused(number),
        };
        let of_the_living = |number: u32, count: u32| count.saturating_sub(excused(number));
        let (number, count) =
            self.seen.iter().find(|(number, count)| of_the_living(**number, **count) > self.recorded(**number))?;
        Some(format!("{count} requests of attempt {number}, and {} records", self.recorded(*number)))
    }

    /// Every request beyond the first of an attempt has a cause by its own record or by that of an earlier attempt, which
    /// it retries, or the death of a process led to it.
    fn uncaused(self) -> Option<String> {
        let caused = |number: u32| (1..=number).map(|number| self.caused(number)).sum::<u32>();
        let is_explained = |number: u32, count: u32| count <= 1 + caused(number) + self.orphaned(number);
        let (number, count) = self.seen.iter().find(|(number, count)| !is_explained(**number, **count))?;
        Some(format!("{count} requests of attempt {number}, and too few causes"))
    }

    /// Of the requests of one attempt that were recorded, once or more often, all but one say what came before them, or
    /// retry an earlier attempt that was made twice and does.
    fn twice_the_first(self) -> Option<String> {
        let of_attempt = |uncaused: &[Attempt], number| uncaused.iter().filter(|one| one.number == number).count();
        let (caused, uncaused): (Vec<_>, Vec<_>) = self.distinct().into_iter().partition(has_cause);
        let number = uncaused.iter().map(|one| one.number).find(|number| {
            let led_to_it = caused.iter().filter(|one| one.number < *number).count();
            of_attempt(&uncaused, *number) > 1 + led_to_it
        })?;
        Some(format!("{} records of attempt {number}, too many without a cause", self.recorded(number)))
    }

    /// Its recorded requests, each once.
    fn distinct(self) -> Vec<Attempt> {
        let mut seen = BTreeSet::new();
        let attempts = self.entry.attempts.iter();
        attempts.filter(|one| seen.insert((one.number, one.dispatch, one.cause, one.at))).cloned().collect()
    }

    /// After the attempt that delivered it there is none, unless something went wrong earlier.
    fn beyond_the_end(self) -> Option<String> {
        let delivered = self.entry.delivered?;
        let last = *self.seen.keys().max()?;
        let went_wrong = (1..=last).any(|number| self.caused(number) + self.orphaned(number) > 0);
        (last > delivered && !went_wrong)
            .then(|| format!("attempt {last} came after attempt {delivered} delivered it"))
    }

    fn orphaned(self, number: u32) -> u32 {
        self.orphans.get(&number).copied().unwrap_or_default()
    }

    fn recorded(self, number: u32) -> u32 {
        self.count(|attempt| attempt.number == number)
    }

    fn caused(self, number: u32) -> u32 {
        self.count(|attempt| attempt.number == number && has_cause(attempt))
    }

    fn count(self, is_counted: impl Fn(&Attempt) -> bool) -> u32 {
        u32::try_from(self.entry.attempts.iter().filter(|attempt| is_counted(attempt)).count()).unwrap()
    }
}

#[cfg(test)]
mod tests;
