//! Functions on the pair, with receivers and books, for one test.

use std::sync::Arc;

use howk_local::event_source::SourceControl;
use howk_local::stack::StackConfig;
use howk_tests::rig::books::Balance;
use howk_tests::rig::ledger::Ledger;
use howk_tests::rig::load::{Accepted, Planned, alike};
use howk_tests::rig::pair::{Turn, turn};
use howk_tests::rig::receiver::Receiver;
use howk_tests::rig::run::{Stage, client};
use howk_tests::rig::servers::Setup;

use super::functions::Functions;

/// What a test works with. Fields are dropped in this order.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) functions: Arc<Functions>,
    pub(crate) setup: Setup,
    pub(crate) pair: Turn,
}

impl Scene {
    /// Starts functions whose topics begin with the name of the test.
    pub(crate) async fn start(name: &str) -> Self {
        Self::with(quick(name), |_, _| {}).await
    }

    /// The same with other settings and another stack.
    pub(crate) async fn with(setup: Setup, change: impl FnOnce(&Turn, &mut StackConfig)) -> Self {
        let pair = turn().await;
        let functions = Arc::new(Functions::start(&pair, &setup, |config| change(&pair, config)).await);
        let ledger = Ledger::open(&pair, &setup).await;
        let howk = Arc::<Functions>::clone(&functions);
        let receiver = Arc::new(Receiver::start().await);
        let stage = Stage { howk, pair: pair.clone(), receiver, ledger, client: client() };
        Self { stage, functions, setup, pair }
    }

    /// Posts so many webhooks of one kind to so many endpoints. The name parts their keys from others'.
    pub(crate) async fn post(&self, name: &str, like: Planned, spread: (usize, usize)) -> Vec<Accepted> {
        self.stage.post(name, alike(&self.stage.receiver, &like, spread)).await
    }

    /// The event source of a lane.
    pub(crate) fn source(&self, lane: &str) -> SourceControl {
        self.functions.stack.source(lane).unwrap()
    }

    /// Requests that the receivers saw.
    pub(crate) fn requests(&self) -> u32 {
        self.stage.receiver.requests().values().flat_map(|of_id| of_id.values()).sum()
    }

    /// Waits for the end of everything, balances the books, and ends the functions.
    pub(crate) async fn settle(mut self, accepted: &[Accepted]) -> Balance {
        let balance = self.stage.settle(accepted).await;
        self.end().await;
        balance
    }

    /// Ends the functions.
    pub(crate) async fn end(self) {
        drop(self.stage);
        let Functions { stack, .. } = Arc::into_inner(self.functions).unwrap();
        stack.shut_down().await;
    }
}

/// Functions whose times are short, so that much happens in little time.
pub(crate) fn quick(name: &str) -> Setup {
    Setup::quick(0, &format!("{name}."))
}
