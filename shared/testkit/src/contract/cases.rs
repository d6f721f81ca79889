//! The names of all cases, and the macro that makes tests of them.

/// Makes one test of every case of a suite, each in a module of the suite's name.
///
/// `contract_tests!(store, make)` makes those of every port of the hot state; `make` is an async function without
/// arguments that returns a fresh [`Store`](crate::contract::Store). `contract_tests!(log, make)` makes those of log and
/// feed; `make` returns a fresh [`LogUnderTest`](crate::contract::LogUnderTest). `contract_tests!(sender, make)` makes those
/// of the sender; `make` returns a [`SenderUnderTest`](crate::contract::SenderUnderTest).
#[macro_export]
macro_rules! contract_tests {
    (store, $make:ident) => {
        $crate::contract_tests!(claims, $make);
        $crate::contract_tests!(leases, $make);
        $crate::contract_tests!(tokens, $make);
        $crate::contract_tests!(circuits, $make);
        $crate::contract_tests!(model, $make);
        $crate::contract_tests!(statuses, $make);
        $crate::contract_tests!(schedule, $make);
        $crate::contract_tests!(endpoints, $make);
        $crate::contract_tests!(dead_letters, $make);
        $crate::contract_tests!(stats, $make);
        $crate::contract_tests!(recovery, $make);
    };
    (log, $make:ident) => {
        $crate::contract_tests!(replay, $make);
        $crate::contract_tests!(feed, $make);
    };
    (claims, $make:ident) => {
        $crate::contract_tests!(@cases claims, $make, [
            a_free_claim_is_taken,
            one_of_64_holders_gets_the_claim,
            a_claim_is_taken_over_when_it_has_expired,
            an_holder_takes_its_own_claim_again,
            fences_are_at_least_the_time,
            a_settled_dispatch_is_a_duplicate,
            an_end_outranks_what_a_loss_let_happen_after_it,
            a_duplicate_learns_what_follows_it_exactly,
            a_stale_fence_settles_nothing,
            settling_twice_is_settling_once,
            a_settlement_without_a_fence_merges,
            a_lost_store_takes_the_word_of_who_still_works,
            a_claim_given_back_is_free,
            a_stale_fence_gives_nothing_back,
            a_later_dispatch_supersedes_an_earlier_one,
            an_ended_webhook_lives_again_only_by_its_replay,
            a_merged_status_settles_its_dispatch,
            one_settlement_of_64_under_one_fence_counts,
        ]);
    };
    (leases, $make:ident) => {
        $crate::contract_tests!(@cases leases, $make, [
            of_64_at_once_eight_enter_an_endpoint_of_eight,
            the_same_holder_takes_one_lease,
            a_rival_takes_and_gives_back_its_own_lease,
            a_renewed_lease_lives_longer,
            an_expired_lease_is_free,
            a_lease_given_back_is_free_once,
            a_refused_dispatch_leaves_the_leases_of_others,
            each_dispatch_holds_its_own_lease,
            endpoints_of_one_domain_have_their_own_limits,
            of_64_at_once_five_enter_a_domain_of_five,
            domain_leases_are_renewed_given_back_and_expire,
            without_a_domain_limit_there_is_no_lease,
        ]);
    };
    (tokens, $make:ident) => {
        $crate::contract_tests!(@cases tokens, $make, [
            without_a_pace_the_way_is_free,
            one_a_minute_is_one_a_minute,
            of_64_at_once_one_gets_the_token,
            a_token_given_back_is_there_again,
            every_endpoint_has_its_own_pace,
        ]);
    };
    (circuits, $make:ident) => {
        $crate::contract_tests!(@cases circuits, $make, [
            a_fresh_endpoint_is_normal,
            of_500_reports_at_once_none_is_lost,
            a_report_tells_the_state_after_it,
            every_bucket_counts_on_its_own,
            cooldowns_merge_in_any_order,
            of_64_cooldowns_at_once_the_longest_stays,
            the_version_counts_changes_of_the_cooldown,
            a_change_is_made_on_the_version_it_was_decided_on,
            every_state_of_a_circuit_is_kept,
            of_64_changes_at_once_one_is_made,
            reports_do_not_make_a_change_lose,
        ]);
    };
    (model, $make:ident) => {
        $crate::contract_tests!(@cases model, $make, [
            claims_go_as_the_domain_says,
            tokens_go_as_the_domain_says,
        ]);
    };
    (statuses, $make:ident) => {
        $crate::contract_tests!(@cases statuses, $make, [
            statuses_come_in_the_order_asked_for,
            a_status_is_read_back_whole,
            a_webhook_without_attempts_is_known,
            statuses_merge_in_any_order,
            reasons_merge_in_any_order,
            a_delivery_outranks_a_dead_letter_of_its_dispatch,
            the_first_status_only_creates,
            of_64_merges_at_once_none_is_lost,
            a_claimed_pending_webhook_reads_as_delivering,
            a_claim_hides_no_settled_status,
            only_the_last_attempts_are_kept,
            attempts_come_in_any_order_and_once,
            of_64_attempts_at_once_the_last_are_kept,
        ]);
    };
    (schedule, $make:ident) => {
        $crate::contract_tests!(@cases schedule, $make, [
            an_empty_schedule_has_nothing_due,
            x13_member_and_record_move_together,
            an_entry_is_due_at_its_time,
            the_earliest_due_are_leased_first,
            a_leased_entry_comes_again_after_its_lease,
            of_64_schedulers_each_gets_its_own,
            a_forgotten_entry_is_gone,
            only_the_lease_that_holds_forgets,
            x7_an_entry_written_while_leased_survives_the_old_lease,
            an_earlier_dispatch_never_overwrites,
            a_later_dispatch_takes_the_place,
            dispatches_come_in_any_order,
            unscheduling_takes_out_up_to_its_dispatch,
            the_next_due_time_heeds_leases,
            depth_counts_what_waits_and_what_is_due,
        ]);
    };
    (endpoints, $make:ident) => {
        $crate::contract_tests!(@cases endpoints, $make, [
            nothing_is_known_of_a_fresh_endpoint,
            a_view_shows_what_is_known,
            the_last_decision_wins_in_any_order,
            decisions_of_one_moment_have_one_winner,
            a_decision_is_one_tenants_own,
            a_view_shows_the_settings_that_matter,
            a_held_webhook_stays_until_it_is_taken_out,
            holding_keeps_the_later_dispatch,
            every_tenant_holds_apart,
            of_64_held_at_once_none_is_lost,
            every_kind_of_unhealthy_endpoint_is_listed,
            an_endpoint_back_to_normal_leaves_the_list,
            a_busy_endpoint_is_not_unhealthy,
            the_list_is_read_in_pages,
        ]);
    };
    (dead_letters, $make:ident) => {
        $crate::contract_tests!(@cases dead_letters, $make, [
            an_entry_is_found_by_its_webhook,
            the_oldest_are_listed_first,
            a_filter_admits_what_it_names,
            the_list_is_read_in_pages,
            one_of_64_callers_gets_the_lease,
            a_lease_ends_at_its_time,
            an_entry_that_is_gone_is_not_leased,
            an_old_entry_does_not_forget_its_successor,
            the_latest_dead_letter_stays_in_any_order,
            listing_again_keeps_the_lease,
        ]);
    };
    (stats, $make:ident) => {
        $crate::contract_tests!(@cases stats, $make, [
            an_hour_without_counts_is_zero,
            hours_are_summed_as_asked_for,
            of_64_additions_at_once_none_is_lost,
            an_endpoint_counts_once,
        ]);
    };
    (recovery, $make:ident) => {
        $crate::contract_tests!(@cases recovery, $make, [
            a_fresh_store_counts_as_lost,
            one_of_64_gets_the_lock,
            a_renewal_keeps_fence_and_cursor,
            an_expired_lock_is_taken_over_with_its_cursor,
            a_lock_that_is_given_back_is_free_at_once,
            a_stale_fence_moves_nothing,
            a_completed_rebuild_leaves_its_mark,
            the_fingerprint_knows_no_order,
            the_fingerprint_knows_no_leases,
            the_fingerprint_tells_every_difference,
        ]);
    };
    (replay, $make:ident) => {
        $crate::contract_tests!(@cases log, $make, [
            every_kind_of_record_is_read_back,
            positions_are_in_the_order_of_the_records,
            publishing_nothing_is_nothing,
            a_key_has_one_partition,
            records_of_one_key_keep_their_order,
            of_32_publishers_at_once_nothing_is_lost,
            extents_grow_by_what_is_published,
            reading_past_the_end_is_empty,
            compaction_keeps_the_last_of_each_key,
            compaction_keeps_nothing_of_a_key_that_ended,
            a_key_lives_again_after_its_tombstone,
        ]);
    };
    (feed, $make:ident) => {
        $crate::contract_tests!(@cases feed, $make, [
            everything_is_handed_out,
            a_member_waits_for_records,
            records_come_in_the_order_of_their_partition,
            a_new_member_goes_on_after_what_was_committed,
            what_was_not_committed_is_handed_out_again,
            a_commit_is_exact,
            a_commit_never_moves_back,
            two_members_see_everything,
            the_partitions_of_a_dead_member_change_hands,
            lag_counts_what_is_not_committed,
        ]);
    };
    (sender, $make:ident) => {
        $crate::contract_tests!(@cases sender, $make, [
            one_call_makes_one_request,
            every_status_is_an_answer,
            a_redirect_is_not_followed,
            an_answer_is_read_within_bounds,
            the_wish_for_rest_is_told,
            a_request_ends_by_its_timeout,
            requests_do_not_wait_for_each_other,
            a_refused_connection_is_an_outcome,
            a_health_url_is_asked,
            an_endpoint_that_may_be_called_is_vetted,
        ]);
    };
    (@cases $suite:ident, $make:ident, [$($case:ident,)*]) => {
        mod $suite {
            use super::$make;

            $(
                #[test]
                fn $case() {
                    $crate::contract::run(async {
                        let made = $make().await;
                        $crate::contract::$suite::$case(&made).await;
                    });
                }
            )*
        }
    };
}

#[cfg(test)]
mod tests {
    /// A case that is written and not named would never run.
    #[test]
    fn every_case_of_every_suite_is_named() {
        let suites = [
            include_str!("claims.rs"),
            include_str!("leases.rs"),
            include_str!("tokens.rs"),
            include_str!("circuits.rs"),
            include_str!("model.rs"),
            include_str!("statuses.rs"),
            include_str!("schedule.rs"),
            include_str!("endpoints.rs"),
            include_str!("dead_letters.rs"),
            include_str!("stats.rs"),
            include_str!("recovery.rs"),
            include_str!("log.rs"),
            include_str!("feed.rs"),
            include_str!("sender.rs"),
        ];
        let named = include_str!("cases.rs");
        let written =
            suites.iter().flat_map(|suite| suite.lines()).filter_map(|line| line.strip_prefix("pub async fn "));
        let mut count = 0;
        for name in written.filter_map(|line| line.split('(').next()) {
            assert!(named.contains(&format!(" {name},\n")), "{name} is not named");
            count += 1;
        }
        assert!(count > 100, "only {count} cases");
    }
}
