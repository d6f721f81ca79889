//! Servers on the pair, with receivers and books, for one test.

use std::sync::Arc;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::time::Clock;
use howk_tests::rig::installation::Installation;
use howk_tests::rig::ledger::Ledger;
use howk_tests::rig::load::{Accepted, Planned, alike};
use howk_tests::rig::pair::{Turn, turn};
use howk_tests::rig::receiver::Receiver;
use howk_tests::rig::run::{Stage, client};
use howk_tests::rig::servers::{Servers, Setup};
use reqwest::StatusCode;

/// How long a condition may take to come true.
const TIMEOUT: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);

/// What a test works with. What comes first is ended first.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) servers: Arc<Servers>,
    pub(crate) pair: Turn,
}

impl Scene {
    /// Starts servers whose topics begin with the name of the test.
    pub(crate) async fn start(count: usize, name: &str) -> Self {
        Self::with(Setup::quick(count, &format!("{name}."))).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let pair = turn().await;
        let servers = Arc::new(Servers::start(&pair, setup).await);
        let ledger = Ledger::open(&pair, servers.setup()).await;
        let howk = Arc::<Servers>::clone(&servers);
        let receiver = Arc::new(Receiver::start().await);
        Self { stage: Stage { howk, pair: pair.clone(), receiver, ledger, client: client() }, servers, pair }
    }

    /// Posts so many webhooks of one kind to so many endpoints. The name parts their keys from others'.
    pub(crate) async fn post(&self, name: &str, like: Planned, spread: (usize, usize)) -> Vec<Accepted> {
        self.stage.post(name, alike(&self.stage.receiver, &like, spread)).await
    }

    /// What a path of a server answers; `None` when it does not.
    pub(crate) async fn status_of(&self, server: usize, path: &str) -> Option<StatusCode> {
        let url = format!("{}{path}", self.servers.api(server));
        self.stage.client.get(url).send().await.ok().map(|answer| answer.status())
    }

    /// Requests that the receivers saw.
    pub(crate) fn requests(&self) -> u32 {
        self.stage.receiver.requests().values().flat_map(|of_id| of_id.values()).sum()
    }

    /// Lines that a server has logged, above the least level that it logs.
    pub(crate) fn complaints(&self, server: usize) -> usize {
        self.servers.log(server).lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")).count()
    }

    /// How often a server has logged something.
    pub(crate) fn logged(&self, text: &str) -> usize {
        let of_server = |server| self.servers.log(server).lines().filter(|line| line.contains(text)).count();
        (0..self.servers.processes()).map(of_server).sum()
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    until_within(TIMEOUT, what, condition).await;
}

/// The same for what may take longer than usual.
pub(crate) async fn until_within(timeout: Duration, what: &str, condition: impl AsyncFn() -> bool) {
    let give_up_at = SystemClock.now().plus(timeout);
    while !condition().await {
        assert!(SystemClock.now() < give_up_at, "waited in vain until {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
