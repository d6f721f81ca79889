//! Hourly statistics: additions that commute.

use delivery::ports::stats::{Counts, Hour, HourlyStats};
use domain::Endpoint;

use crate::contract::at_once;
use crate::contract::store::Store;
use crate::generate::{BEGIN, endpoint};

const ONE_OF_EACH: Counts = Counts { enqueued: 5, delivered: 4, failed: 3, exhausted: 2, diverted: 1 };

/// The `n`-th hour since the beginning.
fn hour(n: u64) -> Hour {
    Hour(BEGIN.as_secs() / 3600 + n)
}

fn seen(endpoints: &[Endpoint]) -> HourlyStats {
    let endpoints = endpoints.iter().map(|endpoint| endpoint.hash().clone()).collect();
    HourlyStats { counts: ONE_OF_EACH, endpoints }
}

async fn add(store: &Store, hour: Hour, stats: &HourlyStats) {
    store.stats.add(hour, stats).await.expect("the store counts");
}

async fn sum(store: &Store, hours: &[Hour]) -> (Counts, u64) {
    store.stats.sum(hours).await.expect("the store answers")
}

fn times(n: u64) -> Counts {
    let Counts { enqueued, delivered, failed, exhausted, diverted } = ONE_OF_EACH;
    Counts {
        enqueued: enqueued * n,
        delivered: delivered * n,
        failed: failed * n,
        exhausted: exhausted * n,
        diverted: diverted * n,
    }
}

/// An hour in which nothing was counted is zero, and so is no hour.
pub async fn an_hour_without_counts_is_zero(store: &Store) {
    assert_eq!(sum(store, &[hour(0), hour(1)]).await, (Counts::default(), 0));
    assert_eq!(sum(store, &[]).await, (Counts::default(), 0));
}

/// "The sum over hours": of those asked for and no other.
pub async fn hours_are_summed_as_asked_for(store: &Store) {
    for (n, additions) in [(0, 1), (1, 2), (2, 4)] {
        for _ in 0..additions {
            add(store, hour(n), &seen(&[])).await;
        }
    }
    assert_eq!(sum(store, &[hour(0)]).await.0, times(1));
    assert_eq!(sum(store, &[hour(2), hour(0), hour(9)]).await.0, times(5));
    assert_eq!(sum(store, &[hour(0), hour(1), hour(2)]).await.0, times(7));
}

/// "additions commute": 64 at once are all counted.
pub async fn of_64_additions_at_once_none_is_lost(store: &Store) {
    at_once(64, |number| {
        let store = store.clone();
        let of = hour(u64::from(number % 2 == 0));
        async move { add(&store, of, &seen(&[endpoint()])).await }
    })
    .await;
    assert_eq!(sum(store, &[hour(0), hour(1)]).await.0, times(64));
    assert_eq!(sum(store, &[hour(1)]).await.0, times(32));
}

/// "the (perhaps estimated) number of different endpoints": the same one counts once, in two hours too.
pub async fn an_endpoint_counts_once(store: &Store) {
    let endpoints: Vec<_> = (0..20).map(|_| endpoint()).collect();
    for n in [0, 0, 1] {
        add(store, hour(n), &seen(&endpoints)).await;
    }
    let (_, different) = sum(store, &[hour(0), hour(1)]).await;
    assert!((18..=22).contains(&different), "{different} of 20");
}
