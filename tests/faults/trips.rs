//! Which writes share a round trip: any part of a trip may survive a crash alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use delivery::Fault;
use delivery::deliver::Deliver;
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use domain::{EndpointState, Facts, Transition, Write};
use howk_tests::endpoint::Reply;
use in_memory::MemoryStore;
use parking_lot::Mutex;

use crate::acts::invocation;
use crate::scenes::{self, Scene};

/// A store that records the number of acquires, and the writes of each trip.
struct Watched {
    store: Arc<MemoryStore>,
    acquires: AtomicUsize,
    trips: Mutex<Vec<Vec<Write>>>,
}

#[async_trait]
impl HotState for Watched {
    async fn acquire(&self, request: AcquireRequest<'_>) -> Facts {
        self.acquires.fetch_add(1, Ordering::Relaxed);
        self.store.acquire(request).await
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        self.trips.lock().push(writes.clone());
        self.store.apply(writes).await
    }

    async fn change(&self, transition: &Transition) -> Result<Change, Fault> {
        self.store.change(transition).await
    }
}

/// Delivers a scene's dispatch with a store that is watched.
fn delivered(scene: &mut Scene) -> Arc<Watched> {
    let store = Arc::clone(&scene.world.store);
    let watched = Arc::new(Watched { store, acquires: AtomicUsize::new(0), trips: Mutex::default() });
    let deliver = Deliver { hot: Arc::<Watched>::clone(&watched), ..(*scene.world.deliver()).clone() };
    let (dispatch, invocation) = (scene.dispatch(), invocation("holder", scene.lane, scene.now()));
    scene.world.run(async move { deliver.deliver(&dispatch, &invocation).await }).unwrap();
    watched
}

/// A dead webhook that is settled and not listed would never be listed: its record is a duplicate then.
#[test]
fn dl_1_a_dead_letter_is_listed_before_its_webhook_is_settled() {
    let watched = delivered(&mut scenes::dying());
    let trips = watched.trips.lock();
    assert!(matches!(trips.first().map(Vec::as_slice), Some([Write::Index(_)])), "{trips:?}");
    assert!(trips.iter().skip(1).flatten().any(|write| matches!(write, Write::Settle(_))), "{trips:?}");
}

/// Whatever its outcome, an attempt is one acquire and one apply.
#[test]
fn an_attempt_is_two_trips_to_the_store() {
    for reply in [Reply::status(200, 5), Reply::status(500, 5), Reply::retry_after(429, 60), Reply::refused()] {
        let watched = delivered(&mut Scene::answering(reply.clone()));
        let trips = (watched.acquires.load(Ordering::Relaxed), watched.trips.lock().len());
        assert_eq!(trips, (1, 1), "{reply:?}");
    }
}
