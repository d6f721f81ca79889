//! RT-1's spread and the seed's figures on howk's own decisions, with a small fleet; and that a policy which breaks them is
//! caught.

use std::sync::OnceLock;

use domain::ReleasePolicy;

use super::*;
use crate::storm::fleet::policies::Rule;
use crate::storm::fleet::terms::BIN;

/// Enough that chance does not decide a target, few enough for a debug build.
const CLIENTS: u32 = 40_000;
const FEW: u32 = 4_000;
const HEADROOM: f64 = 0.1;
const INCIDENT: Duration = Duration::from_millis(250);
const SEED: u64 = 1;
const SHORT: Span =
    Span { before: Duration::from_secs(30), least: Duration::from_secs(95), most: Duration::from_mins(10) };

fn few(headroom: f64) -> Fleet {
    Fleet::new(FEW, headroom, INCIDENT).unwrap()
}

/// The demand at which lockstep shows the seed's surge, as a small fleet finds it.
fn demand() -> f64 {
    static DEMAND: OnceLock<f64> = OnceLock::new();
    *DEMAND.get_or_init(|| load::demand_sought(&few(HEADROOM), (BIN, SEED), || ()).unwrap())
}

/// A policy of another name that is judged as the window is.
fn judged_as_window(name: &'static str, rule: Rule) -> ClientPolicy {
    ClientPolicy { name, rule, ..ClientPolicy::window() }
}

/// Lockstep, and policies beside it.
fn beside_lockstep(fleet: Fleet, policies: &[ClientPolicy]) -> Report {
    let policies = [&[ClientPolicy::lockstep().unwrap()], policies].concat();
    simulate(fleet, &policies, (SHORT, SEED, Some(demand()))).unwrap().report(SEED)
}

fn missed(report: &Report, policy: &str) -> Vec<String> {
    let aims: Vec<_> = report
        .aims
        .iter()
        .filter_map(|aim| Some((aim, aim.name.strip_prefix(policy)?.strip_prefix(": ")?)))
        .collect();
    assert!(!aims.is_empty(), "{policy} has targets");
    aims.iter().filter(|(aim, _)| !aim.met).map(|(_, target)| (*target).to_owned()).collect()
}

#[test]
fn rt_1_the_window_spreads_the_storm_within_its_bounds_for_at_most_twelve_percent_more_drain_time() {
    let fleet = Fleet::new(CLIENTS, HEADROOM, INCIDENT).unwrap();
    let report = beside_lockstep(fleet, &[ClientPolicy::window(), ClientPolicy::probed(INCIDENT)]);
    for policy in ["lockstep ±5 %", "window", "window and probe"] {
        assert_eq!(missed(&report, policy), [""; 0], "{policy}: {:#?}", report.figures);
    }
    assert!(report.figures["chance in a bin, %"] <= 0.5, "the fleet is large enough");
    assert!(report.figures["refused after the cooldown, lockstep ±5 %"] > 0.0, "the storm is refused again");
    assert!(report.figures["refused after the cooldown, window"] == 0.0, "the window is not");
}

#[test]
fn rt_1_cohorts_keep_to_their_windows_and_a_policy_without_one_is_caught() {
    let lockstep = judged_as_window("lockstep as window", ClientPolicy::lockstep().unwrap().rule);
    let no_window = judged_as_window("no window", Rule::Window(ReleasePolicy::new(1.0, 0).unwrap()));
    let report = beside_lockstep(few(HEADROOM), &[lockstep, no_window, ClientPolicy::cohorts(3).unwrap()]);
    let surge = "peak over the steady rate in 6 s, %".to_owned();
    assert_eq!(missed(&report, "lockstep as window"), [surge.as_str(), "shortest wait, s"]);
    assert!(missed(&report, "no window").contains(&surge));
    assert_eq!(missed(&report, "cohorts"), [""; 0]);
}

#[test]
fn a_load_that_is_too_small_for_the_storm_is_caught() {
    let lockstep = [ClientPolicy::lockstep().unwrap()];
    let outcome = simulate(few(HEADROOM), &lockstep, (SHORT, SEED, Some(demand() * 0.75))).unwrap();
    assert_eq!(missed(&outcome.report(SEED), "lockstep ±5 %"), ["peak over the steady rate in 6 s, %"]);
}

#[test]
fn behind_a_limit_with_room_for_the_whole_wave_the_window_takes_longer_and_that_is_caught() {
    let policies = [ClientPolicy::lockstep().unwrap(), ClientPolicy::window()];
    let demand = load::demand_sought(&few(0.3), (BIN, SEED), || ()).unwrap();
    let outcome = simulate(few(0.3), &policies, (SHORT, SEED, Some(demand))).unwrap();
    assert!(missed(&outcome.report(SEED), "window").contains(&"drain, times lockstep's".to_owned()));
}

#[test]
fn the_same_seed_gives_the_same_files_and_another_seed_gives_others() {
    let folder = tempfile::tempdir().unwrap();
    let written = |seed: u64| {
        let options = StormOptions {
            scenario: crate::cli::Scenario::Fleet,
            seed,
            out: folder.path().join("pages"),
            clients: 500,
            headroom: 10.0,
            incident: INCIDENT,
            demand: Some(5.0),
            cohorts: 3,
        };
        let json = run(&options).unwrap().json().unwrap();
        let files = ["svg", "html"].map(|ending| options.out.join(format!("storm-fleet.{ending}")));
        (json, files.map(|file| std::fs::read_to_string(file).unwrap()))
    };
    let first = written(1);
    assert_eq!(first, written(1));
    assert_ne!(first, written(2));
    let (_, [svg, html]) = first;
    assert!(html.contains(&svg) && html.contains("shortest wait"), "the page shows the plots and the targets");
}

#[test]
fn nothing_is_refused_while_the_fleet_is_steady() {
    let run = few(HEADROOM).run(&ClientPolicy::window(), 1.0, (SHORT, SEED));
    assert_eq!((run.refused, run.refused_after, run.drain), (0, 0, None));
}
