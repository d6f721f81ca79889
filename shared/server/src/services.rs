//! The back end on Kafka and Redis, for installations without Lambda.
//!
//! Several servers share the work: each is a member of the consumer groups. When one dies, the others take its partitions
//! over as soon as its membership and its claims expire.

#[cfg(feature = "services")]
mod connected {
    use std::sync::Arc;

    use clock_system::SystemClock;
    use delivery::ports::log::Feed;
    use delivery::ports::time::Clock;
    use settings::{Settings, ValidationError};
    use wiring::{Connected, Role};

    use crate::system::{Backend, Lifetime};

    /// Members of each consumer group in one server. A member reads on one thread at a time, so two keep two cores busy.
    const MEMBERS: usize = 2;

    pub(super) fn mistakes(settings: &Settings) -> Vec<ValidationError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        [wiring::vault::mistakes(&settings.secrets), wiring::connect_mistakes(settings, &clock)].concat()
    }

    pub(super) async fn connect(settings: &Settings) -> anyhow::Result<Backend> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let Connected { log, stores } = wiring::connect(settings, &clock, Role::Server).await?;
        let groups = Arc::clone(&log);
        let join = move |topic| -> anyhow::Result<Vec<Arc<dyn Feed>>> {
            let members =
                (0..MEMBERS).map(|_| -> anyhow::Result<Arc<dyn Feed>> { Ok(Arc::new(groups.join(topic)?)) });
            members.collect()
        };
        Ok(Backend { log, stores, join: Arc::new(join), lifetime: Lifetime::Lasting })
    }
}

#[cfg(not(feature = "services"))]
mod connected {
    use settings::{Settings, ValidationError};

    use crate::system::Backend;

    pub(super) const fn mistakes(_: &Settings) -> Vec<ValidationError> {
        Vec::new()
    }

    #[expect(clippy::unused_async, reason = "the build with services waits for them")]
    pub(super) async fn connect(_: &Settings) -> anyhow::Result<Backend> {
        anyhow::bail!("this build has no Kafka and no Redis; build it with --features services")
    }
}

use settings::{Settings, ValidationError};

use crate::system::Backend;

/// Every mistake that shows when Kafka and Redis are used, a missing `secrets.key` among them: without it, no other server
/// could open the secrets that this one seals, nor could this one after a restart.
pub fn mistakes(settings: &Settings) -> Vec<ValidationError> {
    connected::mistakes(settings)
}

/// Connects to Kafka and Redis, and makes the topics that are missing.
///
/// # Errors
/// Each service that cannot be reached or is set up wrongly; and a build without the feature `services`.
pub async fn connect(settings: &Settings) -> anyhow::Result<Backend> {
    connected::connect(settings).await
}
