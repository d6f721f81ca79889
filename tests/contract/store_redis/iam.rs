//! Logging in with an AWS identity, as far as no AWS is needed: to Redis, with a user whose password is the token.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use delivery::ports::recovery::Recovery;
use delivery::ports::time::Clock;
use domain::{Secret, Timestamp};
use futures::future::join;
use futures::stream::StreamExt;
use store_redis::{Cache, IamLogins, Login, LoginSource, RedisConfig, RedisStore};
use testkit::clock::ManualClock;
use testkit::contract::run;
use testkit::generate::fresh_number;

use super::{addr, admin};

/// 2026-05-01 12:00:00 UTC.
const NOON: Timestamp = Timestamp::from_ms(1_777_636_800_000);

/// What botocore 1.44.8 (`SigV4QueryAuth`, 900 s) makes of the same at noon.
const OF_A_GROUP: &str = "howk-cache/?Action=connect&User=howk-user&X-Amz-Algorithm=AWS4-HMAC-SHA256&\
    X-Amz-Credential=AKIDEXAMPLE%2F20260501%2Feu-west-1%2Felasticache%2Faws4_request&X-Amz-Date=20260501T120000Z&\
    X-Amz-Expires=900&X-Amz-SignedHeaders=host&\
    X-Amz-Signature=ede40e409313b00360ecfc0f5f554b9794d91c0f2deee4521183c32ea1e1987c";
const SERVERLESS: &str = "howk-cache/?Action=connect&User=howk-user&ResourceType=ServerlessCache&\
    X-Amz-Algorithm=AWS4-HMAC-SHA256&\
    X-Amz-Credential=AKIDEXAMPLE%2F20260501%2Feu-west-1%2Felasticache%2Faws4_request&X-Amz-Date=20260501T120000Z&\
    X-Amz-Expires=900&X-Amz-SignedHeaders=host&\
    X-Amz-Signature=76dbdf072ffa78db10b888748a528a99e3c2ff8b8c0b16cafb480883e0de5455";
const SERVERLESS_BY_A_ROLE: &str = "howk-cache/?Action=connect&User=howk-user&ResourceType=ServerlessCache&\
    X-Amz-Algorithm=AWS4-HMAC-SHA256&\
    X-Amz-Credential=AKIDEXAMPLE%2F20260501%2Feu-west-1%2Felasticache%2Faws4_request&X-Amz-Date=20260501T120000Z&\
    X-Amz-Expires=900&X-Amz-SignedHeaders=host&\
    X-Amz-Security-Token=IQoJb3JpZ2luX2VjEXAMPLE%2F%2F%2Btoken%3D%3D&\
    X-Amz-Signature=ea83e8720d79b72d57531afa53117290d2b117136c372df9332db1f478c653b8";

/// An invented identity: of a user, or, with a session, of a role, whose credentials end.
fn identity(session: Option<&str>, ends: Option<Timestamp>) -> (String, SharedCredentialsProvider) {
    let ends = ends.map(|at| std::time::UNIX_EPOCH + Duration::from_millis(at.as_ms()));
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    let credentials = Credentials::new("AKIDEXAMPLE", secret, session.map(str::to_owned), ends, "test");
    ("eu-west-1".to_owned(), SharedCredentialsProvider::new(credentials))
}

fn group() -> Cache {
    Cache::Group("howk-cache".to_owned())
}

fn serverless() -> Cache {
    Cache::Serverless("howk-cache".to_owned())
}

async fn first(logins: &IamLogins) -> String {
    let (user, token) = logins.logins().next().await.expect("there is always a next").expect("it is signed");
    assert_eq!(user, "howk-user");
    token.reveal().to_owned()
}

#[test]
fn a_token_is_what_another_signer_makes_of_the_same() {
    run(async {
        let role = Some("IQoJb3JpZ2luX2VjEXAMPLE//+token==");
        let vectors = [
            (group(), None, OF_A_GROUP),
            (serverless(), None, SERVERLESS),
            (serverless(), role, SERVERLESS_BY_A_ROLE),
        ];
        for (cache, session, expected) in vectors {
            let clock = Arc::new(ManualClock::new(NOON));
            let logins = IamLogins::of_provider(cache, "howk-user".to_owned(), clock, identity(session, None));
            assert_eq!(parts(&first(&logins).await), parts(expected));
        }
    });
}

/// The cache, and the parameters in no order.
fn parts(token: &str) -> (&str, BTreeSet<&str>) {
    let (cache, parameters) = token.split_once("/?").expect("an address with parameters");
    (cache, parameters.split('&').collect())
}

#[test]
fn a_token_serves_while_it_and_its_credentials_are_young() {
    run(async {
        let clock = Arc::new(ManualClock::new(NOON));
        let by = |ends| {
            let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
            IamLogins::of_provider(group(), "howk-user".to_owned(), clock, identity(None, ends))
        };
        let (lasting, ending) = (by(None), by(Some(NOON.plus(Duration::from_mins(8)))));
        assert_eq!((first(&lasting).await, first(&ending).await), (OF_A_GROUP.to_owned(), OF_A_GROUP.to_owned()));
        clock.advance(Duration::from_mins(4));
        assert_eq!(first(&lasting).await, OF_A_GROUP, "11 minutes are left");
        assert_ne!(first(&ending).await, OF_A_GROUP, "the credentials have 4 minutes left");
        clock.advance(Duration::from_mins(7));
        assert_ne!(first(&lasting).await, OF_A_GROUP, "4 minutes are left");
    });
}

/// ElastiCache ends a connection 12 hours after its last login.
#[test]
fn a_connection_is_logged_in_anew_in_time() {
    run(async {
        let clock = Arc::new(ManualClock::new(NOON));
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let logins = IamLogins::of_provider(group(), "howk-user".to_owned(), shared, identity(None, None));
        let mut logins = logins.logins();
        logins.next().await.expect("the first comes at once").expect("it is signed");
        let until_it_waits = async {
            while clock.sleepers() == 0 {
                tokio::task::yield_now().await;
            }
            clock.advance_to_next_wake().expect("it waits")
        };
        let (next, wake) = join(logins.next(), until_it_waits).await;
        assert_eq!(wake.since(NOON), Duration::from_hours(6));
        let (_, token) = next.expect("there is always a next").expect("it is signed");
        assert!(token.reveal().contains("X-Amz-Date=20260501T180000Z"), "fresh: {}", token.reveal());
    });
}

/// A user of Redis whose password is a token, and no other.
async fn allow(user: &str, token: &str) {
    let mut cmd = redis::cmd("ACL");
    cmd.arg("SETUSER").arg(user).arg("reset").arg("on").arg(format!(">{token}")).arg("~*").arg("+@all");
    cmd.query_async::<()>(&mut admin().await).await.expect("a user");
}

#[test]
fn redis_is_logged_in_to_and_the_next_connection_has_the_next_token() {
    run(async {
        let user = format!("howk-test-{}-{}", std::process::id(), fresh_number());
        let clock = Arc::new(ManualClock::new(NOON));
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let logins = IamLogins::of_provider(serverless(), user.clone(), shared, identity(None, None));
        let token = async || {
            let login = logins.logins().next().await.expect("there is always a next");
            let (_, token): (String, Secret) = login.expect("it is signed");
            token.reveal().to_owned()
        };
        let old = token().await;
        allow(&user, &old).await;
        let login = Login::From(Arc::new(logins.clone()));
        let config = RedisConfig { nodes: vec![addr()], login, ..RedisConfig::default() };
        let store = RedisStore::connect(config).await.expect("the token is the password");
        store.epoch().await.expect("it answers");
        clock.advance(Duration::from_mins(20));
        let new = token().await;
        assert_ne!(new, old);
        allow(&user, &new).await;
        let mut cmd = redis::cmd("CLIENT");
        cmd.arg("KILL").arg("USER").arg(&user);
        cmd.query_async::<u64>(&mut admin().await).await.expect("its connections end");
        store.epoch().await.expect("the next connection has the next token");
        let mut cmd = redis::cmd("ACL");
        cmd.arg("DELUSER").arg(&user).query_async::<u64>(&mut admin().await).await.expect("it is gone");
    });
}
