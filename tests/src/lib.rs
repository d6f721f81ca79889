//! The tests of howk, one binary per tier.
