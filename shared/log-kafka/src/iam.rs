//! Tokens for MSK's IAM sign-in, signed with the AWS identity of the process.
//!
//! The client requests a token on threads of its own, and signing is asynchronous: each token is signed on a thread with a
//! runtime of its own, so no thread of the process' runtime ever waits for it. All clients share a token while it is young.
//! A token ends with the credentials that signed it, if they end first.

use std::error::Error;
use std::sync::{Arc, mpsc};
use std::time::{Duration, UNIX_EPOCH};

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_msk_iam_sasl_signer::generate_auth_token_from_credentials_provider as sign;
use delivery::fault;
use delivery::ports::time::Clock;
use domain::{Secret, Timestamp};
use thiserror::Error;

use crate::config::{Token, TokenSource};

/// How long fetching credentials and signing may take: as long as any other request to the cluster by default.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A token that is valid for longer than this is used again. The client requests a new one when a fifth of its 15 minutes is
/// left, so a shared token must have more than that.
const YOUNG: Duration = Duration::from_mins(5);

/// Signs tokens with an AWS identity.
pub struct IamTokens {
    region: Option<String>,
    /// `None` for the default chain: variables, profile, web identity, container, instance.
    provider: Option<SharedCredentialsProvider>,
    clock: Arc<dyn Clock>,
    last: parking_lot::Mutex<Option<Token>>,
}

/// Why there is no token.
#[derive(Debug, Error)]
enum NoToken {
    #[error("no AWS region is set")]
    Region,
    #[error("the AWS settings name no credentials")]
    Provider,
    #[error("no AWS credentials: {0}")]
    Credentials(String),
    #[error("the token was not signed: {0}")]
    Signing(String),
    #[error("no thread to sign on: {0}")]
    Thread(std::io::Error),
    #[error("signing took more than {} s", TIMEOUT.as_secs())]
    TimedOut,
}

impl IamTokens {
    /// Signs with the identity of the process. Without a region: the one that the AWS settings of the process name.
    pub fn of_process(region: Option<String>, clock: Arc<dyn Clock>) -> Self {
        Self { region, provider: None, clock, last: parking_lot::Mutex::default() }
    }

    /// Signs with credentials from elsewhere, such as an assumed role.
    pub fn of_provider(region: String, provider: SharedCredentialsProvider, clock: Arc<dyn Clock>) -> Self {
        Self { region: Some(region), provider: Some(provider), clock, last: parking_lot::Mutex::default() }
    }

    fn sign(&self) -> Result<Token, NoToken> {
        let (region, provider) = (self.region.clone(), self.provider.clone());
        let (answer, answered) = mpsc::channel();
        let signing = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let token =
                runtime.map_err(NoToken::Thread).and_then(|runtime| runtime.block_on(signed(region, provider)));
            // There is no receiver any more when the timeout has passed.
            drop(answer.send(token));
        };
        std::thread::Builder::new().name("kafka-iam".to_owned()).spawn(signing).map_err(NoToken::Thread)?;
        answered.recv_timeout(TIMEOUT).map_err(|_| NoToken::TimedOut)?
    }
}

impl TokenSource for IamTokens {
    fn token(&self) -> Result<Token, Box<dyn Error>> {
        let mut last = self.last.lock();
        let is_young = |token: &&Token| token.expires_at > self.clock.now().plus(YOUNG);
        if let Some(token) = last.as_ref().filter(is_young) {
            return Ok(token.clone());
        }
        let token = self.sign()?;
        *last = Some(token.clone());
        Ok(token)
    }

    fn has_ended(&self, end: Timestamp) -> bool {
        self.clock.now() >= end
    }
}

async fn signed(region: Option<String>, provider: Option<SharedCredentialsProvider>) -> Result<Token, NoToken> {
    let (region, provider) = identity(region, provider).await?;
    let credentials =
        provider.provide_credentials().await.map_err(|error| NoToken::Credentials(fault::chain(&error)))?;
    let credentials_end = end_of(&credentials);
    let signed = sign(region, SharedCredentialsProvider::new(credentials)).await;
    let (value, ends_ms) = signed.map_err(|error| NoToken::Signing(fault::chain(&error)))?;
    let token_end = Timestamp::from_ms(u64::try_from(ends_ms).unwrap_or_default());
    let expires_at = credentials_end.map_or(token_end, |end| end.min(token_end));
    Ok(Token { value: Secret::new(value), principal: "howk".to_owned(), expires_at })
}

/// A missing region or provider is taken from the AWS settings of the process.
async fn identity(
    region: Option<String>,
    provider: Option<SharedCredentialsProvider>,
) -> Result<(Region, SharedCredentialsProvider), NoToken> {
    let region = region.map(Region::new);
    if let (Some(region), Some(provider)) = (&region, &provider) {
        return Ok((region.clone(), provider.clone()));
    }
    let defaults = aws_config::defaults(BehaviorVersion::latest());
    let settings = match region {
        Some(region) => defaults.region(region).load().await,
        None => defaults.load().await,
    };
    let provider = provider.or_else(|| settings.credentials_provider()).ok_or(NoToken::Provider)?;
    Ok((settings.region().cloned().ok_or(NoToken::Region)?, provider))
}

fn end_of(credentials: &Credentials) -> Option<Timestamp> {
    let since_epoch = credentials.expiry()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(Timestamp::from_ms(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)))
}
