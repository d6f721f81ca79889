//! The index of dead letters: listed oldest first, replayed once.

use delivery::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter};
use domain::{DeadLetterEntry, Dispatch, ReasonType, Write};

use crate::contract::at_once;
use crate::contract::store::Store;
use crate::generate::{at, config_id, dead_letter_entry, dispatch, dispatch_of, endpoint, numbered, webhook_id};
use crate::random::SeededRandom;

async fn index(store: &Store, entries: &[DeadLetterEntry]) {
    store.write_all(entries.iter().cloned().map(Write::Index).collect()).await;
}

async fn listed(store: &Store, filter: &DeadLetterFilter) -> Vec<DeadLetterEntry> {
    store.dead_letters.list(filter, None, 1000).await.expect("the store answers")
}

async fn everything(store: &Store) -> Vec<DeadLetterEntry> {
    listed(store, &DeadLetterFilter::default()).await
}

async fn lease(store: &Store, entry: &DeadLetterEntry, (now_ms, until_ms): (u64, u64)) -> bool {
    store.dead_letters.lease(entry, at(now_ms), at(until_ms)).await.expect("the store answers")
}

async fn forget(store: &Store, entry: &DeadLetterEntry) {
    store.dead_letters.forget(entry).await.expect("the store forgets");
}

async fn find(store: &Store, entry: &DeadLetterEntry) -> Option<DeadLetterEntry> {
    store.dead_letters.find(&entry.id).await.expect("the store answers")
}

fn sorted(mut entries: Vec<DeadLetterEntry>) -> Vec<DeadLetterEntry> {
    entries.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    entries
}

/// "The entry of one webhook", with every field; `None` when there is none.
pub async fn an_entry_is_found_by_its_webhook(store: &Store) {
    let entry = DeadLetterEntry { reason_type: ReasonType::AddressRefused, ..dead_letter_entry(&dispatch(), at(5)) };
    index(store, std::slice::from_ref(&entry)).await;
    assert_eq!(find(store, &entry).await, Some(entry));
    assert_eq!(store.dead_letters.find(&webhook_id()).await.expect("the store answers"), None);
}

/// "oldest first", whatever the order of writing; entries of one moment by their webhook.
pub async fn the_oldest_are_listed_first(store: &Store) {
    let random = SeededRandom::new(6);
    let entries: Vec<_> = (0..40).map(|_| dead_letter_entry(&dispatch(), at(random.below(10)))).collect();
    index(store, &entries).await;
    assert_eq!(everything(store).await, sorted(entries));
}

/// "Entries that `filter` admits": tenant, endpoint, reason and time, alone and together.
pub async fn a_filter_admits_what_it_names(store: &Store) {
    let (configs, endpoints) = ([config_id(), config_id()], [endpoint(), endpoint()]);
    let mut entries = Vec::new();
    for number in 0_u64..48 {
        let bit = |place: u64| usize::try_from(number >> place & 1).unwrap_or_default();
        let dead = dispatch_of(&configs[bit(0)], &endpoints[bit(1)]);
        let reason_type = [ReasonType::Gone, ReasonType::Exhausted][bit(2)];
        entries.push(DeadLetterEntry { reason_type, ..dead_letter_entry(&dead, at(number)) });
    }
    index(store, &entries).await;
    let all = DeadLetterFilter::default();
    let filters = [
        DeadLetterFilter { config_id: Some(configs[0].clone()), ..all.clone() },
        DeadLetterFilter { endpoint: Some(endpoints[1].hash().clone()), ..all.clone() },
        DeadLetterFilter { reason_type: Some(ReasonType::Gone), ..all.clone() },
        DeadLetterFilter { since: Some(at(7)), until: Some(at(30)), ..all.clone() },
        DeadLetterFilter {
            config_id: Some(configs[1].clone()),
            endpoint: Some(endpoints[0].hash().clone()),
            reason_type: Some(ReasonType::Exhausted),
            since: Some(at(10)),
            until: Some(at(40)),
        },
        DeadLetterFilter { config_id: Some(config_id()), ..all },
    ];
    for filter in filters {
        let expected: Vec<_> = entries.iter().filter(|entry| filter.admits(entry)).cloned().collect();
        assert_eq!(listed(store, &filter).await, sorted(expected), "{filter:?}");
    }
}

/// "after `after`, at most `limit`": pages follow each other without a gap or a repeat, within one moment too.
pub async fn the_list_is_read_in_pages(store: &Store) {
    let config = config_id();
    let of = |n: u64| if n.is_multiple_of(2) { dispatch_of(&config, &endpoint()) } else { dispatch() };
    let entries: Vec<_> = (0..50).map(|n| dead_letter_entry(&of(n), at(n / 20))).collect();
    index(store, &entries).await;
    let mine = DeadLetterFilter { config_id: Some(config), ..DeadLetterFilter::default() };
    for filter in [DeadLetterFilter::default(), mine] {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let page = store.dead_letters.list(&filter, after.as_ref(), 7).await.expect("the store answers");
            assert!(page.len() <= 7);
            let Some(last) = page.last() else { break };
            after = Some(DeadLetterCursor { at: last.at, id: last.id.clone() });
            pages.extend(page);
            assert!(pages.len() <= 50, "a page does not go on after the one before");
        }
        let expected = entries.iter().filter(|entry| filter.admits(entry)).cloned().collect();
        assert_eq!(pages, sorted(expected), "{filter:?}");
    }
}

/// "a lease is taken by one caller at a time, so that a replay is made once (64 callers at once included)".
pub async fn one_of_64_callers_gets_the_lease(store: &Store) {
    let entry = dead_letter_entry(&dispatch(), at(5));
    index(store, std::slice::from_ref(&entry)).await;
    let leases = at_once(64, |_| {
        let (store, entry) = (store.clone(), entry.clone());
        async move { lease(&store, &entry, (10, 100)).await }
    })
    .await;
    assert_eq!(leases.into_iter().filter(|leased| *leased).count(), 1);
}

/// "Leases an entry until `until`": to the millisecond; a leased entry is listed all the while.
pub async fn a_lease_ends_at_its_time(store: &Store) {
    let entry = dead_letter_entry(&dispatch(), at(5));
    index(store, std::slice::from_ref(&entry)).await;
    assert!(lease(store, &entry, (10, 100)).await);
    assert!(!lease(store, &entry, (99, 200)).await);
    assert_eq!(everything(store).await, std::slice::from_ref(&entry));
    assert!(lease(store, &entry, (100, 200)).await);
}

/// "`false` when it is gone", or was never there.
pub async fn an_entry_that_is_gone_is_not_leased(store: &Store) {
    let entry = dead_letter_entry(&dispatch(), at(5));
    assert!(!lease(store, &entry, (10, 100)).await);
    index(store, std::slice::from_ref(&entry)).await;
    forget(store, &entry).await;
    forget(store, &entry).await;
    assert!(!lease(store, &entry, (10, 100)).await);
    assert_eq!((find(store, &entry).await, everything(store).await), (None, Vec::new()));
}

fn two_lives() -> (DeadLetterEntry, DeadLetterEntry) {
    let first: Dispatch = dispatch();
    (dead_letter_entry(&first, at(5)), dead_letter_entry(&numbered(&first, 9), at(50)))
}

/// "unless a later dead letter of the webhook has replaced it": the old one neither forgets nor leases the new one.
pub async fn an_old_entry_does_not_forget_its_successor(store: &Store) {
    let (first, second) = two_lives();
    index(store, &[first.clone(), second.clone()]).await;
    assert!(!lease(store, &first, (60, 100)).await);
    forget(store, &first).await;
    assert_eq!(find(store, &second).await, Some(second.clone()));
    assert_eq!(everything(store).await, [second]);
}

/// A webhook has one entry: its latest dead letter's, in whatever order they are listed (RB-1).
pub async fn the_latest_dead_letter_stays_in_any_order(store: &Store) {
    let (first, second) = two_lives();
    index(store, &[second.clone(), first.clone()]).await;
    assert_eq!(everything(store).await, std::slice::from_ref(&second));
    assert!(lease(store, &second, (60, 100)).await, "an earlier one takes no place");
}

/// "idempotent": listing the same dead letter again changes nothing, so its lease holds.
pub async fn listing_again_keeps_the_lease(store: &Store) {
    let entry = dead_letter_entry(&dispatch(), at(5));
    index(store, std::slice::from_ref(&entry)).await;
    assert!(lease(store, &entry, (10, 100)).await);
    index(store, std::slice::from_ref(&entry)).await;
    assert_eq!(everything(store).await, std::slice::from_ref(&entry));
    assert!(!lease(store, &entry, (50, 200)).await, "a second replay would follow");
}
