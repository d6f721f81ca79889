//! The real server on real HTTP: a request in flight when the server is stopped is finished.

use std::sync::Arc;

use delivery::rebuild::When;
use domain::{ClaimHolder, Phase};
use howk_tests::world::{settings, webhook};
use in_memory::MemoryLimits;
use server::Server;
use server::system::{Backend, Sending, System};
use testkit::receiver::{FakeReceiver, Latch, Reply};

#[tokio::test]
async fn nothing_in_flight_is_lost_by_a_shutdown() {
    let mut settings = settings();
    settings.api.port = 0;
    settings.delivery.allow_private_addresses = true;
    let (backend, _) = Backend::in_memory(&MemoryLimits::default());
    let system = System::new(&settings, backend, Sending::Real).unwrap();
    system.rebuild.run(&ClaimHolder("test".to_owned()), When::IfLost, None).await.unwrap();
    let server = Server::start(&system, &settings, Arc::new(String::new)).await.unwrap();
    let (receiver, latch) = (FakeReceiver::start().await, Latch::closed());
    receiver.script("/hook", vec![Reply::status(200).when(&latch)]);
    let new = (0..20).map(|_| webhook("tenant", &receiver.url("/hook"))).collect();
    let ids = system.enqueue.enqueue(new).await.unwrap();
    receiver.received(20).await;
    futures::join!(server.shut_down(&system), async { latch.open() });
    let statuses = system.backend.stores.statuses.statuses(&ids).await.unwrap();
    assert!(statuses.into_iter().flatten().all(|status| status.phase == Phase::Delivered));
    assert_eq!(receiver.requests().len(), 20);
}
