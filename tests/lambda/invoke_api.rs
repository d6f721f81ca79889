//! The Invoke API in AWS's shapes, over HTTP.

use std::time::Duration;

use axum::http::StatusCode;
use howk_local::invoker::{Invoked, Invoker, http_client};
use howk_local::lambda::{ASYNC_BYTES_MAX, SYNC_BYTES_MAX, router};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::rig::{FUNCTION, Rig, until};

struct Served {
    rig: Rig,
    url: String,
    _server: JoinSet<()>,
}

async fn serve(rig: Rig) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (mut server, routes) = (JoinSet::new(), router(rig.lambda.clone()));
    server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    Served { rig, url, _server: server }
}

impl Served {
    fn post(&self, function: &str, kind: &str) -> RequestBuilder {
        let url = format!("{}/2015-03-31/functions/{function}/invocations", self.url);
        http_client().unwrap().post(url).header("x-amz-invocation-type", kind)
    }
}

fn header<'a>(answer: &'a Response, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

async fn body(answer: Response) -> Value {
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_synchronous_invocation_answers() {
    let served = serve(Rig::new(|_| {})).await;
    let sent = served.post(FUNCTION, "RequestResponse").header("x-amzn-trace-id", "Root=1-a").body(r#"{"a":1}"#);
    let answer = sent.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(header(&answer, "x-amz-executed-version"), Some("$LATEST"));
    assert_eq!(header(&answer, "x-amz-function-error"), None);
    let id = header(&answer, "x-amzn-requestid").unwrap().to_owned();
    let body = body(answer).await;
    assert_eq!(body["request_id"], json!(id));
    assert!(body["trace"].as_str().unwrap().starts_with("Root=1-a;Parent="), "{body}");
    assert_eq!(body["event"], json!({ "a": 1 }));
    let arn = "arn:aws:lambda:eu-west-1:000000000000:function:scripted:$LATEST";
    assert_eq!(served.post(arn, "RequestResponse").send().await.unwrap().status(), StatusCode::OK);
    served.rig.lambda.shut_down().await;
}

#[tokio::test]
async fn an_error_of_the_function_is_an_answer_with_a_header() {
    let served = serve(Rig::new(|_| {})).await;
    let answer = served.post(FUNCTION, "RequestResponse").body(r#"{"do":"fail"}"#).send().await.unwrap();
    assert_eq!((answer.status(), header(&answer, "x-amz-function-error")), (StatusCode::OK, Some("Unhandled")));
    assert_eq!(body(answer).await["errorMessage"], "as the test wants");
    served.rig.lambda.shut_down().await;
}

#[tokio::test]
async fn refusals_have_aws_s_shapes() {
    let served = serve(Rig::new(|spec| spec.reserved_concurrency = Some(0))).await;
    let too_large = "x".repeat(SYNC_BYTES_MAX + 1);
    let too_large_later = format!("\"{}\"", "x".repeat(ASYNC_BYTES_MAX - 1));
    let cases = [
        (served.post("other", "RequestResponse"), 404, "ResourceNotFoundException"),
        (served.post(FUNCTION, "RequestResponse"), 429, "TooManyRequestsException"),
        (served.post(FUNCTION, "RequestResponse").body(too_large), 413, "RequestTooLargeException"),
        (served.post(FUNCTION, "Event").body(too_large_later), 413, "RequestTooLargeException"),
        (served.post(FUNCTION, "RequestResponse").body("{"), 400, "InvalidRequestContentException"),
        (served.post(FUNCTION, "Later"), 400, "InvalidParameterValueException"),
    ];
    for (sent, status, kind) in cases {
        let answer = sent.send().await.unwrap();
        assert_eq!((answer.status().as_u16(), header(&answer, "x-amzn-errortype")), (status, Some(kind)));
        let body = body(answer).await;
        assert_eq!(body["Type"], "User", "{kind}");
        if status == 429 {
            assert_eq!(body["Reason"], "ReservedFunctionConcurrentInvocationLimitExceeded");
        }
    }
    assert_eq!(served.post(FUNCTION, "DryRun").send().await.unwrap().status(), StatusCode::NO_CONTENT);
    served.rig.lambda.shut_down().await;
}

#[tokio::test]
async fn an_asynchronous_invocation_is_accepted_and_run_later() {
    let served = serve(Rig::new(|_| {})).await;
    let answer = served.post(FUNCTION, "Event").body("{}").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let ran = async || served.rig.lambda.state_of(FUNCTION).unwrap().invocations == 1;
    until("it ran", ran).await;
    until("it is done", async || served.rig.lambda.state_of(FUNCTION).unwrap().queued == 0).await;
    served.rig.lambda.shut_down().await;
}

#[tokio::test]
async fn an_asynchronous_event_is_given_up_after_its_retries() {
    let served = serve(Rig::new(|spec| spec.retries = 0)).await;
    let invoker = Invoker::new(&served.url).unwrap();
    assert!(matches!(invoker.invoke_later(FUNCTION, r#"{"do":"fail"}"#).await, Invoked::Answered(_)));
    until("it is given up", async || served.rig.lambda.state_of(FUNCTION).unwrap().given_up == 1).await;
    served.rig.lambda.shut_down().await;
}

#[tokio::test]
async fn a_throttled_event_waits_and_is_given_up_when_it_is_too_old() {
    let long_lived = serve(Rig::new(|spec| spec.reserved_concurrency = Some(0))).await;
    let invoker = Invoker::new(&long_lived.url).unwrap();
    invoker.invoke_later(FUNCTION, "{}").await;
    until("it was throttled", async || long_lived.rig.lambda.state_of(FUNCTION).unwrap().throttles > 0).await;
    long_lived.rig.lambda.set_limits(FUNCTION, |limits| limits.reserved = None);
    until("it ran in the end", async || long_lived.rig.lambda.state_of(FUNCTION).unwrap().invocations == 1).await;
    long_lived.rig.lambda.shut_down().await;

    let short_lived = serve(Rig::new(|spec| {
        spec.reserved_concurrency = Some(0);
        spec.event_age = Duration::from_millis(500);
    }))
    .await;
    Invoker::new(&short_lived.url).unwrap().invoke_later(FUNCTION, "{}").await;
    until("it is given up", async || short_lived.rig.lambda.state_of(FUNCTION).unwrap().given_up == 1).await;
    short_lived.rig.lambda.shut_down().await;
}

#[tokio::test]
async fn the_client_distinguishes_every_result() {
    let served = serve(Rig::new(|_| {})).await;
    let invoker = Invoker::new(&served.url).unwrap();
    assert!(matches!(invoker.invoke(FUNCTION, "{}").await, Invoked::Answered(_)));
    assert!(matches!(invoker.invoke(FUNCTION, r#"{"do":"fail"}"#).await, Invoked::FunctionError(_)));
    assert!(matches!(invoker.invoke("other", "{}").await, Invoked::Unavailable(_)));
    assert_eq!(invoker.invoke(FUNCTION, "x".repeat(SYNC_BYTES_MAX + 1)).await, Invoked::TooLarge);
    served.rig.lambda.set_limits(FUNCTION, |limits| limits.reserved = Some(0));
    assert_eq!(invoker.invoke(FUNCTION, "{}").await, Invoked::Throttled);
    served.rig.lambda.shut_down().await;
    let unreachable = Invoker::new("http://127.0.0.1:9").unwrap();
    assert!(matches!(unreachable.invoke(FUNCTION, "{}").await, Invoked::Unavailable(_)));
}
