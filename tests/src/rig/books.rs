//! The books at the end of a run: what was accepted against what was received and recorded.

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
    /// Everything that is wrong, in words.
    pub mistakes: Vec<String>,
}

/// Balances the books.
pub fn balance(accepted: &[Accepted], requests: &Requests, entries: &BTreeMap<WebhookId, Entry>) -> Balance {
    let mut balance = Balance { accepted: accepted.len(), ..Balance::default() };
    let ids: BTreeSet<&WebhookId> = accepted.iter().map(|one| &one.id).collect();
    if ids.len() != accepted.len() {
        balance.mistakes.push(format!("{} webhooks share an id", accepted.len() - ids.len()));
    }
    let (no_entry, no_requests) = (Entry::default(), BTreeMap::new());
    for one in accepted {
        let entry = entries.get(&one.id).unwrap_or(&no_entry);
        let seen = requests.get(one.id.as_str()).unwrap_or(&no_requests);
        balance.count(entry, seen);
        let found = [ending(one, entry, seen), bounds(one, entry, seen), extras(entry, seen)];
        let wrong = found.into_iter().flatten().map(|what| {
            format!(
                "{} ({:?}, {} attempts at most): {what}; received {seen:?}, recorded {entry:?}",
                one.id, one.planned.behaviour, one.planned.max_attempts
            )
        });
        balance.mistakes.extend(wrong);
    }
    let strangers = requests.keys().filter(|id| !ids.iter().any(|known| known.as_str() == *id)).count();
    if strangers > 0 {
        balance.mistakes.push(format!("{strangers} webhooks were sent that nobody was told of"));
    }
    balance
}

impl Balance {
    fn count(&mut self, entry: &Entry, seen: &BTreeMap<u32, u32>) {
        self.requests += seen.values().map(|count| u64::from(*count)).sum::<u64>();
        self.extra += seen.values().map(|count| u64::from(count.saturating_sub(1))).sum::<u64>();
        for attempt in &entry.attempts {
            *self.causes.entry(name(attempt.cause)).or_default() += 1;
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

/// DL-1: it ended, as it must, and the receiver saw it.
fn ending(one: &Accepted, entry: &Entry, seen: &BTreeMap<u32, u32>) -> Option<String> {
    let unseen = seen.is_empty() && one.planned.behaviour != Behaviour::Down;
    match one.planned.end {
        _ if unseen => Some("the receiver never saw it".to_owned()),
        End::Delivered if !entry.delivered => Some("it was not delivered".to_owned()),
        End::Delivered if !entry.letters.is_empty() => Some("it was delivered and dead-lettered".to_owned()),
        End::Dead if entry.letters.is_empty() => Some("it has no dead letter".to_owned()),
        End::Dead if entry.delivered => Some("it was dead-lettered and delivered".to_owned()),
        End::Dead if !entry.dead => Some("no result says that it was given up".to_owned()),
        End::Delivered | End::Dead => None,
    }
}

/// DL-2: no attempt beyond the last.
fn bounds(one: &Accepted, entry: &Entry, seen: &BTreeMap<u32, u32>) -> Option<String> {
    let recorded = entry.attempts.iter().map(|attempt| attempt.number).max().unwrap_or_default();
    let most = seen.keys().max().copied().unwrap_or_default().max(recorded);
    (most > one.planned.max_attempts).then(|| format!("attempt {most} was one too many"))
}

/// A request beyond the first of an attempt has a cause that says so, in a record of that attempt.
fn extras(entry: &Entry, seen: &BTreeMap<u32, u32>) -> Option<String> {
    let is_explained = |number: u32| {
        let of_number = |attempt: &&Attempt| attempt.number == number;
        entry
            .attempts
            .iter()
            .filter(of_number)
            .any(|attempt| matches!(attempt.cause, Cause::Takeover | Cause::Unclaimed))
    };
    let (number, count) = seen.iter().find(|(number, count)| **count > 1 && !is_explained(**number))?;
    Some(format!("{count} requests of attempt {number}, and no cause"))
}
