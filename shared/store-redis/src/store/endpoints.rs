//! Port `endpoints` on Redis.

use std::collections::BTreeMap;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::endpoints::{EndpointView, Endpoints, OwnerView};
use domain::{ConfigId, EndpointHash, Timestamp, Waiting};

use crate::link::in_order;
use crate::packed::{unpack, unpacked_bytes};
use crate::store::RedisStore;
use crate::store::replies::{self, Fields};

/// Parked webhooks that Redis is asked for at once, about: they may be large.
const PARKED_PAGE: usize = 32;
/// Bytes of parked webhooks that are handed out together, as unpacked; the last one may go beyond.
const PARKED_BYTES_MAX: usize = 16 << 20;

impl RedisStore {
    async fn owner_view(&self, hash: &EndpointHash, config_id: ConfigId) -> Result<OwnerView, Fault> {
        let (mut decided, mut parked) = (redis::cmd("GET"), redis::cmd("HLEN"));
        decided.arg(self.keys.owner(hash, &config_id));
        parked.arg(self.keys.parked(hash, &config_id));
        let (decided, parked) =
            futures::join!(self.link.ask("an owner", &decided), self.link.ask("an owner", &parked));
        let decided: Option<String> = decided?;
        Ok(OwnerView { config_id, state: replies::owner(&decided.unwrap_or_default()), parked: parked? })
    }

    /// The tenants of an endpoint whose decision is not the normal one, or for whom webhooks are parked.
    pub(super) async fn owners(&self, hash: &EndpointHash) -> Result<Vec<ConfigId>, Fault> {
        let mut cmd = redis::cmd("SMEMBERS");
        cmd.arg(self.keys.endpoint(hash).owners);
        let mut members: Vec<String> = self.link.ask("owners", &cmd).await?;
        members.sort();
        Ok(members.iter().filter_map(|member| ConfigId::parse(member).ok()).collect())
    }

    /// One page of a hash of what waits, by webhook, of about `count`; 0 is the first cursor and follows the last page.
    pub(super) async fn page(
        &self,
        key: &str,
        cursor: u64,
        count: usize,
    ) -> Result<(u64, Vec<(String, Vec<u8>)>), Fault> {
        let mut cmd = redis::cmd("HSCAN");
        cmd.arg(key).arg(cursor).arg("COUNT").arg(count);
        self.link.trip();
        self.link.ask("what waits", &cmd).await
    }
}

#[async_trait]
impl Endpoints for RedisStore {
    async fn endpoint(&self, hash: &EndpointHash, now: Timestamp) -> Result<Option<EndpointView>, Fault> {
        let keys = self.keys.endpoint(hash);
        let (mut fields, mut inflight) = (redis::cmd("HGETALL"), redis::cmd("ZCOUNT"));
        fields.arg(&keys.state);
        inflight.arg(&keys.inflight).arg(format!("({}", now.as_ms())).arg("+inf");
        self.link.trip();
        let (fields, inflight, owners) = futures::join!(
            self.link.ask::<Vec<(String, String)>>("an endpoint", &fields),
            self.link.ask("an endpoint", &inflight),
            self.owners(hash),
        );
        let fields: Fields = fields?.into_iter().flat_map(|(name, value)| [name, value]).collect();
        let (inflight, owners) = (inflight?, owners?);
        if fields.is_empty() && inflight == 0 && owners.is_empty() {
            return Ok(None);
        }
        if !owners.is_empty() {
            self.link.trip();
        }
        Ok(Some(EndpointView {
            hash: hash.clone(),
            url: replies::field(&fields, "url").map(str::to_owned),
            state: replies::endpoint(&fields),
            inflight,
            owners: in_order(owners.into_iter().map(|config| self.owner_view(hash, config)).collect()).await?,
        }))
    }

    async fn troubled(&self, after: Option<&EndpointHash>, limit: usize) -> Result<Vec<EndpointHash>, Fault> {
        let mut found = Vec::new();
        let mut after = after.cloned();
        while found.len() < limit {
            let from = after.as_ref().map_or_else(|| "-".to_owned(), |after| format!("({after}"));
            let mut cmd = redis::cmd("ZRANGE");
            cmd.arg(self.keys.troubled()).arg(from).arg("+").arg("BYLEX");
            cmd.arg("LIMIT").arg(0).arg(limit - found.len());
            self.link.trip();
            let members: Vec<String> = self.link.ask("listing trouble", &cmd).await?;
            let listed: Vec<_> = members.iter().filter_map(|member| EndpointHash::parse(member).ok()).collect();
            let Some(last) = listed.last() else { break };
            after = Some(last.clone());
            found.extend(self.still_troubled(listed).await?);
        }
        Ok(found)
    }

    async fn parked(&self, hash: &EndpointHash, config: &ConfigId, limit: usize) -> Result<Vec<Waiting>, Fault> {
        let key = self.keys.parked(hash, config);
        let (mut found, mut cursor, mut bytes) = (BTreeMap::new(), 0, 0);
        loop {
            let (next, page) = self.page(&key, cursor, PARKED_PAGE).await?;
            for (id, packed) in page {
                if bytes < PARKED_BYTES_MAX
                    && let Some(waiting) = unpack(&packed)
                {
                    bytes += unpacked_bytes(&packed);
                    found.insert(id, waiting);
                }
            }
            cursor = next;
            if cursor == 0 || found.len() >= limit || bytes >= PARKED_BYTES_MAX {
                break;
            }
        }
        Ok(found.into_values().take(limit).collect())
    }
}
