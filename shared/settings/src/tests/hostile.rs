//! Hostile files and values: a clear error, never a panic or a hang.

use std::fmt::Write;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{line, variables};
use crate::load::load;
use crate::settings::Settings;
use crate::sources::Sources;

fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.yaml");
    std::fs::write(&path, bytes).expect("a file");
    (folder, path)
}

fn load_bytes(bytes: &[u8]) -> Result<Settings, String> {
    let (_folder, path) = file_of(bytes);
    let sources = Sources { file: Some(path), environment: &variables(&[]) };
    load(sources).map_err(|errors| errors.to_string())
}

fn refused(bytes: &[u8], expected: &str) {
    let text = load_bytes(bytes).expect_err(expected);
    assert!(text.contains("config.yaml:") && text.contains(expected), "{text}");
    assert!(text.len() < 1_000, "{text}");
}

#[test]
fn empty_files_are_fine() {
    for text in
        ["", "\n\n", "# nothing\n", "---\n", "{}\n", "retry:\n", "retry:\n  jitter:\n", "\u{feff}api:\n  port: 1\n"]
    {
        assert!(load_bytes(text.as_bytes()).is_ok(), "{text:?}: {:?}", load_bytes(text.as_bytes()));
    }
}

#[test]
fn malformed_yaml_names_the_line() {
    refused(b"api:\n  port: 1\n bad\n", "config.yaml:3: is not valid YAML: ");
    refused(b"api: [1, 2\n", "line");
    refused(b"api:\n\tport: 1\n", "config.yaml:2: is not valid YAML: ");
    refused(b"a: 1\n---\nb: 2\n", "more than one document");
    refused(b"a: *nowhere\n", "config.yaml:1: is not valid YAML: ");
    refused(b"api: !custom {port: 1}\n", "is not valid YAML");
    refused(b"api:\n  port: 1\n  port: 2\n", "the key \"port\" is given twice");
}

#[test]
fn a_list_or_a_text_at_the_top_is_refused() {
    for text in ["- api\n", "hello\n", "5\n"] {
        refused(text.as_bytes(), "must hold sections such as");
    }
}

#[test]
fn bad_bytes_are_refused_with_their_line() {
    refused(b"api:\n  port: 1\nredis:\n  addr: \xff\xfe\n", "config.yaml:4: is not UTF-8 from here on");
    refused(b"\x00\x01\x02", "is not valid YAML");
}

#[test]
fn alias_bombs_end_early() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(",");
        writeln!(bomb, "a{level}: &a{level} [{items}]").expect("a String");
    }
    refused(bomb.as_bytes(), "the file expands to more than 100000 values");
    refused(b"a: &a [*a]\n", "is not valid YAML");
}

#[test]
fn deep_nesting_is_refused() {
    for (open, count) in [("[", 100_000), ("{a: ", 100_000), ("- ", 100_000)] {
        refused(open.repeat(count).as_bytes(), "is not valid YAML");
    }
    let closed = "[".repeat(50_000) + &"]".repeat(50_000);
    refused(closed.as_bytes(), "opens more than 10000 brackets");
    let few = "[".repeat(500) + &"]".repeat(500);
    refused(few.as_bytes(), "recursion limit");
}

#[test]
fn large_files_are_refused() {
    refused(&b"# filler\n".repeat(200_000), "is larger than 1048576 bytes");
}

#[test]
fn yaml_aliases_of_reasonable_size_work() {
    let settings = load_bytes(b"delivery:\n  timeout: &t 20s\n  idle_conn_timeout: *t\n").expect("valid");
    assert_eq!(settings.delivery.idle_conn_timeout.as_secs(), 20);
}

#[test]
fn a_wrong_type_is_an_error_of_its_key() {
    let values =
        ["[[1]]", "{a: {b: 1}}", "1e99", "-1", ".nan", ".inf", "99999999999999999999999999", "true", "\"\\u0000\""];
    for key in Settings::default().effective() {
        for value in values {
            let yaml = key.key.split('.').rev().fold(value.to_owned(), |inner, part| format!("{{{part}: {inner}}}"));
            let lines = super::lines(&yaml, &[]);
            assert!(lines.len() <= 2, "{yaml}: {lines:#?}");
            assert!(lines.iter().all(|line| line.starts_with("config.yaml:1 ") && line.len() < 400), "{lines:#?}");
        }
        let name = crate::key::variable(key.key);
        for text in ["\u{0}", "1e99", "-1", "[", "{", "{\"a\":", "💥", "[[[[", "{\"a\":{\"a\":{}}}"] {
            let lines = super::lines("", &[(&name, text)]);
            assert!(lines.len() <= 2, "{name}={text}: {lines:#?}");
        }
    }
}

#[test]
fn long_values_are_shortened() {
    let line = line("", &[("HOWK_API_PORT", &"9".repeat(100_000))]);
    assert!(line.len() < 250 && line.contains("999..."), "{line}");
}

#[test]
fn a_file_that_is_no_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in [folder.path().to_path_buf(), folder.path().join("missing.yaml"), PathBuf::from("/dev/zero")] {
        let sources = Sources { file: Some(path.clone()), environment: &variables(&[]) };
        let text = load(sources).expect_err("no file").to_string();
        assert!(text.contains(&format!("{}: ", path.display())), "{text}");
    }
}
