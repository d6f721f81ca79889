//! A group that shares out its partitions anew: it refuses commits for a while, and hands out again what was not committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use delivery::ports::log::{Feed, Log as _, LogRecord};
use delivery::rebuild::When;
use delivery::{Fault, FaultKind};
use domain::{ClaimHolder, Position, Topic};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};
use in_memory::MemoryLimits;
use server::Server;
use server::system::{Backend, Sending, System};
use testkit::receiver::FakeReceiver;

/// Commits that are refused.
const REFUSED: u32 = 3;
/// As long as a request takes, so that partitions come and go meanwhile.
const TAKES: Duration = Duration::from_secs(3);
const TIMEOUT: Duration = Duration::from_secs(30);

/// A member of such a group.
struct Refusing {
    feed: Arc<dyn Feed>,
    left: Arc<AtomicU32>,
}

#[async_trait]
impl Feed for Refusing {
    async fn next(&self, max: usize) -> Result<Vec<LogRecord>, Fault> {
        self.feed.next(max).await
    }

    async fn commit(&self, position: Position) -> Result<(), Fault> {
        let refused = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if refused.is_ok() {
            return Err(Fault::new(FaultKind::Transient, "the group is sharing out its partitions"));
        }
        self.feed.commit(position).await
    }
}

/// No record follows the one webhook whose commit was refused, and the webhook counts as settled all the same.
#[tokio::test]
async fn a_commit_that_was_refused_is_made_without_further_records() {
    let mut settings = settings();
    settings.api.port = 0;
    settings.delivery.allow_private_addresses = true;
    let (mut backend, _) = Backend::in_memory(&MemoryLimits::default());
    let (join, left) = (Arc::clone(&backend.join), Arc::new(AtomicU32::new(REFUSED)));
    let refusing = Arc::clone(&left);
    backend.join = Arc::new(move |topic| {
        let member = |feed| -> Arc<dyn Feed> { Arc::new(Refusing { feed, left: Arc::clone(&refusing) }) };
        Ok(join(topic)?.into_iter().map(member).collect())
    });
    let system = System::new(&settings, backend, Sending::Real).unwrap();
    system.rebuild.run(&ClaimHolder("test".to_owned()), When::IfLost, None).await.unwrap();
    let server = Server::start(&system, &settings, Arc::new(String::new)).await.unwrap();
    let receiver = FakeReceiver::start().await;
    system.enqueue.enqueue(vec![webhook("tenant", &receiver.url("/hook"))]).await.unwrap();
    receiver.received(1).await;
    let log = Arc::clone(&system.backend.log);
    let settled = async {
        while log.lag(Topic::Pending).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, settled).await.expect("its record counts as settled");
    assert_eq!((left.load(Ordering::Relaxed), receiver.requests().len()), (0, 1));
    server.shut_down(&system).await;
}

/// Partitions go to a member that comes and leaves at once, and come back while their records are worked on.
#[test]
fn what_comes_again_while_its_request_is_under_way_is_sent_once() {
    let tenants: Vec<_> = (0..24).map(|tenant| webhook(&format!("tenant-{tenant}"), crate::URL)).collect();
    let mut world = World::new(1, settings());
    world.endpoints.behave(|_, _, _| Reply::status(200, u64::try_from(TAKES.as_millis()).unwrap()));
    world.start();
    let ids = world.enqueue(tenants);
    world.pass(TAKES / 2);
    assert_eq!(world.endpoints.present(), ids.len(), "all of them are being sent");
    drop(world.log.join(Topic::Pending));
    world.pass(TAKES * 2);
    assert_eq!(world.endpoints.seen().len(), ids.len());
    let log = Arc::clone(&world.log);
    assert_eq!(world.run(async move { log.lag(Topic::Pending).await }).unwrap(), 0, "all of them are committed");
}
