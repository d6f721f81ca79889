//! Finds the binaries of the functions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// This machine's architecture, as Lambda calls it.
const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };

/// Where binaries are looked for.
#[derive(Debug, Clone)]
pub enum Places {
    /// The folder of `--functions`: `DIR/NAME/bootstrap` or `DIR/NAME`.
    Named(PathBuf),
    /// Cargo's target folder: the newest of `lambda/ARCH/NAME/bootstrap`, which functions/build leaves,
    /// `lambda/NAME/bootstrap`, `release/NAME` and `debug/NAME`.
    Built(PathBuf),
}

impl Places {
    /// The target folder that this program is in, or `target` when the program is somewhere else.
    pub fn around(program: Option<&Path>) -> Self {
        let profile = program.and_then(Path::parent);
        let target = profile.filter(|folder| folder.ends_with("debug") || folder.ends_with("release"));
        Self::Built(target.and_then(Path::parent).map_or_else(|| PathBuf::from("target"), Path::to_path_buf))
    }

    /// The binary of every function.
    ///
    /// # Errors
    /// The functions that have no binary, and how to build them.
    pub fn find<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> anyhow::Result<BTreeMap<String, PathBuf>> {
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        for name in names {
            match self.newest(name) {
                Some(path) => drop(found.insert(name.to_owned(), path)),
                None => missing.push(name),
            }
        }
        anyhow::ensure!(missing.is_empty(), "{}", self.missing_message(&missing));
        Ok(found)
    }

    fn newest(&self, name: &str) -> Option<PathBuf> {
        let candidates = self.candidates(name).into_iter();
        let built = candidates.filter_map(|path| built_at(&path).map(|at| (at, path)));
        built.max().and_then(|(_, path)| path.canonicalize().ok())
    }

    fn candidates(&self, name: &str) -> Vec<PathBuf> {
        match self {
            Self::Named(folder) => vec![folder.join(name).join("bootstrap"), folder.join(name)],
            Self::Built(folder) => vec![
                folder.join("lambda").join(ARCHITECTURE).join(name).join("bootstrap"),
                folder.join("lambda").join(name).join("bootstrap"),
                folder.join("release").join(name),
                folder.join("debug").join(name),
            ],
        }
    }

    fn missing_message(&self, missing: &[&str]) -> String {
        let folder = match self {
            Self::Named(folder) | Self::Built(folder) => folder.display(),
        };
        let packages = missing.join(" -p ");
        format!(
            "no binary of {} in {folder}: build with `cargo build --release -p {packages}`, or name another folder with \
             --functions",
            missing.join(", ")
        )
    }
}

fn built_at(path: &Path) -> Option<SystemTime> {
    let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    found.modified().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_build_wins_and_the_error_names_missing_binaries_and_how_to_build_them() {
        let folder = std::env::temp_dir().join(format!("howk-binaries-{}", std::process::id()));
        for (path, age) in
            [("debug/a", 5), ("release/a", 50), ("lambda/b/bootstrap", 5), ("lambda/sparc/a/bootstrap", 1)]
        {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::File::create(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age)).unwrap();
        }
        let places = Places::Built(folder.clone());
        let found = places.find(["a", "b"]).unwrap();
        assert!(found["a"].ends_with("debug/a") && found["b"].ends_with("lambda/b/bootstrap"), "{found:?}");
        let error = places.find(["a", "c", "d"]).unwrap_err().to_string();
        assert!(error.contains("c, d") && error.contains("cargo build --release -p c -p d"), "{error}");
        assert!(Places::Named(folder.join("debug")).find(["a"]).is_ok());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_program_looks_in_its_own_target_folder() {
        let around = |path: &str| match Places::around(Some(Path::new(path))) {
            Places::Built(folder) => folder,
            Places::Named(folder) => panic!("{folder:?}"),
        };
        assert_eq!(around("/a/target/debug/howk-local"), Path::new("/a/target"));
        assert_eq!(around("/usr/bin/howk-local"), Path::new("target"));
    }
}
