//! Port `endpoints` on Redis.

use std::collections::BTreeMap;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::endpoints::{EndpointView, Endpoints, SettingView};
use domain::{ConfigId, EndpointHash, Timestamp, Waiting};
use wire::hot;

use crate::link::in_order;
use crate::store::RedisStore;
use crate::store::replies::{self, Fields};

/// Held webhooks that one command reads, about: each may be as large as a record of the log, about a megabyte.
const HELD_PAGE: usize = 32;
/// Bytes of held webhooks that are returned together, as unpacked; the last one may go beyond. The caller holds them all in
/// memory, and a function may have as little as 128 MB.
const HELD_BYTES_MAX: usize = 16 << 20;

impl RedisStore {
    async fn setting_view(&self, hash: &EndpointHash, config_id: ConfigId) -> Result<SettingView, Fault> {
        let (mut decided, mut held) = (redis::cmd("GET"), redis::cmd("HLEN"));
        decided.arg(self.keys.setting(hash, &config_id));
        held.arg(self.keys.held(hash, &config_id));
        let (decided, held) = futures::join!(
            self.link.send_command("reading a setting", &decided),
            self.link.send_command("counting what is held", &held)
        );
        let decided: Option<String> = decided?;
        Ok(SettingView { config_id, state: replies::setting(&decided.unwrap_or_default()), held: held? })
    }

    /// The tenants of an endpoint whose setting is not active, or for whom webhooks are held.
    pub(super) async fn settings(&self, hash: &EndpointHash) -> Result<Vec<ConfigId>, Fault> {
        let mut cmd = redis::cmd("SMEMBERS");
        cmd.arg(self.keys.endpoint(hash).settings);
        let mut members: Vec<String> = self.link.send_command("listing the settings of an endpoint", &cmd).await?;
        members.sort();
        Ok(members.iter().filter_map(|member| ConfigId::parse(member).ok()).collect())
    }

    /// One page of a hash of waiting webhooks, by id, of about `count`. The first cursor is 0, and so is the one that follows the
    /// last page.
    pub(super) async fn page(
        &self,
        key: &str,
        cursor: u64,
        count: usize,
    ) -> Result<(u64, Vec<(String, Vec<u8>)>), Fault> {
        let mut cmd = redis::cmd("HSCAN");
        cmd.arg(key).arg(cursor).arg("COUNT").arg(count);
        self.link.round_trip();
        self.link.send_command("reading waiting webhooks", &cmd).await
    }
}

#[async_trait]
impl Endpoints for RedisStore {
    async fn endpoint(&self, hash: &EndpointHash, now: Timestamp) -> Result<Option<EndpointView>, Fault> {
        let keys = self.keys.endpoint(hash);
        let (mut fields, mut inflight) = (redis::cmd("HGETALL"), redis::cmd("ZCOUNT"));
        fields.arg(&keys.state);
        inflight.arg(&keys.inflight).arg(format!("({}", now.as_ms())).arg("+inf");
        self.link.round_trip();
        let (fields, inflight, settings) = futures::join!(
            self.link.send_command::<Vec<(String, String)>>("reading an endpoint", &fields),
            self.link.send_command("counting the leases of an endpoint", &inflight),
            self.settings(hash),
        );
        let fields: Fields = fields?.into_iter().flat_map(|(name, value)| [name, value]).collect();
        let (inflight, settings) = (inflight?, settings?);
        if fields.is_empty() && inflight == 0 && settings.is_empty() {
            return Ok(None);
        }
        if !settings.is_empty() {
            self.link.round_trip();
        }
        Ok(Some(EndpointView {
            hash: hash.clone(),
            url: replies::field(&fields, "url").map(str::to_owned),
            state: replies::endpoint(&fields),
            inflight,
            settings: in_order(settings.into_iter().map(|config| self.setting_view(hash, config)).collect()).await?,
        }))
    }

    async fn unhealthy(&self, after: Option<&EndpointHash>, limit: usize) -> Result<Vec<EndpointHash>, Fault> {
        let mut found = Vec::new();
        let mut after = after.cloned();
        while found.len() < limit {
            let from = after.as_ref().map_or_else(|| "-".to_owned(), |after| format!("({after}"));
            let mut cmd = redis::cmd("ZRANGE");
            cmd.arg(self.keys.unhealthy()).arg(from).arg("+").arg("BYLEX");
            cmd.arg("LIMIT").arg(0).arg(limit - found.len());
            self.link.round_trip();
            let members: Vec<String> = self.link.send_command("listing unhealthy endpoints", &cmd).await?;
            let listed: Vec<_> = members.iter().filter_map(|member| EndpointHash::parse(member).ok()).collect();
            let Some(last) = listed.last() else { break };
            after = Some(last.clone());
            found.extend(self.still_unhealthy(listed).await?);
        }
        Ok(found)
    }

    async fn held(&self, hash: &EndpointHash, config: &ConfigId, limit: usize) -> Result<Vec<Waiting>, Fault> {
        let key = self.keys.held(hash, config);
        let (mut found, mut cursor, mut bytes) = (BTreeMap::new(), 0, 0);
        loop {
            let (next, page) = self.page(&key, cursor, HELD_PAGE).await?;
            for (id, packed) in page {
                if bytes < HELD_BYTES_MAX
                    && let Ok(waiting) = hot::waiting::decode(&packed)
                {
                    bytes += hot::waiting::unpacked_bytes(&packed);
                    found.insert(id, waiting);
                }
            }
            cursor = next;
            if cursor == 0 || found.len() >= limit || bytes >= HELD_BYTES_MAX {
                break;
            }
        }
        Ok(found.into_values().take(limit).collect())
    }
}
