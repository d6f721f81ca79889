//! Names to addresses: looks a name up, has every address judged, and returns only addresses that may be dialled.
//!
//! Called by the HTTP client when it opens a connection. One refused address refuses the name (a mixed answer is an
//! attack or an error), and the addresses that were judged are the ones that are dialled, so a second lookup cannot
//! return others. A pooled connection is found by its host name and is not looked up again: it was judged when it was
//! dialled, and it still leads to the address it was dialled at. Nothing is cached here.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use delivery::ports::sender::AddressRefused;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;
use tokio::time::timeout;

use crate::address::AddressPolicy;

/// How long the lookup of one name may take.
pub const NAME_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks names up.
#[async_trait]
pub trait NameLookup: Debug + Send + Sync {
    /// Says which addresses a name has.
    ///
    /// # Errors
    /// The system's error when the lookup failed.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Looks names up through the operating system, so that its configuration holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl NameLookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Why a name has no address to dial; a refusal is [`AddressRefused`] instead.
#[derive(Debug, Error)]
pub(crate) enum LookupError {
    /// The lookup failed.
    #[error("could not resolve the host name")]
    Failed(#[source] io::Error),
    /// It has none.
    #[error("could not resolve the host name: it has no address")]
    Empty,
    /// The lookup took too long.
    #[error("could not resolve the host name within {NAME_LOOKUP_TIMEOUT:?}")]
    TimedOut,
}

/// The HTTP client's resolver.
#[derive(Debug, Clone)]
pub(crate) struct PolicyResolver {
    pub(crate) policy: Arc<AddressPolicy>,
    pub(crate) lookup: Arc<dyn NameLookup>,
}

impl PolicyResolver {
    /// The addresses of a name when all of them may be dialled.
    async fn vetted(&self, name: &str) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let found = timeout(NAME_LOOKUP_TIMEOUT, self.lookup.lookup(name)).await;
        let addresses = found.map_err(|_| LookupError::TimedOut)?.map_err(LookupError::Failed)?;
        if addresses.is_empty() {
            return Err(LookupError::Empty.into());
        }
        if let Some(what) = addresses.iter().find_map(|address| self.policy.listed(*address)) {
            // The address is not part of the text: it would show a tenant how our network is numbered.
            return Err(AddressRefused { reason: format!("the host name resolves to {what}") }.into());
        }
        // With port 0 the client uses the port of the URL.
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, 0)).collect())
    }
}

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.vetted(name.as_str()).await?;
            Ok::<Addrs, _>(Box::new(addresses.into_iter()))
        })
    }
}
