//! The reconciler's process: init, load, wire, run.

use std::process::ExitCode;
use std::sync::Arc;

use clock_system::SystemClock;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lambda_kit::launch(reconciler::FUNCTION, Arc::new(SystemClock), async |kit| {
        let handler = reconciler::wire(&kit).await?;
        lambda_kit::serve(kit, handler).await
    })
}
