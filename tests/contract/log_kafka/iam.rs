//! Signing in with an AWS identity, as far as no AWS is needed.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use clock_system::SystemClock;
use delivery::ports::time::Clock;
use log_kafka::{IamTokens, TokenSource};
use testkit::contract::run;

/// An invented identity whose credentials end after this time.
fn identity(lives: Duration) -> SharedCredentialsProvider {
    let ends = UNIX_EPOCH + Duration::from_millis(SystemClock.now().as_ms()) + lives;
    SharedCredentialsProvider::new(Credentials::new("AKIDEXAMPLE", "secret", None, Some(ends), "test"))
}

fn tokens(lives: Duration) -> IamTokens {
    IamTokens::of_provider("eu-west-1".to_owned(), identity(lives), Arc::new(SystemClock))
}

/// A client may ask on any thread, one of the runtime's included, where waiting for a future would panic.
#[test]
fn a_token_is_signed_from_within_a_runtime() {
    run(async {
        let token = tokens(Duration::from_hours(6)).token().expect("a token");
        assert!(token.value.reveal().len() > 100);
        let life = token.expires_at.since(SystemClock.now());
        assert!((Duration::from_mins(14)..=Duration::from_mins(15)).contains(&life), "{life:?}");
    });
}

#[test]
fn a_token_ends_with_the_credentials_that_signed_it() {
    let token = tokens(Duration::from_mins(7)).token().expect("a token");
    let life = token.expires_at.since(SystemClock.now());
    assert!((Duration::from_mins(6)..=Duration::from_mins(7)).contains(&life), "{life:?}");
}

#[test]
fn a_young_token_serves_every_client_and_an_old_one_none() {
    let young = tokens(Duration::from_hours(6));
    let first = young.token().expect("a token");
    assert_eq!(young.token().expect("a token").expires_at, first.expires_at);
    assert_eq!(young.token().expect("a token").value.reveal(), first.value.reveal());
    let moved = Arc::new(Later(Duration::from_mins(11)));
    let old = IamTokens::of_provider("eu-west-1".to_owned(), identity(Duration::from_hours(6)), moved);
    let first = old.token().expect("a token");
    std::thread::sleep(Duration::from_millis(1100));
    assert_ne!(old.token().expect("a token").value.reveal(), first.value.reveal(), "4 minutes are left of it");
}

/// A clock that is ahead.
struct Later(Duration);

#[async_trait]
impl Clock for Later {
    fn now(&self) -> domain::Timestamp {
        SystemClock.now().plus(self.0)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
