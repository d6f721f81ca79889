//! What a close sends: the calls of its scripts, and what their replies tell.

use std::io;

use delivery::{Fault, FaultKind};
use domain::{
    ATTEMPTS_KEPT, ConfigId, DeadLetterEntry, EndpointHash, EndpointState, Leases, OwnerDecision, Phase, Settlement,
    Status, Waiting, WebhookId,
};
use redis::{Cmd, Value};
use wire::hot;

use crate::fault;
use crate::link::{read, together};
use crate::packed::pack;
use crate::scripts::{
    CREATE, Call, DEAD_MARK, DEAD_PUT, DECIDE, PARK, REPORT, SCHEDULE, SETTLE, TOKEN_BACK, UNCLAIM, UNPARK,
    UNSCHEDULE,
};
use crate::store::batch::{Batch, Reported, WebhookWrite};
use crate::store::folded::Folded;
use crate::store::open::pace_us;
use crate::store::replies::{self, Fields};
use crate::store::{RedisStore, ms};

/// Webhooks that one script takes at most: it must not keep others waiting.
const CHUNK_MAX: usize = 64;
/// Bytes of records that one script takes, unless a single one is larger.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// Webhooks and their packed records, for one script.
type Chunk = Vec<(Waiting, Vec<u8>)>;

/// One thing to send.
pub(super) enum Errand {
    /// A script, and what its reply tells.
    Call(Call, Tells),
    /// A command whose reply tells nothing.
    Command(Cmd),
    /// Lists endpoints as troubled.
    List(Vec<EndpointHash>),
}

/// What the reply of a script tells.
pub(super) enum Tells {
    /// Nothing.
    Nothing,
    /// Whether a first status was written; if something was known already, it is merged.
    Created(Box<Settlement>),
    /// An endpoint's state.
    State(EndpointHash),
    /// Whether the owners' part of an endpoint's trouble came or went.
    Owners(EndpointHash),
}

/// What a reply tells.
#[derive(Default)]
pub(super) struct Told {
    /// An endpoint's state after a report.
    pub(super) state: Option<EndpointState>,
    /// An endpoint whose trouble came or went.
    pub(super) turned: Option<EndpointHash>,
}

impl RedisStore {
    /// Everything that a batch sends. What shares a shard or a list goes in its order.
    pub(super) fn errands(&self, mut batch: Batch) -> Result<Vec<Errand>, Fault> {
        batch.join_releases();
        let mut errands = Vec::new();
        if !batch.troubled.is_empty() {
            errands.push(Errand::List(batch.troubled.into_iter().collect()));
        }
        errands.extend(batch.webhooks.into_iter().map(|write| self.webhook(write)));
        let gates = batch.gates.into_values().map(|report| Reported { report, holder: None });
        errands.extend(batch.reports.into_iter().chain(gates).map(|reported| self.report(&reported)));
        errands.extend(batch.releases.iter().flat_map(|leases| self.release(leases)));
        errands.extend(batch.decisions.iter().map(|decision| self.decide(decision)));
        for (shard, folded) in batch.due {
            self.reschedule(shard, folded, &mut errands).map_err(unpackable)?;
        }
        for ((hash, config), folded) in batch.parked {
            self.repark((&hash, &config), folded, &mut errands).map_err(unpackable)?;
        }
        for (config, entries) in batch.dead {
            self.bury(&config, &entries, &mut errands);
        }
        Ok(errands)
    }

    /// Does errands, all of them together.
    pub(super) async fn run(&self, errands: Vec<Errand>) -> Vec<Result<Told, Fault>> {
        let (mut calls, mut tells, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for errand in errands {
            match errand {
                Errand::Call(call, tell) => {
                    calls.push(call);
                    tells.push(tell);
                }
                Errand::Command(_) | Errand::List(_) => others.push(errand),
            }
        }
        let others = together(others.into_iter().map(|errand| self.run_alone(errand)).collect());
        let (replies, mut told) = futures::join!(self.link.call_all(calls), others);
        for (reply, tell) in replies.into_iter().zip(tells) {
            told.push(self.told(reply, tell).await);
        }
        told
    }

    async fn run_alone(&self, errand: Errand) -> Result<Told, Fault> {
        match errand {
            Errand::Call(call, tell) => self.told(self.link.call(call).await, tell).await,
            Errand::Command(cmd) => self.link.ask::<Value>("release", &cmd).await.map(|_| Told::default()),
            Errand::List(hashes) => self.list(&hashes).await.map(|()| Told::default()),
        }
    }

    async fn told(&self, reply: Result<Value, Fault>, tells: Tells) -> Result<Told, Fault> {
        match tells {
            Tells::Nothing => reply.map(|_| Told::default()),
            Tells::Created(settlement) => {
                let created: u8 = read(CREATE.name, reply)?;
                if created == 0 {
                    self.link.call::<Value>(self.settle(&settlement)).await?;
                }
                Ok(Told::default())
            }
            Tells::Owners(hash) => {
                let turned: u8 = read("owners", reply)?;
                Ok(Told { turned: (turned == 1).then_some(hash), state: None })
            }
            Tells::State(hash) => {
                let reply: Vec<Value> = read(REPORT.name, reply)?;
                let [turned, fields] = <[Value; 2]>::try_from(reply).unwrap_or([Value::Nil, Value::Nil]);
                if fields == Value::Nil {
                    return Ok(Told::default());
                }
                let fields: Fields = redis::from_redis_value(fields).map_err(fault::unexpected(REPORT.name))?;
                Ok(Told {
                    turned: (turned == Value::Int(1)).then_some(hash),
                    state: Some(replies::endpoint(&fields)),
                })
            }
        }
    }

    fn webhook(&self, write: WebhookWrite) -> Errand {
        match write {
            WebhookWrite::Settle(settlement) if is_first(&settlement) => {
                let status = &settlement.status;
                let call = CREATE.on(&[&self.keys.webhook(&status.id)]).arg(hot::status::encode(status));
                Errand::Call(call.arg(ms(self.retention.webhook)), Tells::Created(Box::new(settlement)))
            }
            WebhookWrite::Settle(settlement) => Errand::Call(self.settle(&settlement), Tells::Nothing),
            WebhookWrite::Unclaim(id, fence) => {
                Errand::Call(UNCLAIM.on(&[&self.keys.webhook(&id)]).arg(fence.0), Tells::Nothing)
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
            // In hexadecimal and of one width, so that the names sort as the places do.
            Some(attempt) => call
                .arg(format!("a:{:016x}{:08x}", attempt.dispatch, attempt.number))
                .arg(hot::attempt::encode(attempt)),
            None => call.arg("").arg(""),
        }
    }

    fn report(&self, reported: &Reported) -> Errand {
        let report = &reported.report;
        let hash = report.endpoint.hash();
        let keys = self.keys.endpoint(hash);
        let call = REPORT
            .on(&[&keys.state, &keys.inflight, &keys.owners])
            .arg(report.bucket.as_ms())
            .arg(report.tally.failures)
            .arg(report.tally.successes)
            .arg(report.tally.slow)
            .arg(report.keep_since.as_ms())
            .arg(report.gate.map(hot::gate::encode).unwrap_or_default())
            .arg(report.endpoint.url())
            .arg(ms(self.retention.endpoint))
            .arg(reported.holder.as_deref().unwrap_or_default());
        Errand::Call(call, Tells::State(hash.clone()))
    }

    fn release(&self, leases: &Leases) -> Vec<Errand> {
        let keys = self.keys.endpoint(leases.endpoint.hash());
        let zrem = |key: &str| {
            let mut cmd = redis::cmd("ZREM");
            cmd.arg(key).arg(&leases.holder);
            Errand::Command(cmd)
        };
        let held = if leases.on_endpoint { leases.holder.as_str() } else { "" };
        let on_endpoint = match leases.unused_token {
            Some(pace) => {
                let call = TOKEN_BACK.on(&[&keys.state, &keys.inflight]).arg(held).arg(pace_us(pace).0);
                Some(Errand::Call(call, Tells::Nothing))
            }
            None => leases.on_endpoint.then(|| zrem(&keys.inflight)),
        };
        let on_domain = leases.on_domain.then(|| zrem(&self.keys.domain(leases.endpoint.domain())));
        [on_endpoint, on_domain].into_iter().flatten().collect()
    }

    fn decide(&self, decision: &OwnerDecision) -> Errand {
        let (hash, config) = (&decision.endpoint, &decision.config_id);
        let line = hot::owner::encode(decision.state, decision.decided_at);
        let words: Vec<_> = line.split(' ').collect();
        let call = DECIDE
            .on(&self.owner_keys(hash, config).each_ref().map(String::as_str))
            .arg(config.as_str())
            .arg(words)
            .arg(ms(self.retention.endpoint));
        Errand::Call(call, Tells::Owners(hash.clone()))
    }

    fn owner_keys(&self, hash: &EndpointHash, config: &ConfigId) -> [String; 4] {
        let keys = self.keys.endpoint(hash);
        [keys.state, keys.owners, self.keys.owner(hash, config), self.keys.parked(hash, config)]
    }

    fn reschedule(&self, shard: u8, folded: Folded, errands: &mut Vec<Errand>) -> io::Result<()> {
        let keys = self.keys.due(shard);
        let keys = [keys.at.as_str(), &keys.records, &keys.leases];
        let (out, put) = folded.parts();
        errands.extend(
            out.chunks(CHUNK_MAX).map(|some| Errand::Call(through(UNSCHEDULE.on(&keys), some), Tells::Nothing)),
        );
        for some in chunks(put)? {
            let mut call = SCHEDULE.on(&keys);
            for (waiting, packed) in some {
                call = call.arg(waiting.dispatch.webhook.id.as_str()).arg(waiting.due.as_ms()).arg(packed);
            }
            errands.push(Errand::Call(call, Tells::Nothing));
        }
        Ok(())
    }

    fn repark(
        &self,
        (hash, config): (&EndpointHash, &ConfigId),
        folded: Folded,
        errands: &mut Vec<Errand>,
    ) -> io::Result<()> {
        let [state, owners, owner, parked] = self.owner_keys(hash, config);
        let (out, put) = folded.parts();
        for some in out.chunks(CHUNK_MAX) {
            let call = UNPARK.on(&[&state, &owners, &owner, &parked]).arg(config.as_str());
            let call = through(call.arg(ms(self.retention.endpoint)), some);
            errands.push(Errand::Call(call, Tells::Owners(hash.clone())));
        }
        for some in chunks(put)? {
            let url = some.first().map(|(waiting, _)| waiting.dispatch.webhook.endpoint.url().to_owned());
            let mut call = PARK.on(&[&state, &owners, &parked]).arg(config.as_str()).arg(url.unwrap_or_default());
            for (waiting, packed) in some {
                call = call.arg(waiting.dispatch.webhook.id.as_str()).arg(packed);
            }
            errands.push(Errand::Call(call, Tells::Owners(hash.clone())));
        }
        Ok(())
    }

    fn bury(&self, config: &ConfigId, entries: &[DeadLetterEntry], errands: &mut Vec<Errand>) {
        let mut cmd = redis::cmd("SADD");
        cmd.arg(self.keys.dead_configs()).arg(config.as_str());
        errands.push(Errand::Command(cmd));
        for some in entries.chunks(CHUNK_MAX) {
            let call = DEAD_PUT.on(&[&self.keys.dead_at(config), &self.keys.dead_ids(config)]);
            let call = some.iter().fold(call.arg(ms(self.retention.dead_letters)), |call, entry| {
                call.arg(entry.id.as_str()).arg(entry.at.as_ms()).arg(hot::dead_letter::encode(entry))
            });
            errands.push(Errand::Call(call, Tells::Nothing));
        }
        errands.extend(entries.iter().map(|entry| {
            let call = DEAD_MARK.on(&[&self.keys.webhook(&entry.id)]).arg(config.as_str());
            Errand::Call(call.arg(ms(self.retention.dead_letters)), Tells::Nothing)
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
        let packed = pack(&waiting)?;
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
