//! One environment from its start to its end: it runs invocations one after the other.
//!
//! One loop owns the process and handles its events in order: calls of its Runtime API, orders of the control API and of
//! callers, its exit, and its deadline. The process is stopped whenever it waits for an invocation. An invocation ends when
//! the process polls for the next one: what the process still does between its answer and that poll runs within the
//! deadline. The caller gets the answer then, so a caller that invokes again at once finds the environment free.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::Timestamp;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot, watch};

use super::answer::Answer;
use super::function_arn;
use super::invocation::Invocation;
use super::order::Order;
use super::pool::Shared;
use super::runtime_api::{Handover, RuntimeEvent};
use super::signal::Group;
use super::state::{EnvironmentState, Phase, ms};

/// How long a function may take until its first poll: AWS's limit.
const INIT_MAX: Duration = Duration::from_secs(10);
/// How long a function with an internal extension may take to end after SIGTERM: AWS's limit.
const SHUTDOWN_MAX: Duration = Duration::from_millis(500);

/// Why an environment ends.
enum End {
    Exited(Option<ExitStatus>),
    TimedOut,
    Killed,
    Retired,
}

/// An invocation that is under way.
struct Call {
    invocation: Arc<Invocation>,
    reply: oneshot::Sender<Answer>,
    /// What the process answered. The caller gets it when the environment is free again.
    answer: Option<Answer>,
    /// When the process got it; none before.
    begun: Option<Timestamp>,
    deadline: Option<Timestamp>,
}

/// One environment.
pub(super) struct Environment {
    pub(super) shared: Arc<Shared>,
    pub(super) function: String,
    pub(super) child: Child,
    pub(super) group: Group,
    pub(super) events: mpsc::UnboundedReceiver<RuntimeEvent>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) state: watch::Sender<EnvironmentState>,
    pub(super) started_at: Timestamp,
    pub(super) run: RunState,
}

/// What changes while an environment runs.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the process")]
pub(super) struct RunState {
    poll: Option<oneshot::Sender<Handover>>,
    call: Option<Call>,
    has_started: bool,
    has_extension: bool,
    is_retiring: bool,
    /// Frozen by the control API, and so not thawed by an invocation.
    is_frozen_by_order: bool,
    init_error: Option<Bytes>,
}

impl Environment {
    /// Runs until the process has ended.
    pub(super) async fn run(mut self) {
        let end = loop {
            let limit = self.limit();
            let clock = Arc::clone(&self.shared.clock);
            let end = tokio::select! {
                biased;
                event = self.events.recv() => event.and_then(|event| self.handle(event)),
                order = self.orders.recv() => self.carry_out(order.unwrap_or(Order::Kill)),
                exited = self.child.wait() => Some(End::Exited(exited.ok())),
                () = clock.sleep(limit.unwrap_or_default().since(clock.now())), if limit.is_some() => Some(End::TimedOut),
            };
            if let Some(end) = end {
                break end;
            }
        };
        self.end(&end).await;
    }

    /// The time by which the process must be done with what it does now; none while it waits.
    fn limit(&self) -> Option<Timestamp> {
        if !self.run.has_started {
            return Some(self.started_at.plus(INIT_MAX));
        }
        self.run.call.as_ref().and_then(|call| call.deadline)
    }

    fn handle(&mut self, event: RuntimeEvent) -> Option<End> {
        match event {
            RuntimeEvent::Polled(poll) => return self.polled(poll),
            RuntimeEvent::Answered { id, answer, taken } => {
                taken.send(self.answered(&id, answer)).ok();
            }
            RuntimeEvent::InitFailed(error) => self.run.init_error = Some(error),
            RuntimeEvent::ExtensionRegistered => self.run.has_extension = true,
        }
        None
    }

    fn polled(&mut self, poll: oneshot::Sender<Handover>) -> Option<End> {
        if !self.run.has_started {
            self.run.has_started = true;
            let took = self.shared.clock.now().since(self.started_at);
            self.state.send_modify(|state| state.init_ms = Some(ms(took)));
        }
        self.run.poll = Some(poll);
        match self.run.call.take() {
            // A process that polls again without having answered has lost its invocation, and gets it once more.
            Some(call) if call.answer.is_none() => {
                self.run.call = Some(call);
                self.hand_over();
                None
            }
            call => {
                self.go_idle();
                // Not at the first poll: the caller that the environment was started for has claimed it.
                if let Some(call) = call {
                    self.shared.give_back(&self.function, self.state.borrow().id);
                    self.conclude(call);
                }
                self.run.is_retiring.then_some(End::Retired)
            }
        }
    }

    /// Stops the process between invocations, and marks the environment as idle.
    fn go_idle(&mut self) {
        if self.shared.freezes {
            self.group.freeze();
        }
        let frozen = self.shared.freezes || self.run.is_frozen_by_order;
        self.state.send_modify(|state| {
            state.phase = Phase::Idle;
            state.frozen = frozen;
        });
    }

    fn answered(&mut self, id: &str, answer: Answer) -> bool {
        let call = self.run.call.as_mut().filter(|call| call.invocation.id == id && call.answer.is_none());
        call.map(|call| call.answer = Some(answer)).is_some()
    }

    fn carry_out(&mut self, order: Order) -> Option<End> {
        match order {
            Order::Invoke(invocation, reply) => {
                self.run.call = Some(Call { invocation, reply, answer: None, begun: None, deadline: None });
                self.hand_over();
            }
            Order::Freeze => self.freeze_by_order(),
            Order::Thaw => self.thaw_by_order(),
            Order::Kill => return Some(End::Killed),
            Order::Retire => {
                self.run.is_retiring = true;
                return self.run.call.is_none().then_some(End::Retired);
            }
        }
        None
    }

    fn freeze_by_order(&mut self) {
        self.run.is_frozen_by_order = true;
        self.group.freeze();
        self.state.send_modify(|state| state.frozen = true);
    }

    fn thaw_by_order(&mut self) {
        self.run.is_frozen_by_order = false;
        if self.shared.freezes && self.state.borrow().phase == Phase::Idle {
            return;
        }
        self.group.thaw();
        self.state.send_modify(|state| state.frozen = false);
    }

    /// Gives the invocation to the process, if the process is polling for one. The deadline counts from here.
    fn hand_over(&mut self) {
        let Some(call) = self.run.call.as_mut() else { return };
        let Some(poll) = self.run.poll.take() else { return };
        let now = self.shared.clock.now();
        let deadline = now.plus(self.shared.timeout(&self.function));
        (call.begun, call.deadline) = (Some(now), Some(deadline));
        if !self.run.is_frozen_by_order {
            self.group.thaw();
        }
        let frozen = self.run.is_frozen_by_order;
        self.state.send_modify(|state| {
            state.phase = Phase::Busy;
            state.frozen = frozen;
        });
        let invocation = Arc::clone(&call.invocation);
        // When the process closed its poll meanwhile, it polls again, ends, or reaches its deadline.
        poll.send(Handover { invocation, deadline, arn: function_arn(&self.function) }).ok();
    }

    /// Counts an invocation and gives its caller the answer, or the platform's error in its place.
    fn conclude(&self, call: Call) {
        let took = call.begun.map(|begun| self.shared.clock.now().since(begun)).unwrap_or_default();
        let answer = call.answer.unwrap_or_else(|| Answer::platform("Runtime.ExitError", "Runtime exited"));
        self.state.send_modify(|state| state.invocations += 1);
        self.shared.count(&self.function, |counters| {
            counters.invocations += 1;
            counters.errors += u64::from(answer.failed);
            counters.busy += took;
            counters.last = took;
        });
        // An error means that the caller is gone; the invocation ran all the same.
        call.reply.send(answer).ok();
    }

    async fn end(mut self, end: &End) {
        let text = self.text_of(end);
        // Before the first await, so that no caller can claim an environment that is ending.
        self.shared.remove(&self.function, self.state.borrow().id);
        if matches!(end, End::Retired) && self.run.has_extension {
            self.group.thaw();
            self.group.terminate();
            tokio::select! {
                _ = self.child.wait() => {}
                () = self.shared.clock.sleep(SHUTDOWN_MAX) => {}
            }
        }
        // No id means that the exit was already waited for: the system may have given the id to another process.
        if self.child.id().is_some() {
            self.group.kill();
            self.child.wait().await.ok();
        }
        if let Some(mut call) = self.run.call.take() {
            if matches!(end, End::TimedOut) {
                self.shared.count(&self.function, |counters| counters.timeouts += 1);
            }
            call.answer = call.answer.or_else(|| Some(self.answer_for(&call.invocation.id, end)));
            self.conclude(call);
        }
        self.state.send_modify(|state| {
            state.phase = Phase::Ended;
            state.frozen = false;
            state.ended = Some(text);
        });
    }

    fn answer_for(&self, id: &str, end: &End) -> Answer {
        if let Some(error) = &self.run.init_error {
            return Answer::failure(error.clone());
        }
        let kind = if matches!(end, End::TimedOut) { "Sandbox.Timedout" } else { "Runtime.ExitError" };
        Answer::platform(kind, &format!("RequestId: {id} Error: {}", self.text_of(end)))
    }

    fn text_of(&self, end: &End) -> String {
        match end {
            End::Exited(Some(status)) if self.run.init_error.is_none() => {
                format!("Runtime exited with error: {status}")
            }
            End::Exited(_) => self.init_error_text().unwrap_or_else(|| "Runtime exited".to_owned()),
            End::TimedOut => {
                let whole = if self.run.has_started { self.shared.timeout(&self.function) } else { INIT_MAX };
                format!("Task timed out after {:.2} seconds", whole.as_secs_f64())
            }
            End::Killed => "Runtime exited with error: signal: killed".to_owned(),
            End::Retired => "retired".to_owned(),
        }
    }

    fn init_error_text(&self) -> Option<String> {
        let error = self.run.init_error.as_ref()?;
        let read: serde_json::Value = serde_json::from_slice(error).ok()?;
        let part = |name: &str| read.get(name).and_then(|part| part.as_str()).unwrap_or_default().to_owned();
        Some(format!("{}: {}", part("errorType"), part("errorMessage")))
    }
}
