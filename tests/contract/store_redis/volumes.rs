//! Large webhooks: what is leased together is bounded by the bytes that it takes once it is unpacked.

use std::collections::BTreeSet;
use std::sync::Arc;

use delivery::ports::endpoints::Endpoints;
use delivery::ports::hot_state::HotState;
use delivery::ports::schedule::{Lease, Schedule};
use domain::{Dispatch, Payload, PayloadKind, Waiting, Webhook, Write};
use store_redis::Login;
use testkit::contract::run;
use testkit::generate::{at, config_id, endpoint, held, waiting, webhook};

use super::Instance;

const COUNT: usize = 64;
/// What may be leased together, and one webhook of each shard beyond.
const LEASED_MAX: usize = (16 + 16) << 20;

/// A webhook of this payload, due at `due` ms.
fn due_at(due: u64, bytes: Vec<u8>) -> Waiting {
    let payload = Payload { bytes: bytes.into(), kind: PayloadKind::Json };
    waiting(&Dispatch::first(Arc::new(Webhook { payload, ..webhook() })), at(due))
}

/// A JSON string of this size, of which zstd has to keep next to nothing.
fn easy(size: usize) -> Vec<u8> {
    [b"\"", vec![b'x'; size].as_slice(), b"\""].concat()
}

/// A JSON string of this size, of dead letters in no order.
fn hard(size: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let letters = (0..size).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b'A' + state.to_be_bytes()[0] % 26
    });
    [b"\"".to_vec(), letters.collect(), b"\"".to_vec()].concat()
}

/// Leases until nothing is due, and returns how many webhooks and payload bytes each lease brought.
async fn lease_all(instance: &Instance, entries: &[Waiting]) -> Vec<(usize, usize)> {
    for entry in entries {
        instance.store.apply(vec![Write::Schedule(entry.clone())]).await.expect("it is scheduled");
    }
    let lease = Lease { token: "a".to_owned(), now: at(1000), until: at(2000) };
    let (mut brought, mut ids) = (Vec::new(), BTreeSet::new());
    loop {
        let leased = instance.store.lease(&lease, entries.len()).await.expect("the store leases");
        if leased.is_empty() {
            break;
        }
        brought.push((leased.len(), leased.iter().map(|one| one.dispatch.webhook.payload.bytes.len()).sum()));
        let leased: Vec<_> = leased.into_iter().map(|one| one.dispatch.webhook.id.clone()).collect();
        // Redis need not keep them.
        instance.store.forget(&lease, &leased).await.expect("the store forgets");
        ids.extend(leased);
    }
    assert_eq!(ids.len(), entries.len(), "each is leased, and once");
    assert_eq!(brought.iter().map(|(count, _)| count).sum::<usize>(), entries.len());
    brought
}

#[test]
fn large_webhooks_are_leased_a_few_at_a_time_however_small_they_are_packed() {
    run(async {
        let kinds: [fn(usize) -> Vec<u8>; 2] = [easy, hard];
        for of in kinds {
            // The length of zstd's header depends on how much it holds.
            for size in [700 << 10, 400 << 10] {
                let instance = Instance::new(Login::None).await;
                let entries: Vec<_> = (0..COUNT).map(|n| due_at(u64::try_from(n).expect("ms"), of(size))).collect();
                let brought = lease_all(&instance, &entries).await;
                assert!(brought.len() > 1 && brought.iter().all(|(_, bytes)| *bytes <= LEASED_MAX), "{brought:?}");
            }
        }
    });
}

/// The same holds for held webhooks.
#[test]
fn large_held_webhooks_are_handed_out_a_few_at_a_time() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let (config, endpoint) = (config_id(), endpoint());
        let (hash, size) = (endpoint.hash(), 700 << 10);
        for _ in 0..COUNT {
            let payload = Payload { bytes: easy(size).into(), kind: PayloadKind::Json };
            let (config_id, endpoint) = (config.clone(), endpoint.clone());
            let one = Dispatch::first(Arc::new(Webhook { payload, config_id, endpoint, ..webhook() }));
            instance.store.apply(vec![Write::Hold(held(&one, at(0)))]).await.expect("it is held");
        }
        let (mut times, mut left) = (0, COUNT);
        while left > 0 {
            let some = instance.store.held(hash, &config, COUNT).await.expect("the store answers");
            assert!(!some.is_empty() && some.len() * size <= LEASED_MAX, "{} of {left}", some.len());
            (times, left) = (times + 1, left - some.len());
            let out = some.into_iter().map(|one| {
                Write::Unhold(hash.clone(), config.clone(), one.dispatch.webhook.id.clone(), one.dispatch.number)
            });
            instance.store.apply(out.collect()).await.expect("they are taken off the list");
        }
        assert!(times > 1);
        assert_eq!(instance.store.held(hash, &config, COUNT).await.expect("the store answers"), []);
    });
}

/// Those that fit are leased together, whichever form zstd gives their sizes.
#[test]
fn small_webhooks_are_leased_together() {
    run(async {
        for size in [0, 100, 200, 1000, 60_000, 70_000, 200_000] {
            let instance = Instance::new(Login::None).await;
            let entries: Vec<_> = (0..16).map(|n| due_at(n, easy(size))).collect();
            assert_eq!(lease_all(&instance, &entries).await, [(16, 16 * (size + 2))]);
        }
    });
}
