//! Every value of the hot state comes back as it was, and no line panics.

use std::hint::black_box;

use domain::{
    Bucket, Circuit, ClaimHolder, ClaimState, DeadLetterEntry, EndpointSetting, EndpointState, Epoch, Fence, Phase,
    Position, ReasonType, RebuildCursor, RebuildScope, Tally, Timestamp, Tokens, WaitReason,
};
use proptest::collection::btree_map;
use proptest::option::of;
use proptest::prelude::*;

use super::{generators, samples};
use crate::code::Code;
use crate::hot;

fn circuit() -> impl Strategy<Value = Circuit> {
    prop_oneof![
        generators::time().prop_map(|since| Circuit::Closed { since }),
        generators::time().prop_map(|since| Circuit::Open { since }),
        (any::<u32>(), of(generators::time()))
            .prop_map(|(successes, probe_until)| Circuit::HalfOpen { successes, probe_until }),
    ]
}

fn endpoint_state() -> impl Strategy<Value = EndpointState> {
    let tally = any::<(u32, u32, u32)>();
    let buckets = btree_map(any::<u64>(), tally, 0..8).prop_map(|found| {
        let bucket = |(start, (failures, successes, slow))| Bucket {
            start: Timestamp::from_ms(start),
            tally: Tally { failures, successes, slow },
        };
        found.into_iter().map(bucket).collect()
    });
    (any::<u64>(), circuit(), of(generators::cooldown()), buckets)
        .prop_map(|(version, circuit, cooldown, buckets)| EndpointState { version, circuit, cooldown, buckets })
}

fn claim() -> impl Strategy<Value = ClaimState> {
    let held = of((any::<u64>(), generators::text().prop_map(ClaimHolder), generators::time()));
    (any::<u64>(), any::<bool>(), of(generators::next()), held, any::<u64>()).prop_map(
        |(settled, terminal, next, held, fence)| ClaimState { settled, terminal, next, held, fence: Fence(fence) },
    )
}

fn epoch() -> impl Strategy<Value = Epoch> {
    (any::<(u64, u64, bool)>(), generators::time()).prop_map(
        |((number, replayed, statuses_pending), completed_at)| Epoch {
            number,
            completed_at,
            replayed,
            statuses_pending,
        },
    )
}

fn rebuild_cursor() -> impl Strategy<Value = RebuildCursor> {
    let numbers = || proptest::collection::vec(any::<u64>(), 0..4);
    (any::<(u32, u64, bool)>(), numbers(), numbers(), generators::time()).prop_map(
        |((phase, replayed, all), offsets, ends, begun_at)| {
            let scope = if all { RebuildScope::All } else { RebuildScope::Waiting };
            RebuildCursor { phase, offsets, ends, replayed, scope, begun_at }
        },
    )
}

fn entry() -> impl Strategy<Value = DeadLetterEntry> {
    let whose = (generators::id(), generators::config(), generators::endpoint());
    (whose, generators::member::<ReasonType>(), generators::time(), any::<(u32, u64)>()).prop_map(
        |((id, config_id, endpoint), reason_type, at, (partition, offset))| DeadLetterEntry {
            id,
            config_id,
            endpoint: endpoint.hash().clone(),
            reason_type,
            at,
            position: Position { partition, offset },
        },
    )
}

proptest! {
    #[test]
    fn statuses_and_attempts_come_back(status in generators::status(), attempt in generators::attempt()) {
        prop_assert_eq!(&hot::status::decode(&status.id, &hot::status::encode(&status)).unwrap(), &status);
        prop_assert_eq!(hot::attempt::decode(&hot::attempt::encode(&attempt)).unwrap(), attempt);
    }

    #[test]
    fn claims_and_entries_come_back(claim in claim(), entry in entry()) {
        prop_assert_eq!(hot::claim::decode(&hot::claim::encode(&claim)).unwrap(), claim);
        prop_assert_eq!(hot::dead_letter::decode(&hot::dead_letter::encode(&entry)).unwrap(), entry);
    }

    #[test]
    fn an_endpoints_state_comes_back_from_fields_in_any_order(state in endpoint_state(), turn: prop::sample::Index) {
        let mut fields = hot::endpoint_state::encode(&state);
        fields.push(("tokens".to_owned(), "1 2".to_owned()));
        let by = turn.index(fields.len());
        fields.rotate_left(by);
        let read = hot::endpoint_state::decode(fields.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        prop_assert_eq!(read.unwrap(), state);
    }

    #[test]
    fn decisions_and_tokens_come_back(state in generators::member::<EndpointSetting>(), numbers: (u64, u64)) {
        let (full_at_us, last_turn_us) = numbers;
        let (at, tokens) = (Timestamp::from_ms(full_at_us), Tokens { full_at_us, last_turn_us });
        prop_assert_eq!(hot::setting::decode(&hot::setting::encode(state, at)).unwrap(), (state, at));
        prop_assert_eq!(hot::tokens::decode(&hot::tokens::encode(tokens)).unwrap(), tokens);
    }

    #[test]
    fn epochs_and_cursors_come_back(epoch in epoch(), cursor in rebuild_cursor()) {
        prop_assert_eq!(hot::epoch::decode(&hot::epoch::encode(&epoch)).unwrap(), epoch);
        prop_assert_eq!(hot::rebuild_cursor::decode(&hot::rebuild_cursor::encode(&cursor)).unwrap(), cursor);
    }

    #[test]
    fn no_line_panics(text in "[ -~]{0,60}|([0-9+-]{0,9} ){0,9}", name in "(bucket:)?[0-9 x]{0,5}") {
        let state = hot::endpoint_state::decode([("version", text.as_str()), ("circuit", &text), ("cooldown", &text)]);
        black_box([hot::status::decode(&samples::id(), &text).is_ok(), hot::bucket::decode(&name, &text).is_ok()]);
        black_box([hot::attempt::decode(&text).is_ok(), hot::claim::decode(&text).is_ok(), state.is_ok()]);
        black_box([hot::circuit::decode(&text).is_ok(), hot::cooldown::decode(&text).is_ok()]);
        black_box([hot::tokens::decode(&text).is_ok(), hot::setting::decode(&text).is_ok()]);
        black_box([hot::epoch::decode(&text).is_ok(), hot::rebuild_cursor::decode(&text).is_ok()]);
        prop_assert!(hot::dead_letter::decode(&text).is_err());
        prop_assert!(hot::waiting::decode(text.as_bytes()).is_err());
    }
}

#[test]
fn a_waiting_webhook_that_cannot_be_read_is_an_error() {
    for packed in [&b""[..], b"1", b"1 ", b"1 {}", b"x \x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]
    {
        assert!(hot::waiting::decode(packed).is_err(), "{packed:?}");
    }
}

#[test]
fn what_waits_is_the_value_of_howk_state() {
    let waiting = samples::waiting();
    let packed = hot::waiting::encode(&waiting).unwrap();
    let value = crate::record::encode(&domain::Record::Waiting(waiting.clone())).value.unwrap();
    let compressed = packed.strip_prefix(b"4 ").unwrap();
    assert_eq!(zstd::bulk::decompress(compressed, value.len()).unwrap(), value, "behind the dispatch");
    assert_eq!(hot::waiting::unpacked_bytes(&packed), value.len());
    assert_eq!(hot::waiting::decode(&packed), Ok(waiting));
}

#[test]
fn st_1_ranks_are_the_order_of_life() {
    let ranks: Vec<_> = Phase::ALL.iter().map(|phase| hot::status::rank(*phase)).collect();
    assert_eq!(ranks, [0, 1, 2, 3, 4, 5]);
    assert!(Phase::ALL.is_sorted(), "the list is in the order that merging goes by");
    assert!(WaitReason::ALL.is_sorted() && ReasonType::ALL.is_sorted(), "and so are the lists of reasons");
}

#[test]
fn a_broken_line_is_named() {
    let cases = [
        (hot::circuit::decode("ajar 5").err(), "circuit: unknown value \"ajar\""),
        (hot::circuit::decode("open").err(), "circuit: too few words"),
        (hot::circuit::decode("open 5 6").err(), "circuit: too many words"),
        (hot::circuit::decode("open x").err(), "circuit: a word is not the number that belongs there"),
        (hot::cooldown::decode("1 2 yes -").err(), "cooldown: a word is neither 0 nor 1"),
        (hot::claim::decode("1 2 0 - - 4 - -").err(), "claim: half of the claim is missing"),
        (hot::claim::decode("1 2 0 9 - - - -").err(), "claim: half of what follows is missing"),
        (hot::attempt::decode("1 2 first 3 4 200 oops").err(), "attempt: the text does not begin with +"),
        (hot::epoch::decode("1 2 3 whole").err(), "state of the epoch: unknown value \"whole\""),
        (hot::epoch::decode("1 2 rebuilt").err(), "epoch: a word is not the number that belongs there"),
        (
            hot::rebuild_cursor::decode("1 2 3,x - all 4").err(),
            "rebuild cursor: a list holds a word that is no number",
        ),
        (hot::rebuild_cursor::decode("1 2 - - some 4").err(), "scope of the rebuild: unknown value \"some\""),
        (hot::status::decode(&samples::id(), "0 0 1 6 0").err(), "status: unknown phase"),
        (hot::status::decode(&samples::id(), "0 0 1 - 0").err(), "status: unknown phase"),
        (hot::status::decode(&samples::id(), "0 0 1 2 0 - - - - 99 - 5 c -").err(), "status: unknown reason"),
        (hot::status::decode(&samples::id(), "0 0 1 4 0 - - - - - 99 5 c -").err(), "status: unknown reason_type"),
    ];
    for (found, expected) in cases {
        assert_eq!(found.map(|error| error.to_string()).as_deref(), Some(expected));
    }
}
