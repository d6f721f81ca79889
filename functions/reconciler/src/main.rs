//! The reconciler's process: init, load, wire, run.

use std::process::ExitCode;
use std::sync::Arc;

use clock_system::SystemClock;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lambda_kit::launch(reconciler::FUNCTION, Arc::new(SystemClock), async |context| {
        let handler = reconciler::wire(&context).await?;
        lambda_kit::serve(context, handler).await
    })
}
