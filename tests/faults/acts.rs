//! The acts of the process whose fuse blows.

use std::sync::Arc;
use std::time::Duration;

use delivery::dead_letters::DeadLetterService;
use delivery::deliver::{Deliver, Invocation};
use delivery::endpoints::EndpointService;
use delivery::enqueue::Enqueue;
use delivery::ports::dead_letters::DeadLetterFilter;
use delivery::rebuild::{Rebuild, When};
use delivery::release::Release;
use domain::{ClaimHolder, EndpointSetting, Lane, Timestamp};
use howk_tests::fuse::{Blow, Fuse};
use howk_tests::world::webhook;

use crate::scenes::{Scene, TENANT, URL, config, hash};

/// One act: it works on ports behind a fuse that blows after so many effects. The act's own result is dropped: whether it
/// fails follows from the fuse alone.
pub(crate) type Act = fn(&mut Scene, &Arc<Fuse>);

/// Longer than any claim lasts. It has an end because a process that counts as dead settles again and again until its
/// invocation ends.
const LASTING: Duration = Duration::from_hours(1);

pub(crate) fn invocation(holder: &str, lane: Lane, now: Timestamp) -> Invocation {
    Invocation { holder: ClaimHolder(holder.to_owned()), lane, deadline: Some(now.plus(LASTING)) }
}

pub(crate) fn fuse(scene: &Scene, allowed: usize, blow: Blow) -> Arc<Fuse> {
    let log = Arc::clone(&scene.world.system.backend.log);
    Arc::new(Fuse::new(log, Arc::clone(&scene.world.store), (allowed, blow)))
}

pub(crate) fn deliver(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let doomed = Deliver {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
        statuses: Arc::<Fuse>::clone(fuse),
        ..(*scene.world.deliver()).clone()
    };
    let (dispatch, invocation) = (scene.dispatch(), invocation("doomed", scene.lane, scene.world.now()));
    drop(scene.world.run(async move { doomed.deliver(&dispatch, &invocation).await }));
}

pub(crate) fn release(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let doomed = Release {
        log: Arc::<Fuse>::clone(fuse),
        schedule: Arc::<Fuse>::clone(fuse),
        ..scene.world.system.release.clone()
    };
    drop(scene.world.run(async move { doomed.tick().await }));
}

fn endpoint_service(scene: &Scene, fuse: &Arc<Fuse>) -> EndpointService {
    EndpointService {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
        endpoints: Arc::<Fuse>::clone(fuse),
        ..scene.world.endpoint_service()
    }
}

fn decide(scene: &mut Scene, fuse: &Arc<Fuse>, setting: EndpointSetting) {
    let doomed = endpoint_service(scene, fuse);
    drop(scene.world.run(async move { doomed.decide(&hash(), &config(), setting).await }));
}

pub(crate) fn resume(scene: &mut Scene, fuse: &Arc<Fuse>) {
    decide(scene, fuse, EndpointSetting::Active);
}

/// The owner pauses the endpoint, and then its webhook is worked on without any fault.
pub(crate) fn pause(scene: &mut Scene, fuse: &Arc<Fuse>) {
    decide(scene, fuse, EndpointSetting::Paused);
    scene.deliver_once();
}

/// The owner disables the endpoint, and then its webhook is worked on without any fault.
pub(crate) fn disable(scene: &mut Scene, fuse: &Arc<Fuse>) {
    decide(scene, fuse, EndpointSetting::Disabled);
    scene.deliver_once();
}

/// The scheduler's sweep of the unhealthy endpoints: it asks health URLs, and resumes what was held too late.
pub(crate) fn sweep(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let doomed = endpoint_service(scene, fuse);
    drop(scene.world.run(async move { doomed.sweep().await }));
}

fn dead_letter_service(scene: &Scene, fuse: &Arc<Fuse>) -> DeadLetterService {
    DeadLetterService {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
        index: Arc::<Fuse>::clone(fuse),
        ..scene.world.dead_letter_service()
    }
}

pub(crate) fn replay(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let (doomed, id) = (dead_letter_service(scene, fuse), scene.id.clone());
    drop(scene.world.run(async move { doomed.replay(&id).await }));
}

pub(crate) fn replay_matching(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let doomed = dead_letter_service(scene, fuse);
    drop(scene.world.run(async move { doomed.replay_matching(&DeadLetterFilter::default()).await }));
}

pub(crate) fn rebuild(scene: &mut Scene, fuse: &Arc<Fuse>) {
    scene.world.lose_hot_state();
    let doomed = Rebuild {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
        statuses: Arc::<Fuse>::clone(fuse),
        recovery: Arc::<Fuse>::clone(fuse),
        ..(*scene.world.system.rebuild).clone()
    };
    drop(scene.world.run(async move { doomed.run(&ClaimHolder("doomed".to_owned()), When::IfLost, None).await }));
}

/// Accepts a second webhook; a caller that gets an error repeats the call with its key (P10).
pub(crate) fn enqueue(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let mut new = webhook(TENANT, URL);
    new.idempotency_key = Some("order-1".to_owned());
    let doomed = Enqueue {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
        ..scene.world.system.enqueue.clone()
    };
    let again = new.clone();
    let answer = scene.world.run(async move { doomed.enqueue(vec![new]).await });
    let id = match answer {
        Ok(ids) => ids.into_iter().next().unwrap(),
        Err(_) => scene.world.enqueue(vec![again]).remove(0),
    };
    scene.id = id;
}
