//! Port `dead letters` on Redis: an index for each tenant.

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter, DeadLetters};
use domain::{ConfigId, DeadLetterEntry, Timestamp, WebhookId};
use wire::hot;

use crate::link::in_order;
use crate::scripts::{FORGET_DEAD_LETTER, LEASE_DEAD_LETTER};
use crate::store::RedisStore;

/// Entries that are read at once, at least. A filter may pass over most entries, so a page of the few that the caller wants
/// would cost a round trip for each few entries; an entry is some hundred bytes.
const PAGE_MIN: usize = 64;

/// What the caller wants listed.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    filter: &'a DeadLetterFilter,
    after: Option<&'a DeadLetterCursor>,
    limit: usize,
}

impl Wanted<'_> {
    fn admits(&self, entry: &DeadLetterEntry) -> bool {
        let place = (entry.at, &entry.id);
        self.filter.admits(entry) && self.after.is_none_or(|after| place > (after.at, &after.id))
    }
}

impl RedisStore {
    async fn list_of(&self, config: &ConfigId, wanted: Wanted<'_>) -> Result<Vec<DeadLetterEntry>, Fault> {
        let (key, page) = (self.keys.dead_at(config), wanted.limit.max(PAGE_MIN));
        let since = wanted.filter.since.max(wanted.after.map(|after| after.at));
        let (mut found, mut offset) = (Vec::new(), 0);
        loop {
            let mut cmd = redis::cmd("ZRANGE");
            cmd.arg(&key).arg(since.unwrap_or(Timestamp::EPOCH).as_ms());
            match wanted.filter.until {
                Some(until) => cmd.arg(format!("({}", until.as_ms())),
                None => cmd.arg("+inf"),
            };
            cmd.arg("BYSCORE").arg("LIMIT").arg(offset).arg(page);
            self.link.round_trip();
            let lines: Vec<String> = self.link.send_command("listing dead letters", &cmd).await?;
            let entries = lines.iter().filter_map(|line| hot::dead_letter::decode(line).ok());
            found.extend(entries.filter(|entry| wanted.admits(entry)));
            offset += page;
            if found.len() >= wanted.limit || lines.len() < page {
                found.truncate(wanted.limit);
                return Ok(found);
            }
        }
    }

    async fn configs(&self) -> Result<Vec<ConfigId>, Fault> {
        let mut cmd = redis::cmd("SMEMBERS");
        cmd.arg(self.keys.dead_configs());
        self.link.round_trip();
        let members: Vec<String> = self.link.send_command("listing the tenants with dead letters", &cmd).await?;
        Ok(members.iter().filter_map(|member| ConfigId::parse(member).ok()).collect())
    }
}

#[async_trait]
impl DeadLetters for RedisStore {
    async fn list(
        &self,
        filter: &DeadLetterFilter,
        after: Option<&DeadLetterCursor>,
        limit: usize,
    ) -> Result<Vec<DeadLetterEntry>, Fault> {
        let wanted = Wanted { filter, after, limit };
        if let Some(config) = &filter.config_id {
            return self.list_of(config, wanted).await;
        }
        let configs = self.configs().await?;
        let lists = in_order(configs.iter().map(|config| self.list_of(config, wanted)).collect()).await?;
        let mut all: Vec<_> = lists.into_iter().flatten().collect();
        all.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        all.truncate(limit);
        Ok(all)
    }

    async fn find(&self, id: &WebhookId) -> Result<Option<DeadLetterEntry>, Fault> {
        let mut tenant = redis::cmd("HGET");
        tenant.arg(self.keys.webhook(id)).arg("dead");
        self.link.round_trip();
        let tenant: Option<String> = self.link.send_command("finding the tenant of a dead letter", &tenant).await?;
        let Some(config) = tenant.and_then(|config| ConfigId::parse(&config).ok()) else { return Ok(None) };
        let mut entry = redis::cmd("HGET");
        entry.arg(self.keys.dead_ids(&config)).arg(id.as_str());
        self.link.round_trip();
        let entry: Option<String> = self.link.send_command("finding a dead letter", &entry).await?;
        let line = entry.as_deref().and_then(|entry| entry.split_once(' ')).map(|(_, line)| line);
        Ok(line.and_then(|line| hot::dead_letter::decode(line).ok()))
    }

    async fn lease(&self, entry: &DeadLetterEntry, now: Timestamp, until: Timestamp) -> Result<bool, Fault> {
        let call = LEASE_DEAD_LETTER.on(&[&self.keys.dead_ids(&entry.config_id)]);
        let call = call.arg(entry.id.as_str()).arg(entry.at.as_ms()).arg(now.as_ms()).arg(until.as_ms());
        self.link.round_trip();
        self.link.call(call).await
    }

    async fn forget(&self, entry: &DeadLetterEntry) -> Result<(), Fault> {
        let (at, ids) = (self.keys.dead_at(&entry.config_id), self.keys.dead_ids(&entry.config_id));
        let call = FORGET_DEAD_LETTER.on(&[&at, &ids]).arg(entry.id.as_str()).arg(entry.at.as_ms());
        self.link.round_trip();
        self.link.call::<u8>(call).await.map(drop)
    }
}
