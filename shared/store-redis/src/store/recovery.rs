//! Port `recovery` on Redis: the epoch, the rebuild's lock and cursor, the fingerprint.
//!
//! Shapes: the epoch is `number completed_at replayed state`, its state `statuses_pending` or `rebuilt`; the cursor is
//! `phase replayed offsets ends scope begun_at`, both lists with commas between the numbers and `-` when empty, the scope
//! `all` or `waiting`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::recovery::{Cursor, Epoch, Recovery, Scope};
use domain::{ClaimHolder, EndpointHash, Fence, Timestamp, Waiting};

use crate::keys::{DUE_SHARDS, fnv};
use crate::link::in_order;
use crate::packed::unpack;
use crate::scripts::{REBUILD_ADVANCE, REBUILD_COMPLETE, REBUILD_LOCK};
use crate::store::RedisStore;

/// Entries that one command of a fingerprint reads, about. Only tests and an operator ask for a fingerprint, so a page may take
/// Redis some milliseconds.
const FINGERPRINT_PAGE: usize = 500;

fn list(numbers: &[u64]) -> String {
    if numbers.is_empty() {
        return "-".to_owned();
    }
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    if text == "-" { Some(Vec::new()) } else { text.split(',').map(|number| number.parse().ok()).collect() }
}

fn cursor_line(cursor: &Cursor) -> String {
    let scope = match cursor.scope {
        Scope::All => "all",
        Scope::Waiting => "waiting",
    };
    let (offsets, ends) = (list(&cursor.offsets), list(&cursor.ends));
    format!("{} {} {offsets} {ends} {scope} {}", cursor.phase, cursor.replayed, cursor.begun_at.as_ms())
}

/// `None` for a cursor that cannot be read: the rebuild begins anew.
fn cursor(line: &str) -> Option<Cursor> {
    let mut words = line.split(' ');
    let (phase, replayed) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (offsets, ends) = (numbers(words.next()?)?, numbers(words.next()?)?);
    let scope = match words.next()? {
        "all" => Scope::All,
        "waiting" => Scope::Waiting,
        _ => return None,
    };
    let begun_at = Timestamp::from_ms(words.next()?.parse().ok()?);
    Some(Cursor { phase, offsets, ends, replayed, scope, begun_at })
}

fn epoch_line(epoch: &Epoch) -> String {
    let state = if epoch.statuses_pending { "statuses_pending" } else { "rebuilt" };
    format!("{} {} {} {state}", epoch.number, epoch.completed_at.as_ms(), epoch.replayed)
}

/// `None` for an epoch that cannot be read: the store counts as lost.
fn epoch_of(line: &str) -> Option<Epoch> {
    let (numbers, state) = line.rsplit_once(' ')?;
    let mut words = numbers.split(' ').map(|word| word.parse().ok());
    let mut next = || words.next().flatten();
    let statuses_pending = match state {
        "statuses_pending" => true,
        "rebuilt" => false,
        _ => return None,
    };
    Some(Epoch { number: next()?, completed_at: Timestamp::from_ms(next()?), replayed: next()?, statuses_pending })
}

/// The part of a waiting webhook that a rebuild restores exactly: its id, dispatch, attempt and due time.
fn fingerprint_of(waiting: &Waiting) -> u64 {
    let dispatch = &waiting.dispatch;
    let numbers = [dispatch.number, u64::from(dispatch.attempt), waiting.due.as_ms()];
    let numbers = numbers.into_iter().flat_map(u64::to_be_bytes);
    fnv(dispatch.webhook.id.as_str().bytes().chain(numbers))
}

impl RedisStore {
    /// The epoch, as part of a round trip that the caller has counted.
    pub(super) async fn read_epoch(&self) -> Result<Option<Epoch>, Fault> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(self.keys.epoch());
        let line: Option<String> = self.link.send_command("reading the epoch", &cmd).await?;
        Ok(line.as_deref().and_then(epoch_of))
    }

    /// The fingerprint of one hash of waiting webhooks. A page may repeat entries of an earlier one.
    async fn fingerprint_at(&self, key: String) -> Result<u64, Fault> {
        let (mut found, mut cursor) = (BTreeMap::new(), 0);
        loop {
            let (next, page) = self.page(&key, cursor, FINGERPRINT_PAGE).await?;
            let prints =
                page.into_iter().map(|(id, packed)| (id, unpack(&packed).as_ref().map_or(0, fingerprint_of)));
            found.extend(prints);
            cursor = next;
            if cursor == 0 {
                return Ok(found.into_values().fold(0, u64::wrapping_add));
            }
        }
    }

    /// The keys of everything that is held: an endpoint for which webhooks are held is listed as unhealthy.
    async fn held_lists(&self) -> Result<Vec<String>, Fault> {
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(self.keys.unhealthy()).arg(0).arg(-1);
        self.link.round_trip();
        let members: Vec<String> = self.link.send_command("listing unhealthy endpoints", &cmd).await?;
        let hashes: Vec<_> = members.iter().filter_map(|member| EndpointHash::parse(member).ok()).collect();
        self.link.round_trip();
        let settings = in_order(hashes.iter().map(|hash| self.settings(hash)).collect()).await?;
        let of_each = hashes.iter().zip(settings);
        let keys = of_each
            .flat_map(|(hash, settings)| settings.into_iter().map(move |config| self.keys.held(hash, &config)));
        Ok(keys.collect())
    }
}

#[async_trait]
impl Recovery for RedisStore {
    async fn epoch(&self) -> Result<Option<Epoch>, Fault> {
        self.link.round_trip();
        self.read_epoch().await
    }

    async fn lock(
        &self,
        holder: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault> {
        let call = REBUILD_LOCK.on(&[&self.keys.rebuild()]).arg(&holder.0).arg(now.as_ms()).arg(until.as_ms());
        self.link.round_trip();
        let reply: Vec<String> = self.link.call(call).await?;
        Ok(match reply.as_slice() {
            [fence, line] => fence.parse().ok().map(|fence| (Fence(fence), cursor(line).unwrap_or_default())),
            _ => None,
        })
    }

    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault> {
        let call = REBUILD_ADVANCE.on(&[&self.keys.rebuild()]).arg(fence.0).arg(cursor_line(cursor));
        self.link.round_trip();
        self.link.call(call).await
    }

    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault> {
        let call = REBUILD_COMPLETE.on(&[&self.keys.rebuild(), &self.keys.epoch()]);
        self.link.round_trip();
        self.link.call(call.arg(fence.0).arg(epoch_line(epoch))).await
    }

    async fn fingerprint(&self) -> Result<u64, Fault> {
        let mut lists: Vec<_> = (0..DUE_SHARDS).map(|shard| self.keys.due(shard).records).collect();
        lists.extend(self.held_lists().await?);
        let prints = in_order(lists.into_iter().map(|key| self.fingerprint_at(key)).collect()).await?;
        Ok(prints.into_iter().fold(0, u64::wrapping_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written_and_broken_ones_are_none() {
        let begun_at = Timestamp::from_ms(4);
        let far = Cursor {
            phase: 1,
            offsets: vec![7, 0],
            replayed: 9,
            scope: Scope::Waiting,
            begun_at,
            ..Cursor::default()
        };
        assert_eq!(cursor_line(&far), "1 9 7,0 - waiting 4");
        for cursor_of in [Cursor::default(), far] {
            assert_eq!(cursor(&cursor_line(&cursor_of)), Some(cursor_of));
        }
        for (statuses_pending, line) in [(true, "3 5 8 statuses_pending"), (false, "3 5 8 rebuilt")] {
            let epoch = Epoch { number: 3, completed_at: Timestamp::from_ms(5), replayed: 8, statuses_pending };
            assert_eq!((epoch_line(&epoch).as_str(), epoch_of(line)), (line, Some(epoch)));
        }
        assert_eq!((cursor(""), cursor("1 2 x - all 4")), (None, None));
        assert_eq!(
            (epoch_of("1 2 rebuilt"), epoch_of("1 2 3"), epoch_of("1 2 3 4"), epoch_of("")),
            (None, None, None, None)
        );
    }
}
