//! One object that plays every port, and a way to ask the router.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use clock_system::SystemRandom;
use delivery::dead_letters::DeadLetterService;
use delivery::endpoints::EndpointService;
use delivery::enqueue::Enqueue;
use delivery::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter, DeadLetters};
use delivery::ports::endpoints::{EndpointView, Endpoints};
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use delivery::ports::log::{Extent, Log, LogRecord, Page};
use delivery::ports::recovery::{Cursor, Epoch, Recovery};
use delivery::ports::sender::{self, AddressRefused, Sender};
use delivery::ports::stats::{Counts, Hour, HourlyStats, Stats};
use delivery::ports::statuses::Statuses;
use delivery::ports::time::{Clock, Random};
use delivery::ports::vault::Vault;
use delivery::stats_buffer::StatsBuffer;
use delivery::{Fault, FaultKind};
use domain::{
    Attempt, ClaimHolder, ConfigId, DeadLetter, DeadLetterEntry, Endpoint, EndpointHash, EndpointState, Facts, Fence,
    Outcome, Position, Record, Secret, Status, Timestamp, Topic, Transition, Waiting, Webhook, WebhookId, Write,
    index_entry,
};
use tower::ServiceExt;
use vault_xchacha::XChaChaVault;

use crate::{Api, ApiLimits, Auth, Health, router};

/// 2026-01-02T03:04:05.006Z.
pub(super) const NOW: Timestamp = Timestamp::from_ms(1_767_323_045_006);

/// Every port, and what reached it.
#[derive(Default)]
pub(super) struct World {
    /// Everything published, one list per call.
    pub(super) published: Mutex<Vec<Vec<Record>>>,
    /// Everything written to the hot state.
    pub(super) written: Mutex<Vec<Write>>,
    pub(super) statuses: Mutex<BTreeMap<WebhookId, (Status, Vec<Attempt>)>>,
    pub(super) dead_letters: Mutex<Vec<(DeadLetterEntry, Option<DeadLetter>)>>,
    pub(super) leased: Mutex<Vec<WebhookId>>,
    pub(super) views: Mutex<BTreeMap<EndpointHash, EndpointView>>,
    pub(super) held: Mutex<Vec<Waiting>>,
    pub(super) hours: Mutex<Vec<Vec<Hour>>>,
    pub(super) epoch: Mutex<Option<Epoch>>,
    /// What the log and the store fail with.
    pub(super) fault: Mutex<Option<FaultKind>>,
    /// Whether the log and the store never answer.
    pub(super) stalled: AtomicBool,
    pub(super) ready: Arc<AtomicBool>,
    drawn: AtomicU64,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The fields that a problem document names.
    pub(super) fn fields(&self) -> Vec<String> {
        let json = self.json();
        let errors = json["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error["field"].as_str().unwrap().to_owned()).collect()
    }

    /// Holds that this is a problem document of that status.
    #[track_caller]
    pub(super) fn assert_problem(&self, status: u16) {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], status);
        assert!(json["type"].as_str().unwrap().starts_with("urn:howk:problem:"));
        assert!(!json["title"].as_str().unwrap().is_empty() && !json["detail"].as_str().unwrap().is_empty());
    }
}

/// The vault of every test here.
pub(super) fn vault() -> Arc<dyn Vault> {
    let vault = XChaChaVault::new(&Secret::new("the tests' key"), &[], Arc::new(SystemRandom));
    Arc::new(vault.unwrap())
}

impl World {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(super) fn api(self: &Arc<Self>, auth: Auth) -> Api {
        let me = || Arc::clone(self);
        Api {
            enqueue: Enqueue {
                log: me(),
                hot: me(),
                sender: me(),
                vault: vault(),
                clock: me(),
                random: me(),
                stats: Arc::new(StatsBuffer::default()),
            },
            statuses: me(),
            stats: me(),
            dead_letters: DeadLetterService { log: me(), hot: me(), index: me(), clock: me() },
            endpoints: EndpointService {
                log: me(),
                hot: me(),
                endpoints: me(),
                sender: me(),
                clock: me(),
                health_urls: Arc::default(),
            },
            health: Health { recovery: me(), log: me(), ready: Arc::clone(&self.ready) },
            clock: me(),
            limits: ApiLimits { body_bytes_max: 64 * 1024, ..ApiLimits::default() },
            auth,
            metrics: Arc::new(|| "howk_webhooks_received_total 1\n".to_owned()),
        }
    }

    /// Asks without keys.
    pub(super) async fn ask(self: &Arc<Self>, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder().method(method).uri(path).body(body.into()).unwrap();
        self.ask_with(Auth::None, request).await
    }

    pub(super) async fn get(self: &Arc<Self>, path: &str) -> Answer {
        self.ask("GET", path, Body::empty()).await
    }

    pub(super) async fn ask_with(self: &Arc<Self>, auth: Auth, request: Request<Body>) -> Answer {
        let response = router(self.api(auth)).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// The webhooks that were published, in order.
    pub(super) fn accepted(&self) -> Vec<Arc<Webhook>> {
        let published = self.published.lock().unwrap();
        let webhook = |record: &Record| {
            if let Record::Dispatch(_, dispatch) = record { Some(Arc::clone(&dispatch.webhook)) } else { None }
        };
        published.iter().flatten().filter_map(webhook).collect()
    }

    pub(super) fn saw_nothing(&self) -> bool {
        self.published.lock().unwrap().is_empty() && self.written.lock().unwrap().is_empty()
    }

    pub(super) fn fail(&self, kind: FaultKind) {
        *self.fault.lock().unwrap() = Some(kind);
    }

    /// Lists a dead letter; its position is its place in the list.
    pub(super) fn add_dead_letter(&self, dead_letter: DeadLetter) {
        let mut dead_letters = self.dead_letters.lock().unwrap();
        let position = Position { partition: 0, offset: u64::try_from(dead_letters.len()).unwrap() };
        dead_letters.push((index_entry(&dead_letter, position), Some(dead_letter)));
    }

    async fn answer<T>(&self, value: T) -> Result<T, Fault> {
        if self.stalled.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        match *self.fault.lock().unwrap() {
            Some(kind) => Err(Fault::new(kind, "redis://user:password@10.0.0.1 is down")),
            None => Ok(value),
        }
    }
}

#[async_trait]
impl Log for World {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        self.answer(()).await?;
        let positions = records.iter().map(|_| Position::default()).collect();
        self.published.lock().unwrap().push(records);
        Ok(positions)
    }

    async fn extents(&self, _: Topic) -> Result<Vec<Extent>, Fault> {
        self.answer(Vec::new()).await
    }

    async fn read(&self, _: Topic, from: Position, _: usize) -> Result<Page, Fault> {
        let dead_letters = self.dead_letters.lock().unwrap().clone();
        let found = dead_letters
            .into_iter()
            .find(|(entry, _)| entry.position == from)
            .and_then(|(_, dead_letter)| dead_letter);
        let records =
            found.map(|dead_letter| LogRecord { position: from, value: Ok(Record::DeadLetter(dead_letter)) });
        self.answer(Page { records: records.into_iter().collect(), next: 0 }).await
    }

    async fn lag(&self, _: Topic) -> Result<u64, Fault> {
        Ok(0)
    }
}

#[async_trait]
impl HotState for World {
    async fn acquire(&self, _: AcquireRequest<'_>) -> Facts {
        unreachable!("the API acquires nothing")
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        self.answer(()).await?;
        for write in &writes {
            if let Write::Unhold(_, _, id, _) = write {
                self.held.lock().unwrap().retain(|waiting| waiting.dispatch.webhook.id != *id);
            }
        }
        self.written.lock().unwrap().extend(writes);
        Ok(None)
    }

    async fn change(&self, _: &Transition) -> Result<Change, Fault> {
        unreachable!("the API changes no circuit")
    }
}

#[async_trait]
impl Sender for World {
    async fn send(&self, _: sender::Request<'_>) -> Outcome {
        unreachable!("the API sends nothing")
    }

    fn vet(&self, endpoint: &Endpoint) -> Result<(), AddressRefused> {
        if endpoint.domain() == "169.254.169.254" {
            return Err(AddressRefused { reason: "link-local addresses are refused".to_owned() });
        }
        Ok(())
    }

    async fn probe(&self, _: &Endpoint) -> sender::Health {
        sender::Health::Good
    }
}

#[async_trait]
impl Clock for World {
    fn now(&self) -> Timestamp {
        NOW
    }

    async fn sleep(&self, _: Duration) {
        if !self.stalled.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Random for World {
    fn bits(&self) -> u128 {
        u128::from(self.drawn.fetch_add(1, Ordering::Relaxed))
    }
}

#[async_trait]
impl Statuses for World {
    async fn statuses(&self, ids: &[WebhookId]) -> Result<Vec<Option<Status>>, Fault> {
        let known = self.statuses.lock().unwrap().clone();
        self.answer(ids.iter().map(|id| known.get(id).map(|(status, _)| status.clone())).collect()).await
    }

    async fn attempts(&self, id: &WebhookId) -> Result<Option<Vec<Attempt>>, Fault> {
        let known = self.statuses.lock().unwrap().get(id).map(|(_, attempts)| attempts.clone());
        self.answer(known).await
    }
}

#[async_trait]
impl Stats for World {
    async fn add(&self, _: Hour, _: &HourlyStats) -> Result<(), Fault> {
        Ok(())
    }

    async fn sum(&self, hours: &[Hour]) -> Result<(Counts, u64), Fault> {
        self.hours.lock().unwrap().push(hours.to_vec());
        let enqueued = u64::try_from(hours.len()).unwrap();
        self.answer((Counts { enqueued, ..Counts::default() }, 7)).await
    }
}

#[async_trait]
impl DeadLetters for World {
    async fn list(
        &self,
        filter: &DeadLetterFilter,
        after: Option<&DeadLetterCursor>,
        limit: usize,
    ) -> Result<Vec<DeadLetterEntry>, Fault> {
        let mut entries: Vec<_> = self.dead_letters.lock().unwrap().iter().map(|(entry, _)| entry.clone()).collect();
        entries.sort_by_key(|entry| (entry.at, entry.id.clone()));
        let is_after = |entry: &DeadLetterEntry| {
            let place = DeadLetterCursor { at: entry.at, id: entry.id.clone() };
            after.is_none_or(|after| place > *after)
        };
        entries.retain(|entry| filter.admits(entry) && is_after(entry));
        entries.truncate(limit);
        self.answer(entries).await
    }

    async fn find(&self, id: &WebhookId) -> Result<Option<DeadLetterEntry>, Fault> {
        let dead_letters = self.dead_letters.lock().unwrap().clone();
        self.answer(dead_letters.into_iter().map(|(entry, _)| entry).find(|entry| entry.id == *id)).await
    }

    async fn lease(&self, entry: &DeadLetterEntry, _: Timestamp, _: Timestamp) -> Result<bool, Fault> {
        let mut leased = self.leased.lock().unwrap();
        let is_free = !leased.contains(&entry.id);
        leased.push(entry.id.clone());
        Ok(is_free)
    }

    async fn forget(&self, entry: &DeadLetterEntry) -> Result<(), Fault> {
        self.dead_letters.lock().unwrap().retain(|(listed, _)| listed.id != entry.id);
        Ok(())
    }
}

#[async_trait]
impl Endpoints for World {
    async fn endpoint(&self, hash: &EndpointHash, _: Timestamp) -> Result<Option<EndpointView>, Fault> {
        let view = self.views.lock().unwrap().get(hash).cloned();
        self.answer(view).await
    }

    async fn unhealthy(&self, after: Option<&EndpointHash>, limit: usize) -> Result<Vec<EndpointHash>, Fault> {
        let views = self.views.lock().unwrap().clone();
        let hashes = views.into_keys().filter(|hash| after.is_none_or(|after| hash > after));
        self.answer(hashes.take(limit).collect()).await
    }

    async fn held(&self, _: &EndpointHash, _: &ConfigId, limit: usize) -> Result<Vec<Waiting>, Fault> {
        let held = self.held.lock().unwrap().iter().take(limit).cloned().collect();
        self.answer(held).await
    }
}

#[async_trait]
impl Recovery for World {
    async fn epoch(&self) -> Result<Option<Epoch>, Fault> {
        let epoch = self.epoch.lock().unwrap().clone();
        self.answer(epoch).await
    }

    async fn lock(&self, _: &ClaimHolder, _: Timestamp, _: Timestamp) -> Result<Option<(Fence, Cursor)>, Fault> {
        unreachable!("the API rebuilds nothing")
    }

    async fn advance(&self, _: Fence, _: &Cursor) -> Result<bool, Fault> {
        unreachable!("the API rebuilds nothing")
    }

    async fn complete(&self, _: Fence, _: &Epoch) -> Result<bool, Fault> {
        unreachable!("the API rebuilds nothing")
    }

    async fn fingerprint(&self) -> Result<u64, Fault> {
        unreachable!("the API rebuilds nothing")
    }
}
