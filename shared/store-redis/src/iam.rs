//! Logging in to ElastiCache with an AWS identity: the password is a request that was signed but never sent.
//!
//! A connection logs in when it is made, and again before ElastiCache would end it. All connections share a token while it is
//! young. A token ends with the credentials that signed it, if they end first.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4;
use delivery::ports::time::Clock;
use delivery::{Fault, FaultKind};
use domain::{Secret, Timestamp};
use futures::stream;
use tokio::sync::{Mutex, OnceCell};

use crate::login::{LoginSource, Logins};

/// How long a token may be used to log in: the longest that ElastiCache accepts.
const LIFE: Duration = Duration::from_mins(15);
/// A token that is valid for longer than this is used again: a third of its time, so that a token that is about to end is
/// never sent.
const YOUNG: Duration = Duration::from_mins(5);
/// A connection logs in again after this: ElastiCache ends a connection 12 hours after its last login, and half of that leaves
/// hours for repeating a login that failed.
const AGAIN: Duration = Duration::from_hours(6);
/// The pause after a token that could not be signed: the services that issue credentials limit requests, and a login has hours.
const PAUSE: Duration = Duration::from_secs(10);

/// A cache of ElastiCache. Its name is in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cache {
    /// A replication group, by its id.
    Group(String),
    /// A serverless cache, by its name.
    Serverless(String),
}

/// Logs in with an AWS identity. Clones are one.
#[derive(Clone)]
pub struct IamLogins(Arc<Inner>);

struct Inner {
    cache: Cache,
    user: String,
    clock: Arc<dyn Clock>,
    identity: OnceCell<Identity>,
    last: Mutex<Option<Token>>,
}

struct Identity {
    region: Region,
    provider: SharedCredentialsProvider,
}

#[derive(Clone)]
struct Token {
    value: Secret,
    ends_at: Timestamp,
}

impl IamLogins {
    /// With the identity of the process, in the region that its AWS settings name. `user` is both the id and the name of a user
    /// of ElastiCache.
    pub fn of_process(cache: Cache, user: String, clock: Arc<dyn Clock>) -> Self {
        Self::by(cache, user, (clock, OnceCell::new()))
    }

    /// With credentials from elsewhere, such as an assumed role, in a region.
    pub fn of_provider(
        cache: Cache,
        user: String,
        clock: Arc<dyn Clock>,
        (region, provider): (String, SharedCredentialsProvider),
    ) -> Self {
        let identity = Identity { region: Region::new(region), provider };
        Self::by(cache, user, (clock, OnceCell::new_with(Some(identity))))
    }

    fn by(cache: Cache, user: String, (clock, identity): (Arc<dyn Clock>, OnceCell<Identity>)) -> Self {
        Self(Arc::new(Inner { cache, user, clock, identity, last: Mutex::default() }))
    }
}

impl LoginSource for IamLogins {
    fn logins(&self) -> Logins {
        Box::pin(stream::unfold((Arc::clone(&self.0), Duration::ZERO), async |(inner, pause)| {
            if pause > Duration::ZERO {
                inner.clock.sleep(pause).await;
            }
            let login = inner.token().await.map(|token| (inner.user.clone(), token));
            let pause = if login.is_ok() { AGAIN } else { PAUSE };
            Some((login, (inner, pause)))
        }))
    }
}

impl Inner {
    async fn token(&self) -> Result<Secret, Fault> {
        let mut last = self.last.lock().await;
        let now = self.clock.now();
        if let Some(token) = last.as_ref().filter(|token| token.ends_at > now.plus(YOUNG)) {
            return Ok(token.value.clone());
        }
        let Identity { region, provider } = self.identity.get_or_try_init(of_process).await?;
        let credentials = provider
            .provide_credentials()
            .await
            .map_err(|error| Fault::caused(FaultKind::Transient, "no AWS credentials", error))?;
        let unsigned = |error: Box<dyn Error + Send + Sync>| {
            Fault::new(FaultKind::Permanent, format!("the login to ElastiCache was not signed: {error}"))
        };
        let value = self.signed(now, region, &credentials).map_err(unsigned)?;
        *last = Some(Token { value: value.clone(), ends_at: end_of(&credentials, now.plus(LIFE)) });
        Ok(value)
    }

    /// The token: the address of a signed request to the cache, without its scheme.
    fn signed(
        &self,
        now: Timestamp,
        region: &Region,
        credentials: &Credentials,
    ) -> Result<Secret, Box<dyn Error + Send + Sync>> {
        let user = &self.user;
        let address = match &self.cache {
            Cache::Group(id) => format!("http://{id}/?Action=connect&User={user}"),
            Cache::Serverless(name) => {
                format!("http://{name}/?Action=connect&User={user}&ResourceType=ServerlessCache")
            }
        };
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(LIFE);
        let identity = credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(region.as_ref())
            .name("elasticache")
            .time(UNIX_EPOCH + Duration::from_millis(now.as_ms()))
            .settings(settings)
            .build()?
            .into();
        let unsigned = SignableRequest::new("GET", address.as_str(), std::iter::empty(), SignableBody::Bytes(&[]))?;
        let (instructions, _) = sign(unsigned, &parameters)?.into_parts();
        let mut request = http::Request::get(&address).body(())?;
        instructions.apply_to_request_http1x(&mut request);
        Ok(Secret::new(request.uri().to_string().trim_start_matches("http://")))
    }
}

/// The identity of the process. It is read once: its provider renews the credentials.
async fn of_process() -> Result<Identity, Fault> {
    let settings = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let lacks =
        |what: &str| Fault::new(FaultKind::Permanent, format!("the AWS settings of the process name no {what}"));
    let region = settings.region().cloned().ok_or_else(|| lacks("region"))?;
    let provider = settings.credentials_provider().ok_or_else(|| lacks("credentials"))?;
    Ok(Identity { region, provider })
}

fn end_of(credentials: &Credentials, token_end: Timestamp) -> Timestamp {
    let since_epoch = credentials.expiry().map(|end| end.duration_since(UNIX_EPOCH).unwrap_or_default());
    let end = since_epoch.map(|since| Timestamp::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)));
    end.map_or(token_end, |end| end.min(token_end))
}
