//! Every byte that leaves a process.
