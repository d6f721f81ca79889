//! Port `statuses` on Redis.

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::statuses::Statuses;
use domain::{Attempt, Phase, Status, WebhookId};
use wire::hot;

use crate::link::in_order;
use crate::store::RedisStore;

impl RedisStore {
    async fn status(&self, id: &WebhookId) -> Result<Option<Status>, Fault> {
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(self.keys.webhook(id)).arg("claim").arg("status");
        let (claim, status): (Option<String>, Option<String>) =
            self.link.send_command("reading a status", &cmd).await?;
        let status = status.and_then(|line| hot::status::decode(id, &line).ok());
        let held = claim.and_then(|line| hot::claim::decode(&line).ok()).and_then(|claim| claim.held);
        Ok(status.map(|status| {
            let taken_up = held.is_some_and(|(dispatch, ..)| dispatch == status.dispatch);
            let phase = if status.phase == Phase::Pending && taken_up { Phase::Delivering } else { status.phase };
            Status { phase, ..status }
        }))
    }
}

#[async_trait]
impl Statuses for RedisStore {
    async fn statuses(&self, ids: &[WebhookId]) -> Result<Vec<Option<Status>>, Fault> {
        self.link.round_trip();
        in_order(ids.iter().map(|id| self.status(id)).collect()).await
    }

    async fn attempts(&self, id: &WebhookId) -> Result<Option<Vec<Attempt>>, Fault> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(self.keys.webhook(id));
        self.link.round_trip();
        let fields: Vec<(String, String)> = self.link.send_command("reading attempts", &cmd).await?;
        if !fields.iter().any(|(name, _)| name == "status") {
            return Ok(None);
        }
        let lines =
            fields.iter().filter(|(name, _)| name.starts_with(hot::attempt::FIELD_PREFIX)).map(|(_, line)| line);
        let mut attempts: Vec<_> = lines.filter_map(|line| hot::attempt::decode(line).ok()).collect();
        attempts.sort_by_key(|attempt| (attempt.dispatch, attempt.number));
        Ok(Some(attempts))
    }
}
