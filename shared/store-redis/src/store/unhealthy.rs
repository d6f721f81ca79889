//! The listing of endpoints that are not in their normal state.
//!
//! The listing lies in another slot than the endpoints, so no script keeps both in step. A write that may make an endpoint
//! unhealthy lists it in the same round trip; a script whose reply says that the endpoint became healthy or unhealthy is
//! followed by a look at the endpoint itself; and a reader of the listing looks at each endpoint again. So the listing
//! never lacks an endpoint for long, and a reader gets only endpoints that are unhealthy.

use std::collections::BTreeSet;

use delivery::Fault;
use domain::EndpointHash;
use redis::Cmd;
use wire::hot;

use crate::link::in_order;
use crate::store::RedisStore;
use crate::store::command::Command;

/// Times that an endpoint's place in the listing is corrected while other processes change it. Each time is two round
/// trips, and what is wrong after the last one is corrected by the next reader.
const LOOKS_MAX: usize = 4;

const LISTING: &str = "listing unhealthy endpoints";
const READING: &str = "reading whether an endpoint is unhealthy";

impl RedisStore {
    /// Lists endpoints.
    pub(super) async fn list(&self, hashes: impl IntoIterator<Item = &EndpointHash>) -> Result<(), Fault> {
        self.link.send_command(LISTING, &self.list_cmd(hashes)).await
    }

    /// Lists endpoints, together with other commands.
    pub(super) fn list_command(&self, hashes: &BTreeSet<EndpointHash>) -> Command {
        Command::Plain(LISTING, self.list_cmd(hashes))
    }

    fn list_cmd<'a>(&self, hashes: impl IntoIterator<Item = &'a EndpointHash>) -> Cmd {
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(self.keys.unhealthy());
        for hash in hashes {
            cmd.arg(0).arg(hash.as_str());
        }
        cmd
    }

    async fn unlist(&self, hash: &EndpointHash) -> Result<(), Fault> {
        let mut cmd = redis::cmd("ZREM");
        cmd.arg(self.keys.unhealthy()).arg(hash.as_str());
        self.link.send_command("unlisting an endpoint", &cmd).await
    }

    /// Whether an endpoint is unhealthy: by its circuit or cooldown, by a setting, or because webhooks are held for it.
    async fn is_unhealthy(&self, hash: &EndpointHash) -> Result<bool, Fault> {
        let keys = self.keys.endpoint(hash);
        let (mut fields, mut settings) = (redis::cmd("HMGET"), redis::cmd("EXISTS"));
        fields.arg(&keys.state).arg(hot::endpoint_state::CIRCUIT).arg(hot::endpoint_state::COOLDOWN);
        settings.arg(&keys.settings);
        let (fields, settings) =
            futures::join!(self.link.send_command(READING, &fields), self.link.send_command(READING, &settings));
        let (circuit, cooldown): (Option<String>, Option<String>) = fields?;
        let settings: u8 = settings?;
        let texts = [(hot::endpoint_state::CIRCUIT, circuit), (hot::endpoint_state::COOLDOWN, cooldown)];
        let found = texts.iter().filter_map(|(field, text)| text.as_deref().map(|text| (*field, text)));
        let state = hot::endpoint_state::decode(found).unwrap_or_default();
        Ok(settings == 1 || !state.is_normal())
    }

    /// Lists the endpoints that are unhealthy and takes the others off. What fails is corrected by the next reader.
    pub(super) async fn list_as_they_are(&self, hashes: BTreeSet<EndpointHash>) {
        for hash in hashes {
            if let Err(fault) = self.list_as_it_is(&hash).await {
                tracing::debug!(%fault, endpoint = %hash, "the listing of unhealthy endpoints could not be corrected");
            }
        }
    }

    /// Looks, writes what was seen, and looks again, until the endpoint did not change in between.
    async fn list_as_it_is(&self, hash: &EndpointHash) -> Result<bool, Fault> {
        self.link.round_trip();
        let mut unhealthy = self.is_unhealthy(hash).await?;
        for _ in 0..LOOKS_MAX {
            self.link.round_trip();
            if unhealthy {
                self.list([hash]).await?;
            } else {
                self.unlist(hash).await?;
            }
            self.link.round_trip();
            let seen = self.is_unhealthy(hash).await?;
            if seen == unhealthy {
                break;
            }
            unhealthy = seen;
        }
        Ok(unhealthy)
    }

    /// Of listed endpoints, those that are unhealthy; the others are taken off the listing.
    pub(super) async fn still_unhealthy(&self, listed: Vec<EndpointHash>) -> Result<Vec<EndpointHash>, Fault> {
        self.link.round_trip();
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
