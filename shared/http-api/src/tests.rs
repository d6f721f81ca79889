//! The router against hand-made ports that record what reaches them.

mod auth;
mod dead_letters;
mod document;
mod endpoints;
mod enqueue;
mod health;
mod hostile;
mod reading;
mod world;
