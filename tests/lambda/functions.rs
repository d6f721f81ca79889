//! howk's own functions: finds their binaries, and runs one of them without the rest of the stack.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use clock_system::{SystemClock, SystemRandom};
use howk_local::lambda::{Lambda, LambdaConfig, Line, Output, Program};
use howk_local::local::binaries::Places;
use howk_local::spec::FunctionSpec;
use parking_lot::Mutex;
use serde_json::Value;

use crate::rig::some;

/// The binaries of functions: in the folder above that of the test's own binary.
pub(crate) fn binaries<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| own.parent()?.parent().map(|folder| folder.join("a-program")));
    Places::around(beside.as_deref()).find(names).unwrap()
}

/// One function without triggers.
pub(crate) struct Alone {
    pub(crate) lambda: Lambda,
    name: &'static str,
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Alone {
    /// A function that has these variables and those of Lambda.
    pub(crate) fn new(name: &'static str, variables: impl IntoIterator<Item = (impl Into<String>, String)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let path = binaries([name]).remove(name).unwrap();
        let lines: Arc<Mutex<Vec<Line>>> = Arc::default();
        let taken = Arc::clone(&lines);
        let lambda = Lambda::new(LambdaConfig {
            programs: vec![Program { spec: FunctionSpec::new(name), path, variables }],
            account_concurrency: 10,
            freezes: true,
            output: Output::to(move |line| taken.lock().push(line)),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
        });
        Self { lambda, name, lines }
    }

    /// Its answer to an event.
    pub(crate) async fn answers(&self, event: &Value) -> Value {
        let invocation = self.lambda.invocation(Bytes::from(event.to_string()));
        let answer = self.lambda.invoke(self.name, invocation).await.unwrap();
        assert!(!answer.failed, "{}", String::from_utf8_lossy(&answer.payload));
        serde_json::from_slice(&answer.payload).unwrap()
    }

    /// Its lines that contain a text.
    pub(crate) fn lines(&self, part: &str) -> Vec<String> {
        let lines = self.lines.lock();
        lines.iter().map(|line| line.text.clone()).filter(|text| text.contains(part)).collect()
    }

    /// Invokes it, checks that it fails to start, and returns the one line that says why.
    pub(crate) async fn refuses_to_start(&self) -> String {
        let invoked = self.lambda.invoke(self.name, self.lambda.invocation(Bytes::from_static(b"{}"))).await;
        assert!(invoked.is_ok_and(|answer| answer.failed), "it started");
        let line = some("a line that says why", async || self.lines("cannot start").into_iter().next()).await;
        assert_eq!(self.lines("cannot start").len(), 1);
        line
    }

    pub(crate) async fn shut_down(self) {
        self.lambda.shut_down().await;
    }
}
