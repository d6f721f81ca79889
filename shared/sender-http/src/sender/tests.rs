mod bounds;
mod probe;
mod refusals;
mod tls;
mod wire;
