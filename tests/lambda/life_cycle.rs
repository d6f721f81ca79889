//! Environments from their start to their end: real processes, real signals, real deadlines.

use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::time::Clock;
use howk_local::lambda::{InvokeError, Line, Phase};
use serde_json::json;

use crate::rig::{FUNCTION, Rig, process_state, until};

#[tokio::test]
async fn invocations_one_after_the_other_use_one_environment() {
    let rig = Rig::new(|_| {});
    let (first, second) = (rig.echo().await, rig.echo().await);
    assert_eq!((&first["count"], &second["count"]), (&json!(1), &json!(2)));
    assert_eq!(first["pid"], second["pid"]);
    assert_ne!(first["request_id"], second["request_id"]);
    let state = rig.lambda.state_of(FUNCTION).unwrap();
    assert_eq!((state.cold_starts, state.errors), (1, 0));
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn a_function_gets_the_headers_and_variables_of_lambda() {
    let rig = Rig::new(|spec| spec.memory_mb = 256);
    let echo = rig.echo().await;
    assert_eq!(echo["arn"], "arn:aws:lambda:eu-west-1:000000000000:function:scripted");
    assert!(echo["trace"].as_str().unwrap().starts_with("Root=1-"), "{echo}");
    let left = echo["deadline"].as_u64().unwrap().saturating_sub(SystemClock.now().as_ms());
    assert!((1..=20_000).contains(&left), "a deadline is a real time: {left} ms are left");
    let variables = echo["variables"].as_array().unwrap();
    for expected in [
        ["AWS_LAMBDA_FUNCTION_NAME", "scripted"],
        ["AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"],
        ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"],
        ["AWS_REGION", "eu-west-1"],
        ["OWN", "yes"],
    ] {
        assert!(variables.contains(&json!(expected)), "{expected:?}: {variables:?}");
    }
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn invocations_at_once_use_one_environment_each_and_these_stay() {
    let rig = Rig::new(|_| {});
    futures::future::join_all((0..4).map(|_| rig.echo())).await;
    until("all are idle", async || rig.environments().iter().all(|one| one.phase == Phase::Idle)).await;
    let started = rig.lambda.state_of(FUNCTION).unwrap().cold_starts;
    assert!((1..=4).contains(&started), "{started}");
    rig.echo().await;
    assert_eq!(rig.lambda.state_of(FUNCTION).unwrap().cold_starts, started);
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn between_invocations_the_process_is_stopped() {
    let rig = Rig::new(|_| {});
    rig.echo().await;
    let idle = rig.environment(Phase::Idle).await;
    assert!(idle.frozen);
    until("the system says so", async || process_state(idle.pid) == Some('T')).await;
    rig.echo().await;
    let again = rig.environment(Phase::Idle).await;
    assert_eq!(again.pid, idle.pid, "it went on");
    rig.lambda.shut_down().await;
    assert_eq!(process_state(idle.pid), None, "no process is left");
}

#[tokio::test]
async fn a_timeout_kills_and_the_next_invocation_starts_anew() {
    let rig = Rig::new(|spec| spec.timeout = Duration::from_millis(600));
    let before = rig.echo().await;
    let begun = SystemClock.now();
    let error = rig.failure(json!({ "do": "hang" })).await;
    assert!(SystemClock.now().since(begun) >= Duration::from_millis(550), "the deadline is real");
    assert_eq!(error["errorType"], "Sandbox.Timedout");
    assert!(error["errorMessage"].as_str().unwrap().ends_with("Task timed out after 0.60 seconds"), "{error}");
    let pid = u32::try_from(before["pid"].as_u64().unwrap()).unwrap();
    assert_eq!(process_state(pid), None, "the process is gone when the caller gets the timeout");
    let after = rig.echo().await;
    assert_ne!(after["pid"], before["pid"]);
    assert_eq!(after["count"], 1);
    let state = rig.lambda.state_of(FUNCTION).unwrap();
    assert_eq!((state.timeouts, state.errors, state.cold_starts), (1, 1, 2));
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn an_error_is_the_function_s_and_its_environment_stays() {
    let rig = Rig::new(|_| {});
    let error = rig.failure(json!({ "do": "fail" })).await;
    assert_eq!(error["errorMessage"], "as the test wants");
    assert_eq!(rig.echo().await["count"], 2);
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn a_process_that_ends_mid_invocation_is_an_error() {
    let rig = Rig::new(|_| {});
    rig.echo().await;
    let error = rig.failure(json!({ "do": "exit" })).await;
    assert_eq!(error["errorType"], "Runtime.ExitError");
    assert!(error["errorMessage"].as_str().unwrap().contains("exit status: 7"), "{error}");
    assert_eq!(rig.echo().await["count"], 1);
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn a_kill_at_our_request_is_an_error_of_its_invocation_alone() {
    let rig = Rig::new(|_| {});
    let (error, ()) = tokio::join!(rig.failure(json!({ "do": "hang" })), async {
        let busy = rig.environment(Phase::Busy).await;
        let other = rig.echo().await;
        assert_ne!(other["pid"], json!(busy.pid));
        assert!(rig.lambda.kill(busy.id));
    });
    assert!(error["errorMessage"].as_str().unwrap().contains("signal: killed"), "{error}");
    assert_eq!(rig.echo().await["count"], 2, "the other one lives");
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn frozen_at_our_request_it_runs_into_its_deadline_and_thawed_it_goes_on() {
    let rig = Rig::new(|spec| spec.timeout = Duration::from_millis(800));
    let (error, ()) = tokio::join!(rig.failure(json!({ "do": "hang" })), async {
        let busy = rig.environment(Phase::Busy).await;
        assert!(rig.lambda.freeze(busy.id));
        until("it is stopped", async || process_state(busy.pid).is_none_or(|state| state == 'T')).await;
    });
    assert_eq!(error["errorType"], "Sandbox.Timedout");
    rig.echo().await;
    let idle = rig.environment(Phase::Idle).await;
    assert!(rig.lambda.freeze(idle.id));
    let (echo, ()) = tokio::join!(rig.echo(), async {
        rig.environment(Phase::Busy).await;
        assert!(rig.lambda.thaw(idle.id));
    });
    assert_eq!(echo["count"], 2);
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn beyond_its_concurrency_a_function_is_throttled() {
    let rig = Rig::new(|spec| spec.reserved_concurrency = Some(1));
    let ((), hung) = tokio::join!(
        async {
            let busy = rig.environment(Phase::Busy).await;
            let refused = rig.try_invoke(json!({})).await.unwrap_err();
            assert_eq!(refused, InvokeError::Throttled("ReservedFunctionConcurrentInvocationLimitExceeded"));
            assert!(rig.lambda.set_limits(FUNCTION, |limits| limits.reserved = Some(2)));
            rig.echo().await;
            rig.lambda.kill(busy.id);
        },
        rig.try_invoke(json!({ "do": "hang" }))
    );
    assert!(hung.unwrap().failed);
    assert_eq!(rig.lambda.state_of(FUNCTION).unwrap().throttles, 1);
    rig.lambda.set_limits(FUNCTION, |limits| limits.reserved = Some(0));
    assert!(
        matches!(rig.try_invoke(json!({})).await, Err(InvokeError::Throttled(_))),
        "nothing runs when nothing may"
    );
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn a_burst_starts_no_more_environments_than_may_run() {
    let rig = Rig::with_account(3, |_| {});
    let answers = futures::future::join_all((0..12).map(|_| rig.try_invoke(json!({})))).await;
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(answered >= 3, "{answered}");
    assert!(rig.lambda.state_of(FUNCTION).unwrap().cold_starts <= 3);
    let throttled = InvokeError::Throttled("ConcurrentInvocationLimitExceeded");
    assert!(answers.iter().all(|answer| answer.as_ref().err().is_none_or(|refused| *refused == throttled)));
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn the_reason_why_a_function_does_not_start_is_reported() {
    let rig = Rig::scripted("init-error");
    let error = rig.lambda.warm(FUNCTION).await.unwrap_err().to_string();
    assert!(error.contains("Config: HOWK_X is missing"), "{error}");
    assert_eq!(rig.failure(json!({})).await["errorMessage"], "HOWK_X is missing");
    rig.lambda.shut_down().await;

    let rig = Rig::scripted("init-exit");
    let error = rig.lambda.warm(FUNCTION).await.unwrap_err().to_string();
    assert!(error.contains("exit status: 3"), "{error}");
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn the_output_of_a_function_is_passed_on_line_by_line() {
    let rig = Rig::new(|_| {});
    rig.echo().await;
    let environment = rig.environments()[0].id;
    let line = Line { function: FUNCTION.to_owned(), environment, text: "invocation 1".to_owned() };
    until("its line comes", async || rig.lines.lock().contains(&line)).await;
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_error() {
    let rig = Rig::new(|_| {});
    let error = rig.failure(json!({ "do": "large" })).await;
    assert_eq!(error["errorType"], "Function.ResponseSizeTooLarge");
    rig.lambda.shut_down().await;
}

#[tokio::test]
async fn at_shutdown_a_hanging_invocation_is_killed_and_its_caller_gets_an_error() {
    let rig = Rig::new(|_| {});
    let (error, pid) = tokio::join!(rig.failure(json!({ "do": "hang" })), async {
        let busy = rig.environment(Phase::Busy).await;
        rig.lambda.shut_down().await;
        busy.pid
    });
    assert!(error["errorMessage"].as_str().unwrap().contains("killed"), "{error}");
    assert_eq!(process_state(pid), None);
    assert!(rig.environments().is_empty());
    assert!(matches!(rig.try_invoke(json!({})).await, Err(InvokeError::NoEnvironment(_))));
}
