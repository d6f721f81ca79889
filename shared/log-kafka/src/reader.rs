//! Replay: pages of a partition, read by position.
//!
//! A few consumers are kept. One whose position is where the next page begins goes on with what it has already fetched, so a
//! replay costs one query for the end and then a stream. A page ends by position: at the end that the first query found,
//! which the client reports even when the last records are gone or are tombstones (Y2), never by a record.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::log::{LogRecord, Page};
use delivery::ports::time::Clock;
use delivery::{Fault, FaultKind};
use domain::{Position, Topic};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tokio::sync::Semaphore;

use crate::client::{self, Reports};
use crate::config::KafkaConfig;
use crate::query::number;
use crate::{fault, record};

/// Pages that are read at once, each by a consumer of its own, which takes some megabytes and a few threads.
const READERS_MAX: usize = 4;
/// A page ends early when it holds this many bytes: pages are held in memory, and a function may have as little as 128 MB.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// One wait for a record: the step in which the timeout is counted down.
const TICK: Duration = Duration::from_millis(100);

/// The consumers that replay.
pub(crate) struct Readers {
    config: Arc<KafkaConfig>,
    client: ClientConfig,
    clock: Arc<dyn Clock>,
    idle: parking_lot::Mutex<Vec<Reader>>,
    turns: Arc<Semaphore>,
}

struct Reader {
    consumer: BaseConsumer<Reports>,
    /// What it reads, and its position; `None` when it reads nothing.
    place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    topic: Topic,
    partition: u32,
    /// The next offset.
    next: u64,
    /// The end, as it was when it was queried.
    end: u64,
}

impl Readers {
    pub(crate) fn new(config: &Arc<KafkaConfig>, clock: &Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            client: client::reader(config),
            config: Arc::clone(config),
            clock: Arc::clone(clock),
            idle: parking_lot::Mutex::default(),
            turns: Arc::new(Semaphore::new(READERS_MAX)),
        })
    }

    /// Reads a page.
    pub(crate) async fn read(self: &Arc<Self>, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let mut reader = readers.take(topic, from)?;
            let page = reader.page(&readers, &Wanted { topic, from, limit })?;
            readers.idle.lock().push(reader);
            Ok(page)
        });
        reading.await.map_err(fault::of_runtime)?
    }

    /// The reader whose position is this, or any idle one, or a new one.
    fn take(&self, topic: Topic, from: Position) -> Result<Reader, Fault> {
        {
            let mut idle = self.idle.lock();
            let is_over = |reader: &mut Reader| reader.consumer.context().tokens.have_ended();
            client::drop_aside(idle.extract_if(.., is_over).collect::<Vec<_>>());
            let there = idle.iter().position(|reader| reader.stands_at(topic, from));
            let any = there.or_else(|| idle.iter().position(|reader| reader.place.is_none()));
            let index = any.or_else(|| (idle.len() >= READERS_MAX).then_some(0));
            if let Some(index) = index {
                return Ok(idle.remove(index));
            }
        }
        Ok(Reader { consumer: client::build(&self.client, &self.config)?, place: None })
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        client::drop_aside(std::mem::take(&mut *self.idle.lock()));
    }
}

/// The page that a caller wants.
struct Wanted {
    topic: Topic,
    from: Position,
    limit: usize,
}

impl Reader {
    fn stands_at(&self, topic: Topic, from: Position) -> bool {
        self.place.as_ref().is_some_and(|place| {
            place.topic == topic
                && place.partition == from.partition
                && place.next == from.offset
                && place.next < place.end
        })
    }

    fn page(&mut self, readers: &Readers, wanted: &Wanted) -> Result<Page, Fault> {
        let failed = |error| {
            let name = readers.config.topics.of(wanted.topic);
            fault::of(format!("partition {} of {name} was not read", wanted.from.partition), error)
        };
        let stands = self.stands_at(wanted.topic, wanted.from);
        let place = if stands { self.place.take() } else { self.seek(readers, wanted).map_err(failed)? };
        let Some(mut place) = place else { return Ok(Page::default()) };
        let page = self.fill(readers, &mut place, wanted.limit).map_err(failed)?;
        // A caller that wants one record wants no more; a caller that wants more goes on with the next page.
        if place.next < place.end && wanted.limit > 1 {
            self.place = Some(place);
        } else {
            self.consumer.unassign().map_err(failed)?;
        }
        Ok(page)
    }

    /// Moves to a position, and queries the end of its partition; `None` when there is no such partition.
    fn seek(&mut self, readers: &Readers, wanted: &Wanted) -> Result<Option<Place>, KafkaError> {
        let Wanted { topic, from, .. } = *wanted;
        let name = readers.config.topics.of(topic);
        self.place = None;
        self.consumer.unassign()?;
        client::serve(&self.consumer);
        let extent = self.consumer.fetch_watermarks(name, number(from.partition), readers.config.request_timeout);
        let (start, end) = match extent {
            Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::UnknownPartition) => return Ok(None),
            found => found?,
        };
        let (start, end) = (u64::try_from(start).unwrap_or_default(), u64::try_from(end).unwrap_or_default());
        let next = from.offset.max(start).min(end);
        if next < end {
            let mut assignment = TopicPartitionList::with_capacity(1);
            let offset = Offset::Offset(i64::try_from(next).unwrap_or(i64::MAX));
            assignment.add_partition_offset(name, number(from.partition), offset)?;
            self.consumer.assign(&assignment)?;
        }
        Ok(Some(Place { topic, partition: from.partition, next, end }))
    }

    /// Reads on from a place until the page is full or the end is reached.
    fn fill(&self, readers: &Readers, place: &mut Place, limit: usize) -> Result<Page, KafkaError> {
        let (mut records, mut bytes) = (Vec::<LogRecord>::new(), 0_usize);
        let (mut timeout, mut last_error) = (readers.config.request_timeout, None);
        while place.next < place.end && records.len() < limit && bytes < PAGE_BYTES_MAX {
            match self.consumer.poll(TICK) {
                Some(Ok(message)) => {
                    let read = record::read(place.topic, &message, readers.clock.now());
                    if read.position.offset >= place.next {
                        place.next = read.position.offset.saturating_add(1);
                        bytes = bytes.saturating_add(record::bytes_of(&message));
                        records.push(read);
                    }
                    timeout = readers.config.request_timeout;
                    continue;
                }
                Some(Err(KafkaError::PartitionEOF(_))) => {
                    place.next = place.next.max(place.end);
                    continue;
                }
                Some(Err(error)) if fault_passes(&error) => last_error = Some(error),
                Some(Err(error)) => return Err(error),
                None => {}
            }
            timeout = timeout.saturating_sub(TICK);
            if timeout.is_zero() {
                let timed_out = KafkaError::MessageConsumption(RDKafkaErrorCode::OperationTimedOut);
                return Err(last_error.unwrap_or(timed_out));
            }
        }
        Ok(Page { records, next: place.next })
    }
}

fn fault_passes(error: &KafkaError) -> bool {
    fault::kind(error) == FaultKind::Transient && !matches!(error, KafkaError::MessageConsumptionFatal(_))
}
