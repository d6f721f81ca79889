//! howk-load measures.
