//! Redis loses its scripts, its connections, or everything; and it refuses.

use std::slice::from_ref;
use std::sync::Arc;

use delivery::FaultKind;
use delivery::ports::hot_state::HotState;
use delivery::ports::recovery::Recovery;
use delivery::ports::schedule::Schedule;
use delivery::ports::statuses::Statuses;
use domain::{ClaimFact, EndpointState, LeaseFact, Phase, Secret, Write};
use futures::future::{join_all, ready};
use futures::stream::{self, StreamExt};
use store_redis::{Login, LoginSource, Logins, RedisConfig, RedisStore, Tls, Topology};
use testkit::contract::run;
use testkit::generate::{at, dispatch, fresh_number, numbered, status, waiting};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::traffic::{open, settled};
use super::{Instance, addr};

/// A user of the test's own, so that its connections are distinct from those of other tests.
pub(super) async fn user() -> (String, Login) {
    let name = format!("howk-test-{}-{}", std::process::id(), fresh_number());
    let mut admin = super::admin().await;
    let mut cmd = redis::cmd("ACL");
    cmd.arg("SETUSER").arg(&name).arg("on").arg(">sesame").arg("~*").arg("+@all");
    cmd.query_async::<()>(&mut admin).await.expect("a user");
    (name.clone(), Login::Password { user: Some(name), password: Secret::new("sesame") })
}

async fn drop_user(instance: &Instance, name: &str) {
    let _: u64 = instance.ask(&["ACL", "DELUSER", name]).await;
}

/// After NOSCRIPT the script itself is sent, and the caller does not notice.
#[test]
fn forgotten_scripts_are_sent_again() {
    run(async {
        let instance = Instance::new(Login::None).await;
        for _ in 0..5 {
            let first = dispatch();
            let _: () = instance.ask(&["SCRIPT", "FLUSH"]).await;
            let facts = instance.store.acquire(open(&first)).await;
            let _: () = instance.ask(&["SCRIPT", "FLUSH"]).await;
            instance.store.apply(settled(&first, &facts, Phase::Delivered)).await.expect("written");
            let known = instance.store.statuses(from_ref(&first.webhook.id)).await.expect("it answers");
            assert_eq!(known, [Some(status(&first, Phase::Delivered))]);
        }
    });
}

/// Twenty deliveries, whose connections are killed before each half.
async fn deliver_through_kills(instance: &Instance, name: &str) {
    let all: Vec<_> = (0..20).map(|_| dispatch()).collect();
    let killed: u64 = instance.ask(&["CLIENT", "KILL", "USER", name]).await;
    assert!(killed > 0, "the store logs in as its user");
    let opened = join_all(all.iter().map(|first| instance.store.acquire(open(first)))).await;
    let _: u64 = instance.ask(&["CLIENT", "KILL", "USER", name]).await;
    let closes = all.iter().zip(&opened).map(|(first, facts)| settled(first, facts, Phase::Delivered));
    for closed in join_all(closes.map(|writes| instance.store.apply(writes))).await {
        closed.expect("written");
    }
    let ids: Vec<_> = all.iter().map(|first| first.webhook.id.clone()).collect();
    let known = instance.store.statuses(&ids).await.expect("it answers");
    let delivered = known.iter().flatten().filter(|status| status.phase == Phase::Delivered).count();
    assert_eq!(delivered, 20, "{known:?}");
}

async fn survives_dead_connections(topology: Topology) {
    let (name, login) = user().await;
    let instance = Instance::of(topology, login).await;
    for _ in 0..5 {
        deliver_through_kills(&instance, &name).await;
    }
    drop_user(&instance, &name).await;
}

/// A connection that dies between two commands is replaced, and its commands are sent once more.
#[test]
fn dead_connections_of_a_cluster_are_replaced() {
    run(survives_dead_connections(Topology::Cluster));
}

/// The same without the cluster's client. (A cluster of one node answers it for every slot.)
#[test]
fn dead_connections_of_a_single_node_are_replaced() {
    run(survives_dead_connections(Topology::Single));
}

/// Everything is lost in the middle: what follows finds defaults, not errors.
#[test]
fn a_flush_in_the_middle_leaves_defaults() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let first = dispatch();
        let facts = instance.store.acquire(open(&first)).await;
        instance.store.apply(vec![Write::Schedule(waiting(&numbered(&first, 2), at(1)))]).await.expect("written");
        for key in instance.keys().await {
            let _: u64 = instance.ask(&["DEL", &format!("{}{key}", instance.prefix)]).await;
        }
        instance
            .store
            .apply(settled(&first, &facts, Phase::Waiting))
            .await
            .expect("a holder from before the loss may settle");
        let known = instance.store.statuses(from_ref(&first.webhook.id)).await.expect("it answers");
        assert_eq!(known[0].as_ref().map(|status| status.phase), Some(Phase::Waiting));
        assert_eq!(instance.store.next_due().await.expect("it answers"), None);
        assert_eq!(instance.store.epoch().await.expect("it answers"), None, "this is what a rebuild looks for");
        let other = instance.store.acquire(open(&dispatch())).await;
        assert_eq!(other.endpoint, Some(EndpointState::default()));
    });
}

/// Values of another shape count as lost.
#[test]
fn unreadable_values_count_as_lost() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let first = dispatch();
        let (webhook, hash) = (&first.webhook, first.webhook.endpoint.hash());
        let key = |name: String| format!("{}{name}", instance.prefix);
        let (wh, ep) = (key(format!("{{wh:{}}}", webhook.id)), key(format!("{{ep:{hash}}}")));
        let _: u64 = instance.ask(&["HSET", &wh, "claim", "what?", "status", "", "a:1", "nothing"]).await;
        let _: u64 = instance.ask(&["HSET", &ep, "version", "x", "cooldown", "y", "bucket:0", "z"]).await;
        let _: () = instance.ask(&["SET", &format!("{ep}:setting:{}", webhook.config_id), "?"]).await;
        let facts = instance.store.acquire(open(&first)).await;
        assert_eq!(facts.endpoint, Some(EndpointState::default()));
        instance.store.apply(settled(&first, &facts, Phase::Delivered)).await.expect("written");
        let known = instance.store.statuses(from_ref(&webhook.id)).await.expect("it answers");
        assert_eq!(known[0].as_ref().map(|status| status.phase), Some(Phase::Delivered));
    });
}

/// A wrong password does not pass by itself; a Redis that is not there may.
#[test]
fn refusals_and_outages_are_told_apart() {
    run(async {
        let login = Login::Password { user: Some("unknown".to_owned()), password: Secret::new("hunter2") };
        for topology in [Topology::Cluster, Topology::Single] {
            let config =
                RedisConfig { nodes: vec![addr()], topology, login: login.clone(), ..RedisConfig::default() };
            let fault = RedisStore::connect(config).await.expect_err("the password is wrong");
            assert_eq!(fault.kind, FaultKind::Permanent, "{topology:?}: {fault:?}");
            assert!(!format!("{fault:?}").contains("hunter2"), "SE-1: {fault:?}");
            let config = RedisConfig { nodes: vec!["127.0.0.1:9".to_owned()], topology, ..RedisConfig::default() };
            let fault = RedisStore::connect(config).await.expect_err("no server listens");
            assert_eq!(fault.kind, FaultKind::Transient, "{topology:?}: {fault:?}");
        }
    });
}

/// A store of a Redis that is not there fails at once, and works with the next command when it is.
#[test]
fn a_store_is_connected_by_the_first_command_that_finds_redis() {
    run(async {
        for topology in [Topology::Cluster, Topology::Single] {
            let place = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let here = place.local_addr().expect("an address");
            drop(place);
            let prefix = format!("t{}-{}:", std::process::id(), fresh_number());
            let nodes = vec![here.to_string()];
            let store = RedisStore::new(&RedisConfig { nodes, topology, prefix, ..RedisConfig::default() });
            let (store, first) = (store.expect("nothing is wrong with it"), dispatch());
            let fault = store.statuses(from_ref(&first.webhook.id)).await.expect_err("no server listens");
            assert_eq!(fault.kind, FaultKind::Transient, "{topology:?}: {fault:?}");
            let _redis = forward(TcpListener::bind(here).await.expect("the port is free"));
            let facts = store.acquire(open(&first)).await;
            store.apply(settled(&first, &facts, Phase::Delivered)).await.expect("written");
            let known = store.statuses(from_ref(&first.webhook.id)).await.expect("it answers");
            assert_eq!(known, [Some(status(&first, Phase::Delivered))], "{topology:?}");
        }
    });
}

/// A mistake that is visible without Redis is reported without Redis.
#[test]
fn a_wrong_configuration_makes_no_store() {
    let authorities = Some(b"-----BEGIN CERTIFICATE-----\nnot one\n-----END CERTIFICATE-----".to_vec());
    for topology in [Topology::Cluster, Topology::Single] {
        let wrong = RedisConfig { topology, ..RedisConfig::default() };
        for wrong in [
            RedisConfig { nodes: Vec::new(), ..wrong.clone() },
            RedisConfig { nodes: vec!["redis".to_owned()], ..wrong.clone() },
            RedisConfig { prefix: "{a}".to_owned(), ..wrong.clone() },
            RedisConfig { tls: Some(Tls { authorities: authorities.clone() }), ..wrong.clone() },
        ] {
            let fault = RedisStore::new(&wrong).expect_err("it is wrong");
            assert_eq!(fault.kind, FaultKind::Permanent, "{topology:?}: {fault:?}");
        }
    }
}

/// Hands the connections of a port on to the shared Redis, until it is dropped.
fn forward(listener: TcpListener) -> JoinSet<()> {
    let mut forwarding = JoinSet::new();
    forwarding.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut near, _)) = listener.accept().await {
            connections.spawn(async move {
                let mut far = TcpStream::connect(addr()).await.expect("Redis is there");
                copy_bidirectional(&mut near, &mut far).await.ok();
            });
        }
    });
    forwarding
}

/// Logs in as one user, and never again.
struct One(String);

impl LoginSource for One {
    fn logins(&self) -> Logins {
        let login = Ok((self.0.clone(), Secret::new("sesame")));
        Box::pin(stream::once(ready(login)).chain(stream::pending()))
    }
}

/// A source of logins is asked by every connection, the one after a dead one included.
#[test]
fn a_source_of_logins_is_asked() {
    run(async {
        let (name, _) = user().await;
        for topology in [Topology::Cluster, Topology::Single] {
            let instance = Instance::of(topology, Login::From(Arc::new(One(name.clone())))).await;
            for _ in 0..2 {
                let facts = instance.store.acquire(open(&dispatch())).await;
                assert!(matches!(facts.claim, ClaimFact::Taken { .. }), "{facts:?}");
                let killed: u64 = instance.ask(&["CLIENT", "KILL", "USER", &name]).await;
                assert!(killed > 0, "the store logs in as the user of the source");
            }
        }
        let mut admin = super::admin().await;
        redis::cmd("ACL").arg("DELUSER").arg(&name).query_async::<u64>(&mut admin).await.expect("it is gone");
    });
}

/// Section 6, "when Redis fails": what *acquire* cannot read is unknown, what *apply* cannot write is a fault, and both return
/// in time.
#[test]
fn what_the_store_cannot_say_is_unknown() {
    run(async {
        let (name, login) = user().await;
        let instance = Instance::new(login).await;
        let first = dispatch();
        let facts = instance.store.acquire(open(&first)).await;
        let _: () = instance.ask(&["ACL", "SETUSER", &name, "-@all"]).await;
        let unknown = instance.store.acquire(open(&first)).await;
        assert_eq!((unknown.claim, unknown.endpoint), (ClaimFact::Unknown, None));
        assert_eq!((unknown.on_endpoint, unknown.on_domain), (LeaseFact::Unlimited, LeaseFact::Unlimited));
        let fault = instance.store.apply(settled(&first, &facts, Phase::Delivered)).await.expect_err("no permission");
        assert_eq!(fault.kind, FaultKind::Permanent, "{fault:?}");
        drop_user(&instance, &name).await;
    });
}
