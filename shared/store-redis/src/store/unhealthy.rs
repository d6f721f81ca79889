//! The listing of endpoints that are not in their normal state.
//!
//! It lies in another slot than the endpoints, so no script keeps both in step. Whatever may bring trouble lists the
//! endpoint in the same round trip; a script that says that trouble came or went is followed by a look at the endpoint
//! itself; and who reads the listing looks again. So it never lacks an endpoint for long, and what it shows is true.

use std::collections::BTreeSet;

use delivery::Fault;
use domain::EndpointHash;
use wire::hot;

use crate::link::in_order;
use crate::store::RedisStore;

/// Times that an endpoint's place in the listing is mended while others change it.
const LOOKS_MAX: usize = 4;

impl RedisStore {
    /// Lists endpoints.
    pub(super) async fn list(&self, hashes: &[EndpointHash]) -> Result<(), Fault> {
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(self.keys.unhealthy());
        for hash in hashes {
            cmd.arg(0).arg(hash.as_str());
        }
        self.link.ask("listing trouble", &cmd).await
    }

    async fn unlist(&self, hash: &EndpointHash) -> Result<(), Fault> {
        let mut cmd = redis::cmd("ZREM");
        cmd.arg(self.keys.unhealthy()).arg(hash.as_str());
        self.link.ask("unlisting trouble", &cmd).await
    }

    /// Whether an endpoint is in trouble: by circuit or cooldown, by an setting's decision, or by what is held.
    async fn is_unhealthy(&self, hash: &EndpointHash) -> Result<bool, Fault> {
        let keys = self.keys.endpoint(hash);
        let (mut fields, mut settings) = (redis::cmd("HMGET"), redis::cmd("EXISTS"));
        fields.arg(&keys.state).arg(hot::endpoint_state::CIRCUIT).arg(hot::endpoint_state::COOLDOWN);
        settings.arg(&keys.settings);
        let (fields, settings) =
            futures::join!(self.link.ask("trouble", &fields), self.link.ask("trouble", &settings));
        let (circuit, cooldown): (Option<String>, Option<String>) = fields?;
        let settings: u8 = settings?;
        let texts = [(hot::endpoint_state::CIRCUIT, circuit), (hot::endpoint_state::COOLDOWN, cooldown)];
        let found = texts.iter().filter_map(|(field, text)| text.as_deref().map(|text| (*field, text)));
        let state = hot::endpoint_state::decode(found).unwrap_or_default();
        Ok(settings == 1 || !state.is_normal())
    }

    /// Lists endpoints that are in trouble and takes the others off. A failure is mended by the next reader.
    pub(super) async fn list_as_they_are(&self, hashes: BTreeSet<EndpointHash>) {
        for hash in hashes {
            if let Err(fault) = self.list_as_it_is(&hash).await {
                tracing::debug!(%fault, endpoint = %hash, "the listing of trouble is behind");
            }
        }
    }

    /// Looks, writes what was seen, and looks again: until nobody has changed it in between.
    async fn list_as_it_is(&self, hash: &EndpointHash) -> Result<bool, Fault> {
        self.link.trip();
        let mut unhealthy = self.is_unhealthy(hash).await?;
        for _ in 0..LOOKS_MAX {
            self.link.trip();
            if unhealthy {
                self.list(std::slice::from_ref(hash)).await?;
            } else {
                self.unlist(hash).await?;
            }
            self.link.trip();
            let seen = self.is_unhealthy(hash).await?;
            if seen == unhealthy {
                break;
            }
            unhealthy = seen;
        }
        Ok(unhealthy)
    }

    /// Of listed endpoints, those that are in trouble; the others are taken off the listing.
    pub(super) async fn still_unhealthy(&self, listed: Vec<EndpointHash>) -> Result<Vec<EndpointHash>, Fault> {
        self.link.trip();
        let seen = in_order(listed.iter().map(|hash| self.is_unhealthy(hash)).collect()).await?;
        let mut unhealthy = Vec::new();
        for (hash, seen) in listed.into_iter().zip(seen) {
            if seen || self.list_as_it_is(&hash).await? {
                unhealthy.push(hash);
            }
        }
        Ok(unhealthy)
    }
}
