//! A slot moves from one node to the other while the store writes: nothing fails, and nothing is lost or done twice.

use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use delivery::ports::endpoints::Endpoints;
use delivery::ports::hot_state::{AcquireRequest, HotState};
use delivery::ports::statuses::Statuses;
use domain::{ClaimFact, Dispatch, Endpoint, LeaseFact, Phase, Settlement, Write};
use futures::future::{join, join_all};
use store_redis::{RedisStore, Topology};
use testkit::contract::run;
use testkit::generate::{at, attempt, dispatch, dispatch_to, endpoint, numbered, status};

use super::nodes::{Pair, Server, until};
use super::traffic::{fence, open, settled};

/// Deliveries to one endpoint at the same time, each of which holds one of as many leases.
const AT_ONCE: u32 = 8;
/// Answers that a moving slot gives before it moves on: more of each kind than a client may have counted on.
const ANSWERS: u64 = 12;

/// A slot on its way from the first to the second, key by key, as an operator moves it.
struct Move<'a> {
    from: &'a Server,
    to: &'a Server,
    slot: String,
}

impl<'a> Move<'a> {
    async fn begin(pair: &'a Pair, key: &str) -> Self {
        let slot: u16 = pair.0[0].ask(&["CLUSTER", "KEYSLOT", key]).await;
        let slot = slot.to_string();
        let (from, to) = pair.by_slot(&slot).await;
        let (source, target): (String, String) =
            (from.ask(&["CLUSTER", "MYID"]).await, to.ask(&["CLUSTER", "MYID"]).await);
        let () = to.ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source]).await;
        let () = from.ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target]).await;
        Self { from, to, slot }
    }

    /// Takes one key over, if there is one.
    async fn step(&self) -> bool {
        let keys: Vec<String> = self.from.ask(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "1"]).await;
        let Some(key) = keys.first() else { return false };
        let port = self.to.port.to_string();
        let () = self.from.ask(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]).await;
        true
    }

    /// The new node learns of the move first, as it should.
    async fn end(self) {
        while self.step().await {}
        self.assign(self.to).await;
        self.assign(self.from).await;
    }

    /// The old node learns of the move first: for a while each node redirects to the other one.
    async fn end_divided(self) {
        while self.step().await {}
        let refused = async || self.from.refused("MOVED").await + self.to.refused("MOVED").await;
        let before = refused().await;
        self.assign(self.from).await;
        until("both nodes redirect", async || refused().await >= before + ANSWERS).await;
        self.assign(self.to).await;
    }

    async fn assign(&self, server: &Server) {
        let target: String = self.to.ask(&["CLUSTER", "MYID"]).await;
        let () = server.ask(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &target]).await;
    }
}

/// Waits until the nodes have answered every delivery with TRYAGAIN often enough from now on.
async fn are_told_to_try_again(pair: &Pair) {
    let [first, second] = &pair.0;
    let refused = async || first.refused("TRYAGAIN").await + second.refused("TRYAGAIN").await;
    let before = refused().await;
    until("they try again", async || refused().await >= before + u64::from(AT_ONCE) * ANSWERS).await;
}

/// Waits until so much more is done.
async fn goes_on(done: &AtomicU64) {
    let before = done.load(Ordering::Relaxed);
    until("it goes on", async || done.load(Ordering::Relaxed) >= before + ANSWERS).await;
}

/// Opens and closes one dispatch after the other of one webhook; returns the last.
async fn dispatches(store: &RedisStore, first: &Dispatch, (done, is_over): (&AtomicU64, &AtomicBool)) -> Dispatch {
    let mut now = first.clone();
    loop {
        let facts = store.acquire(open(&now)).await;
        // It may have been taken over a connection that died before it said so, and again.
        assert!(matches!(facts.claim, ClaimFact::Taken { .. }), "{:?}", facts.claim);
        let settlement = Settlement {
            fence: Some(fence(&facts)),
            status: status(&now, Phase::Waiting),
            attempt: Some(attempt(&now)),
        };
        store.apply(vec![Write::Settle(settlement)]).await.expect("written");
        let again = store.acquire(open(&now)).await;
        assert!(matches!(again.claim, ClaimFact::Settled(_)), "{:?}", again.claim);
        done.fetch_add(1, Ordering::Relaxed);
        if is_over.load(Ordering::Relaxed) {
            return now;
        }
        now = numbered(first, now.number + 1);
    }
}

/// Moves the slot of a webhook whose claims and settlements go on all the time.
async fn move_webhook(pair: &Pair, key: &str, done: &AtomicU64) {
    goes_on(done).await;
    let moved = Move::begin(pair, key).await;
    goes_on(done).await;
    assert!(moved.step().await, "it is there");
    goes_on(done).await;
    let (asked, connected) = (moved.from.refused("ASK").await, moved.to.connections().await);
    goes_on(done).await;
    assert!(moved.from.refused("ASK").await >= asked + ANSWERS, "it is asked for where it went");
    assert!(moved.to.connections().await < connected + ANSWERS, "over the connection that is there");
    let killed: u64 = moved.to.ask(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    assert!(killed > 0, "the store's connection");
    goes_on(done).await;
    moved.end_divided().await;
}

/// Claims and settlements of one webhook, whose slot moves there and back between nodes of which the first owns the others up
/// to `last`.
fn a_webhook_moves(last: u16) {
    run(async {
        let pair = Pair::start(last).await;
        let (store, prefix) = pair.0[0].store(Topology::Cluster);
        let (first, done, is_over) = (dispatch(), AtomicU64::new(0), AtomicBool::new(false));
        let key = format!("{prefix}{{wh:{}}}", first.webhook.id);
        let moving = async {
            for _ in 0..3 {
                move_webhook(&pair, &key, &done).await;
            }
            goes_on(&done).await;
            is_over.store(true, Ordering::Relaxed);
        };
        let (last, ()) = join(dispatches(&store, &first, (&done, &is_over)), moving).await;
        let known = store.statuses(from_ref(&first.webhook.id)).await.expect("it answers");
        assert_eq!(known, [Some(status(&last, Phase::Waiting))]);
        let attempts = store.attempts(&first.webhook.id).await.expect("it answers").expect("it is known");
        assert!(attempts.contains(&attempt(&last)), "{attempts:?}");
    });
}

#[test]
fn a_webhook_is_dispatched_while_its_slot_moves() {
    a_webhook_moves(8191);
}

/// As when a cluster grows.
#[test]
fn a_webhook_is_dispatched_while_its_slot_moves_to_a_node_that_owns_nothing() {
    a_webhook_moves(16_383);
}

/// Delivers to one endpoint, one webhook after the other, each of which fails; returns how many.
async fn fails(store: &RedisStore, target: &Endpoint, is_over: &AtomicBool) -> u64 {
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        let next = dispatch_to(target);
        let request = AcquireRequest { endpoint_limit: AT_ONCE, domain_limit: None, ..open(&next) };
        let facts = store.acquire(request).await;
        assert!(facts.endpoint.is_some(), "{facts:?}");
        assert_eq!(facts.on_endpoint, LeaseFact::Taken, "{facts:?}");
        store.apply(settled(&next, &facts, Phase::Waiting)).await.expect("written");
        count += 1;
    }
    count
}

/// Leases and reports of one endpoint. Its scripts have several keys, of which some never are: while the slot moves they are
/// answered with TRYAGAIN, however long that takes.
#[test]
fn an_endpoint_is_counted_while_its_slot_moves() {
    run(async {
        let pair = Pair::start(8191).await;
        let (store, prefix) = pair.0[1].store(Topology::Cluster);
        let (target, is_over) = (endpoint(), AtomicBool::new(false));
        let key = format!("{prefix}{{ep:{}}}", target.hash());
        let failing = join_all((0..AT_ONCE).map(|_| fails(&store, &target, &is_over)));
        let moving = async {
            for _ in 0..3 {
                let state = || store.endpoint(target.hash(), at(0));
                until("a failure is counted", async || state().await.is_ok_and(|view| view.is_some())).await;
                let moved = Move::begin(&pair, &key).await;
                let from = moved.from;
                are_told_to_try_again(&pair).await;
                assert!(moved.step().await, "something is there");
                are_told_to_try_again(&pair).await;
                let redirected = from.refused("MOVED").await;
                moved.end().await;
                until("MOVED", async || from.refused("MOVED").await > redirected).await;
            }
            is_over.store(true, Ordering::Relaxed);
        };
        let (counts, ()) = join(failing, moving).await;
        let view = store.endpoint(target.hash(), at(0)).await.expect("it answers").expect("it is known");
        let failures: u64 = view.state.buckets.iter().map(|bucket| u64::from(bucket.tally.failures)).sum();
        assert_eq!((failures, view.inflight), (counts.iter().sum(), 0));
    });
}
