//! Retry storms: how many webhooks come back at once, and how far they are spread (P3, and the seeds' targets).

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{ConfigId, Entropy, ReleasePolicy, Timestamp};
use howk_tests::endpoint::Reply;
use testkit::random::SeededRandom;

use crate::{HOUR, URL, world};

/// The steady rate of a fleet, a second.
const STEADY: u64 = 1000;
/// The webhooks that were refused when the limit was reached: with ±5 % of jitter it comes back as the 14 % of the seed.
const REFUSED: u64 = 840;
const COOLDOWN: Duration = Duration::from_mins(1);
/// The rate that the receiver accepts, a second, before it refuses again.
const CAPACITY: u64 = STEADY * 110 / 100;

/// What a release looks like to the receiver.
struct Storm {
    /// The average rate on top while the first wave comes back, as a share of the steady rate.
    surge: f64,
    /// The same in the fullest second.
    fullest: f64,
    /// The second in which the last webhook is accepted.
    drained_at: u64,
}

/// Releases everything, again and again where the receiver refuses.
fn release(mut at: impl FnMut(Timestamp) -> Timestamp) -> Storm {
    let mut waiting: Vec<Timestamp> = (0..REFUSED).map(|_| at(Timestamp::EPOCH)).collect();
    let share = |rate: f64| rate / f64::from(u32::try_from(STEADY).unwrap());
    let (first, last) = (waiting.iter().min().unwrap(), waiting.iter().max().unwrap());
    let surge = share(f64::from(u32::try_from(REFUSED).unwrap()) / last.since(*first).as_secs_f64());
    let mut storm = Storm { surge, fullest: 0.0, drained_at: 0 };
    while !waiting.is_empty() {
        let mut seconds: BTreeMap<u64, u64> = BTreeMap::new();
        for at in &waiting {
            *seconds.entry(at.as_secs()).or_default() += 1;
        }
        let fullest = seconds.values().copied().max().unwrap();
        storm.fullest = storm.fullest.max(share(f64::from(u32::try_from(fullest).unwrap())));
        storm.drained_at = storm.drained_at.max(*seconds.keys().next_back().unwrap());
        let refused = seconds.iter().flat_map(|(second, count)| {
            let over = (STEADY + count).saturating_sub(CAPACITY);
            std::iter::repeat_n(*second, usize::try_from(over.min(*count)).unwrap())
        });
        waiting = refused.map(|second| at(Timestamp::from_ms(second * 1000))).collect();
    }
    storm
}

#[test]
fn the_surge_after_a_cooldown_is_under_three_percent_for_at_most_twelve_percent_more_drain_time() {
    let random = SeededRandom::new(42);
    let draw = move || Entropy::new(random.next());
    let tenant = ConfigId::parse("tenant").unwrap();
    let lockstep = release(|now| now.plus(Duration::from_millis(draw().between(57_000, 63_000))));
    let policy = ReleasePolicy::default();
    let windowed = release(|now| {
        let cooldown = policy.cooldown(COOLDOWN, now);
        cooldown.release_at(now, draw()).plus(policy.cohort_delay(&tenant))
    });
    assert!(lockstep.surge >= 0.14, "the storm of the seed: {}", lockstep.surge);
    assert!(windowed.surge < 0.03, "spread over the window: {}", windowed.surge);
    // With so few webhooks in so many seconds, the fullest second is above the average by chance.
    assert!(windowed.fullest < lockstep.fullest / 3.0, "{} against {}", windowed.fullest, lockstep.fullest);
    let (drained, before) = (windowed.drained_at, lockstep.drained_at);
    assert!(drained * 100 <= before * 112, "{drained} s, {before} s in lockstep");
}

#[test]
fn p3_ten_thousand_that_fail_in_one_second_do_not_come_back_in_one() {
    let mut world = world(500);
    for batch in 0..20 {
        let new =
            (0..500).map(|n| howk_tests::world::webhook("tenant", &format!("{URL}/{}", (batch * 500 + n) % 2500)));
        world.enqueue(new.collect());
    }
    world.pass(Duration::from_secs(2));
    let first = world.endpoints.seen().len();
    assert_eq!(first, 10_000, "all of them failed at first");
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    world.pass(HOUR);
    let mut seconds: BTreeMap<u64, usize> = BTreeMap::new();
    world.endpoints.seen().iter().skip(first).for_each(|seen| *seconds.entry(seen.at.as_secs()).or_default() += 1);
    let fullest = seconds.values().copied().max().unwrap();
    assert_eq!(seconds.values().sum::<usize>(), 10_000);
    assert!(fullest <= 3_500, "10,000 over the 4 s that ±20 % of 10 s gives, not at once: {fullest} in one second");
}
