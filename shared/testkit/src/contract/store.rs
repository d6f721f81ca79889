//! The store ports of one instance, and short ways to call them.

use std::any::Any;
use std::sync::Arc;

use delivery::ports::dead_letters::DeadLetters;
use delivery::ports::endpoints::Endpoints;
use delivery::ports::hot_state::{AcquireRequest, HotState};
use delivery::ports::recovery::Recovery;
use delivery::ports::schedule::Schedule;
use delivery::ports::stats::Stats;
use delivery::ports::statuses::Statuses;
use domain::{
    Attempt, ClaimFact, ClaimHolder, ClaimRequest, Dispatch, EndpointState, Facts, Fence, Status, Timestamp,
    WebhookId, Write,
};

use crate::generate::at;

/// Every port of the hot state, over one fresh and isolated instance.
#[derive(Clone)]
pub struct Store {
    /// Claims, leases, tokens, circuits, and all writes.
    pub hot: Arc<dyn HotState>,
    /// The due set.
    pub schedule: Arc<dyn Schedule>,
    /// Statuses and attempts.
    pub statuses: Arc<dyn Statuses>,
    /// Endpoints, owners' decisions and what is held.
    pub endpoints: Arc<dyn Endpoints>,
    /// The index of dead letters.
    pub dead_letters: Arc<dyn DeadLetters>,
    /// Hourly counters.
    pub stats: Arc<dyn Stats>,
    /// The rebuild's lock and cursor, and the epoch.
    pub recovery: Arc<dyn Recovery>,
    _guard: Option<Arc<dyn Any + Send + Sync>>,
}

impl Store {
    /// The store of an adapter that implements every port in one type.
    pub fn of<S>(store: Arc<S>) -> Self
    where
        S: HotState + Schedule + Statuses + Endpoints + DeadLetters + Stats + Recovery + 'static,
    {
        Self {
            hot: Arc::<S>::clone(&store),
            schedule: Arc::<S>::clone(&store),
            statuses: Arc::<S>::clone(&store),
            endpoints: Arc::<S>::clone(&store),
            dead_letters: Arc::<S>::clone(&store),
            stats: Arc::<S>::clone(&store),
            recovery: store,
            _guard: None,
        }
    }

    /// Keeps something alive as long as the store: what cleans up when it is dropped.
    #[must_use]
    pub fn keeping(self, guard: impl Any + Send + Sync) -> Self {
        Self { _guard: Some(Arc::new(guard)), ..self }
    }

    pub(super) async fn acquire(&self, dispatch: &Dispatch, holder: &str) -> Facts {
        self.hot.acquire(open(dispatch, holder)).await
    }

    /// Takes a claim, which must be free.
    pub(super) async fn take(&self, dispatch: &Dispatch, holder: &str) -> Fence {
        fence(&self.acquire(dispatch, holder).await)
    }

    pub(super) async fn write(&self, write: Write) -> Option<EndpointState> {
        self.write_all(vec![write]).await
    }

    pub(super) async fn write_all(&self, writes: Vec<Write>) -> Option<EndpointState> {
        self.hot.apply(writes).await.expect("the store takes writes")
    }

    /// The endpoint's state, as an open of a fresh dispatch reads it.
    pub(super) async fn state_of(&self, endpoint: &domain::Endpoint) -> EndpointState {
        let probe = crate::generate::dispatch_to(endpoint);
        let facts = self.acquire(&probe, "reader").await;
        self.write(Write::GiveBack(facts.leases(&probe, None))).await;
        facts.endpoint.expect("the store knows the endpoint's state")
    }

    pub(super) async fn status(&self, id: &WebhookId) -> Option<Status> {
        let found = self.statuses.statuses(std::slice::from_ref(id)).await.expect("the store answers");
        assert_eq!(found.len(), 1, "one answer for one id");
        found.into_iter().next().flatten()
    }

    pub(super) async fn attempts(&self, id: &WebhookId) -> Option<Vec<Attempt>> {
        self.statuses.attempts(id).await.expect("the store answers")
    }
}

/// A claim that lives from [`at`]`(0)` to `at(60_000)`, limits that do not matter, and no pace.
pub(super) fn open<'a>(dispatch: &'a Dispatch, holder: &str) -> AcquireRequest<'a> {
    AcquireRequest {
        dispatch,
        claim: claim(dispatch, holder, at(60_000)),
        endpoint_limit: 100_000,
        domain_limit: None,
        pace: None,
        now: at(0),
    }
}

pub(super) fn claim(dispatch: &Dispatch, holder: &str, until: Timestamp) -> ClaimRequest {
    let holder = ClaimHolder(holder.to_owned());
    ClaimRequest { dispatch: dispatch.number, replayed_from: dispatch.replayed_from, holder, until }
}

/// The fence of a claim that was taken.
pub(super) fn fence(facts: &Facts) -> Fence {
    match facts.claim {
        ClaimFact::Taken { fence, .. } => fence,
        other @ (ClaimFact::Settled(_) | ClaimFact::Held { .. } | ClaimFact::Unknown) => {
            panic!("the claim was free, but: {other:?}")
        }
    }
}
