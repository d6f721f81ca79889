use super::*;
use crate::tally::bucket_start;
use proptest::prelude::*;

const fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms)
}

fn policy() -> CircuitPolicy {
    CircuitPolicy::default()
}

fn bucket(ms: u64, failures: u32, successes: u32) -> Bucket {
    let start = bucket_start(at(ms), policy().failure_window());
    Bucket { start, tally: Tally { failures, successes, slow: 0 } }
}

#[test]
fn opens_at_the_threshold_within_the_window() {
    let closed = Circuit::default();
    let now = at(600_000);
    assert_eq!(policy().after_count(closed, &[bucket(590_000, 4, 0)], now), None);
    assert_eq!(policy().after_count(closed, &[bucket(590_000, 5, 0)], now), Some(Circuit::Open { since: now }));
    assert_eq!(policy().after_count(closed, &[bucket(500_000, 5, 0)], now), None, "outside the window");
    assert_eq!(
        policy().after_count(closed, &[bucket(590_000, 9, 100)], now),
        None,
        "a busy endpoint with few errors"
    );
}

#[test]
fn what_happened_before_it_closed_no_longer_counts() {
    let closed = Circuit::Closed { since: at(595_000) };
    assert_eq!(policy().after_count(closed, &[bucket(590_000, 50, 0)], at(600_000)), None);
}

#[test]
fn rests_then_probes_then_closes_after_enough_successes() {
    let opened = Circuit::Open { since: at(0) };
    assert_eq!(policy().answer(opened, at(299_999), at(1)), CircuitAnswer::Wait(at(300_000)));
    let CircuitAnswer::Probe(probing) = policy().answer(opened, at(300_000), at(335_000)) else {
        panic!("CB-1: the first request after the recovery time is the probe")
    };
    assert_eq!(policy().answer(probing, at(300_001), at(1)), CircuitAnswer::Wait(at(335_000)), "CB-1: one probe");
    let half = policy().after_probe(probing, Health::Good, at(300_100)).unwrap();
    assert_eq!(half, Circuit::HalfOpen { successes: 1, probe_until: None });
    let CircuitAnswer::Probe(second) = policy().answer(half, at(300_200), at(340_000)) else {
        panic!("second probe")
    };
    assert_eq!(policy().after_probe(second, Health::Good, at(300_300)), Some(Circuit::Closed { since: at(300_300) }));
    assert_eq!(policy().after_probe(second, Health::Bad, at(300_300)), Some(Circuit::Open { since: at(300_300) }));
}

#[test]
fn a_lost_probe_is_replaced() {
    let probing = Circuit::HalfOpen { successes: 1, probe_until: Some(at(50)) };
    assert!(matches!(policy().answer(probing, at(50), at(99)), CircuitAnswer::Probe(_)));
}

fn any_circuit() -> impl Strategy<Value = Circuit> {
    prop_oneof![
        (0_u64..1_000_000).prop_map(|ms| Circuit::Closed { since: at(ms) }),
        (0_u64..1_000_000).prop_map(|ms| Circuit::Open { since: at(ms) }),
        (0_u32..3, proptest::option::of(0_u64..1_000_000))
            .prop_map(|(successes, until)| Circuit::HalfOpen { successes, probe_until: until.map(at) }),
    ]
}

proptest! {
    #[test]
    fn cb_1_never_skips_a_state(circuit in any_circuit(), now in 0_u64..2_000_000, failures in 0_u32..10, pick in 0_usize..3) {
        let health = [Health::Good, Health::Bad, Health::Neutral][pick];
        let now = at(now);
        let counted = policy().after_count(circuit, &[bucket(now.as_ms(), failures, 0)], now);
        let probed = policy().after_probe(circuit, health, now);
        let asked = policy().answer(circuit, now, now.plus(Duration::from_secs(35)));
        match circuit {
            Circuit::Closed { .. } => {
                let steps = matches!(counted, None | Some(Circuit::Open { .. }));
                prop_assert!(steps);
                prop_assert_eq!(probed, None);
                prop_assert_eq!(asked, CircuitAnswer::Pass);
            }
            Circuit::Open { .. } => {
                prop_assert_eq!((counted, probed), (None, None));
                let steps = matches!(asked, CircuitAnswer::Wait(_) | CircuitAnswer::Probe(Circuit::HalfOpen { .. }));
                prop_assert!(steps);
            }
            Circuit::HalfOpen { .. } => {
                prop_assert_eq!(counted, None);
                prop_assert!(probed.is_some());
                prop_assert_ne!(asked, CircuitAnswer::Pass, "never all requests at once");
            }
        }
    }
}
