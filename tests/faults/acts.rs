//! What the process is doing when the fuse blows.

use std::sync::Arc;
use std::time::Duration;

use delivery::dead_letters::DeadLetterService;
use delivery::deliver::{Deliver, Invocation};
use delivery::endpoints::EndpointService;
use delivery::enqueue::Enqueue;
use delivery::rebuild::{Rebuild, When};
use delivery::release::Release;
use domain::{ClaimHolder, EndpointSetting, Lane, Timestamp};
use howk_tests::fuse::{Blow, Fuse};
use howk_tests::world::webhook;

use crate::scenes::{Scene, TENANT, URL, config, hash};

/// One act: works with a fuse that blows after so many effects. Whether the act itself fails is the fuse's business.
pub(crate) type Act = fn(&mut Scene, &Arc<Fuse>);

/// Longer than any claim, and no more: a process that is dead settles again and again until its invocation ends.
const LASTING: Duration = Duration::from_hours(1);

pub(crate) fn invocation(holder: &str, lane: Lane, now: Timestamp) -> Invocation {
    Invocation { holder: ClaimHolder(holder.to_owned()), lane, deadline: Some(now.plus(LASTING)) }
}

pub(crate) fn fuse(scene: &Scene, allowed: usize, blow: Blow) -> Arc<Fuse> {
    let log = Arc::clone(&scene.world.system.backend.log);
    Arc::new(Fuse::new(log, Arc::clone(&scene.world.store), (allowed, blow)))
}

pub(crate) fn deliver(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let doomed =
        Deliver { log: Arc::<Fuse>::clone(fuse), hot: Arc::<Fuse>::clone(fuse), ..(*scene.world.deliver()).clone() };
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

pub(crate) fn resume(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let doomed = EndpointService {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
        ..scene.world.endpoint_service()
    };
    drop(scene.world.run(async move { doomed.decide(&hash(), &config(), EndpointSetting::Active).await }));
}

pub(crate) fn replay(scene: &mut Scene, fuse: &Arc<Fuse>) {
    let doomed = DeadLetterService {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
        ..scene.world.dead_letter_service()
    };
    let id = scene.id.clone();
    drop(scene.world.run(async move { doomed.replay(&id).await }));
}

pub(crate) fn rebuild(scene: &mut Scene, fuse: &Arc<Fuse>) {
    scene.world.lose_hot_state();
    let doomed = Rebuild {
        log: Arc::<Fuse>::clone(fuse),
        hot: Arc::<Fuse>::clone(fuse),
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
