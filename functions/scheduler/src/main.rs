//! The scheduler's process: init, load, wire, run.

use std::process::ExitCode;
use std::sync::Arc;

use clock_system::SystemClock;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lambda_kit::launch(scheduler::FUNCTION, Arc::new(SystemClock), async |context| {
        let handler = scheduler::wire(&context).await?;
        lambda_kit::serve(context, handler).await
    })
}
