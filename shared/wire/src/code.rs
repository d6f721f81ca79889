//! The stable codes of the domain's closed lists.

use domain::{Cause, EndpointSetting, Lane, Phase, ReasonType, WaitReason};

use crate::unreadable::Unreadable;

/// A closed list whose members have codes.
pub(crate) trait Code: Copy + 'static {
    /// What the list is of, as errors name it.
    const PART: &'static str;
    /// Every member.
    const ALL: &'static [Self];

    /// The member's code: lower case, without white space.
    fn code(self) -> &'static str;

    /// Reads a member back from its code.
    fn read(code: &str) -> Result<Self, Unreadable> {
        let found = Self::ALL.iter().find(|member| member.code() == code);
        found.copied().ok_or_else(|| Unreadable::unknown(Self::PART, code))
    }
}

impl Code for Lane {
    const PART: &'static str = "lane";
    const ALL: &'static [Self] = &[Self::Fast, Self::Slow];

    fn code(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Slow => "slow",
        }
    }
}

impl Code for WaitReason {
    const PART: &'static str = "reason";
    const ALL: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        self.code()
    }
}

impl Code for ReasonType {
    const PART: &'static str = "reason_type";
    const ALL: &'static [Self] = &Self::ALL;

    fn code(self) -> &'static str {
        self.code()
    }
}

impl Code for EndpointSetting {
    const PART: &'static str = "state";
    const ALL: &'static [Self] = &[Self::Active, Self::Paused, Self::Disabled, Self::Gone];

    fn code(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Gone => "gone",
        }
    }
}

impl Code for Phase {
    const PART: &'static str = "phase";
    const ALL: &'static [Self] =
        &[Self::Pending, Self::Delivering, Self::Waiting, Self::Held, Self::Dead, Self::Delivered];

    fn code(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivering => "delivering",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }
}

impl Code for Cause {
    const PART: &'static str = "cause";
    const ALL: &'static [Self] = &[Self::First, Self::Retry, Self::Replay, Self::Takeover, Self::Unclaimed];

    fn code(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Retry => "retry",
            Self::Replay => "replay",
            Self::Takeover => "takeover",
            Self::Unclaimed => "unclaimed",
        }
    }
}
