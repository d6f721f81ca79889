//! The enqueue function's process: init, load, wire, run.

use std::process::ExitCode;
use std::sync::Arc;

use clock_system::SystemClock;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lambda_kit::launch(enqueue::FUNCTION, Arc::new(SystemClock), async |context| {
        let handler = enqueue::wire(&context).await?;
        lambda_kit::until_shutdown(lambda_http::run_concurrent(handler.service(context))).await
    })
}
