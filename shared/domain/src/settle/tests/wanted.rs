//! The effects of each disposition, their order, and what the records say.

use super::*;
use crate::dead_letter::{DeadLetter, DeadLetterEntry};
use crate::effect::Settlement;
use crate::record::WaitReason;
use crate::samples::{assert_order, later, waiting, word, words};
use crate::setting::{EndpointSetting, SettingDecision};
use crate::status::{Next, Phase};

fn found<T>(effects: &[Effect], pick: fn(&Effect) -> Option<&T>) -> &T {
    effects.iter().find_map(pick).expect("an effect of this kind")
}

fn result(effects: &[Effect]) -> &DeliveryResult {
    found(effects, |effect| if let Effect::Publish(Record::Result(result)) = effect { Some(result) } else { None })
}

fn settlement(effects: &[Effect]) -> &Settlement {
    found(
        effects,
        |effect| if let Effect::Write(Write::Settle(settlement)) = effect { Some(settlement) } else { None },
    )
}

fn dead_letter(effects: &[Effect]) -> &DeadLetter {
    found(effects, |effect| {
        if let Effect::Publish(Record::DeadLetter(dead_letter)) = effect { Some(dead_letter) } else { None }
    })
}

/// One outcome for each disposition.
fn outcomes() -> [Outcome; 6] {
    [
        answered(200),
        answered(500),
        failed(FailureKind::Timeout),
        answered(404),
        answered(410),
        failed(FailureKind::AddressRefused),
    ]
}

fn effects(outcome: Outcome) -> Vec<Effect> {
    Request::new(Scene::new(), outcome).settle().effects
}

#[test]
fn durable_first_hot_state_second_forgetting_last() {
    let end = ["publish result", "settle", "report", "give back"];
    let dead = ["publish dead letter", "publish result", "index", "settle", "report", "give back"];
    for outcome in outcomes() {
        let request = Request::new(Scene::new(), outcome.clone());
        let expected = match code(request.disposition()) {
            "delivered" => end.to_vec(),
            "retried" => vec!["publish result", "publish waiting", "schedule", "settle", "report", "give back"],
            "moved" => [&["publish to slow"][..], &end].concat(),
            "gone" => [&dead[..], &["publish setting", "decide"]].concat(),
            _ => dead.to_vec(),
        };
        assert_order(&request.settle().effects);
        assert_eq!(words(&request.settle().effects), expected, "{outcome:?}");
    }
}

#[test]
fn dl_3_a_tombstone_only_when_it_is_over_and_it_waited() {
    for outcome in outcomes() {
        for waited in [false, true] {
            let mut scene = Scene::new();
            scene.dispatch.waited = waited;
            let effects = Request::new(scene, outcome.clone()).settle().effects;
            assert_order(&effects);
            let terminal = settlement(&effects).status.phase.is_terminal();
            let forgotten = words(&effects).contains(&"publish tombstone");
            assert_eq!(forgotten, terminal && waited, "{outcome:?}, waited: {waited}");
            let words = words(&effects);
            let then = words.iter().skip_while(|word| **word != "publish tombstone").nth(1);
            let is_dead = words.contains(&"index");
            assert_eq!(then, (forgotten && is_dead).then_some(&"index"), "a next life can only begin after it");
        }
    }
}

#[test]
fn each_step_of_an_end_is_done_before_the_next() {
    let alone = ["publish dead letter", "publish tombstone", "index"];
    for outcome in outcomes() {
        let mut scene = Scene::new();
        scene.dispatch.waited = true;
        for effect in Request::new(scene, outcome).settle().effects {
            assert_eq!(
                effect.trip() == crate::effect::Trip::Alone,
                alone.contains(&word(&effect)),
                "{}",
                word(&effect)
            );
        }
    }
}

#[test]
fn each_request_has_one_result_and_is_settled_with_its_fence() {
    for outcome in outcomes() {
        let mut scene = Scene::new().attempt(3, 5);
        scene.dispatch.number = 9;
        let request = Request::new(scene, outcome.clone());
        let effects = request.settle().effects;
        let Settlement { fence, status, attempt } = settlement(&effects);
        let result = result(&effects);
        assert_eq!((*fence, attempt.as_ref()), (Some(FENCE), Some(&result.attempt)));
        let attempt = &result.attempt;
        assert_eq!((attempt.number, attempt.dispatch, attempt.cause, attempt.at), (3, 9, Cause::First, NOW));
        assert_eq!((attempt.status, attempt.error.clone()), (outcome.status(), outcome.error()));
        assert_eq!((status.attempts, status.last_attempt_at, status.updated_at), (3, Some(NOW), request.ended_at));
        assert_eq!((status.last_status, status.last_error.clone()), (outcome.status(), outcome.error()));
        assert_eq!(result.is_success(), code(request.disposition()) == "delivered");
        assert_eq!(result.url, "https://a.example/hooks", "SE-1: no query");
    }
}

#[test]
fn a_result_says_how_far_its_dispatch_came() {
    for (outcome, phase) in [
        (answered(200), Phase::Delivered),
        (answered(500), Phase::Waiting),
        (answered(404), Phase::Dead),
        (answered(410), Phase::Dead),
    ] {
        let effects = effects(outcome);
        assert_eq!((result(&effects).status.phase, result(&effects).status.dispatch), (phase, 1));
        assert_eq!(result(&effects).status, settlement(&effects).status);
    }
}

#[test]
fn a_status_says_why_its_webhook_waits_or_was_given_up() {
    use crate::dead_letter::ReasonType::{AddressRefused, Exhausted, Gone, Unrecoverable};
    let first = || Scene::new().attempt(1, 5);
    for (scene, outcome, waiting_for, reason_type) in [
        (first(), answered(200), None, None),
        (first(), answered(500), Some(WaitReason::Retry), None),
        (Scene::new().attempt(5, 5), answered(500), None, Some(Exhausted)),
        (first(), answered(404), None, Some(Unrecoverable)),
        (first(), answered(410), None, Some(Gone)),
        (first(), failed(FailureKind::AddressRefused), None, Some(AddressRefused)),
    ] {
        let effects = Request::new(scene, outcome).settle().effects;
        for status in [&result(&effects).status, &settlement(&effects).status] {
            assert_eq!((status.waiting_for, status.reason_type), (waiting_for, reason_type));
        }
    }
}

#[test]
fn the_result_of_a_moved_dispatch_does_not_claim_that_it_is_settled() {
    let effects = effects(failed(FailureKind::Timeout));
    let status = &result(&effects).status;
    assert_eq!(
        (status.dispatch, status.phase, status.settled()),
        (1, Phase::Delivering, 0),
        "the result may survive a crash alone"
    );
    let settled = &settlement(&effects).status;
    assert_eq!((settled.dispatch, settled.phase, settled.settled()), (2, Phase::Pending, 1));
    let Effect::Publish(Record::Dispatch(_, next)) = &effects[0] else { panic!("{effects:?}") };
    let request = Request::new(Scene::new(), failed(FailureKind::Timeout));
    assert_eq!((next.number, next.attempt, next.scheduled_at), (2, 2, request.ended_at), "at once");
}

#[test]
fn a_retry_waits_with_its_reason_and_its_endpoints_cooldown() {
    let known = Cooldown { probe_until: Some(later(5)), ..Cooldown::new(later(0), later(9)) };
    let mut scene = Scene::slow();
    scene.endpoint().cooldown = Some(known);
    let request = Request::new(scene.clone(), answered(500));
    let waits = waiting(&request.settle().effects);
    let Disposition::Retried(at) = request.disposition() else { panic!("not retried") };
    assert_eq!((waits.due, waits.lane, waits.reason.code()), (at, crate::lane::Lane::Fast, "retry"));
    assert_eq!((waits.dispatch.number, waits.dispatch.attempt), (2, 2));
    let failure = waits.dispatch.last_failure.clone().unwrap();
    assert_eq!((failure.status, failure.error.as_str()), (Some(500), "the endpoint answered 500"));
    assert_eq!(waits.cooldown, Some(known.settled()), "the cooldown that acquire read");
    assert_eq!(settlement(&request.settle().effects).status.next, Some(Next { due: at, attempt: 2 }));
    let rested = Request::new(scene, asking(503, Duration::from_mins(1)));
    let asked = rested.finished().report().cooldown;
    assert!(
        asked.is_some_and(|cooldown| waiting(&rested.settle().effects).cooldown == Some(cooldown)),
        "the cooldown just asked for"
    );
}

#[test]
fn a_dead_letter_says_why() {
    let excerpt = Outcome::Answered(Answer { status: 500, excerpt: "boom".to_owned(), ..Answer::default() });
    let redirect = Some("https://b.example/".to_owned());
    let redirect = Outcome::Answered(Answer { status: 302, location: redirect, ..Answer::default() });
    for (outcome, reason_type, reason, body) in [
        (
            excerpt,
            ReasonType::Exhausted,
            "all 2 attempts failed, the last one: the endpoint answered 500",
            Some("boom"),
        ),
        (failed(FailureKind::Dns), ReasonType::Exhausted, "all 2 attempts failed, the last one: it failed", None),
        (answered(404), ReasonType::Unrecoverable, "the endpoint answered 404", None),
        (redirect, ReasonType::Unrecoverable, "redirects are not followed: 302 to https://b.example/", None),
        (failed(FailureKind::Unsendable), ReasonType::Unrecoverable, "it failed", None),
        (failed(FailureKind::AddressRefused), ReasonType::AddressRefused, "it failed", None),
        (
            answered(410),
            ReasonType::Gone,
            "the endpoint answered 410: it wants no more webhooks and is disabled",
            None,
        ),
    ] {
        let request = Request::new(Scene::new().attempt(2, 2), outcome);
        let effects = request.settle().effects;
        let dead_letter = dead_letter(&effects);
        assert_eq!((dead_letter.reason_type, dead_letter.reason.as_str()), (reason_type, reason));
        assert_eq!((dead_letter.response_body.as_deref(), dead_letter.at), (body, request.ended_at));
        assert_eq!(
            (dead_letter.last_error.clone(), dead_letter.status),
            (request.outcome.error(), request.outcome.status())
        );
        assert_eq!(dead_letter.dispatch, request.scene.dispatch);
        let entry: &DeadLetterEntry =
            found(
                &effects,
                |effect| if let Effect::Write(Write::Index(entry)) = effect { Some(entry) } else { None },
            );
        assert_eq!(*entry, crate::rebuild::index_entry(dead_letter, entry.position), "RB-1: as a rebuild finds it");
    }
}

#[test]
fn a_410_disables_the_endpoint_for_its_tenant() {
    let request = Request::new(Scene::new(), answered(410));
    let webhook = &request.scene.dispatch.webhook;
    let expected = SettingDecision {
        endpoint: webhook.endpoint.hash().clone(),
        config_id: webhook.config_id.clone(),
        state: EndpointSetting::Gone,
        decided_at: request.ended_at,
    };
    let effects = request.settle().effects;
    assert!(effects.contains(&Effect::Publish(Record::Setting(expected.clone()))));
    assert!(effects.contains(&Effect::Write(Write::Decide(expected))));
}

#[test]
fn cl_1_what_another_holder_settled_is_not_dead_lettered() {
    let mut scene = Scene::new().attempt(5, 5);
    scene.dispatch.number = 7;
    let request = Request::new(scene, answered(500));
    let said = settlement(&request.settle().effects).status.clone();
    let left = |phase, dispatch| superseded(&request.finished(), &Status { dispatch, phase, ..said.clone() });
    for (phase, dispatch) in
        [(Phase::Delivered, 7), (Phase::Waiting, 7), (Phase::Held, 7), (Phase::Pending, 8), (Phase::Dead, 8)]
    {
        let settled = left(phase, dispatch).expect("it was settled");
        assert_eq!(code(settled.disposition), "superseded");
        assert_eq!(words(&settled.effects), ["publish result", "report", "give back"], "{phase:?} {dispatch}");
        assert!(!result(&settled.effects).status.phase.is_settled(), "another holder decided how it ended");
    }
    for (phase, dispatch) in [(Phase::Pending, 7), (Phase::Delivering, 7), (Phase::Waiting, 6), (Phase::Dead, 7)] {
        assert_eq!(left(phase, dispatch), None, "{phase:?} {dispatch}");
    }
}

#[test]
fn ln_1_leases_are_given_back_and_the_token_is_not() {
    for outcome in outcomes() {
        let effects = Request::new(Scene::slow(), outcome).settle().effects;
        let given =
            found(
                &effects,
                |effect| if let Effect::Write(Write::GiveBack(leases)) = effect { Some(leases) } else { None },
            );
        assert_eq!((given.on_endpoint, given.on_domain, given.unused_token), (true, false, None), "it was used");
    }
}

#[test]
fn a_dead_letter_keeps_the_answers_body_only_where_it_may() {
    for (policy, kept) in [(crate::policy::ResponseBody::Kept, true), (crate::policy::ResponseBody::Dropped, false)] {
        let mut scene = Scene::new();
        scene.policy.response_body = policy;
        let answer = Answer { status: 400, excerpt: "bad".to_owned(), ..Answer::default() };
        let settled = Request::new(scene, Outcome::Answered(answer)).settle();
        let dead_letter = settled.effects.into_iter().find_map(|effect| match effect {
            Effect::Publish(Record::DeadLetter(dead_letter)) => Some(dead_letter),
            Effect::Publish(_) | Effect::Write(_) | Effect::Change(_) | Effect::Forget(_) => None,
        });
        assert_eq!(dead_letter.unwrap().response_body.is_some(), kept);
    }
}

#[test]
fn a_missing_key_costs_no_attempt_and_dead_letters_nothing() {
    for scene in [Scene::new(), Scene::new().attempt(5, 5)] {
        let attempt = scene.situation().dispatch.attempt;
        let effects = Request::new(scene, failed(FailureKind::Sealed)).settle().effects;
        let waits = waiting(&effects);
        assert_eq!(waits.dispatch.attempt, attempt, "it is still to be made");
        assert!((later(120)..=later(241)).contains(&waits.due), "{:?}", waits.due);
        let Status { phase, attempts, ref last_error, .. } = settlement(&effects).status;
        assert_eq!((phase, attempts), (Phase::Waiting, attempt - 1));
        assert_eq!(last_error.as_deref(), Some("it failed"), "its attempts say why");
    }
}
