//! No two files of a crate name each other, directly or around other files: a file can then be read with the files below
//! it alone, and every crate has an order in which a newcomer can read it.
//!
//! The files of a target are found from its root by their `mod` lines. A file names another when a path in its code leads
//! there: `crate::a::B`, `super::B`, `self::a::B`, a child module's name, or a name that a `use` line brought in. A `pub
//! use` of a child's item is a signpost and not a name of its own: a file that takes that path names the child's file. So a
//! module and its child may not name each other either. What stands behind `#[cfg(test)]` and inside macros isn't read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::TargetKind;
use syn::visit::{self, Visit};

use crate::metadata;

/// Circles that are still to be cut, each by the arrow that goes: a file, and the one above it that it names. A row goes
/// with its circle; none is added.
const KNOWN: [(&str, &str); 15] = [
    ("shared/domain/src/settle/effects.rs", "shared/domain/src/settle.rs"),
    ("shared/in-memory/src/log/feed.rs", "shared/in-memory/src/log.rs"),
    ("shared/in-memory/src/store/dead_letters.rs", "shared/in-memory/src/store.rs"),
    ("shared/in-memory/src/store/endpoints.rs", "shared/in-memory/src/store.rs"),
    ("shared/in-memory/src/store/recovery.rs", "shared/in-memory/src/store.rs"),
    ("shared/in-memory/src/store/schedule.rs", "shared/in-memory/src/store.rs"),
    ("shared/in-memory/src/store/stats.rs", "shared/in-memory/src/store.rs"),
    ("shared/in-memory/src/store/webhooks.rs", "shared/in-memory/src/store.rs"),
    ("shared/settings/src/kinds/text.rs", "shared/settings/src/kinds.rs"),
    ("shared/testkit/src/receiver/conversation.rs", "shared/testkit/src/receiver.rs"),
    ("tests/faults/acts.rs", "tests/faults/scenes.rs"),
    ("tests/flow/settings.rs", "tests/flow/main.rs"),
    ("tests/src/rig/installation.rs", "tests/src/rig/books.rs"),
    ("tests/src/rig/servers.rs", "tests/src/rig/books.rs"),
    ("tests/src/rig/servers.rs", "tests/src/rig/run.rs"),
];

/// A module, by its names from the crate's root on.
type Module = Vec<String>;

/// What one module brings to the search.
#[derive(Default)]
struct Source {
    file: PathBuf,
    /// What its `use` lines call each name, and the path that it stands for, as it is written.
    imports: BTreeMap<String, Vec<String>>,
    /// The names of its child modules.
    children: BTreeSet<String>,
    /// The paths in its code, as they are written.
    paths: Vec<Vec<String>>,
}

type Sources = BTreeMap<Module, Source>;

/// Which files each file names.
type Named = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// Reads a module from the syntax of its file.
struct Reading<'a> {
    sources: &'a mut Sources,
    module: Module,
    file: PathBuf,
    /// Where the files of its child modules are.
    folder: PathBuf,
}

impl Reading<'_> {
    fn source(&mut self) -> &mut Source {
        let file = self.file.clone();
        self.sources.entry(self.module.clone()).or_insert_with(|| Source { file, ..Source::default() })
    }

    /// Puts the names of a `use` line into the imports, each with its whole path.
    fn import(&mut self, tree: &syn::UseTree, before: &[String]) {
        let path = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(part) => self.import(&part.tree, &path(&part.ident)),
            syn::UseTree::Name(name) if name.ident == "self" => self.bind(before.last().cloned(), before.to_vec()),
            syn::UseTree::Name(name) => self.bind(Some(name.ident.to_string()), path(&name.ident)),
            syn::UseTree::Rename(named) if named.ident == "self" => {
                self.bind(Some(named.rename.to_string()), before.to_vec());
            }
            syn::UseTree::Rename(named) => self.bind(Some(named.rename.to_string()), path(&named.ident)),
            // A glob brings in names that can't be told apart here; the module itself is named at least.
            syn::UseTree::Glob(_) => self.source().paths.push(before.to_vec()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
        }
    }

    fn bind(&mut self, name: Option<String>, path: Vec<String>) {
        self.source().imports.extend(name.map(|name| (name, path)));
    }

    fn child(&mut self, item: &syn::ItemMod) {
        let name = item.ident.to_string();
        self.source().children.insert(name.clone());
        let module = [self.module.as_slice(), std::slice::from_ref(&name)].concat();
        let folder = self.folder.join(&name);
        let Some((_, items)) = &item.content else {
            let file = [self.folder.join(format!("{name}.rs")), folder.join("mod.rs")]
                .into_iter()
                .find(|file| file.exists());
            return read(self.sources, module, &file.expect("a declared module has a file"));
        };
        let mut inner = Reading { sources: self.sources, module, file: self.file.clone(), folder };
        inner.source();
        for item in items {
            inner.visit_item(item);
        }
    }
}

impl<'ast> Visit<'ast> for Reading<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "of the other kinds of items none names a module of its crate"
        )]
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !attributes.iter().any(is_of_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.child(item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &[]);
        // Without `pub` a name was brought in to be used, be it in a macro, which isn't read.
        if matches!(item.vis, syn::Visibility::Inherited) {
            let mut brought = Reading {
                sources: &mut Sources::new(),
                module: vec![],
                file: PathBuf::new(),
                folder: PathBuf::new(),
            };
            brought.import(&item.tree, &[]);
            let paths = brought.source().imports.clone();
            self.source().paths.extend(paths.into_values());
        }
    }

    /// `pub(super)` names no code.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.source().paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

fn is_of_tests(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    list.path.is_ident("cfg") && list.tokens.to_string() == "test"
}

/// Reads the file of a module and those of the modules below it.
fn read(sources: &mut Sources, module: Module, file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let syntax = syn::parse_file(&text).expect("what compiles can be parsed");
    let folder = file.parent().unwrap().to_path_buf();
    let folder =
        if module.is_empty() || file.ends_with("mod.rs") { folder } else { folder.join(file.file_stem().unwrap()) };
    let mut reading = Reading { sources, module, file: file.to_path_buf(), folder };
    reading.source();
    for item in &syntax.items {
        reading.visit_item(item);
    }
}

/// The module that a path leads to, seen from a module; none for a path of another crate. `left` bounds the signposts that
/// are followed, since two of them may point at each other.
fn target(sources: &Sources, from: &[String], path: &[String], left: u32) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let here = sources.get(from)?;
    let (base, rest) = match first.as_str() {
        "crate" => (vec![], rest),
        "self" => (from.to_vec(), rest),
        "super" => (from.split_last()?.1.to_vec(), rest),
        name if here.children.contains(name) => (from.to_vec(), path),
        name => {
            let meant = here.imports.get(name).filter(|meant| left > 0 && meant.as_slice() != path)?;
            return target(sources, from, &[meant.as_slice(), rest].concat(), left - 1);
        }
    };
    let Some((next, after)) = rest.split_first() else { return Some(base) };
    if next == "super" {
        return target(sources, &base, rest, left);
    }
    let source = sources.get(&base)?;
    if source.children.contains(next) {
        let child = [base.as_slice(), std::slice::from_ref(next)].concat();
        // A module of tests isn't read; what it holds belongs to its parent.
        return if sources.contains_key(&child) {
            target(sources, &child, &with_self(after), left)
        } else {
            Some(base)
        };
    }
    // A signpost: the name is brought into this module from where it really is.
    let meant = source.imports.get(next).filter(|_| left > 0);
    meant.and_then(|meant| target(sources, &base, &[meant.as_slice(), after].concat(), left - 1)).or(Some(base))
}

fn with_self(path: &[String]) -> Vec<String> {
    [&["self".to_owned()], path].concat()
}

/// Which files each file of a target names.
fn named(sources: &Sources) -> Named {
    let mut named = Named::new();
    for (module, source) in sources {
        let targets = source.paths.iter().filter_map(|path| target(sources, module, path, 9));
        let files = targets.map(|module| sources[&module].file.clone()).filter(|file| *file != source.file);
        named.entry(source.file.clone()).or_default().extend(files);
    }
    named
}

/// The shortest way from a file to another.
fn shortest(named: &Named, from: &Path, to: &Path) -> Option<Vec<PathBuf>> {
    let mut ways = vec![vec![from.to_path_buf()]];
    let mut seen = BTreeSet::from([from.to_path_buf()]);
    while !ways.is_empty() {
        if let Some(way) = ways.iter().find(|way| way.last().is_some_and(|last| last == to)) {
            return Some(way.clone());
        }
        let longer = ways.iter().flat_map(|way| {
            let nexts = named.get(way.last().unwrap()).into_iter().flatten();
            nexts.map(|next| [way.as_slice(), std::slice::from_ref(next)].concat())
        });
        ways = longer.filter(|way| seen.insert(way.last().unwrap().clone())).collect();
    }
    None
}

/// The circles of these arrows: for each file and each one that it names, the shortest way back.
fn circles(named: &Named) -> Vec<Vec<PathBuf>> {
    let arrows = named.iter().flat_map(|(file, nexts)| nexts.iter().map(move |next| (file, next)));
    arrows.filter_map(|(file, next)| shortest(named, next, file)).collect()
}

/// Which files each file of a target names.
fn arrows_of(root: &Path) -> Named {
    let mut sources = Sources::new();
    read(&mut sources, vec![], root);
    named(&sources)
}

#[test]
fn no_file_names_one_that_names_it() {
    let metadata = metadata();
    let top = metadata.workspace_root.as_std_path().canonicalize().unwrap();
    let targets = metadata.packages.iter().flat_map(|package| &package.targets);
    let roots: BTreeSet<PathBuf> = targets
        .filter(|target| !target.kind.contains(&TargetKind::CustomBuild))
        .map(|target| target.src_path.as_std_path().canonicalize().unwrap())
        .collect();
    let mut arrows: Named = roots.iter().flat_map(|root| arrows_of(root)).collect();
    let known = KNOWN.map(|(file, next)| (top.join(file), top.join(next)));
    let cut: Vec<_> = known
        .iter()
        .filter(|(file, next)| {
            !arrows.get(file).is_some_and(|nexts| nexts.contains(next)) || shortest(&arrows, next, file).is_none()
        })
        .collect();
    assert!(cut.is_empty(), "these circles are cut; take them out of KNOWN: {cut:#?}");
    for (file, next) in &known {
        arrows.entry(file.clone()).or_default().remove(next);
    }
    let found = circles(&arrows);
    assert!(found.is_empty(), "cut these circles: move what both sides need into a file of its own: {found:#?}");
}

/// Writes a crate and returns its circles, by the names of the files.
fn circles_of(name: &str, files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("circles-{name}"));
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = circles(&arrows_of(&folder.join("lib.rs")));
    let shown = |file: &PathBuf| file.strip_prefix(&folder).unwrap().display().to_string();
    found.iter().map(|circle| circle.iter().map(shown).collect()).collect()
}

#[test]
fn a_circle_is_found_through_signposts_parents_and_paths_without_a_use() {
    let through_a_signpost = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::Thing; pub struct Own(Thing);"),
        ("b.rs", "mod inner; pub use inner::Thing;"),
        ("b/inner.rs", "pub struct Thing; fn back() { drop(crate::a::Own); }"),
    ];
    assert_eq!(circles_of("signpost", &through_a_signpost), [["b/inner.rs", "a.rs"], ["a.rs", "b/inner.rs"]]);
    let with_a_parent = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod inner; pub struct Own; fn call() { inner::back(Own) }"),
        ("a/inner.rs", "pub(super) fn back(_: super::Own) {}"),
    ];
    assert_eq!(circles_of("parent", &with_a_parent), [["a.rs", "a/inner.rs"], ["a/inner.rs", "a.rs"]]);
}

#[test]
fn a_signpost_alone_a_test_and_another_crate_are_no_circle() {
    let files = [
        ("lib.rs", "mod a; pub use a::inner::Thing;"),
        ("a.rs", "pub(crate) mod inner; pub(super) const MOST: u32 = 1;"),
        (
            "a/inner.rs",
            "pub struct Thing(std::time::Duration, [u8; super::MOST]);\n#[cfg(test)]\nmod tests { use crate::Thing; }",
        ),
    ];
    assert_eq!(circles_of("none", &files), Vec::<Vec<String>>::new());
}
