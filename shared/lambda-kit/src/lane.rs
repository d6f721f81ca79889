//! The handler of both lanes: decode, work on the batch, answer.

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

/// How long writing the statistics may delay the answer: half of the default `lambda.deadline_margin`.
const STATS_TIMEOUT: Duration = Duration::from_millis(500);

/// How much earlier a batch stops when its remaining records must be republished. Together with the time that every
/// request leaves for settling it, that is as long as a publish may take. If the invocation ended before, the published
/// copies would stay and the whole batch would come again too. A deployment checks its timeouts by it:
/// `REPUBLISH_SECONDS` in infra's `inequalities.ts`.
const REPUBLISH_TIME: Duration = Duration::from_secs(5);

/// How much more than its longest request is left to a batch, whatever else there is no time for. Reading the store takes
/// time too, and a batch of which no request could begin would be republished as a whole and come again at once, for ever.
/// `START_SECONDS` in infra's `inequalities.ts` is the same.
const START_TIME: Duration = Duration::from_secs(2);

/// Whether the event source takes partial responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialResponses {
    /// It does: the answer names the records that are to come again.
    Taken,
    /// It does not: records without time left are republished; a failure of howk's own fails the invocation, and the whole
    /// batch comes again. The dispatches of it that were settled are dropped then, as duplicates.
    NotTaken,
}

/// Works on the batches of a lane.
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
        let topic = settings.kafka.topics.of(Topic::of_lane(lane));
        let taken = settings.lambda.partial_responses;
        let partial_responses = if taken { PartialResponses::Taken } else { PartialResponses::NotTaken };
        Self { batch, lane, topic: topic.to_owned(), partial_responses }
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

    /// An event source mapping of another topic is a wrong deployment: dead-lettering its records as misplaced would empty
    /// that topic.
    fn check(&self, partition: &EventPartition) -> Result<(), Unreadable> {
        if partition.topic == self.topic { Ok(()) } else { Err(partition.misplaced(&self.topic)) }
    }

    /// When the batch must be over. In an invocation that is too short for both, requests take precedence over republishing.
    fn deadline(&self, invoked: Invoked) -> Timestamp {
        match self.partial_responses {
            PartialResponses::Taken => invoked.until,
            PartialResponses::NotTaken => {
                let deliver = &self.batch.deliver;
                let wanted = deliver.policy.lanes.longest() + START_TIME;
                let spare = invoked.until.since(deliver.clock.now()).saturating_sub(wanted);
                invoked.until.minus(REPUBLISH_TIME.min(spare))
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
        log_batch(handed_over, left, fault);
        let answer = self.answer(worked).await;
        // Last, since no delivery depends on it and the store may hang.
        let deliver = &self.batch.deliver;
        deliver.stats.flush_within(&*deliver.clock, STATS_TIMEOUT).await;
        answer
    }
}

/// Logs how a batch ended: an error when howk failed at its own part.
fn log_batch(records: usize, left: usize, fault: Option<String>) {
    match (left, fault) {
        (0, None) => tracing::debug!(records, "a batch is done"),
        (left, None) => {
            tracing::warn!(records, left, "the deadline was reached before all records of a batch were settled");
        }
        (left, Some(fault)) => {
            tracing::error!(records, left, fault, "a fault kept records of a batch from being settled");
        }
    }
}
