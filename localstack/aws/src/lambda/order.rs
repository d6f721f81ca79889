//! What can be asked of an environment.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::answer::Answer;
use super::invocation::Invocation;

/// What an environment has to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Run this. The environment is claimed, so no second one comes before the first has ended.
    Invoke(Arc<Invocation>, oneshot::Sender<Answer>),
    /// Stop the process where it is.
    Freeze,
    /// Let it go on.
    Thaw,
    /// End it at once.
    Kill,
    /// End it in good order, when its invocation has ended.
    Retire,
}
