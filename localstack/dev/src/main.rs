//! `howk-dev`.
fn main() {}
