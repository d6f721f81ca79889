//! The end of an execution environment.
//!
//! The platform sends SIGTERM only to an environment with a registered extension. Without one it kills the process, and
//! Kafka and Redis keep its connections until they time out. So an extension is registered that subscribes to no events,
//! and on SIGTERM the process closes its connections. There is nothing else to do: an invocation leaves no work behind.

use std::future;

use lambda_extension::Extension;
use tokio::signal::unix::{SignalKind, signal};

use crate::start::StartError;

/// The extension's name; the platform allows one of that name in a function.
const EXTENSION: &str = "howk-shutdown";

/// Serves until the platform ends the environment, or serving ends by itself.
///
/// # Errors
/// When signals cannot be received, or serving failed.
pub async fn until_shutdown(
    serving: impl Future<Output = Result<(), lambda_runtime::Error>>,
) -> Result<(), StartError> {
    let mut terminated = signal(SignalKind::terminate())?;
    let registered = Extension::new().with_extension_name(EXTENSION).with_events(&[]).register().await;
    let kept = async {
        match registered {
            Ok(extension) => drop(extension.run().await),
            // A local emulator may have no extensions: then the process is killed without SIGTERM, as in a crash.
            Err(error) => {
                tracing::debug!(error, "no extension could be registered: the environment will end without SIGTERM");
            }
        }
        future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        _ = terminated.recv() => {
            tracing::debug!("the environment ends");
            Ok(())
        }
        served = serving => served.map_err(|error| StartError::from(std::io::Error::other(error))),
        () = kept => Ok(()),
    }
}
