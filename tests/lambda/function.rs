//! A function for tests of the stack itself: its event says what it does. It is a real `lambda_runtime` client.
//!
//! Events: `{"do":"echo"}` answers with the data of its invocation, `fail` reports an error, `exit` ends the process,
//! `hang` never answers, `large` answers with more bytes than is allowed, `linger` answers and then keeps its process
//! busy in another thread. `SCRIPT=init-error`, `init-exit` and `init-hang` are what it does instead of starting.
#![expect(
    clippy::disallowed_methods,
    clippy::exit,
    clippy::print_stderr,
    reason = "a function for tests, which does what its event says"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

static COUNT: AtomicU64 = AtomicU64::new(0);

#[tokio::main]
async fn main() -> Result<(), Error> {
    match std::env::var("SCRIPT").unwrap_or_default().as_str() {
        "init-error" => return init_error().await,
        "init-exit" => std::process::exit(3),
        "init-hang" => std::future::pending().await,
        _ => lambda_runtime::run(service_fn(answer)).await,
    }
}

async fn answer(event: LambdaEvent<Value>) -> Result<Value, Error> {
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let (payload, context) = event.into_parts();
    eprintln!("invocation {count}");
    match payload.get("do").and_then(Value::as_str).unwrap_or("echo") {
        "fail" => Err(Error::from("as the test wants")),
        "exit" => std::process::exit(7),
        "hang" => std::future::pending().await,
        "large" => Ok(Value::from("x".repeat(6 * 1024 * 1024 + 1))),
        _ => Ok(json!({
            "pid": std::process::id(),
            "count": count,
            "request_id": context.request_id,
            "deadline": context.deadline,
            "arn": context.invoked_function_arn,
            "trace": context.xray_trace_id,
            "event": payload,
            "variables": std::env::vars().filter(|(name, _)| name.starts_with("AWS") || name == "OWN").collect::<Vec<_>>(),
        })),
    }
}

/// Reports to the Runtime API why it can't start, as a runtime does, and ends.
async fn init_error() -> Result<(), Error> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let body = r#"{"errorType":"Config","errorMessage":"HOWK_X is missing"}"#;
    let api = std::env::var("AWS_LAMBDA_RUNTIME_API")?;
    let mut stream = tokio::net::TcpStream::connect(&api).await?;
    let head = "POST /2018-06-01/runtime/init/error HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ";
    stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    std::process::exit(1)
}
