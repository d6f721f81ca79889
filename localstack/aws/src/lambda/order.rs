//! The orders that an environment takes.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::answer::Answer;
use super::invocation::Invocation;

/// An order to an environment.
#[derive(Debug)]
pub(super) enum Order {
    /// Run this invocation. The environment is claimed, so no second one comes before the first has ended.
    Invoke(Arc<Invocation>, oneshot::Sender<Answer>),
    /// Stop the process where it is.
    Freeze,
    /// Let the process go on.
    Thaw,
    /// Kill the process at once.
    Kill,
    /// End the process in good order, once its invocation has ended.
    Retire,
}
