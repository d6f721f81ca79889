//! `tests/CASES.md` and the code agree: every case that is cited is explained there, and names its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{files, root, sources};

/// What a case's id begins with: see the headings of `tests/CASES.md`.
const FAMILIES: &str = "ADPWXYKZ";
/// Names that begin like a case and are percentiles.
const NO_CASES: [&str; 2] = ["p50_ms", "p99_ms"];
/// What may cite a case: code, scripts and documents, but not the list itself.
const CITING: [&str; 7] = ["lua", "md", "mjs", "py", "rs", "ts", "yaml"];

/// A row of `tests/CASES.md`.
struct Case {
    meaning: String,
    tests: BTreeSet<String>,
}

/// The rows by id. The cells of a row: the id, what the case is, and its tests, each between backticks.
fn listed() -> BTreeMap<String, Case> {
    let text = fs::read_to_string(root().join("tests/CASES.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        let (id, meaning, tests) = (cells.next()?, cells.next()?, cells.next()?);
        is_id(id).then(|| (id.to_owned(), Case { meaning: meaning.to_owned(), tests: quoted(tests) }))
    });
    let rows: Vec<_> = rows.collect();
    let listed: BTreeMap<_, _> = rows.into_iter().fold(BTreeMap::new(), |mut listed, (id, case)| {
        assert!(listed.insert(id.clone(), case).is_none(), "{id} stands twice in tests/CASES.md");
        listed
    });
    assert!(listed.len() > 50, "tests/CASES.md has only {} rows that this test can read", listed.len());
    listed
}

fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn is_id(word: &str) -> bool {
    let mut characters = word.chars();
    let family = characters.next().is_some_and(|first| FAMILIES.contains(first));
    family && (2..=3).contains(&word.len()) && characters.all(|digit| digit.is_ascii_digit())
}

/// The ids that a line cites. A hyphen on either side makes a range of characters of it (`A-Z0-9`), an underscore a name.
fn cited(line: &str) -> Vec<String> {
    let words = line.split(|character: char| !character.is_ascii_alphanumeric() && !"-_".contains(character));
    words.filter(|word| is_id(word)).map(str::to_owned).collect()
}

/// The ids that the name of a test begins with, in capitals: `x12_x13_whatever` is a test of X12 and X13.
fn ids_of(name: &str) -> Vec<String> {
    if NO_CASES.contains(&name) {
        return Vec::new();
    }
    name.split('_').map(str::to_uppercase).take_while(|word| is_id(word)).collect()
}

/// A function of the repository that may be a test, with the comment above it.
struct Function {
    name: String,
    comment: String,
    is_test: bool,
}

/// The functions of a source. Those of a contract suite are tests that another crate's test binary runs.
fn functions(path: &Path, source: &str) -> Vec<Function> {
    let is_suite = path.starts_with("shared/testkit/src/contract");
    let (mut functions, mut comment, mut is_test) = (Vec::new(), String::new(), is_suite);
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push_str(text);
        } else if line.starts_with("#[") {
            is_test |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
        } else if !line.is_empty() {
            if let Some(name) = function_name(line) {
                functions.push(Function { name: name.to_owned(), comment: comment.clone(), is_test });
            }
            comment.clear();
            is_test = is_suite;
        }
    }
    functions
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub(super) ")).unwrap_or(line);
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split(['(', '<']).next()
}

fn all_functions() -> Vec<Function> {
    let of = |path: &PathBuf| functions(path, &fs::read_to_string(root().join(path)).unwrap());
    sources().iter().flat_map(of).collect()
}

#[test]
fn every_case_that_is_cited_is_explained() {
    let listed = listed();
    let mut cited_ids = BTreeMap::new();
    for path in files() {
        let cites = path.extension().is_some_and(|extension| CITING.iter().any(|citing| extension == *citing));
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        if !cites
            || path.ends_with("CASES.md")
            || path.ends_with("cases.rs")
            || path.starts_with("infra/test/snapshots")
        {
            continue;
        }
        for (line, number) in text.lines().zip(1..) {
            let ids = cited(line).into_iter().map(|id| (id, format!("{}:{number}", path.display())));
            cited_ids.extend(ids);
        }
    }
    for function in all_functions() {
        cited_ids.extend(ids_of(&function.name).into_iter().map(|id| (id, function.name.clone())));
    }
    assert!(cited_ids.len() > 50, "only {} cases are found in the code", cited_ids.len());
    let unknown: Vec<_> = cited_ids.iter().filter(|(id, _)| !listed.contains_key(*id)).collect();
    assert!(unknown.is_empty(), "add to tests/CASES.md: {unknown:#?}");
    let idle: Vec<_> = listed.keys().filter(|id| !cited_ids.contains_key(*id)).collect();
    assert!(idle.is_empty(), "cited nowhere any more, remove from tests/CASES.md: {idle:?}");
    let vague: Vec<_> = listed.iter().filter(|(_, case)| case.meaning.len() < 20).map(|(id, _)| id).collect();
    assert!(vague.is_empty(), "tests/CASES.md does not say what these are: {vague:?}");
}

#[test]
fn every_case_names_its_tests_and_they_exist() {
    let listed = listed();
    let functions = all_functions();
    let tests: BTreeSet<_> = functions.iter().filter(|function| function.is_test).map(|test| &test.name).collect();
    let mut wrong = Vec::new();
    for (id, case) in &listed {
        if case.tests.is_empty() {
            wrong.push(format!("{id} names no test"));
        }
        let gone = case.tests.iter().filter(|name| !tests.contains(name));
        wrong.extend(gone.map(|name| format!("{id}: there is no test `{name}`")));
    }
    for test in functions.iter().filter(|function| function.is_test) {
        let ids: BTreeSet<_> = ids_of(&test.name).into_iter().chain(cited(&test.comment)).collect();
        let missing = ids.iter().filter(|id| listed.get(*id).is_some_and(|case| !case.tests.contains(&test.name)));
        wrong.extend(missing.map(|id| format!("{id}: add `{}`", test.name)));
    }
    assert!(wrong.is_empty(), "in tests/CASES.md:\n{}", wrong.join("\n"));
}

#[test]
fn ids_are_read_as_they_are_written() {
    assert_eq!(cited("/// P12, Y1: (X4) and \"W3\""), ["P12", "Y1", "X4", "W3"]);
    assert_eq!(cited("[A-Z0-9] P99x A_1 V4 EC2 X100"), [""; 0]);
    assert_eq!(ids_of("x12_x13_whatever_waits"), ["X12", "X13"]);
    assert_eq!(ids_of("p99_ms"), [""; 0]);
    assert_eq!(ids_of("what_x1_is"), [""; 0]);
    let source = "/// P1: a.\n#[test]\nfn one() {\n}\nfn helper() {}\n    #[tokio::test]\n    async fn two() {\n";
    let read: Vec<_> =
        functions(Path::new("tests/a.rs"), source).into_iter().map(|it| (it.name, it.comment, it.is_test)).collect();
    let expected = [("one", " P1: a.", true), ("helper", "", false), ("two", "", true)];
    assert_eq!(read, expected.map(|(name, comment, is_test)| (name.to_owned(), comment.to_owned(), is_test)));
}
