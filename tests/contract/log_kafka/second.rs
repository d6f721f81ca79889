//! A process of a test's own, which can be frozen: the test's program once more, running one test that is none.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use delivery::Fault;
use delivery::ports::log::{Feed, Log};
use domain::{Lane, Position, Record, Topic};
use log_kafka::{KafkaFeed, KafkaLog};
use testkit::generate::dispatch;

/// Longer than any answer of the second process takes.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The second process.
pub(super) struct Second {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
}

impl Second {
    /// Starts it with a test that calls [`serve`], and with variables that say how.
    pub(super) fn start<const N: usize>(test: &str, variables: [(&str, String); N]) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", test, "--nocapture"])
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the second process starts");
        let (orders, output) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        let (answer, answers) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            let ours = lines.filter_map(|line| line.strip_prefix("second: ").map(str::to_owned));
            ours.for_each(|line| drop(answer.send(line)));
        });
        Self { child, orders, answers }
    }

    /// Orders what [`serve`] knows.
    pub(super) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it listens");
    }

    pub(super) fn answer(&self) -> String {
        self.answers.recv_timeout(TIMEOUT).expect("it answers")
    }

    pub(super) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{name}");
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// In the second process: does what each line orders, and answers `done` or why it was not.
pub(super) async fn serve(log: KafkaLog) {
    let feed = log.join(Topic::Pending).expect("a member");
    for order in std::io::stdin().lines() {
        let done = obey((&log, &feed), &order.expect("a line")).await;
        let answer = done.map_or_else(|fault| format!("{fault}: {fault:?}"), |()| "done".to_owned());
        writeln!(std::io::stdout(), "second: {answer}").expect("it is heard");
    }
}

async fn obey((log, feed): (&KafkaLog, &KafkaFeed), order: &str) -> Result<(), Fault> {
    match order {
        // Where its own member does not look.
        "publish" => log.publish(vec![Record::Dispatch(Lane::Slow, dispatch())]).await.map(drop),
        "fetch" => {
            // As a consumer does: a member says what befalls it, and goes on.
            while feed.next(1).await.is_err() {}
            Ok(())
        }
        "read" => log.read(Topic::Pending, Position { partition: 0, offset: 0 }, 10).await.map(drop),
        "ask" => log.lag(Topic::Pending).await.map(drop),
        _ => panic!("no order: {order}"),
    }
}
