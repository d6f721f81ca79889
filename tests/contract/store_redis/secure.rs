//! Redis over TLS with a password, as ElastiCache has it.

use std::sync::Arc;

use delivery::FaultKind;
use delivery::ports::hot_state::HotState;
use domain::{ClaimFact, Phase, Secret};
use store_redis::{Login, RedisConfig, RedisStore, Tls, Topology};
use testkit::contract::run;
use testkit::generate::{dispatch, fresh_number};

use super::losses::user;
use super::traffic::{open, settled};
use super::{addr, admin};

/// A setting of Redis.
async fn setting(name: &str) -> String {
    let mut cmd = redis::cmd("CONFIG");
    let reply: Vec<String> = cmd.arg("GET").arg(name).query_async(&mut admin().await).await.expect("Redis answers");
    let value = reply.into_iter().nth(1).filter(|value| !value.is_empty() && value != "0");
    value.expect("this Redis has TLS: start it with localstack/services up")
}

/// A store of its own, over TLS.
async fn secure(topology: Topology, login: Login) -> RedisConfig {
    let (port, authorities) = (setting("tls-port").await, setting("tls-ca-cert-file").await);
    let authorities = std::fs::read(authorities).expect("Redis runs on this machine");
    let addr = addr();
    let (host, _) = addr.rsplit_once(':').expect("host:port");
    RedisConfig {
        nodes: vec![format!("{host}:{port}")],
        topology,
        tls: Some(Tls { authorities: Some(authorities) }),
        login,
        prefix: format!("t{}-{}:", std::process::id(), fresh_number()),
        ..RedisConfig::default()
    }
}

#[test]
fn a_user_logs_in_over_tls() {
    run(async {
        let (name, login) = user().await;
        for topology in [Topology::Cluster, Topology::Single] {
            let config = secure(topology, login.clone()).await;
            let store = Arc::new(RedisStore::connect(config).await.expect("it logs in"));
            let first = dispatch();
            let facts = store.acquire(open(&first)).await;
            assert!(matches!(facts.claim, ClaimFact::Taken { .. }), "{topology:?}: {facts:?}");
            store.apply(settled(&first, &facts, Phase::Delivered)).await.expect("written");
            let mut cmd = redis::cmd("CLIENT");
            let killed: u64 = cmd
                .arg("KILL")
                .arg("USER")
                .arg(&name)
                .query_async(&mut admin().await)
                .await
                .expect("its connections end");
            assert!(killed > 0, "{topology:?}: it logs in as its user");
            let facts = store.acquire(open(&first)).await;
            assert!(matches!(facts.claim, ClaimFact::Settled(_)), "over a new connection: {facts:?}");
        }
        let mut cmd = redis::cmd("ACL");
        cmd.arg("DELUSER").arg(&name).query_async::<u64>(&mut admin().await).await.expect("it is gone");
    });
}

#[test]
fn a_refusal_over_tls_has_its_reason() {
    run(async {
        for topology in [Topology::Cluster, Topology::Single] {
            let wrong = Login::Password { user: Some("unknown".to_owned()), password: Secret::new("hunter2") };
            let fault = RedisStore::connect(secure(topology, wrong).await).await.expect_err("the password is wrong");
            assert_eq!(fault.kind, FaultKind::Permanent, "{topology:?}: {fault:?}");
            assert!(!format!("{fault:?}").contains("hunter2"), "SE-1: {fault:?}");
        }
    });
}

#[test]
fn an_authority_that_the_system_does_not_know_is_not_trusted() {
    run(async {
        for topology in [Topology::Cluster, Topology::Single] {
            let config = RedisConfig { tls: Some(Tls::default()), ..secure(topology, Login::None).await };
            let fault = RedisStore::connect(config).await.expect_err("no trusted authority signed its certificate");
            assert_eq!(fault.kind, FaultKind::Permanent, "{topology:?}: {fault:?}");
            assert!(format!("{fault:?}").contains("UnknownIssuer"), "{topology:?}: {fault:?}");
        }
    });
}
