//! The event source: starts its pollers and stops them.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::time::Clock;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::SourceConfig;
use super::consumer::Reader;
use super::control::{SourceControl, Watched};
use super::on_failure::OnFailure;
use super::poller::Poller;

/// The pause between two tries to find the topic.
const PAUSE: Duration = Duration::from_millis(200);
/// How long an invocation that is under way at a stop may still take.
const GRACE: Duration = Duration::from_secs(2);

/// A running event source.
#[derive(Debug)]
pub struct EventSource {
    watched: Arc<Watched>,
    stop: CancellationToken,
    tasks: TaskTracker,
    cut: CancellationToken,
}

impl EventSource {
    /// Starts the source. It polls once Kafka answers and has the topic.
    ///
    /// # Errors
    /// When no Kafka client can be built.
    pub fn start(config: SourceConfig) -> anyhow::Result<Self> {
        let watched = Arc::new(Watched::new(&config.spec));
        let config = Arc::new(config);
        let on_failure = OnFailure::of(&config)?.map(Arc::new);
        let source = Self {
            watched: Arc::clone(&watched),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            cut: CancellationToken::new(),
        };
        let first = Reader::new(&config, &watched)?;
        let startup = Startup {
            config,
            watched,
            on_failure,
            stop: source.stop.clone(),
            cut: source.cut.clone(),
            tasks: source.tasks.clone(),
        };
        source.tasks.spawn(async move {
            if let Err(error) = startup.begin(first).await {
                tracing::error!("an event source could not begin: {error:#}");
            }
        });
        Ok(source)
    }

    /// What shows and changes it.
    pub fn control(&self) -> SourceControl {
        SourceControl(Arc::clone(&self.watched))
    }

    /// Stops invoking. An invocation that is under way is awaited for 2 seconds; if it takes longer its records are not
    /// committed, and the next source of the group reads them again.
    pub async fn stop(&self, clock: &dyn Clock) {
        self.stop.cancel();
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => return,
            () = clock.sleep(GRACE) => {}
        }
        self.cut.cancel();
        self.tasks.wait().await;
    }
}

impl Drop for EventSource {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cut.cancel();
    }
}

/// What an event source needs until it has found its partitions.
struct Startup {
    config: Arc<SourceConfig>,
    watched: Arc<Watched>,
    on_failure: Option<Arc<OnFailure>>,
    stop: CancellationToken,
    cut: CancellationToken,
    tasks: TaskTracker,
}

impl Startup {
    async fn begin(self, first: Reader) -> anyhow::Result<()> {
        let Some(partitions) = self.find(first).await? else { return Ok(()) };
        self.watched.set_partitions(partitions.len());
        let pollers = usize::try_from(self.config.spec.pollers)?.clamp(1, partitions.len());
        for number in 0..pollers {
            let own: Vec<i32> = partitions.iter().copied().skip(number).step_by(pollers).collect();
            let (poller, cut) = (self.poller(own)?, self.cut.clone());
            self.tasks.spawn(async move {
                tokio::select! {
                    () = cut.cancelled() => {}
                    () = poller.run() => {}
                }
            });
        }
        Ok(())
    }

    async fn find(&self, reader: Reader) -> anyhow::Result<Option<Vec<i32>>> {
        let reader = Arc::new(reader);
        while !self.stop.is_cancelled() {
            let asked = Arc::clone(&reader);
            match tokio::task::spawn_blocking(move || asked.partitions()).await? {
                Ok(partitions) => return Ok(Some(partitions)),
                Err(error) => tracing::debug!("an event source waits for its topic: {error:#}"),
            }
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = self.config.clock.sleep(PAUSE) => {}
            }
        }
        Ok(None)
    }

    fn poller(&self, partitions: Vec<i32>) -> anyhow::Result<Poller> {
        let reader = Reader::new(&self.config, &self.watched)?;
        // Room for the next batch while the poller works on one.
        let (sender, records) = mpsc::channel(self.config.spec.batch_size.max(2));
        let count = partitions.len();
        reader.read(partitions, sender, self.stop.clone())?;
        Ok(Poller {
            config: Arc::clone(&self.config),
            watched: Arc::clone(&self.watched),
            reader,
            records,
            kept: None,
            partitions: count,
            on_failure: self.on_failure.clone(),
            origin: self.config.origin(),
            stop: self.stop.clone(),
        })
    }
}
