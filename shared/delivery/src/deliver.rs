//! Use-case deliver: one dispatch, from its record to its settlement. Both lanes use it.
//!
//! Open, decide, send, decide, publish, close. If the process dies anywhere before the end, the record comes again:
//! before *open* nothing happened; after it the claim runs out and is taken over; after *close* it is a duplicate.
//! What is sent twice for it says so in its attempt's cause (DL-1, CL-1, CB-1, LN-1).

use std::sync::Arc;
use std::time::Duration;

use domain::{
    Admission, ClaimHolder, ClaimRequest, Dispatch, Disposition, Effect, EndpointState, Facts, Finished, Lane,
    Moment, Policy, Position, Record, Redeliver, SendPlan, Settled, Situation, Timestamp, Transition, Undecodable,
    WaitReason, admit, admit_effects, compensate, follow_up, settle, superseded,
};

use tracing::Instrument;

use crate::effects::{Progress, perform};
use crate::fault::Fault;
use crate::observe;
use crate::ports::hot_state::{AcquireRequest, Change, HotState};
use crate::ports::log::{Log, LogRecord};
use crate::ports::sender::{Request, Sender};
use crate::ports::statuses::Statuses;
use crate::ports::time::{Clock, Random};
use crate::stats_buffer::StatsBuffer;

/// How often a lost compare-and-set is decided again before the dispatch waits a moment.
const DECISIONS_MAX: u32 = 3;
/// The first pause before settling again, after a request was made and the log or the store failed; it doubles.
const SETTLE_PAUSE: Duration = Duration::from_millis(50);
const SETTLE_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Delivers dispatches.
#[derive(Clone)]
pub struct Deliver {
    /// The source of truth.
    pub log: Arc<dyn Log>,
    /// Claims, leases, endpoints.
    pub hot: Arc<dyn HotState>,
    /// What another owner made of a dispatch whose claim has ended.
    pub statuses: Arc<dyn Statuses>,
    /// Who makes the requests.
    pub sender: Arc<dyn Sender>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What jitter is drawn from.
    pub random: Arc<dyn Random>,
    /// The counters.
    pub stats: Arc<StatsBuffer>,
    /// The numbers to go by.
    pub policy: Arc<Policy>,
}

/// Who works, where, and until when.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The owner of its claims.
    pub holder: ClaimHolder,
    /// The lane.
    pub lane: Lane,
    /// When it ends, if it does.
    pub deadline: Option<Timestamp>,
}

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// It may be acknowledged.
    Done,
    /// It must be delivered again.
    Redelivered(Redeliver),
}

impl Deliver {
    /// Handles one record of a lane's topic.
    ///
    /// # Errors
    /// A [`Fault`] when howk itself could not do its part: the record must be delivered again.
    pub async fn handle(&self, record: LogRecord, invocation: &Invocation) -> Result<Handled, Fault> {
        let Position { partition, offset } = record.position;
        let handled = match dispatch_of(record, self.clock.now()) {
            Ok((_, dispatch)) => {
                // Two records of one dispatch in one invocation are rivals; one record tried again is not.
                let holder = ClaimHolder(format!("{}/{partition}/{offset}", invocation.holder.0));
                let invocation = Invocation { holder, ..invocation.clone() };
                self.deliver(&dispatch, &invocation).instrument(span_of(&dispatch)).await
            }
            Err(undecodable) => self.bury(undecodable).await,
        };
        handled.inspect_err(observe::faulted)
    }

    /// Delivers one dispatch.
    ///
    /// # Errors
    /// A [`Fault`] when howk itself could not do its part: the dispatch must be delivered again.
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

    /// Does what a decision wants that makes no request. A fault before any of it gives back what *open* took.
    async fn carry_out(&self, situation: Situation<'_>, admission: &Admission) -> Result<(), Fault> {
        let mut progress = Progress::default();
        let done = perform(admit_effects(&situation, admission), &mut progress, &*self.log, &*self.hot).await;
        if done.is_err() && progress.is_none() {
            self.give_back(compensate(&situation, admission)).await;
        }
        done.map(drop)
    }

    /// Giving back is a courtesy: what is not given back runs out by itself.
    async fn give_back(&self, effects: Vec<Effect>) {
        if let Err(fault) = perform(effects, &mut Progress::default(), &*self.log, &*self.hot).await {
            tracing::debug!(%fault, "nothing was given back");
        }
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

    /// Decides, and makes the change of state that a probe needs; who loses it decides again and finds it made.
    async fn decide(&self, dispatch: &Dispatch, facts: &mut Facts, moment: Moment) -> Result<Admission, Fault> {
        for _ in 0..DECISIONS_MAX {
            let admission = admit(&Situation { dispatch, facts, policy: &self.policy, moment });
            let Admission::Probe(transition, _) = &admission else {
                return Ok(admission);
            };
            match self.hot.change(transition).await? {
                Change::Made(state) => {
                    facts.endpoint = Some(state);
                    return Ok(admission);
                }
                Change::Lost(state) => facts.endpoint = Some(state),
            }
        }
        Ok(Admission::Defer(moment.now.plus(Duration::from_secs(1)), WaitReason::Circuit))
    }

    async fn send(&self, situation: Situation<'_>, plan: SendPlan) -> Result<Handled, Fault> {
        let Situation { dispatch, moment, .. } = situation;
        let request = Request { dispatch, now: moment.now, timeout: plan.timeout };
        let outcome = self.sender.send(request).await;
        let finished = Finished { situation, plan, outcome: &outcome, ended_at: self.clock.now() };
        let (disposition, state) = self.settle_retrying(&finished).await?;
        self.note(&finished, disposition);
        if let Some(state) = state {
            self.follow_up(&finished, state).await;
        }
        Ok(Handled::Done)
    }

    /// Performs the effects of a request that was made, again and again: giving up would send the webhook a second time,
    /// whatever kind of fault it is (P19). Where an invocation ends it ends with that; where nothing ends it goes on until
    /// the log and the store take what there is to say. The record is not handed to anybody else meanwhile, so it goes on
    /// beyond its claim; whoever took over all the same is not disturbed (CL-1).
    async fn settle_retrying(&self, finished: &Finished<'_>) -> Result<(Disposition, Option<EndpointState>), Fault> {
        let Situation { moment, .. } = finished.situation;
        let give_up_at = moment.remaining.map(|left| moment.now.plus(left));
        let (mut settled, mut progress, mut pause) = (settle(finished), Progress::default(), SETTLE_PAUSE);
        loop {
            let fault = match self.settle_once(finished, &mut settled, &mut progress).await {
                Ok(state) => return Ok((settled.disposition, state)),
                Err(fault) => fault,
            };
            if give_up_at.is_some_and(|end| self.clock.now().plus(pause) >= end) {
                return Err(fault);
            }
            tracing::warn!(fault = fault.chain(), "settling again");
            self.clock.sleep(pause).await;
            pause = pause.saturating_mul(2).min(SETTLE_PAUSE_MAX);
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
        perform(settled.effects.clone(), progress, &*self.log, &*self.hot).await
    }

    /// What is left to do when a webhook would be given up whose claim has ended, and another owner settled it: a dead letter
    /// would list as dead what may be delivered.
    async fn superseded(&self, finished: &Finished<'_>, disposition: Disposition) -> Result<Option<Settled>, Fault> {
        let Situation { dispatch, .. } = finished.situation;
        let gives_up = matches!(disposition, Disposition::DeadLettered(_));
        if !gives_up || self.clock.now() < finished.situation.lease_until() {
            return Ok(None);
        }
        let known = self.statuses.statuses(std::slice::from_ref(&dispatch.webhook.id)).await?;
        Ok(known.into_iter().flatten().next().and_then(|known| superseded(finished, &known)))
    }

    /// Changes the endpoint's state where that is due. Dying before it is harmless: the next report finds it due again,
    /// and a probe's lease runs out.
    async fn follow_up(&self, finished: &Finished<'_>, mut state: EndpointState) {
        for _ in 0..DECISIONS_MAX {
            let Some(transition) = follow_up(finished, &state) else {
                return;
            };
            match self.hot.change(&transition).await {
                Ok(Change::Made(made)) => return note_change(&transition, &made),
                Ok(Change::Lost(current)) => state = current,
                Err(fault) => return tracing::warn!(%fault, "an endpoint's change of state was not stored"),
            }
        }
    }

    fn note(&self, finished: &Finished<'_>, disposition: Disposition) {
        let dispatch = finished.situation.dispatch;
        let took = finished.ended_at.since(finished.situation.moment.now);
        observe::finished(disposition, took);
        tracing::debug!(
            attempt = dispatch.attempt,
            status = finished.outcome.status(),
            error = finished.outcome.error(),
            ?took,
            ?disposition,
            "attempt finished",
        );
        if finished.outcome.lacks_key() {
            tracing::warn!(
                error = finished.outcome.error(),
                "it waits for its key: give it to secrets.previous_keys"
            );
        }
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
    async fn bury(&self, undecodable: Undecodable) -> Result<Handled, Fault> {
        tracing::warn!(topic = undecodable.topic, position = ?undecodable.position, error = undecodable.error, "undecodable");
        self.log.publish(vec![Record::Undecodable(undecodable)]).await?;
        metrics::counter!(observe::UNDECODABLE).increment(1);
        Ok(Handled::Done)
    }
}

/// What stands on every log line about a dispatch.
fn span_of(dispatch: &Dispatch) -> tracing::Span {
    let webhook = &dispatch.webhook;
    tracing::error_span!("deliver", webhook_id = %webhook.id, config_id = %webhook.config_id, dispatch = dispatch.number)
}

fn note_change(transition: &Transition, made: &EndpointState) {
    let url = transition.endpoint.shown();
    tracing::info!(url, circuit = ?made.circuit, cooldown = ?made.cooldown, "endpoint changed its state");
}

/// The dispatch of a lane's record; or, of any other record, what goes to the dead letters.
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
