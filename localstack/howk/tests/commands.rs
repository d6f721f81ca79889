//! The built binary, as a person runs it.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world fails")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

/// What an API key of these tests hashes to, by SHA-256; the key is `open sesame`.
const HASH: &str = "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";

/// howk, apart from the settings of this machine.
fn howk(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howk"));
    command.args(arguments).current_dir(env!("CARGO_TARGET_TMPDIR")).env_clear().stdin(Stdio::null());
    command.envs(variables.iter().copied());
    command
}

fn ended(arguments: &[&str], variables: &[(&str, &str)]) -> (Output, String, String) {
    let output = howk(arguments, variables).output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output, out, err)
}

/// A server that serves, and what it has logged so far.
struct Serving {
    process: Child,
    stderr: BufReader<ChildStderr>,
    log: String,
}

impl Serving {
    fn start(variables: &[(&str, &str)]) -> Self {
        let mut process = howk(&["serve", "--port", "0"], variables).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let mut serving = Self { process, stderr, log: String::new() };
        while !serving.log.contains("serving http://") {
            assert_ne!(serving.stderr.read_line(&mut serving.log).unwrap(), 0, "it ended: {}", serving.log);
        }
        serving
    }

    /// The host and port that it serves.
    fn address(&self) -> &str {
        let (_, address) = self.log.split_once("serving http://").unwrap();
        address.trim()
    }

    /// The status of `GET /stats`, with a key or without.
    fn status(&self, key: Option<&str>) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let key = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        write!(stream, "GET /stats HTTP/1.1\r\nhost: howk\r\nconnection: close\r\n{key}\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().to_owned()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn by_default_it_serves_the_loopback_address_and_logs_what_is_not_safe() {
    let serving = Serving::start(&[]);
    assert!(serving.address().starts_with("127.0.0.1:"), "{}", serving.log);
    assert_eq!(serving.status(None), "200");
    let warnings: Vec<&str> = serving.log.lines().filter(|line| line.contains("not safe for production")).collect();
    assert_eq!(warnings.len(), 3, "memory, no API keys, private addresses: {}", serving.log);
    assert!(serving.log.contains("running in memory"), "{}", serving.log);
    assert!(!serving.log.contains("retry.base_delay"), "settings are printed by --print-settings only");
}

#[test]
fn on_a_terminal_it_shows_one_screen_and_short_log_lines() {
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut process = howk(&["serve", "--port", "0"], &[]).stderr(terminal.slave).spawn().unwrap();
    let mut lines = BufReader::new(File::from(terminal.master)).lines();
    let mut shown: Vec<String> = Vec::new();
    while !shown.last().is_some_and(|line| line.contains("the hot state is rebuilt")) {
        shown.push(lines.next().unwrap().unwrap());
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let screen = shown.join("\n");
    for part in
        ["  runs      in memory", "  serves    http://127.0.0.1:", "  Not safe for production:", "--print-settings"]
    {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let [event] = shown.iter().filter(|line| line.contains("INFO")).collect::<Vec<_>>()[..] else {
        panic!("{screen}")
    };
    assert!(!event.contains("delivery::") && !event.contains('Z'), "no module and no date: {event}");
}

#[test]
fn another_address_needs_keys_and_serves_with_them() {
    // A loopback address too, so that the test opens nothing to other machines.
    let host = ("HOWK_API_HOST", "127.0.0.2");
    let (output, _, err) = ended(&["serve", "--port", "0"], &[host]);
    assert_eq!(output.status.code(), Some(78), "{err}");
    assert!(err.contains("api.host (HOWK_API_HOST): ") && err.contains("set api.auth to keys"), "{err}");

    let keys = format!(r#"{{"acme": {{"hash": "{HASH}", "config_ids": ["*"]}}}}"#);
    let serving = Serving::start(&[host, ("HOWK_API_AUTH", "keys"), ("HOWK_API_KEYS", &keys)]);
    assert!(serving.address().starts_with("127.0.0.2:"), "{}", serving.log);
    assert_eq!(serving.status(None), "401");
    assert_eq!(serving.status(Some("open sesame")), "200");
}

#[test]
fn print_settings_prints_them_masked_and_exits() {
    let secret = "a key of thirty-two characters or more";
    let (output, out, err) = ended(
        &["serve", "--print-settings", "--port", "81"],
        &[("HOWK_SECRETS_KEY", secret), ("HOWK_RETRY_JITTER", "0.1")],
    );
    assert_eq!(output.status.code(), Some(0), "{err}");
    for line in ["api.host = 127.0.0.1 (default)", "api.port = 81 (environment)", "retry.jitter = 0.1 (environment)"]
    {
        assert!(out.lines().any(|found| found == line), "{line}: {out}");
    }
    assert!(out.contains("secrets.key = [REDACTED]") && !out.contains(secret), "{out}");
    assert_eq!(err, "", "nothing was started");
    let (output, out, err) = ended(&["serve", "--print-settings"], &[("HOWK_RETRY_JITTER", "9")]);
    assert_eq!((output.status.code(), out.as_str()), (Some(78), ""), "{err}");
}

#[test]
fn help_settings_lists_the_reference_and_bad_usage_ends_with_2() {
    let (output, out, _) = ended(&["serve", "--help-settings"], &[]);
    assert_eq!((output.status.code(), out.trim_end()), (Some(0), settings::reference().trim_end()));
    for arguments in [&[][..], &["play"], &["serve", "--demo"], &["serve", "--kafka", "127.0.0.1:9092"]] {
        let (output, _, err) = ended(arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
    }
}

#[test]
fn a_port_that_is_taken_ends_it_with_1_and_names_the_fix() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (output, _, err) = ended(&["serve", "--port", &port], &[]);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("howk: port ") && err.contains("choose another port with --port"), "{err}");
}

#[cfg(feature = "services")]
#[test]
fn kafka_and_redis_that_are_away_end_it_with_1_and_are_both_named() {
    let away = ["serve", "--port", "0", "--kafka", "127.0.0.1:1", "--redis", "127.0.0.1:1"];
    let (output, _, err) = ended(&away, &[("HOWK_SECRETS_KEY", "a key of thirty-two characters or more")]);
    assert_eq!(output.status.code(), Some(1), "{err}");
    let last = err.lines().last().unwrap();
    assert!(
        last.starts_with("howk: Kafka cannot be reached: ") && last.contains("; Redis cannot be reached: "),
        "{err}"
    );
}

#[test]
fn the_demo_ends_by_itself_and_every_webhook_ends_as_announced() {
    let (output, out, err) = ended(&["demo"], &[]);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.starts_with("howk ") && out.contains("the hot state is lost, all of it"), "{out}");
    assert!(
        out.trim_end().ends_with("Every webhook ended as announced: delivered, or dead-lettered with its reason."),
        "{out}"
    );
    assert_eq!(err, "", "only errors are logged");
}
