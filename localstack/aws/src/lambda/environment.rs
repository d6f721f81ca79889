//! The life of one environment: start, invocations one after the other, end.
//!
//! One loop owns the process and hears everything that happens to it in order: what the process says through its Runtime
//! API, what it is ordered, its exit, and its deadline. The process is stopped whenever it waits for an invocation, and
//! its invocation has ended once it waits again: what it still does between its answer and its next poll runs within the
//! deadline. The caller gets the answer then, so whoever invokes one after the other finds the environment free.

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
use super::runtime_api::{Handover, Heard};
use super::signal::Group;
use super::state::{EnvironmentState, Phase, ms};

/// How long a function may take to its first poll.
const INIT_MAX: Duration = Duration::from_secs(10);
/// How long a function with an internal extension has after SIGTERM.
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
    /// What the process answered; its caller gets it when the environment is free again.
    answer: Option<Answer>,
    /// Known once the process has it.
    begun: Option<Timestamp>,
    deadline: Option<Timestamp>,
}

/// One environment.
pub(super) struct Environment {
    pub(super) shared: Arc<Shared>,
    pub(super) function: String,
    pub(super) child: Child,
    pub(super) group: Group,
    pub(super) heard: mpsc::UnboundedReceiver<Heard>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) state: watch::Sender<EnvironmentState>,
    pub(super) started_at: Timestamp,
    pub(super) life: Life,
}

/// What changes in an environment's life.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the process")]
pub(super) struct Life {
    poll: Option<oneshot::Sender<Handover>>,
    call: Option<Call>,
    has_started: bool,
    has_extension: bool,
    is_retiring: bool,
    /// Frozen by order.
    is_held: bool,
    init_error: Option<Bytes>,
}

impl Environment {
    /// Lives until the process has ended.
    pub(super) async fn live(mut self) {
        let end = loop {
            let limit = self.limit();
            let clock = Arc::clone(&self.shared.clock);
            let end = tokio::select! {
                biased;
                heard = self.heard.recv() => heard.and_then(|heard| self.hear(heard)),
                order = self.orders.recv() => self.obey(order.unwrap_or(Order::Kill)),
                exited = self.child.wait() => Some(End::Exited(exited.ok())),
                () = clock.sleep(limit.unwrap_or_default().since(clock.now())), if limit.is_some() => Some(End::TimedOut),
            };
            if let Some(end) = end {
                break end;
            }
        };
        self.end(&end).await;
    }

    /// When the timeout with what the process does now ends.
    fn limit(&self) -> Option<Timestamp> {
        if !self.life.has_started {
            return Some(self.started_at.plus(INIT_MAX));
        }
        self.life.call.as_ref().and_then(|call| call.deadline)
    }

    fn hear(&mut self, heard: Heard) -> Option<End> {
        match heard {
            Heard::Polled(poll) => return self.polled(poll),
            Heard::Answered { id, answer, taken } => {
                taken.send(self.answered(&id, answer)).ok();
            }
            Heard::InitFailed(error) => self.life.init_error = Some(error),
            Heard::ExtensionRegistered => self.life.has_extension = true,
        }
        None
    }

    fn polled(&mut self, poll: oneshot::Sender<Handover>) -> Option<End> {
        if !self.life.has_started {
            self.life.has_started = true;
            let took = self.shared.clock.now().since(self.started_at);
            self.state.send_modify(|state| state.init_ms = Some(ms(took)));
        }
        self.life.poll = Some(poll);
        match self.life.call.take() {
            // A process that polls again without an answer has lost what it was asked.
            Some(call) if call.answer.is_none() => {
                self.life.call = Some(call);
                self.hand_over();
                None
            }
            call => {
                self.rest();
                // Not at the first poll: whoever it was started for has a claim on it.
                if let Some(call) = call {
                    self.shared.release(&self.function, self.state.borrow().id);
                    self.conclude(call);
                }
                self.life.is_retiring.then_some(End::Retired)
            }
        }
    }

    /// Between invocations: the process is stopped, and the environment is free.
    fn rest(&mut self) {
        if self.shared.freezes {
            self.group.freeze();
        }
        let frozen = self.shared.freezes || self.life.is_held;
        self.state.send_modify(|state| {
            state.phase = Phase::Idle;
            state.frozen = frozen;
        });
    }

    fn answered(&mut self, id: &str, answer: Answer) -> bool {
        let call = self.life.call.as_mut().filter(|call| call.invocation.id == id && call.answer.is_none());
        call.map(|call| call.answer = Some(answer)).is_some()
    }

    fn obey(&mut self, order: Order) -> Option<End> {
        match order {
            Order::Invoke(invocation, reply) => {
                self.life.call = Some(Call { invocation, reply, answer: None, begun: None, deadline: None });
                self.hand_over();
            }
            Order::Freeze => self.hold(),
            Order::Thaw => self.let_go(),
            Order::Kill => return Some(End::Killed),
            Order::Retire => {
                self.life.is_retiring = true;
                return self.life.call.is_none().then_some(End::Retired);
            }
        }
        None
    }

    fn hold(&mut self) {
        self.life.is_held = true;
        self.group.freeze();
        self.state.send_modify(|state| state.frozen = true);
    }

    fn let_go(&mut self) {
        self.life.is_held = false;
        if self.shared.freezes && self.state.borrow().phase == Phase::Idle {
            return;
        }
        self.group.thaw();
        self.state.send_modify(|state| state.frozen = false);
    }

    /// Gives the invocation to the process, if that waits for it. The deadline counts from here.
    fn hand_over(&mut self) {
        let Some(call) = self.life.call.as_mut() else { return };
        let Some(poll) = self.life.poll.take() else { return };
        let now = self.shared.clock.now();
        let deadline = now.plus(self.shared.timeout(&self.function));
        (call.begun, call.deadline) = (Some(now), Some(deadline));
        if !self.life.is_held {
            self.group.thaw();
        }
        let frozen = self.life.is_held;
        self.state.send_modify(|state| {
            state.phase = Phase::Busy;
            state.frozen = frozen;
        });
        let invocation = Arc::clone(&call.invocation);
        // When the process hung up meanwhile it polls again, ends, or runs out of time.
        poll.send(Handover { invocation, deadline, arn: function_arn(&self.function) }).ok();
    }

    /// Counts an invocation and gives its caller the answer, or what is said in its place.
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
        // Nobody waits any more when the caller has hung up; the invocation ran all the same.
        call.reply.send(answer).ok();
    }

    async fn end(mut self, end: &End) {
        let text = self.text_of(end);
        // Before anything is awaited: nobody may claim an environment that ends.
        self.shared.remove(&self.function, self.state.borrow().id);
        if matches!(end, End::Retired) && self.life.has_extension {
            self.group.thaw();
            self.group.terminate();
            tokio::select! {
                _ = self.child.wait() => {}
                () = self.shared.clock.sleep(SHUTDOWN_MAX) => {}
            }
        }
        // Not when it was waited for: its id may be another's by then.
        if self.child.id().is_some() {
            self.group.kill();
            self.child.wait().await.ok();
        }
        if let Some(mut call) = self.life.call.take() {
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
        if let Some(error) = &self.life.init_error {
            return Answer::failure(error.clone());
        }
        let kind = if matches!(end, End::TimedOut) { "Sandbox.Timedout" } else { "Runtime.ExitError" };
        Answer::platform(kind, &format!("RequestId: {id} Error: {}", self.text_of(end)))
    }

    fn text_of(&self, end: &End) -> String {
        match end {
            End::Exited(Some(status)) if self.life.init_error.is_none() => {
                format!("Runtime exited with error: {status}")
            }
            End::Exited(_) => self.init_error_text().unwrap_or_else(|| "Runtime exited".to_owned()),
            End::TimedOut => {
                let whole = if self.life.has_started { self.shared.timeout(&self.function) } else { INIT_MAX };
                format!("Task timed out after {:.2} seconds", whole.as_secs_f64())
            }
            End::Killed => "Runtime exited with error: signal: killed".to_owned(),
            End::Retired => "retired".to_owned(),
        }
    }

    fn init_error_text(&self) -> Option<String> {
        let error = self.life.init_error.as_ref()?;
        let read: serde_json::Value = serde_json::from_slice(error).ok()?;
        let part = |name: &str| read.get(name).and_then(|part| part.as_str()).unwrap_or_default().to_owned();
        Some(format!("{}: {}", part("errorType"), part("errorMessage")))
    }
}
