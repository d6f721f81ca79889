//! howk as functions, as an installation that can be struck.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::time::Clock;
use domain::Timestamp;
use howk_local::lambda::{EnvironmentState, Lambda, Output, Phase};
use howk_local::stack::{Stack, StackConfig};
use howk_tests::rig::books::Timeout;
use howk_tests::rig::installation::Installation;
use howk_tests::rig::pair::{Pair, Signal};
use howk_tests::rig::servers::Setup;
use log_kafka::KafkaConfig;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::own_redis::TIMEOUT;
use crate::system::{create_few_partitions, stack_config};

/// The functions that can be struck, in the order of their numbers.
const FUNCTIONS: [&str; 5] = ["enqueue", "fast-lane", "slow-lane", "scheduler", "reconciler"];
const PAUSE: Duration = Duration::from_millis(5);
/// How many pauses an environment may take to end: as long as an invocation may last, and some.
const ENDS_WITHIN: u32 = 30_000;
/// How often ends are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What an environment calls itself in its requests: this and its log stream, which ends with its number.
const NAMED: &str = "environment-";

/// The functions on a stack. Their lines stay in `fault-logs`, beside the built programs.
///
/// A process of the installation is a function: what is done to it is done to one environment, to one at work if there is
/// one.
pub(crate) struct Functions {
    pub(crate) stack: Stack,
    log: PathBuf,
    /// The environments that were frozen, by function.
    frozen: Mutex<BTreeMap<usize, u64>>,
    /// When environments ended, soon after they did.
    ended: Arc<Mutex<BTreeMap<u64, Timestamp>>>,
    _looking: JoinSet<()>,
}

impl Functions {
    /// Starts them on the pair and waits until they are ready.
    pub(crate) async fn start(pair: &Pair, setup: &Setup, change: impl FnOnce(&mut StackConfig)) -> Self {
        let kafka = KafkaConfig::new(vec![pair.brokers()]).prefixed(&setup.prefix);
        create_few_partitions(&kafka).await;
        let mut config = stack_config(&kafka, pair.redis());
        let settings = setup.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        config.variables.extend(settings);
        let log = log_path(&setup.prefix);
        config.output = output(&log);
        for (name, path) in &mut config.binaries {
            *path = with_a_name(&pair.folder().join("functions"), name, path);
        }
        change(&mut config);
        let stack = Stack::start(config).await.unwrap();
        stack.until_ready(TIMEOUT).await.unwrap();
        let ended = Arc::default();
        let mut looking = JoinSet::new();
        looking.spawn(look_for_ends(stack.lambda().clone(), Arc::clone(&ended)));
        Self { stack, log, frozen: Mutex::default(), ended, _looking: looking }
    }

    /// The environments of a function that have not ended.
    pub(crate) fn environments(&self, function: &str) -> Vec<EnvironmentState> {
        let all = self.stack.lambda().state_of(function).unwrap().environments;
        all.into_iter().filter(|one| one.phase != Phase::Ended).collect()
    }

    /// An environment of a function that has an invocation.
    pub(crate) fn at_work(&self, function: &str) -> Option<u64> {
        self.environments(function).iter().find(|one| one.phase == Phase::Busy).map(|one| one.id)
    }

    /// How often the functions have logged something.
    pub(crate) fn logged(&self, text: &str) -> usize {
        let log = std::fs::read(&self.log).unwrap();
        String::from_utf8_lossy(&log).lines().filter(|line| line.contains(text)).count()
    }

    fn any(&self, function: &str) -> Option<u64> {
        self.at_work(function).or_else(|| self.environments(function).first().map(|one| one.id))
    }

    /// Waits until an environment has ended.
    fn until_ended(&self, environment: u64) {
        let Some(state) = self.stack.lambda().watch(environment) else { return };
        for _ in 0..ENDS_WITHIN {
            if state.borrow().phase == Phase::Ended {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("environment {environment} does not end: {:?}", state.borrow());
    }
}

impl Installation for Functions {
    fn processes(&self) -> usize {
        FUNCTIONS.len()
    }

    fn api(&self, _turn: usize) -> String {
        self.stack.url.clone()
    }

    fn signal(&self, process: usize, signal: Signal) {
        let lambda = self.stack.lambda();
        if signal == Signal::Continue {
            if let Some(environment) = self.frozen.lock().remove(&process) {
                lambda.thaw(environment);
            }
            return;
        }
        let Some(environment) = self.any(FUNCTIONS[process]) else { return };
        match signal {
            Signal::Kill => drop(lambda.kill(environment)),
            Signal::Terminate => drop(lambda.retire(environment)),
            Signal::Stop | Signal::Continue => {
                self.frozen.lock().insert(process, environment);
                lambda.freeze(environment);
                return;
            }
        }
        self.until_ended(environment);
    }

    /// Lambda starts an environment when the next invocation needs one.
    fn start(&self, _process: usize) {}

    fn keep_up(&self) {}

    fn records(&self) -> Timeout {
        Timeout::OfAnInvocation
    }

    fn ended_at(&self, sender: &str) -> Option<Timestamp> {
        let environment = sender.strip_prefix(NAMED)?.rsplit(']').next()?;
        let environment = u64::from_str_radix(environment, 16).unwrap();
        self.ended.lock().get(&environment).copied()
    }
}

/// Records when environments end, until it is dropped.
async fn look_for_ends(lambda: Lambda, ended: Arc<Mutex<BTreeMap<u64, Timestamp>>>) {
    let mut known: Vec<u64> = Vec::new();
    loop {
        let all = lambda.state().into_iter().flat_map(|function| function.environments);
        let living: Vec<u64> = all.filter(|one| one.phase != Phase::Ended).map(|one| one.id).collect();
        let gone = known.into_iter().filter(|id| !living.contains(id));
        ended.lock().extend(gone.map(|id| (id, SystemClock.now())));
        known = living;
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// A script that runs the function with a user agent that names its environment, so that receivers know who sent a
/// request.
fn with_a_name(folder: &Path, name: &str, program: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let script = folder.join(name);
    let text = format!(
        "#!/bin/sh\nHOWK_DELIVERY_USER_AGENT=\"{NAMED}$AWS_LAMBDA_LOG_STREAM_NAME\" exec '{}'\n",
        program.display()
    );
    // In one step: the script of another test may just be starting.
    let fresh = folder.join(format!("{name}.new"));
    std::fs::write(&fresh, text).unwrap();
    std::fs::set_permissions(&fresh, Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(fresh, &script).unwrap();
    script
}

fn log_path(prefix: &str) -> PathBuf {
    let folder = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("fault-logs");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{prefix}functions.log"));
    File::create(&path).unwrap();
    path
}

/// Lines go to a file, metrics excepted.
fn output(log: &Path) -> Output {
    let file = Arc::new(Mutex::new(OpenOptions::new().append(true).open(log).unwrap()));
    Output::to(move |line| {
        if !line.text.contains("\"CloudWatchMetrics\":") {
            let text = format!("{}/{}: {}\n", line.function, line.environment, line.text);
            file.lock().write_all(text.as_bytes()).unwrap();
        }
    })
}
