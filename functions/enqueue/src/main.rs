//! The enqueue function's process: init, load, wire, run.

use std::process::ExitCode;
use std::sync::Arc;

use clock_system::SystemClock;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lambda_kit::launch(enqueue::FUNCTION, Arc::new(SystemClock), async |kit| {
        let front = enqueue::wire(&kit).await?;
        lambda_kit::until_shutdown(lambda_http::run_concurrent(front.service(kit))).await
    })
}
