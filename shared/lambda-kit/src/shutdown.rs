//! The end of an execution environment.
//!
//! The platform tells a process about it only if an extension is registered; without one it is killed, and what it was
//! connected to keeps its connections until they time out. So one is registered that asks for no events, and on SIGTERM the
//! process leaves in order: its connections are closed. Nothing else waits to be done: an invocation leaves nothing behind.

use std::future;

use lambda_extension::Extension;
use tokio::signal::unix::{SignalKind, signal};

use crate::start::StartError;

/// The extension's name; a function has one of that name.
const EXTENSION: &str = "howk-shutdown";

/// Serves until the platform ends the environment, or serving ends by itself.
///
/// # Errors
/// When signals cannot be listened for, or serving failed.
pub async fn until_shutdown(
    serving: impl Future<Output = Result<(), lambda_runtime::Error>>,
) -> Result<(), StartError> {
    let mut told = signal(SignalKind::terminate())?;
    let registered = Extension::new().with_extension_name(EXTENSION).with_events(&[]).register().await;
    let kept = async {
        match registered {
            Ok(extension) => drop(extension.run().await),
            // A local emulator may have no extensions; then the end comes without notice, as a crash does.
            Err(error) => tracing::debug!(error, "the end of the environment will come without notice"),
        }
        future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        _ = told.recv() => {
            tracing::debug!("the environment ends");
            Ok(())
        }
        served = serving => served.map_err(|error| StartError::from(std::io::Error::other(error))),
        () = kept => Ok(()),
    }
}
