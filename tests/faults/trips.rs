//! What goes to the store together: any part of a trip may survive a crash alone.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::Fault;
use delivery::deliver::Deliver;
use delivery::ports::hot_state::{Change, HotState, OpenRequest};
use domain::{EndpointState, Facts, Transition, Write};
use in_memory::MemoryStore;
use parking_lot::Mutex;

use crate::acts::invocation;
use crate::scenes;

/// A store that remembers what was written together.
struct Watched {
    store: Arc<MemoryStore>,
    trips: Mutex<Vec<Vec<Write>>>,
}

#[async_trait]
impl HotState for Watched {
    async fn open(&self, request: OpenRequest<'_>) -> Facts {
        self.store.open(request).await
    }

    async fn close(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        self.trips.lock().push(writes.clone());
        self.store.close(writes).await
    }

    async fn change(&self, transition: &Transition) -> Result<Change, Fault> {
        self.store.change(transition).await
    }
}

/// Settled and not listed, a dead webhook would not be found: its record is a duplicate then.
#[test]
fn dl_1_a_letter_is_listed_before_its_webhook_is_settled() {
    let mut scene = scenes::dying();
    let watched = Arc::new(Watched { store: Arc::clone(&scene.world.store), trips: Mutex::default() });
    let deliver = Deliver { hot: Arc::<Watched>::clone(&watched), ..(*scene.world.deliver()).clone() };
    let (dispatch, invocation) = (scene.dispatch(), invocation("owner", scene.lane, scene.now()));
    scene.world.run(async move { deliver.deliver(&dispatch, &invocation).await }).unwrap();
    let trips = watched.trips.lock();
    assert!(matches!(trips.first().map(Vec::as_slice), Some([Write::Index(_)])), "{trips:?}");
    assert!(trips.iter().skip(1).flatten().any(|write| matches!(write, Write::Settle(_))), "{trips:?}");
}
