//! Which file is read.

use std::path::Path;

use super::variables;
use crate::load::load;
use crate::sources::{Environment, ProcessEnvironment, Sources};

fn write(path: &Path, port: u16) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, format!("api:\n  port: {port}\n")).expect("a file");
}

#[test]
fn an_explicit_file_wins_over_howk_config_over_home() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().to_str().expect("UTF-8");
    let (given, named) = (folder.path().join("given.yaml"), folder.path().join("named.yaml"));
    write(&given, 1);
    write(&named, 2);
    write(&folder.path().join(".howk/config.yaml"), 3);
    let with_both = variables(&[("HOME", home), ("HOWK_CONFIG", named.to_str().expect("UTF-8"))]);
    let with_home = variables(&[("HOME", home)]);
    let port = |file, environment: &dyn Environment| {
        let settings = load(Sources { file, environment }).expect("valid");
        (settings.api.port, settings.file().map(Path::to_path_buf))
    };
    assert_eq!(port(Some(given.clone()), &with_both), (1, Some(given)));
    assert_eq!(port(None, &with_both), (2, Some(named)));
    assert_eq!(port(None, &with_home), (3, Some(folder.path().join(".howk/config.yaml"))));
}

#[test]
fn a_file_that_was_named_must_exist_and_the_variables_are_still_checked() {
    let environment = variables(&[("HOWK_CONFIG", "/no/such/file.yaml"), ("HOWK_RETRY_JITTER", "7")]);
    let errors = load(Sources { file: None, environment: &environment }).expect_err("no file");
    let lines: Vec<String> = errors.errors().iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].starts_with("/no/such/file.yaml: cannot be read: "), "{}", lines[0]);
    assert_eq!((errors.errors()[1].place(), errors.code()), ("retry.jitter (HOWK_RETRY_JITTER)", "settings"));
}

#[test]
fn no_file_at_all_is_fine() {
    let folder = tempfile::tempdir().expect("a folder");
    let environment = variables(&[("HOME", folder.path().to_str().expect("UTF-8"))]);
    assert!(load(Sources { file: None, environment: &environment }).is_ok());
}

#[test]
fn the_process_has_variables() {
    assert!(ProcessEnvironment.variables().contains_key("PATH"));
}
