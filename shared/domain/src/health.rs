//! The health of an endpoint: what a finished request, or its health URL, says about it.

/// What an answer says about the endpoint's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The endpoint answered and can take work. Of a health URL: 200 and a low load figure, or none.
    Good,
    /// The request failed. Of a health URL: any other answer, or none in time.
    Bad,
    /// The answer counts neither way: the endpoint sent `Retry-After`, which the cooldown takes care of, or it was only
    /// slower than the fast lane waits, or no request was made. A health URL never says this.
    Neutral,
}

impl Health {
    /// The word for log lines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "ready",
            Self::Bad => "busy",
            Self::Neutral => "neither ready nor busy",
        }
    }
}
