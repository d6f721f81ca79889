//! howk in one process.
