//! What every format promises: bytes that do not drift, values that come back, and no panic on any bytes.

mod generators;
mod golden;
mod hostile;
mod hot;
mod lambda;
mod payloads;
mod records;
mod samples;
