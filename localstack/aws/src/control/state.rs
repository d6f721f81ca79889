//! What the control API and the view show of a stack.

use serde::{Deserialize, Serialize};

use crate::event_source::SourceState;
use crate::lambda::FunctionState;
use crate::schedule::ScheduleState;

/// What the control API and the view show of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackState {
    /// The functions, by name.
    pub functions: Vec<FunctionState>,
    /// The event sources.
    pub event_sources: Vec<SourceState>,
    /// The schedules.
    pub schedules: Vec<ScheduleState>,
}
