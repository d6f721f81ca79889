//! Many large webhooks at once: the log takes only so many bytes together.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use delivery::dead_letters::DeadLetterService;
use delivery::endpoints::EndpointService;
use delivery::ports::dead_letters::DeadLetterFilter;
use delivery::ports::log::{Extent, Log, Page};
use delivery::release::Release;
use delivery::{Fault, FaultKind};
use domain::{ConfigId, Endpoint, EndpointHash, EndpointSetting, Payload, PayloadKind, Position, Record, Topic};
use howk_tests::endpoint::Reply;
use howk_tests::fuse::{Blow, Fuse};
use howk_tests::world::{World, settings, webhook};

use crate::{DAY, URL};

const LARGE: usize = 1 << 20;
const COUNT: usize = 40;
/// Records that the log takes together: less than all of them.
const ROOM: usize = COUNT / 2;
/// Records that are published together, large as they are.
const GROUP: usize = (16 << 20) / LARGE;

/// A log that refuses the records that a test picks, and accepts the others.
struct Choosy<F> {
    log: Arc<dyn Log>,
    refuse: F,
}

/// A log that accepts only so much together, and accepts that much before it refuses the remainder, as a full queue does.
fn narrow(world: &World) -> Arc<dyn Log> {
    let refuse = |records: &mut Vec<Record>| {
        let is_full = records.len() > ROOM;
        records.truncate(ROOM);
        is_full.then(|| Fault::new(FaultKind::OverLimit, "the queue is full"))
    };
    Arc::new(Choosy { log: Arc::clone(&world.system.backend.log), refuse })
}

#[async_trait]
impl<F: Fn(&mut Vec<Record>) -> Option<Fault> + Send + Sync> Log for Choosy<F> {
    async fn publish(&self, mut records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        let refusal = (self.refuse)(&mut records);
        let positions = self.log.publish(records).await?;
        refusal.map_or(Ok(positions), Err)
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        self.log.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.log.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        self.log.lag(topic).await
    }
}

/// A world in which large webhooks were accepted, and worked on until their endpoint had answered them.
fn world(answer: u16, state: EndpointSetting) -> World {
    let mut world = World::new(1, settings());
    world.endpoints.behave(move |_, _, _| Reply::status(answer, 5));
    if state != EndpointSetting::Active {
        let service = world.endpoint_service();
        world.run(async move { service.decide(&hash(), &config(), state).await }).unwrap();
    }
    let process = world.start();
    let mut large = webhook("tenant", URL);
    large.payload = Payload { bytes: vec![b'x'; LARGE].into(), kind: PayloadKind::Binary };
    world.enqueue(vec![large; COUNT]);
    world.pass(Duration::from_secs(1));
    world.kill(process);
    world
}

fn hash() -> EndpointHash {
    Endpoint::parse(URL).unwrap().hash().clone()
}

fn config() -> ConfigId {
    ConfigId::parse("tenant").unwrap()
}

fn dispatches(world: &World) -> usize {
    crate::count(world, |record| matches!(record, Record::Dispatch(..)))
}

fn waiting(world: &mut World) -> usize {
    usize::try_from(world.waiting()).unwrap()
}

#[test]
fn what_is_due_is_released_in_groups() {
    let mut world = world(500, EndpointSetting::Active);
    assert_eq!(waiting(&mut world), COUNT);
    world.pass(DAY);
    let release = Release { log: narrow(&world), ..world.system.release.clone() };
    let ticked = world.run(async move { release.tick().await }).unwrap();
    assert_eq!((ticked.released, waiting(&mut world), dispatches(&world)), (COUNT, 0, 2 * COUNT));
}

/// P15: a broker whose largest record was made smaller refuses one webhook for good.
#[test]
fn a_webhook_that_the_log_no_longer_accepts_holds_up_no_other() {
    let mut world = world(500, EndpointSetting::Active);
    world.pass(DAY);
    let refused = world.witness.published().into_iter().find_map(|record| match record {
        Record::Dispatch(_, dispatch) => Some(dispatch.webhook.id.clone()),
        _ => None,
    });
    let refuse = move |records: &mut Vec<Record>| {
        let is_refused =
            |record: &Record| matches!(record, Record::Dispatch(_, one) if Some(&one.webhook.id) == refused.as_ref());
        records.iter().any(is_refused).then(|| {
            records.clear();
            Fault::new(FaultKind::Permanent, "the record is too large")
        })
    };
    let log = Arc::new(Choosy { log: Arc::clone(&world.system.backend.log), refuse });
    let release = Release { log, ..world.system.release.clone() };
    let ticked = world.run(async move { release.tick().await }).unwrap();
    assert_eq!((ticked.released, waiting(&mut world)), (COUNT - 1, 1));
}

#[test]
fn a_release_that_dies_halfway_leaves_only_what_was_not_released() {
    let mut world = world(500, EndpointSetting::Active);
    world.pass(DAY);
    let release = world.system.release.clone();
    // All are leased, the first group is published and forgotten, a part of the second one published.
    let (log, stores) = (Arc::clone(&world.system.backend.log), Arc::clone(&world.store));
    let fuse = Arc::new(Fuse::new(log, stores, (1 + 2 * GROUP + 4, Blow::Dies)));
    let doomed = Release { log: Arc::<Fuse>::clone(&fuse), schedule: fuse, ..release.clone() };
    world.run(async move { doomed.tick().await }).unwrap_err();
    assert_eq!(waiting(&mut world), COUNT - GROUP);
    world.pass(DAY);
    let ticked = world.run(async move { release.tick().await }).unwrap();
    assert_eq!((ticked.released, waiting(&mut world)), (COUNT - GROUP, 0));
    assert_eq!(dispatches(&world), 2 * COUNT + 4, "what was not forgotten is published again, and nothing else");
}

#[test]
fn what_was_held_is_resumed_in_groups() {
    let mut world = world(200, EndpointSetting::Paused);
    let service = EndpointService { log: narrow(&world), ..world.endpoint_service() };
    let resumed = world.run(async move { service.decide(&hash(), &config(), EndpointSetting::Active).await });
    assert_eq!((resumed.unwrap(), waiting(&mut world)), (u64::try_from(COUNT).unwrap(), COUNT));
}

#[test]
fn dead_letters_are_replayed_in_groups() {
    let mut world = world(400, EndpointSetting::Active);
    world.pass(Duration::from_secs(1));
    let service = DeadLetterService { log: narrow(&world), ..world.dead_letter_service() };
    let filter = DeadLetterFilter { config_id: Some(config()), ..DeadLetterFilter::default() };
    let replayed = world.run(async move { service.replay_matching(&filter).await }).unwrap();
    assert_eq!((replayed.len(), dispatches(&world)), (COUNT, 2 * COUNT));
}
