//! Port `recovery` on Redis: the epoch, the rebuild's lock and cursor, the fingerprint.
//!
//! An epoch or a cursor that cannot be read counts as lost: the rebuild begins anew.

use std::collections::BTreeMap;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::recovery::{Cursor, Epoch, Recovery};
use domain::{ClaimHolder, EndpointHash, Fence, Timestamp, Waiting};
use wire::hot;

use crate::keys::{DUE_SHARDS, fnv};
use crate::link::in_order;
use crate::scripts::{REBUILD_ADVANCE, REBUILD_COMPLETE, REBUILD_LOCK};
use crate::store::RedisStore;

/// Entries that one command of a fingerprint reads, about. Only tests and an operator ask for a fingerprint, so a page may take
/// Redis some milliseconds.
const FINGERPRINT_PAGE: usize = 500;

/// What counts of a waiting webhook: which one, which dispatch and attempt, and when.
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
        Ok(line.and_then(|line| hot::epoch::decode(&line).ok()))
    }

    /// The fingerprint of one hash of waiting webhooks. A page may repeat entries of an earlier one.
    async fn fingerprint_at(&self, key: String) -> Result<u64, Fault> {
        let (mut found, mut cursor) = (BTreeMap::new(), 0);
        loop {
            let (next, page) = self.page(&key, cursor, FINGERPRINT_PAGE).await?;
            let prints = page
                .into_iter()
                .map(|(id, packed)| (id, hot::waiting::decode(&packed).as_ref().map_or(0, fingerprint_of)));
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
            [fence, line] => {
                let cursor = hot::rebuild_cursor::decode(line).unwrap_or_default();
                fence.parse().ok().map(|fence| (Fence(fence), cursor))
            }
            _ => None,
        })
    }

    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault> {
        let call = REBUILD_ADVANCE.on(&[&self.keys.rebuild()]).arg(fence.0).arg(hot::rebuild_cursor::encode(cursor));
        self.link.round_trip();
        self.link.call(call).await
    }

    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault> {
        let call = REBUILD_COMPLETE.on(&[&self.keys.rebuild(), &self.keys.epoch()]);
        self.link.round_trip();
        self.link.call(call.arg(fence.0).arg(hot::epoch::encode(epoch))).await
    }

    async fn fingerprint(&self) -> Result<u64, Fault> {
        let mut lists: Vec<_> = (0..DUE_SHARDS).map(|shard| self.keys.due(shard).records).collect();
        lists.extend(self.held_lists().await?);
        let prints = in_order(lists.into_iter().map(|key| self.fingerprint_at(key)).collect()).await?;
        Ok(prints.into_iter().fold(0, u64::wrapping_add))
    }
}
