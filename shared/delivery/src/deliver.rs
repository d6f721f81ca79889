//! Use-case deliver: one dispatch, from its record to its settlement. Both lanes call it.
//!
//! Acquire, decide, send, decide, publish, apply. If the process dies anywhere before the end, the record comes again:
//! before *acquire* nothing has happened; after *acquire* the claim runs out and is taken over; after *apply* the record
//! is a duplicate. A request that is made twice for that reason says so in its attempt's cause (DL-1, CL-1, CB-1, LN-1).

use std::sync::Arc;
use std::time::Duration;

use domain::{
    Admission, ClaimHolder, ClaimRequest, Dispatch, Disposition, Effect, EndpointState, Facts, Finished, Lane,
    Moment, Policy, Position, Record, Redeliver, SendPlan, Settled, Situation, Timestamp, Undecodable, WaitReason,
    admit, admit_effects, compensate, follow_up, settle, superseded,
};
use tracing::Instrument;

use crate::effects::{Ports, Progress, perform};
use crate::fault::Fault;
use crate::observe;
use crate::pause::DoublingPause;
use crate::ports::hot_state::{AcquireRequest, Change, HotState};
use crate::ports::log::{Log, LogRecord};
use crate::ports::sender::{Request, Sender};
use crate::ports::statuses::Statuses;
use crate::ports::time::{Clock, Random};
use crate::stats_buffer::StatsBuffer;

mod lines;

/// How often a decision is made on an endpoint's state before the dispatch waits for [`CONTENDED_PAUSE`]. A rival that
/// wins the compare-and-set has made the change that this delivery wanted, so the second decision nearly always holds. The
/// third covers two changes in a row, of circuit and cooldown; more would only load a store that is contended already.
const DECISIONS_MAX: u32 = 3;
/// How long a dispatch waits whose endpoint's state changed at every decision.
const CONTENDED_PAUSE: Duration = Duration::from_secs(1);
/// The pauses before a request that was made is settled again: the first is short, as a broker's change of leader is over
/// in less than a second; the longest keeps a long outage cheap and costs 2 s at its end at most.
const SETTLE_PAUSES: DoublingPause = DoublingPause::new(Duration::from_millis(50), Duration::from_secs(2));

/// Delivers dispatches.
#[derive(Clone)]
pub struct Deliver {
    /// The source of truth.
    pub log: Arc<dyn Log>,
    /// Claims, leases, endpoints.
    pub hot: Arc<dyn HotState>,
    /// Where the outcome of another holder is read, once this one's claim has ended.
    pub statuses: Arc<dyn Statuses>,
    /// Makes the requests.
    pub sender: Arc<dyn Sender>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The source of jitter.
    pub random: Arc<dyn Random>,
    /// The counters.
    pub stats: Arc<StatsBuffer>,
    /// The numbers to go by.
    pub policy: Arc<Policy>,
}

/// One run of a lane: an invocation of its function, or a server's consumer.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The holder of the claims that the run takes.
    pub holder: ClaimHolder,
    /// The lane.
    pub lane: Lane,
    /// When the run ends; `None` for a server, which runs until it is stopped.
    pub deadline: Option<Timestamp>,
}

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// The record may be acknowledged.
    Done,
    /// The record must not be acknowledged, so that it comes again.
    Redelivered(Redeliver),
}

impl Deliver {
    /// Handles one record of a lane's topic.
    ///
    /// # Errors
    /// A [`Fault`] when howk itself could not do its part: the record must not be acknowledged.
    pub async fn handle(&self, record: LogRecord, invocation: &Invocation) -> Result<Handled, Fault> {
        let Position { partition, offset } = record.position;
        let handled = match dispatch_of(record, self.clock.now()) {
            Ok((_, dispatch)) => {
                // Two records of one dispatch in one invocation are rivals for its claim; a record that is tried again is
                // the same holder as before.
                let holder = ClaimHolder(format!("{}/{partition}/{offset}", invocation.holder.0));
                let invocation = Invocation { holder, ..invocation.clone() };
                self.deliver(&dispatch, &invocation).instrument(span_of(&dispatch)).await
            }
            Err(undecodable) => self.dead_letter_undecodable(undecodable).await,
        };
        handled.inspect_err(observe::faulted)
    }

    /// Delivers one dispatch.
    ///
    /// # Errors
    /// A [`Fault`] when howk itself could not do its part: the dispatch's record must come again.
    pub async fn deliver(&self, dispatch: &Dispatch, invocation: &Invocation) -> Result<Handled, Fault> {
        let now = self.clock.now();
        let moment = Moment {
            now,
            lane: invocation.lane,
            remaining: invocation.deadline.map(|deadline| deadline.since(now)),
            entropy: self.random.entropy(),
        };
        let mut facts = self.acquire(dispatch, invocation, now).await;
        let decided = self.decide(dispatch, &mut facts, moment).await;
        let situation = Situation { dispatch, facts: &facts, policy: &self.policy, moment };
        let admission = match decided {
            Ok(admission) => admission,
            Err(fault) => {
                self.give_back(compensate(&situation, &Admission::Redeliver(Redeliver::StoreFailed))).await;
                return Err(fault);
            }
        };
        observe::decided(&admission);
        match &admission {
            Admission::Send(plan) | Admission::Probe(_, plan) => self.send(situation, *plan).await,
            Admission::Redeliver(reason) => {
                self.give_back(admit_effects(&situation, &admission)).await;
                Ok(Handled::Redelivered(*reason))
            }
            Admission::Divert(_) | Admission::Defer(..) | Admission::Hold(_) | Admission::Drop(_) => {
                self.carry_out(situation, &admission).await?;
                if matches!(admission, Admission::Divert(_)) {
                    self.stats.count(now, |counts| counts.diverted += 1);
                }
                Ok(Handled::Done)
            }
        }
    }

    /// Performs a decision that makes no request. A fault before the first of its effects gives back what *acquire* took.
    async fn carry_out(&self, situation: Situation<'_>, admission: &Admission) -> Result<(), Fault> {
        let mut progress = Progress::default();
        let done = perform(admit_effects(&situation, admission), &mut progress, self.ports()).await;
        if done.is_err() && progress.is_none() {
            self.give_back(compensate(&situation, admission)).await;
        }
        done.map(drop)
    }

    /// Gives claim and leases back. A failure is not passed on: what is not given back runs out by itself.
    async fn give_back(&self, effects: Vec<Effect>) {
        if let Err(fault) = perform(effects, &mut Progress::default(), self.ports()).await {
            tracing::debug!(%fault, "claim and leases were not given back; they run out");
        }
    }

    fn ports(&self) -> Ports<'_> {
        Ports { log: &*self.log, hot: &*self.hot, index: None }
    }

    async fn acquire(&self, dispatch: &Dispatch, invocation: &Invocation, now: Timestamp) -> Facts {
        let claim = ClaimRequest {
            dispatch: dispatch.number,
            replayed_from: dispatch.replayed_from,
            holder: invocation.holder.clone(),
            until: self.policy.lanes.lease_until(invocation.lane, dispatch, now),
        };
        let request = AcquireRequest {
            dispatch,
            claim,
            endpoint_limit: self.policy.inflight.endpoint,
            domain_limit: self.policy.inflight.of_domain(dispatch.webhook.endpoint.domain()),
            pace: (invocation.lane == Lane::Slow).then(|| self.policy.lanes.pace()),
            now,
        };
        self.hot.acquire(request).await
    }

    /// Decides, and makes the change of state that a probe needs. When a rival's change was faster, it is decided again on
    /// the state that the rival left.
    async fn decide(&self, dispatch: &Dispatch, facts: &mut Facts, moment: Moment) -> Result<Admission, Fault> {
        for _ in 0..DECISIONS_MAX {
            let admission = admit(&Situation { dispatch, facts, policy: &self.policy, moment });
            let Admission::Probe(transition, _) = &admission else {
                return Ok(admission);
            };
            match self.hot.change(transition).await? {
                Change::Made(state) => {
                    let before = facts.endpoint.replace(state);
                    lines::log_probe(before.map(|endpoint| endpoint.circuit), transition);
                    return Ok(admission);
                }
                Change::Lost(state) => facts.endpoint = Some(state),
            }
        }
        Ok(Admission::Defer(moment.now.plus(CONTENDED_PAUSE), WaitReason::Circuit))
    }

    async fn send(&self, situation: Situation<'_>, plan: SendPlan) -> Result<Handled, Fault> {
        let Situation { dispatch, moment, .. } = situation;
        let request = Request { dispatch, now: moment.now, timeout: plan.timeout };
        let outcome = self.sender.send(request).await;
        let finished = Finished { situation, plan, outcome: &outcome, ended_at: self.clock.now() };
        let (disposition, state) = self.settle_retrying(&finished).await?;
        lines::log_attempt(&finished, disposition);
        self.count_attempt(&finished, disposition);
        if let Some(state) = state {
            lines::log_new_cooldown(&finished, &state);
            self.follow_up(&finished, state).await;
        }
        Ok(Handled::Done)
    }

    /// Performs the effects of a request that was made, again and again: to give up would mean that the webhook is sent a
    /// second time, whatever kind of fault it is (P19). An invocation repeats until its end, a server until the log and the
    /// store accept the effects. The record is handed to no other member meanwhile, so this goes on beyond the claim; a
    /// holder that took the dispatch over all the same is not disturbed (CL-1).
    async fn settle_retrying(&self, finished: &Finished<'_>) -> Result<(Disposition, Option<EndpointState>), Fault> {
        let Situation { moment, .. } = finished.situation;
        let give_up_at = moment.remaining.map(|left| moment.now.plus(left));
        let (mut settled, mut progress, mut pauses) = (settle(finished), Progress::default(), SETTLE_PAUSES);
        loop {
            let fault = match self.settle_once(finished, &mut settled, &mut progress).await {
                Ok(state) => return Ok((settled.disposition, state)),
                Err(fault) => fault,
            };
            let pause = pauses.take();
            if give_up_at.is_some_and(|end| self.clock.now().plus(pause) >= end) {
                return Err(fault);
            }
            tracing::warn!(
                fault = fault.chain(),
                "the outcome of an attempt could not be stored yet; it is tried again"
            );
            self.clock.sleep(pause).await;
        }
    }

    async fn settle_once(
        &self,
        finished: &Finished<'_>,
        settled: &mut Settled,
        progress: &mut Progress,
    ) -> Result<Option<EndpointState>, Fault> {
        if let Some(rest) = self.superseded(finished, settled.disposition).await? {
            (*settled, *progress) = (rest, Progress::default());
        }
        perform(settled.effects.clone(), progress, self.ports()).await
    }

    /// The remaining effects of an attempt whose webhook would be dead-lettered although its claim has ended and another
    /// holder has settled the dispatch: a dead letter would list a webhook as dead that may be delivered. `None` when the
    /// dead letter is still this holder's to write.
    async fn superseded(&self, finished: &Finished<'_>, disposition: Disposition) -> Result<Option<Settled>, Fault> {
        let Situation { dispatch, .. } = finished.situation;
        let is_dead_lettered = matches!(disposition, Disposition::DeadLettered(_));
        if !is_dead_lettered || self.clock.now() < finished.situation.lease_until() {
            return Ok(None);
        }
        let known = self.statuses.statuses(std::slice::from_ref(&dispatch.webhook.id)).await?;
        Ok(known.into_iter().flatten().next().and_then(|known| superseded(finished, &known)))
    }

    /// Changes the endpoint's state where that is due. A crash before the change is harmless: the next report finds the
    /// change due again, and a probe's lease runs out.
    async fn follow_up(&self, finished: &Finished<'_>, mut state: EndpointState) {
        for _ in 0..DECISIONS_MAX {
            let Some(transition) = follow_up(finished, &state) else {
                return;
            };
            match self.hot.change(&transition).await {
                Ok(Change::Made(_)) => return lines::log_change(finished, &state, &transition),
                Ok(Change::Lost(current)) => state = current,
                Err(fault) => {
                    return tracing::warn!(%fault, "the change of an endpoint's state was not stored; the next report makes it");
                }
            }
        }
    }

    fn count_attempt(&self, finished: &Finished<'_>, disposition: Disposition) {
        observe::finished(disposition, finished.took());
        self.stats.count(finished.ended_at, |counts| match disposition {
            Disposition::Delivered => counts.delivered += 1,
            Disposition::Retried(_) | Disposition::Superseded => counts.failed += 1,
            Disposition::MovedToSlowLane => {
                counts.failed += 1;
                counts.diverted += 1;
            }
            Disposition::DeadLettered(_) => counts.exhausted += 1,
        });
    }

    /// Dead-letters a record that cannot be read, so that it never blocks its partition.
    async fn dead_letter_undecodable(&self, undecodable: Undecodable) -> Result<Handled, Fault> {
        let Undecodable { topic, position: Position { partition, offset }, error, .. } = &undecodable;
        tracing::warn!(
            topic,
            partition,
            offset,
            error,
            "a record cannot be read and is dead-lettered with its bytes"
        );
        self.log.publish(vec![Record::Undecodable(undecodable)]).await?;
        metrics::counter!(observe::UNDECODABLE).increment(1);
        Ok(Handled::Done)
    }
}

/// The fields of every log line about a dispatch.
fn span_of(dispatch: &Dispatch) -> tracing::Span {
    let webhook = &dispatch.webhook;
    tracing::error_span!("deliver", webhook_id = %webhook.id, config_id = %webhook.config_id, dispatch = dispatch.number)
}

/// The dispatch of a lane's record; of any other record, its dead letter.
pub(crate) fn dispatch_of(record: LogRecord, now: Timestamp) -> Result<(Lane, Dispatch), Undecodable> {
    match record.value {
        Ok(Record::Dispatch(lane, dispatch)) => Ok((lane, dispatch)),
        Ok(other) => Err(misplaced(&other, record.position, now)),
        Err(undecodable) => Err(undecodable),
    }
}

fn misplaced(record: &Record, position: Position, at: Timestamp) -> Undecodable {
    Undecodable {
        topic: record.topic().name().to_owned(),
        position,
        key: Some(record.key().into_bytes()),
        value: None,
        error: "a record of another topic stood on a lane's topic".to_owned(),
        at,
    }
}
