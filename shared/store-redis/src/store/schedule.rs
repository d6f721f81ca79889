//! Port `schedule` on Redis: sixteen shards, read together.

use std::collections::BTreeMap;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::schedule::{Depth, Lease, Schedule};
use domain::{Timestamp, Waiting, WebhookId};
use wire::hot;

use crate::keys::{DUE_SHARDS, shard_of};
use crate::link::in_order;
use crate::scripts::{FORGET_DUE, LEASE_DUE};
use crate::store::RedisStore;

/// Rounds of looking and leasing. A further round is needed when other schedulers leased what was seen, or when one shard
/// holds more than its share; after four the caller gets what there is and asks again.
const ROUNDS_MAX: usize = 4;
/// Webhooks that one script leases or forgets at most: Redis runs one script at a time. Twice as many as are written at once,
/// since no records are sent.
const CHUNK_MAX: usize = 128;
/// Bytes that are leased together, as unpacked: the scheduler holds all of them in memory at once, and a function may have as
/// little as 128 MB. One webhook of each shard is leased however large it is.
const LEASE_BYTES_MAX: usize = 16 << 20;

/// An entry as it was seen: when it may be leased, and its id. The order is the order of release.
type Seen = (u64, String);

/// The earliest `max` of what was seen in all shards. Of a shard that holds more than was looked at, nothing after the last
/// entry seen is known, so nothing later than that entry is taken from any shard.
fn earliest(shards: Vec<Vec<Seen>>, looked: usize, max: usize) -> Vec<Seen> {
    let known_until =
        shards.iter().filter(|shard| shard.len() >= looked).filter_map(|shard| shard.last()).min().cloned();
    let mut all: Vec<_> = shards.into_iter().flatten().collect();
    all.sort();
    all.retain(|seen| known_until.as_ref().is_none_or(|until| seen <= until));
    all.truncate(max);
    all
}

impl RedisStore {
    /// Reads the earliest entries that are due.
    async fn look(&self, now: Timestamp, max: usize) -> Result<Vec<Seen>, Fault> {
        // Twice a fair share of each shard and sixteen more, so that one look is nearly always enough.
        let looked = (2 * max.div_ceil(usize::from(DUE_SHARDS)) + 16).min(max);
        self.link.round_trip();
        let shards = in_order(
            (0..DUE_SHARDS)
                .map(|shard| async move {
                    let mut cmd = redis::cmd("ZRANGE");
                    cmd.arg(self.keys.due(shard).at).arg("-inf").arg(now.as_ms()).arg("BYSCORE");
                    cmd.arg("LIMIT").arg(0).arg(looked).arg("WITHSCORES");
                    let found: Vec<(String, u64)> = self.link.send_command("reading what is due", &cmd).await?;
                    Ok(found.into_iter().map(|(id, at)| (at, id)).collect::<Vec<_>>())
                })
                .collect(),
        )
        .await?;
        Ok(earliest(shards, looked, max))
    }

    /// Leases what was seen and is still there, in the order in which it was seen, as long as there is room for its bytes.
    /// Returns the webhooks and the remaining room.
    async fn lease_seen(&self, lease: &Lease, seen: &[Seen], room: usize) -> Result<(Vec<Waiting>, usize), Fault> {
        let mut by_shard: BTreeMap<u8, Vec<(usize, &Seen)>> = BTreeMap::new();
        for (place, entry) in seen.iter().enumerate() {
            if let Ok(id) = WebhookId::parse(&entry.1) {
                by_shard.entry(shard_of(&id)).or_default().push((place, entry));
            }
        }
        let pieces: Vec<_> = by_shard
            .iter()
            .flat_map(|(shard, entries)| entries.chunks(CHUNK_MAX).map(move |some| (*shard, some)))
            .collect();
        let share = room.div_ceil(pieces.len().max(1));
        self.link.round_trip();
        let leased = in_order(
            pieces
                .into_iter()
                .map(|(shard, entries)| async move {
                    let keys = self.keys.due(shard);
                    let call = LEASE_DUE.on(&[&keys.at, &keys.records, &keys.leases]);
                    let call = call.arg(&lease.token).arg(lease.until.as_ms()).arg(share);
                    let call = entries.iter().fold(call, |call, (_, (at, id))| call.arg(id).arg(*at));
                    let values: Vec<Vec<u8>> = self.link.call(call).await?;
                    Ok(entries.iter().map(|(place, (_, id))| (*place, id)).zip(values).collect::<Vec<_>>())
                })
                .collect(),
        )
        .await?;
        let values: BTreeMap<_, _> = leased.into_iter().flatten().filter(|(_, value)| !value.is_empty()).collect();
        let bytes: usize = values.values().map(|value| hot::waiting::unpacked_bytes(value)).sum();
        let readable = values.into_iter().filter_map(|((_, id), value)| readable(id, &value));
        Ok((readable.collect(), room.saturating_sub(bytes)))
    }
}

/// A record that cannot be read stays under its lease: the log has it, and a rebuild writes it again.
fn readable(webhook_id: &str, value: &[u8]) -> Option<Waiting> {
    let waiting = hot::waiting::decode(value).ok();
    if waiting.is_none() {
        tracing::warn!(webhook_id, "a record of the schedule cannot be read");
    }
    waiting
}

#[async_trait]
impl Schedule for RedisStore {
    async fn lease(&self, lease: &Lease, max: usize) -> Result<Vec<Waiting>, Fault> {
        let (mut leased, mut room) = (Vec::new(), LEASE_BYTES_MAX);
        for _ in 0..ROUNDS_MAX {
            let missing = max.saturating_sub(leased.len());
            if missing == 0 || room == 0 {
                break;
            }
            let seen = self.look(lease.now, missing).await?;
            if seen.is_empty() {
                break;
            }
            let (more, left) = self.lease_seen(lease, &seen, room).await?;
            leased.extend(more);
            room = left;
        }
        Ok(leased)
    }

    async fn forget(&self, lease: &Lease, ids: &[WebhookId]) -> Result<(), Fault> {
        let mut by_shard: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
        for id in ids {
            by_shard.entry(shard_of(id)).or_default().push(id.as_str());
        }
        let pieces = by_shard.iter().flat_map(|(shard, ids)| ids.chunks(CHUNK_MAX).map(move |some| (*shard, some)));
        self.link.round_trip();
        in_order(
            pieces
                .map(|(shard, ids)| async move {
                    let keys = self.keys.due(shard);
                    let call = FORGET_DUE.on(&[&keys.at, &keys.records, &keys.leases]).arg(&lease.token).arg(ids);
                    self.link.call::<u64>(call).await
                })
                .collect(),
        )
        .await
        .map(drop)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Fault> {
        self.link.round_trip();
        let firsts = in_order(
            (0..DUE_SHARDS)
                .map(|shard| async move {
                    let mut cmd = redis::cmd("ZRANGE");
                    cmd.arg(self.keys.due(shard).at).arg(0).arg(0).arg("WITHSCORES");
                    let first: Vec<(String, u64)> = self.link.send_command("reading the next due time", &cmd).await?;
                    Ok(first.first().map(|(_, at)| *at))
                })
                .collect(),
        )
        .await?;
        Ok(firsts.into_iter().flatten().min().map(Timestamp::from_ms))
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, Fault> {
        self.link.round_trip();
        let shards = in_order(
            (0..DUE_SHARDS)
                .map(|shard| async move {
                    let at = self.keys.due(shard).at;
                    let (mut all, mut due) = (redis::cmd("ZCARD"), redis::cmd("ZCOUNT"));
                    all.arg(&at);
                    due.arg(&at).arg("-inf").arg(now.as_ms());
                    let (waiting, due) = futures::join!(
                        self.link.send_command("counting what waits", &all),
                        self.link.send_command("counting what is due", &due)
                    );
                    Ok(Depth { waiting: waiting?, due: due? })
                })
                .collect(),
        )
        .await?;
        let sum = |sum: Depth, of: &Depth| Depth { waiting: sum.waiting + of.waiting, due: sum.due + of.due };
        Ok(shards.iter().fold(Depth::default(), sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(at: u64) -> Seen {
        (at, format!("wh-{at}"))
    }

    #[test]
    fn nothing_is_leased_beyond_what_is_known_of_a_full_shard() {
        let shards = vec![vec![seen(1), seen(2)], vec![seen(5)], Vec::new()];
        assert_eq!(earliest(shards, 2, 9), [seen(1), seen(2)], "3 may follow 2 unseen");
        let shards = vec![vec![seen(1), seen(9)], vec![seen(5)], vec![seen(3)]];
        assert_eq!(earliest(shards, 3, 2), [seen(1), seen(3)]);
    }
}
