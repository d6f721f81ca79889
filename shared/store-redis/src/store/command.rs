//! What a batch sends to Redis, and what is read from the replies.

use delivery::Fault;
use domain::{EndpointHash, EndpointState, Settlement};
use redis::{Cmd, Value};

use crate::fault;
use crate::link::{read, together};
use crate::scripts::{CREATE, Call, REPORT};
use crate::store::RedisStore;
use crate::store::replies::{self, Fields};

/// One thing to send.
pub(super) enum Command {
    /// A script, and how its reply is read.
    Script(Call, ReplyKind),
    /// A plain command whose reply says nothing, and what it is for.
    Plain(&'static str, Cmd),
}

/// How the reply of a script is read.
pub(super) enum ReplyKind {
    /// The reply says nothing.
    Nothing,
    /// Whether the first status of a webhook was written. If the webhook has one already, this settlement is merged into it.
    Created(Box<Settlement>),
    /// An endpoint's state after a report, and whether its circuit or cooldown makes it newly unhealthy.
    State(EndpointHash),
    /// Whether an endpoint's settings, or what is held for it, make it newly healthy or newly unhealthy.
    Settings(EndpointHash),
}

/// What a reply says.
#[derive(Default)]
pub(super) struct Reply {
    /// An endpoint's state after a report.
    pub(super) state: Option<EndpointState>,
    /// An endpoint that became healthy or unhealthy.
    pub(super) changed: Option<EndpointHash>,
}

impl RedisStore {
    /// Sends commands, all of them together, and returns what their replies say, in no order.
    pub(super) async fn run(&self, commands: Vec<Command>) -> Vec<Result<Reply, Fault>> {
        let (mut calls, mut kinds, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        for command in commands {
            match command {
                Command::Script(call, kind) => {
                    calls.push(call);
                    kinds.push(kind);
                }
                Command::Plain(what, cmd) => plain
                    .push(async move { self.link.send_command::<Value>(what, &cmd).await.map(|_| Reply::default()) }),
            }
        }
        let (values, mut replies) = futures::join!(self.link.call_all(calls), together(plain));
        for (value, kind) in values.into_iter().zip(kinds) {
            replies.push(self.reply(value, kind).await);
        }
        replies
    }

    async fn reply(&self, value: Result<Value, Fault>, kind: ReplyKind) -> Result<Reply, Fault> {
        match kind {
            ReplyKind::Nothing => value.map(|_| Reply::default()),
            ReplyKind::Created(settlement) => {
                let created: u8 = read(CREATE.name, value)?;
                if created == 0 {
                    self.link.call::<Value>(self.settle(&settlement)).await?;
                }
                Ok(Reply::default())
            }
            ReplyKind::Settings(hash) => {
                let changed: u8 = read("settings", value)?;
                Ok(Reply { changed: (changed == 1).then_some(hash), state: None })
            }
            ReplyKind::State(hash) => {
                let value: Vec<Value> = read(REPORT.name, value)?;
                let [changed, fields] = <[Value; 2]>::try_from(value).unwrap_or([Value::Nil, Value::Nil]);
                if fields == Value::Nil {
                    return Ok(Reply::default());
                }
                let fields: Fields = redis::from_redis_value(fields).map_err(fault::unexpected(REPORT.name))?;
                Ok(Reply {
                    changed: (changed == Value::Int(1)).then_some(hash),
                    state: Some(replies::endpoint(&fields)),
                })
            }
        }
    }
}
