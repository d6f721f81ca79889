//! The reasons for which a webhook waits.

/// Why a webhook waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitReason {
    /// An attempt failed.
    Retry,
    /// Its endpoint has a cooldown.
    Cooldown,
    /// Its endpoint's circuit is open or half-open.
    Circuit,
    /// Too many requests are under way to its endpoint or domain.
    Busy,
    /// The slow lane's pace.
    Pace,
    /// Another holder has the claim on the same dispatch.
    Claimed,
    /// Its owner paused the endpoint.
    Paused,
    /// Its owner, or a 410, disabled the endpoint.
    Disabled,
}

impl WaitReason {
    /// The stable code of the reason.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cooldown => "cooldown",
            Self::Circuit => "circuit",
            Self::Busy => "busy",
            Self::Pace => "pace",
            Self::Claimed => "claimed",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }

    /// Every reason, for parsers.
    pub const ALL: [Self; 8] = [
        Self::Retry,
        Self::Cooldown,
        Self::Circuit,
        Self::Busy,
        Self::Pace,
        Self::Claimed,
        Self::Paused,
        Self::Disabled,
    ];

    /// Whether the webhook waits for its owner rather than for a time.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Paused | Self::Disabled)
    }
}
