//! What a close sends: the calls of its scripts, and what their replies tell.

use std::io;

use delivery::{Fault, FaultKind};
use domain::{
    ATTEMPTS_KEPT, ConfigId, DeadLetterEntry, EndpointHash, EndpointState, Leases, Phase, SettingDecision,
    Settlement, Status, Waiting, WebhookId,
};
use redis::{Cmd, Value};
use wire::hot;

use crate::fault;
use crate::link::{read, together};
use crate::scripts::{
    CREATE, Call, DEAD_MARK, DEAD_PUT, DECIDE, HOLD, REPORT, SCHEDULE, SETTLE, TOKEN_BACK, UNCLAIM, UNHOLD,
    UNSCHEDULE,
};
use crate::store::acquire::pace_us;
use crate::store::batch::{Batch, Reported, WebhookWrite};
use crate::store::folded::Folded;
use crate::store::replies::{self, Fields};
use crate::store::{RedisStore, ms};

/// Webhooks that one script takes at most: it must not keep others waiting.
const CHUNK_MAX: usize = 64;
/// Bytes of records that one script takes, unless a single one is larger.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// Webhooks and their packed records, for one script.
type Chunk = Vec<(Waiting, Vec<u8>)>;

/// One thing to send.
pub(super) enum Command {
    /// A script, and what its reply tells.
    Call(Call, ReplyKind),
    /// A command whose reply tells nothing.
    Command(Cmd),
    /// Lists endpoints as unhealthy.
    List(Vec<EndpointHash>),
}

/// What the reply of a script tells.
pub(super) enum ReplyKind {
    /// Nothing.
    Nothing,
    /// Whether a first status was written; if something was known already, it is merged.
    Created(Box<Settlement>),
    /// An endpoint's state.
    State(EndpointHash),
    /// Whether the settings' part of an endpoint's trouble came or went.
    Settings(EndpointHash),
}

/// What a reply tells.
#[derive(Default)]
pub(super) struct Reply {
    /// An endpoint's state after a report.
    pub(super) state: Option<EndpointState>,
    /// An endpoint whose trouble came or went.
    pub(super) changed: Option<EndpointHash>,
}

impl RedisStore {
    /// Everything that a batch sends. What shares a shard or a list goes in its order.
    pub(super) fn commands(&self, mut batch: Batch) -> Result<Vec<Command>, Fault> {
        batch.join_given_back();
        let mut commands = Vec::new();
        if !batch.unhealthy.is_empty() {
            commands.push(Command::List(batch.unhealthy.into_iter().collect()));
        }
        commands.extend(batch.webhooks.into_iter().map(|write| self.webhook(write)));
        let cooldowns = batch.cooldowns.into_values().map(|report| Reported { report, holder: None });
        commands.extend(batch.reports.into_iter().chain(cooldowns).map(|reported| self.report(&reported)));
        commands.extend(batch.releases.iter().flat_map(|leases| self.release(leases)));
        commands.extend(batch.decisions.iter().map(|decision| self.decide(decision)));
        for (shard, folded) in batch.due {
            self.reschedule(shard, folded, &mut commands).map_err(unpackable)?;
        }
        for ((hash, config), folded) in batch.held {
            self.rehold((&hash, &config), folded, &mut commands).map_err(unpackable)?;
        }
        for (config, entries) in batch.dead {
            self.bury(&config, &entries, &mut commands);
        }
        Ok(commands)
    }

    /// Does commands, all of them together.
    pub(super) async fn run(&self, commands: Vec<Command>) -> Vec<Result<Reply, Fault>> {
        let (mut calls, mut tells, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for command in commands {
            match command {
                Command::Call(call, tell) => {
                    calls.push(call);
                    tells.push(tell);
                }
                Command::Command(_) | Command::List(_) => others.push(command),
            }
        }
        let others = together(others.into_iter().map(|command| self.run_alone(command)).collect());
        let (replies, mut told) = futures::join!(self.link.call_all(calls), others);
        for (reply, tell) in replies.into_iter().zip(tells) {
            told.push(self.told(reply, tell).await);
        }
        told
    }

    async fn run_alone(&self, command: Command) -> Result<Reply, Fault> {
        match command {
            Command::Call(call, tell) => self.told(self.link.call(call).await, tell).await,
            Command::Command(cmd) => self.link.ask::<Value>("release", &cmd).await.map(|_| Reply::default()),
            Command::List(hashes) => self.list(&hashes).await.map(|()| Reply::default()),
        }
    }

    async fn told(&self, reply: Result<Value, Fault>, tells: ReplyKind) -> Result<Reply, Fault> {
        match tells {
            ReplyKind::Nothing => reply.map(|_| Reply::default()),
            ReplyKind::Created(settlement) => {
                let created: u8 = read(CREATE.name, reply)?;
                if created == 0 {
                    self.link.call::<Value>(self.settle(&settlement)).await?;
                }
                Ok(Reply::default())
            }
            ReplyKind::Settings(hash) => {
                let changed: u8 = read("settings", reply)?;
                Ok(Reply { changed: (changed == 1).then_some(hash), state: None })
            }
            ReplyKind::State(hash) => {
                let reply: Vec<Value> = read(REPORT.name, reply)?;
                let [changed, fields] = <[Value; 2]>::try_from(reply).unwrap_or([Value::Nil, Value::Nil]);
                if fields == Value::Nil {
                    return Ok(Reply::default());
                }
                let fields: Fields = redis::from_redis_value(fields).map_err(fault::unexpected(REPORT.name))?;
                Ok(Reply {
                    changed: (changed == Value::Int(1)).then_some(hash),
                    state: Some(replies::endpoint(&fields)),
                })
            }
        }
    }

    fn webhook(&self, write: WebhookWrite) -> Command {
        match write {
            WebhookWrite::Settle(settlement) if is_first(&settlement) => {
                let status = &settlement.status;
                let call = CREATE.on(&[&self.keys.webhook(&status.id)]).arg(hot::status::encode(status));
                Command::Call(call.arg(ms(self.retention.webhook)), ReplyKind::Created(Box::new(settlement)))
            }
            WebhookWrite::Settle(settlement) => Command::Call(self.settle(&settlement), ReplyKind::Nothing),
            WebhookWrite::Unclaim(id, fence) => {
                Command::Call(UNCLAIM.on(&[&self.keys.webhook(&id)]).arg(fence.0), ReplyKind::Nothing)
            }
        }
    }

    fn settle(&self, settlement: &Settlement) -> Call {
        let Settlement { fence, status, attempt } = settlement;
        let call = SETTLE.on(&[&self.keys.webhook(&status.id)]);
        let call = match fence {
            Some(fence) => call.arg(fence.0),
            None => call.arg("-"),
        };
        let call = call.arg(hot::status::encode(status)).arg(ms(self.retention.webhook)).arg(ATTEMPTS_KEPT);
        match attempt {
            Some(attempt) => call.arg(hot::attempt::field(attempt)).arg(hot::attempt::encode(attempt)),
            None => call.arg("").arg(""),
        }
    }

    fn report(&self, reported: &Reported) -> Command {
        let report = &reported.report;
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
            .arg(reported.holder.as_deref().unwrap_or_default());
        Command::Call(call, ReplyKind::State(hash.clone()))
    }

    fn release(&self, leases: &Leases) -> Vec<Command> {
        let keys = self.keys.endpoint(leases.endpoint.hash());
        let zrem = |key: &str| {
            let mut cmd = redis::cmd("ZREM");
            cmd.arg(key).arg(&leases.holder);
            Command::Command(cmd)
        };
        let held = if leases.on_endpoint { leases.holder.as_str() } else { "" };
        let on_endpoint = match leases.unused_token {
            Some(pace) => {
                let call = TOKEN_BACK.on(&[&keys.state, &keys.inflight]).arg(held).arg(pace_us(pace).0);
                Some(Command::Call(call, ReplyKind::Nothing))
            }
            None => leases.on_endpoint.then(|| zrem(&keys.inflight)),
        };
        let on_domain = leases.on_domain.then(|| zrem(&self.keys.domain(leases.endpoint.domain())));
        [on_endpoint, on_domain].into_iter().flatten().collect()
    }

    fn decide(&self, decision: &SettingDecision) -> Command {
        let (hash, config) = (&decision.endpoint, &decision.config_id);
        let line = hot::setting::encode(decision.state, decision.decided_at);
        let words: Vec<_> = line.split(' ').collect();
        let call = DECIDE
            .on(&self.setting_keys(hash, config).each_ref().map(String::as_str))
            .arg(config.as_str())
            .arg(words)
            .arg(ms(self.retention.endpoint));
        Command::Call(call, ReplyKind::Settings(hash.clone()))
    }

    fn setting_keys(&self, hash: &EndpointHash, config: &ConfigId) -> [String; 4] {
        let keys = self.keys.endpoint(hash);
        [keys.state, keys.settings, self.keys.setting(hash, config), self.keys.held(hash, config)]
    }

    fn reschedule(&self, shard: u8, folded: Folded, commands: &mut Vec<Command>) -> io::Result<()> {
        let keys = self.keys.due(shard);
        let keys = [keys.at.as_str(), &keys.records, &keys.leases];
        let (out, put) = folded.parts();
        commands.extend(
            out.chunks(CHUNK_MAX).map(|some| Command::Call(through(UNSCHEDULE.on(&keys), some), ReplyKind::Nothing)),
        );
        for some in chunks(put)? {
            let mut call = SCHEDULE.on(&keys);
            for (waiting, packed) in some {
                call = call.arg(waiting.dispatch.webhook.id.as_str()).arg(waiting.due.as_ms()).arg(packed);
            }
            commands.push(Command::Call(call, ReplyKind::Nothing));
        }
        Ok(())
    }

    fn rehold(
        &self,
        (hash, config): (&EndpointHash, &ConfigId),
        folded: Folded,
        commands: &mut Vec<Command>,
    ) -> io::Result<()> {
        let [state, settings, setting, held] = self.setting_keys(hash, config);
        let (out, put) = folded.parts();
        for some in out.chunks(CHUNK_MAX) {
            let call = UNHOLD.on(&[&state, &settings, &setting, &held]).arg(config.as_str());
            let call = through(call.arg(ms(self.retention.endpoint)), some);
            commands.push(Command::Call(call, ReplyKind::Settings(hash.clone())));
        }
        for some in chunks(put)? {
            let url = some.first().map(|(waiting, _)| waiting.dispatch.webhook.endpoint.url().to_owned());
            let mut call = HOLD.on(&[&state, &settings, &held]).arg(config.as_str()).arg(url.unwrap_or_default());
            for (waiting, packed) in some {
                call = call.arg(waiting.dispatch.webhook.id.as_str()).arg(packed);
            }
            commands.push(Command::Call(call, ReplyKind::Settings(hash.clone())));
        }
        Ok(())
    }

    fn bury(&self, config: &ConfigId, entries: &[DeadLetterEntry], commands: &mut Vec<Command>) {
        let mut cmd = redis::cmd("SADD");
        cmd.arg(self.keys.dead_configs()).arg(config.as_str());
        commands.push(Command::Command(cmd));
        for some in entries.chunks(CHUNK_MAX) {
            let call = DEAD_PUT.on(&[&self.keys.dead_at(config), &self.keys.dead_ids(config)]);
            let call = some.iter().fold(call.arg(ms(self.retention.dead_letters)), |call, entry| {
                call.arg(entry.id.as_str()).arg(entry.at.as_ms()).arg(hot::dead_letter::encode(entry))
            });
            commands.push(Command::Call(call, ReplyKind::Nothing));
        }
        commands.extend(entries.iter().map(|entry| {
            let call = DEAD_MARK.on(&[&self.keys.webhook(&entry.id)]).arg(config.as_str());
            Command::Call(call.arg(ms(self.retention.dead_letters)), ReplyKind::Nothing)
        }));
    }
}

/// Whether this is the lowest status that a webhook can have, and nothing else.
fn is_first(settlement: &Settlement) -> bool {
    let Settlement { fence, status, attempt } = settlement;
    let lowest = || Status::pending(status.id.clone(), status.config_id.clone(), 1, status.updated_at);
    fence.is_none() && attempt.is_none() && status.phase == Phase::Pending && *status == lowest()
}

fn unpackable(error: io::Error) -> Fault {
    Fault::caused(FaultKind::Transient, "what waits could not be compressed", error)
}

fn through(call: Call, webhooks: &[(WebhookId, u64)]) -> Call {
    webhooks.iter().fold(call, |call, (id, through)| call.arg(id.as_str()).arg(*through))
}

/// Packs what waits, in pieces that a script may take.
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
