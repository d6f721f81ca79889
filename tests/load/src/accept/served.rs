//! A router on a port of 127.0.0.1, with tasks that drain the accepted webhooks.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::serve::ListenerExt;
use delivery::ports::log::Feed;
use domain::Position;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// How many records are read at once.
const READ_MAX: usize = 1024;

/// A served router.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) port: u16,
    tasks: JoinSet<()>,
}

impl Served {
    /// Serves a router on a free port, as a server does.
    pub(super) async fn start(router: Router) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no free port")?;
        let port = listener.local_addr()?.port();
        let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            axum::serve(listener, router).await.ok();
        });
        Ok(Self { port, tasks })
    }

    /// Reads and commits the records of these feeds, so that they do not fill the memory. Nothing else is done with
    /// accepted webhooks; the small cost counts as howk's.
    pub(super) fn drain(&mut self, feeds: Vec<Arc<dyn Feed>>) {
        for feed in feeds {
            self.tasks.spawn(async move {
                while let Ok(records) = feed.next(READ_MAX).await {
                    let ends = records.iter().map(|record| (record.position.partition, record.position.offset));
                    for (partition, offset) in ends.collect::<BTreeMap<_, _>>() {
                        feed.commit(Position { partition, offset: offset.saturating_add(1) }).await.ok();
                    }
                }
            });
        }
    }

    /// Ends it and frees its memory now, so that the next measurement does not pay for that.
    pub(super) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}
