//! Faults through the real functions: each test has a Kafka and a Redis of the rig's own while it runs, and balances the
//! books at its end (DL-1, and a cause for every request too many).

mod batches;
mod credentials;
mod endpoints;
mod functions;
mod lanes;
mod long_run;
mod neighbours;
mod scene;
mod schedulers;
mod services;
