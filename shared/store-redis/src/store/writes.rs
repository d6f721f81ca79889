//! The scripts and commands that each kind of write becomes.

use std::io;

use domain::{
    ATTEMPTS_KEPT, ConfigId, DeadLetterEntry, EndpointHash, EndpointReport, Fence, Leases, Phase, SettingDecision,
    Settlement, Status, Waiting, WebhookId,
};
use wire::hot;

use crate::scripts::{
    CREATE, Call, DECIDE, GIVE_BACK_TOKEN, HOLD, INDEX_DEAD_LETTERS, RECORD_DEAD_LETTER, REPORT, SCHEDULE, SETTLE,
    UNCLAIM, UNHOLD, UNSCHEDULE,
};
use crate::store::acquire::pace_us;
use crate::store::command::{Command, ReplyKind};
use crate::store::list_changes::ListChanges;
use crate::store::{RedisStore, ms};

/// Webhooks that one script takes at most. Redis runs one script at a time, so a large rebuild or release must leave gaps
/// between short scripts for the commands of the lanes.
const CHUNK_MAX: usize = 64;
/// Bytes of packed records that one script takes, unless a single record is larger; for the same reason as [`CHUNK_MAX`].
/// That is 4 KiB for each of 64 webhooks, so that only large records make a script shorter.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// Webhooks and their packed records, for one script.
type Chunk = Vec<(Waiting, Vec<u8>)>;

impl RedisStore {
    /// Settles a dispatch, or merges a status.
    pub(super) fn status_command(&self, settlement: Settlement) -> Command {
        if is_first(&settlement) {
            let status = &settlement.status;
            let call = CREATE.on(&[&self.keys.webhook(&status.id)]).arg(hot::status::encode(status));
            Command::Script(call.arg(ms(self.retention.webhook)), ReplyKind::Created(Box::new(settlement)))
        } else {
            Command::Script(self.settle(&settlement), ReplyKind::Nothing)
        }
    }

    pub(super) fn settle(&self, settlement: &Settlement) -> Call {
        let Settlement { fence, status, attempt } = settlement;
        let call = SETTLE.on(&[&self.keys.webhook(&status.id)]);
        let call = match fence {
            Some(fence) => call.arg(fence.0),
            None => call.arg("-"),
        };
        let call = call.arg(hot::status::encode(status)).arg(ms(self.retention.webhook)).arg(ATTEMPTS_KEPT);
        match attempt {
            // In hexadecimal and of one width, so that the names sort as the places do.
            Some(attempt) => call.arg(hot::attempt::field(attempt)).arg(hot::attempt::encode(attempt)),
            None => call.arg("").arg(""),
        }
    }

    pub(super) fn unclaim_command(&self, id: &WebhookId, fence: Fence) -> Command {
        Command::Script(UNCLAIM.on(&[&self.keys.webhook(id)]).arg(fence.0), ReplyKind::Nothing)
    }

    /// A report, and the holder of the lease that is given back with it.
    pub(super) fn report_command(&self, (report, holder): &(EndpointReport, Option<String>)) -> Command {
        let hash = report.endpoint.hash();
        let keys = self.keys.endpoint(hash);
        let call = REPORT
            .on(&[&keys.state, &keys.inflight, &keys.settings])
            .arg(report.bucket.as_ms())
            .arg(report.tally.failures)
            .arg(report.tally.successes)
            .arg(report.tally.slow)
            .arg(report.keep_since.as_ms())
            .arg(report.cooldown.map(hot::cooldown::encode).unwrap_or_default())
            .arg(report.endpoint.url())
            .arg(ms(self.retention.endpoint))
            .arg(holder.as_deref().unwrap_or_default());
        Command::Script(call, ReplyKind::State(hash.clone()))
    }

    /// Gives the leases of one request back, and a token that it took and did not use.
    pub(super) fn give_back_commands(&self, leases: &Leases) -> Vec<Command> {
        let keys = self.keys.endpoint(leases.endpoint.hash());
        let zrem = |key: &str| {
            let mut cmd = redis::cmd("ZREM");
            cmd.arg(key).arg(&leases.holder);
            Command::Plain("giving a lease back", cmd)
        };
        let holder = if leases.on_endpoint { leases.holder.as_str() } else { "" };
        let on_endpoint = match leases.unused_token {
            Some(pace) => {
                let call = GIVE_BACK_TOKEN.on(&[&keys.state, &keys.inflight]).arg(holder).arg(pace_us(pace).0);
                Some(Command::Script(call, ReplyKind::Nothing))
            }
            None => leases.on_endpoint.then(|| zrem(&keys.inflight)),
        };
        let on_domain = leases.on_domain.then(|| zrem(&self.keys.domain(leases.endpoint.domain())));
        [on_endpoint, on_domain].into_iter().flatten().collect()
    }

    pub(super) fn decide_command(&self, decision: &SettingDecision) -> Command {
        let (hash, config) = (&decision.endpoint, &decision.config_id);
        let line = hot::setting::encode(decision.state, decision.decided_at);
        let words: Vec<_> = line.split(' ').collect();
        let call = DECIDE
            .on(&self.setting_keys(hash, config).each_ref().map(String::as_str))
            .arg(config.as_str())
            .arg(words)
            .arg(ms(self.retention.endpoint));
        Command::Script(call, ReplyKind::Settings(hash.clone()))
    }

    fn setting_keys(&self, hash: &EndpointHash, config: &ConfigId) -> [String; 4] {
        let keys = self.keys.endpoint(hash);
        [keys.state, keys.settings, self.keys.setting(hash, config), self.keys.held(hash, config)]
    }

    /// Changes one shard of the schedule.
    pub(super) fn schedule_commands(&self, shard: u8, changes: ListChanges) -> io::Result<Vec<Command>> {
        let keys = self.keys.due(shard);
        let keys = [keys.at.as_str(), &keys.records, &keys.leases];
        let (out, put) = changes.parts();
        let mut commands: Vec<_> = out
            .chunks(CHUNK_MAX)
            .map(|chunk| Command::Script(args_of(UNSCHEDULE.on(&keys), chunk), ReplyKind::Nothing))
            .collect();
        for chunk in chunks(put)? {
            let mut call = SCHEDULE.on(&keys);
            for (waiting, packed) in chunk {
                call = call.arg(waiting.dispatch.webhook.id.as_str()).arg(waiting.due.as_ms()).arg(packed);
            }
            commands.push(Command::Script(call, ReplyKind::Nothing));
        }
        Ok(commands)
    }

    /// Changes what is held for one tenant at one endpoint.
    pub(super) fn hold_commands(
        &self,
        (hash, config): (&EndpointHash, &ConfigId),
        changes: ListChanges,
    ) -> io::Result<Vec<Command>> {
        let [state, settings, setting, held] = self.setting_keys(hash, config);
        let (out, put) = changes.parts();
        let script = |call| Command::Script(call, ReplyKind::Settings(hash.clone()));
        let mut commands = Vec::new();
        for chunk in out.chunks(CHUNK_MAX) {
            let call = UNHOLD.on(&[&state, &settings, &setting, &held]).arg(config.as_str());
            commands.push(script(args_of(call.arg(ms(self.retention.endpoint)), chunk)));
        }
        for chunk in chunks(put)? {
            let url = chunk.first().map(|(waiting, _)| waiting.dispatch.webhook.endpoint.url().to_owned());
            let mut call = HOLD.on(&[&state, &settings, &held]).arg(config.as_str()).arg(url.unwrap_or_default());
            for (waiting, packed) in chunk {
                call = call.arg(waiting.dispatch.webhook.id.as_str()).arg(packed);
            }
            commands.push(script(call));
        }
        Ok(commands)
    }

    /// Indexes dead letters of one tenant.
    pub(super) fn index_commands(&self, config: &ConfigId, entries: &[DeadLetterEntry]) -> Vec<Command> {
        let mut cmd = redis::cmd("SADD");
        cmd.arg(self.keys.dead_configs()).arg(config.as_str());
        let mut commands = vec![Command::Plain("listing a tenant with dead letters", cmd)];
        for chunk in entries.chunks(CHUNK_MAX) {
            let call = INDEX_DEAD_LETTERS.on(&[&self.keys.dead_at(config), &self.keys.dead_ids(config)]);
            let call = chunk.iter().fold(call.arg(ms(self.retention.dead_letters)), |call, entry| {
                call.arg(entry.id.as_str()).arg(entry.at.as_ms()).arg(hot::dead_letter::encode(entry))
            });
            commands.push(Command::Script(call, ReplyKind::Nothing));
        }
        commands.extend(entries.iter().map(|entry| {
            let call = RECORD_DEAD_LETTER.on(&[&self.keys.webhook(&entry.id)]).arg(config.as_str());
            Command::Script(call.arg(ms(self.retention.dead_letters)), ReplyKind::Nothing)
        }));
        commands
    }
}

/// Whether this is the lowest status that a webhook can have, and nothing else.
fn is_first(settlement: &Settlement) -> bool {
    let Settlement { fence, status, attempt } = settlement;
    let lowest = || Status::pending(status.id.clone(), status.config_id.clone(), 1, status.updated_at);
    fence.is_none() && attempt.is_none() && status.phase == Phase::Pending && *status == lowest()
}

/// Adds webhooks, each with the dispatch up to which it is taken out.
fn args_of(call: Call, webhooks: &[(WebhookId, u64)]) -> Call {
    webhooks.iter().fold(call, |call, (id, through)| call.arg(id.as_str()).arg(*through))
}

/// Packs waiting webhooks, in pieces that a script may take.
fn chunks(put: Vec<Waiting>) -> io::Result<Vec<Chunk>> {
    let (mut chunks, mut bytes) = (Vec::<Chunk>::new(), 0);
    for waiting in put {
        let packed = hot::waiting::encode(&waiting)?;
        bytes += packed.len();
        match chunks.last_mut() {
            Some(last) if last.len() < CHUNK_MAX && bytes <= CHUNK_BYTES_MAX => last.push((waiting, packed)),
            Some(_) | None => {
                bytes = packed.len();
                chunks.push(vec![(waiting, packed)]);
            }
        }
    }
    Ok(chunks)
}
