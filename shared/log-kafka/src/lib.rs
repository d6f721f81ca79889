//! Ports `log` and `feed` on Apache Kafka, and the making and checking of its topics.
//!
//! The roots wire it: the functions that publish or replay, and servers that run without Lambda, which also read through
//! a [`KafkaFeed`]. It encodes and decodes with `wire` and decides nothing. The producer, the readers and every member of
//! a group are clients of their own, so that none waits for another on a shared connection.
//!
//! No call returns before Kafka has answered: a publish waits for every acknowledgement (DL-1), a commit for the broker. A
//! frozen process thaws with dead connections, so the producer's age is judged by the wall clock (port `clock`), and a
//! stale one is replaced. Absent on purpose: transactions (records may be written twice, never half), and the topic of
//! scripts beyond its making.
//!
//! A crate with Kafka clients of its own, such as the event source of `howk-local`, uses three parts that every client of
//! librdkafka needs: [`Brokers`] notices that a client has forgotten its brokers, [`commit`] ends when no answer comes, and
//! [`retire`] drops a client that was replaced.

mod admin;
mod client;
mod commit;
mod config;
mod fault;
mod feed;
#[cfg(feature = "iam")]
mod iam;
mod log;
#[cfg(feature = "msk")]
mod msk;
mod producer;
mod query;
mod reader;
mod record;
mod statistics;
mod tokens;
mod topics;
mod traffic;

pub use admin::{create_topics, delete_topics, verify_topics};
pub use client::retire;
pub use commit::commit;
pub use config::{
    Auth, ConsumerConfig, GroupConfig, KafkaConfig, ProducerConfig, Scram, Security, Token, TokenSource,
};
pub use feed::KafkaFeed;
#[cfg(feature = "iam")]
pub use iam::IamTokens;
pub use log::KafkaLog;
#[cfg(feature = "msk")]
pub use msk::MskCluster;
pub use statistics::Brokers;
pub use topics::{TopicNames, TopicSpec};
pub use traffic::{Traffic, TrafficCounter};
