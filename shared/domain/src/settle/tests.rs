//! What each outcome means for the webhook and for its endpoint, and the effects that follow.

use super::*;
use crate::admit::Probes;
use crate::dead_letter::ReasonType;
use crate::outcome::{Answer, FailureKind};
use crate::samples::{FENCE, NOW, Scene};
use crate::status::Cause;

mod dispositions;
mod follow_up;
mod health;
mod wanted;

const RECOVERABLE: [FailureKind; 5] =
    [FailureKind::Timeout, FailureKind::Dns, FailureKind::Connect, FailureKind::Tls, FailureKind::Transport];

/// A request that was made and is over.
#[derive(Debug, Clone)]
struct Request {
    scene: Scene,
    outcome: Outcome,
    probes: Probes,
    ended_at: Timestamp,
}

impl Request {
    fn new(scene: Scene, outcome: Outcome) -> Self {
        let ended_at = NOW.plus(Duration::from_millis(100));
        Self { scene, outcome, probes: Probes::default(), ended_at }
    }

    fn probing(self, probes: Probes) -> Self {
        Self { probes, ..self }
    }

    fn finished(&self) -> Finished<'_> {
        let situation = self.scene.situation();
        let (timeout, fence) = (situation.timeout(), Some(FENCE));
        let plan = SendPlan { timeout, fence, cause: Cause::First, probes: self.probes };
        Finished { situation, plan, outcome: &self.outcome, ended_at: self.ended_at }
    }

    fn settle(&self) -> Settled {
        settle(&self.finished())
    }

    fn disposition(&self) -> Disposition {
        self.settle().disposition
    }
}

fn answered(status: u16) -> Outcome {
    Outcome::Answered(Answer { status, ..Answer::default() })
}

fn asking(status: u16, retry_after: Duration) -> Outcome {
    Outcome::Answered(Answer { status, retry_after: Some(retry_after), ..Answer::default() })
}

fn failed(kind: FailureKind) -> Outcome {
    Outcome::Failed { kind, detail: "it failed".to_owned() }
}

/// A disposition without its time.
fn code(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Delivered => "delivered",
        Disposition::Retried(_) => "retried",
        Disposition::MovedToSlowLane => "moved",
        Disposition::DeadLettered(reason) => reason.code(),
        Disposition::Superseded => "superseded",
    }
}
