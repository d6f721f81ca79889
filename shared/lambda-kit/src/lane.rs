//! The handler of both lanes: decode, work the batch off, answer.

use std::time::Duration;

use delivery::batch::{Batch, Completion};
use delivery::deliver::Invocation;
use delivery::ports::log::LogRecord;
use domain::{ClaimHolder, Lane, Position, Timestamp, Topic};
use settings::Settings;
use wire::Unreadable;
use wire::lambda::{BatchResponse, EventPartition, KafkaEvent};

use crate::failure::Failure;
use crate::invoked::Invoked;
use crate::serve::Handler;

/// How long the statistics may hold up the answer.
const STATS_PATIENCE: Duration = Duration::from_millis(500);

/// How much earlier a batch stops whose rest is published again. With the time that every request leaves for settling it,
/// that is as long as a publish may take: where the invocation ends before, copies stay and the whole batch comes as well.
/// A deployment checks its timeouts by it: `HAND_BACK_SECONDS` in infra's `inequalities.ts`.
const HAND_BACK_TIME: Duration = Duration::from_secs(5);

/// How much more than its longest request is left to a batch whatever else there is no time for. Asking the store takes time
/// too, and if nothing could begin then, all of it would be published again and come again at once, for ever.
/// `START_SECONDS` in infra's `inequalities.ts` is as much.
const START_TIME: Duration = Duration::from_secs(2);

/// Whether the event source takes partial responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialResponses {
    /// It does: what is left over is named in the answer.
    Taken,
    /// It does not: what there was no time for is published again; what howk could not do fails the invocation, and the
    /// whole batch comes again. What was settled of it is dropped then, as a duplicate.
    NotTaken,
}

/// Works off the batches of a lane.
#[derive(Clone)]
pub struct LaneHandler {
    batch: Batch,
    lane: Lane,
    topic: String,
    partial_responses: PartialResponses,
}

impl LaneHandler {
    /// The handler of a lane, by the settings.
    pub fn new(lane: Lane, settings: &Settings, batch: Batch) -> Self {
        let topics = &settings.kafka.topics;
        let topic = match lane {
            Lane::Fast => &topics.pending,
            Lane::Slow => &topics.slow,
        };
        let taken = settings.lambda.partial_responses;
        let partial_responses = if taken { PartialResponses::Taken } else { PartialResponses::NotTaken };
        Self { batch, lane, topic: topic.clone(), partial_responses }
    }

    fn records(&self, event: KafkaEvent) -> Result<Vec<LogRecord>, Unreadable> {
        let (topic, now) = (Topic::of_lane(self.lane), self.batch.deliver.clock.now());
        let mut records = Vec::new();
        for partition in event.partitions {
            self.check(&partition)?;
            let EventPartition { partition, records: found, .. } = partition;
            records.extend(found.into_iter().map(|record| LogRecord {
                position: Position { partition, offset: record.offset },
                value: record.decode(topic, partition, now),
            }));
        }
        Ok(records)
    }

    /// A mapping of another topic is a wrong deployment: burying its records as misplaced would empty that topic.
    fn check(&self, partition: &EventPartition) -> Result<(), Unreadable> {
        if partition.topic == self.topic { Ok(()) } else { Err(partition.misplaced(&self.topic)) }
    }

    /// When the batch must be over. An invocation that is too short for both has the requests rather than the hand-back.
    fn deadline(&self, invoked: Invoked) -> Timestamp {
        match self.partial_responses {
            PartialResponses::Taken => invoked.until,
            PartialResponses::NotTaken => {
                let deliver = &self.batch.deliver;
                let wanted = deliver.policy.lanes.longest() + START_TIME;
                let spare = invoked.until.since(deliver.clock.now()).saturating_sub(wanted);
                invoked.until.minus(HAND_BACK_TIME.min(spare))
            }
        }
    }

    async fn answer(&self, worked: Completion) -> Result<BatchResponse, Failure> {
        match (worked, self.partial_responses) {
            (Completion::Complete, _) => Ok(BatchResponse::default()),
            (Completion::DeadlineReached(rest) | Completion::Failed(rest, _), PartialResponses::Taken) => {
                let positions: Vec<Position> = rest.iter().map(|record| record.position).collect();
                Ok(BatchResponse::failed(&self.topic, &positions))
            }
            (Completion::DeadlineReached(rest), PartialResponses::NotTaken) => {
                self.batch.republish(rest).await?;
                Ok(BatchResponse::default())
            }
            (Completion::Failed(_, fault), PartialResponses::NotTaken) => Err(fault.into()),
        }
    }
}

impl Handler for LaneHandler {
    type Answer = BatchResponse;

    async fn handle(&self, event: &str, invoked: Invoked) -> Result<BatchResponse, Failure> {
        let records = self.records(KafkaEvent::decode(event)?)?;
        let holder = ClaimHolder(format!("{:032x}", self.batch.deliver.random.bits()));
        let invocation = Invocation { holder, lane: self.lane, deadline: Some(self.deadline(invoked)) };
        let handed_over = records.len();
        let worked = self.batch.work_off(records, &invocation).await;
        let (left, fault) = match &worked {
            Completion::Complete => (0, None),
            Completion::DeadlineReached(rest) => (rest.len(), None),
            Completion::Failed(rest, fault) => (rest.len(), Some(fault.chain())),
        };
        note(handed_over, left, fault);
        let answer = self.answer(worked).await;
        // Last, since nothing but readers waits for it: the store may hang.
        let deliver = &self.batch.deliver;
        deliver.stats.flush_within(&*deliver.clock, STATS_PATIENCE).await;
        answer
    }
}

/// An operator's line about a batch: an error when howk could not do its part.
fn note(records: usize, left: usize, fault: Option<String>) {
    match (left, fault) {
        (0, None) => tracing::debug!(records, "a batch was worked off"),
        (left, None) => tracing::warn!(records, left, "no time for all of a batch"),
        (left, Some(fault)) => tracing::error!(records, left, fault, "not all of a batch was settled"),
    }
}
