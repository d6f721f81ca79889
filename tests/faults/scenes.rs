//! The situations in which the process dies: one for each decision, set up before any process runs.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::hot_state::HotState;
use domain::{
    Bucket, Circuit, ConfigId, Cooldown, Dispatch, Endpoint, EndpointHash, EndpointReport, EndpointSetting, Lane,
    Record, Tally, Timestamp, Transition, WebhookId, Write, bucket_start,
};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};

pub(crate) const URL: &str = "https://receiver.example/hook";
pub(crate) const TENANT: &str = "tenant";

/// A world in which no process runs and one webhook is pending.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) id: WebhookId,
    pub(crate) lane: Lane,
}

impl Scene {
    pub(crate) fn with_attempts(max_attempts: u32, reply: Reply) -> Self {
        let mut world = World::new(7, settings());
        world.endpoints.behave(move |_, _, _| reply.clone());
        let mut new = webhook(TENANT, URL);
        new.max_attempts = max_attempts;
        let id = world.enqueue(vec![new]).remove(0);
        Self { world, id, lane: Lane::Fast }
    }

    pub(crate) fn answering(reply: Reply) -> Self {
        Self::with_attempts(5, reply)
    }

    /// The last dispatch that was published, which is the one to work on.
    pub(crate) fn dispatch(&self) -> Dispatch {
        let published = self.world.witness.published().into_iter().rev();
        let mut dispatches = published.filter_map(|record| match record {
            Record::Dispatch(_, dispatch) => Some(dispatch),
            _ => None,
        });
        dispatches.next().unwrap()
    }

    fn apply(&mut self, write: Write) {
        let store = Arc::clone(&self.world.store);
        self.world.run(async move { store.apply(vec![write]).await }).unwrap();
    }

    fn change(&mut self, circuit: Circuit, cooldown: Option<Cooldown>) {
        let store = Arc::clone(&self.world.store);
        let transition = Transition { endpoint: endpoint(), version: 0, circuit, cooldown };
        self.world.run(async move { store.change(&transition).await }).unwrap();
    }

    /// Works on the pending dispatch without any fault.
    pub(crate) fn deliver_once(&mut self) {
        let (deliver, dispatch, lane) = (self.world.deliver(), self.dispatch(), self.lane);
        let invocation = crate::acts::invocation("earlier", lane, self.world.now());
        self.world.run(async move { deliver.deliver(&dispatch, &invocation).await }).unwrap();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world.now()
    }
}

pub(crate) fn endpoint() -> Endpoint {
    Endpoint::parse(URL).unwrap()
}

pub(crate) fn hash() -> EndpointHash {
    EndpointHash::of(URL)
}

pub(crate) fn config() -> ConfigId {
    ConfigId::parse(TENANT).unwrap()
}

pub(crate) fn known_slow() -> Scene {
    let mut scene = Scene::answering(Reply::status(200, 5));
    let bucket = bucket_start(scene.now(), Duration::from_mins(1));
    let tally = Tally { slow: 9, ..Tally::default() };
    let Bucket { start, tally } = Bucket { start: bucket, tally };
    let report =
        EndpointReport { endpoint: endpoint(), bucket: start, keep_since: Timestamp::EPOCH, tally, cooldown: None };
    scene.apply(Write::Report(report));
    scene
}

pub(crate) fn cooldown_holding() -> Scene {
    let mut scene = Scene::answering(Reply::status(200, 5));
    let ends_at = scene.now().plus(Duration::from_mins(1));
    let cooldown = Cooldown::new(ends_at, ends_at.plus(Duration::from_secs(30)));
    scene.change(Circuit::default(), Some(cooldown));
    scene
}

pub(crate) fn cooldown_to_probe() -> Scene {
    let mut scene = Scene::answering(Reply::status(200, 5));
    let cooldown = Cooldown::new(scene.now(), scene.now().plus(Duration::from_secs(30)));
    scene.change(Circuit::default(), Some(cooldown));
    scene
}

pub(crate) fn circuit_open() -> Scene {
    let mut scene = Scene::answering(Reply::status(200, 5));
    let since = scene.now();
    scene.change(Circuit::Open { since }, None);
    scene
}

pub(crate) fn circuit_to_probe(reply: Reply) -> Scene {
    let mut scene = Scene::answering(reply);
    let since = scene.now().minus(Duration::from_hours(1));
    scene.change(Circuit::Open { since }, None);
    scene
}

pub(crate) fn paused() -> Scene {
    let mut scene = Scene::answering(Reply::status(200, 5));
    let service = scene.world.endpoint_service();
    scene.world.run(async move { service.decide(&hash(), &config(), EndpointSetting::Paused).await }).unwrap();
    scene
}

/// Held, and about to be resumed.
pub(crate) fn held() -> Scene {
    let mut scene = paused();
    scene.deliver_once();
    scene
}

/// Failed once, and its record comes again.
pub(crate) fn waiting_duplicate() -> Scene {
    let mut scene = Scene::answering(Reply::status(500, 5));
    scene.deliver_once();
    scene
}

/// Failed once, and due.
pub(crate) fn due() -> Scene {
    let mut scene = waiting_duplicate();
    scene.world.pass(Duration::from_secs(30));
    scene
}

/// Failed, retried, delivered; and the record of the retry comes again.
pub(crate) fn delivered_duplicate() -> Scene {
    let mut scene = due();
    scene.world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    let release = scene.world.system.release.clone();
    scene.world.run(async move { release.tick().await }).unwrap();
    scene.deliver_once();
    scene
}

/// Failed, waited, and about to fail for the last time.
pub(crate) fn dying() -> Scene {
    let mut scene = Scene::with_attempts(2, Reply::status(500, 5));
    scene.deliver_once();
    scene.world.pass(Duration::from_secs(30));
    let release = scene.world.system.release.clone();
    scene.world.run(async move { release.tick().await }).unwrap();
    scene
}

/// Held by a delivery that had not read the owner's decision to go on: the endpoint is active all the same.
pub(crate) fn held_after_its_resumption() -> Scene {
    let mut scene = held();
    let hold = scene.world.witness.published().into_iter().find_map(|record| match record {
        Record::Waiting(waiting) => Some(Write::Hold(waiting)),
        _ => None,
    });
    let service = scene.world.endpoint_service();
    scene.world.run(async move { service.decide(&hash(), &config(), EndpointSetting::Active).await }).unwrap();
    let due = Write::Unschedule(scene.id.clone(), u64::MAX);
    scene.apply(due);
    scene.apply(hold.unwrap());
    scene
}

/// A webhook that waits for a cooldown which ends in five seconds, and a health URL that answers with `answer`.
pub(crate) fn cooldown_with_health_url(answer: u16) -> Scene {
    let mut settings = settings();
    let health_url = "https://receiver.example/health".to_owned();
    settings.endpoints.insert("receiver.example".to_owned(), settings::EndpointSettings { health_url });
    let mut world = World::new(7, settings);
    world.endpoints.behave(move |url, _, _| Reply::status(if url.ends_with("/health") { answer } else { 200 }, 5));
    let id = world.enqueue(vec![webhook(TENANT, URL)]).remove(0);
    let mut scene = Scene { world, id, lane: Lane::Fast };
    let ends_at = scene.now().plus(Duration::from_secs(5));
    scene.change(Circuit::default(), Some(Cooldown::new(ends_at, ends_at.plus(Duration::from_secs(30)))));
    scene.deliver_once();
    scene
}

pub(crate) fn dead() -> Scene {
    let mut scene = Scene::with_attempts(1, Reply::status(500, 5));
    scene.deliver_once();
    scene.world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    scene
}
