//! A function's binary and the variables that it is started with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::REGION;
use crate::spec::FunctionSpec;

/// A prebuilt function.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its name, limits and own variables.
    pub spec: FunctionSpec,
    /// Its binary.
    pub path: PathBuf,
    /// Variables from the settings. They override those of Lambda, and the spec's override both.
    pub variables: BTreeMap<String, String>,
}

impl Program {
    /// Starts the binary in a process group of its own: signals to the terminal's group don't reach it, and the system ends
    /// a stopped process whose parent dies.
    pub(super) fn start(&self, environment: u64, runtime_api: &str) -> std::io::Result<Child> {
        Command::new(&self.path)
            .env_clear()
            .envs(self.lambda_variables(environment, runtime_api))
            .envs(&self.variables)
            .envs(&self.spec.variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    fn lambda_variables(&self, environment: u64, runtime_api: &str) -> BTreeMap<&'static str, String> {
        let name = &self.spec.name;
        let folder = self.path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        BTreeMap::from([
            ("AWS_DEFAULT_REGION", REGION.to_owned()),
            ("AWS_EXECUTION_ENV", "AWS_Lambda_provided.al2023".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", self.spec.memory_mb.to_string()),
            ("AWS_LAMBDA_FUNCTION_NAME", name.clone()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
            ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}")),
            ("AWS_LAMBDA_LOG_STREAM_NAME", format!("[$LATEST]{environment:032x}")),
            ("AWS_LAMBDA_RUNTIME_API", runtime_api.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("LAMBDA_RUNTIME_DIR", "/var/runtime".to_owned()),
            ("LAMBDA_TASK_ROOT", folder),
            ("LANG", "en_US.UTF-8".to_owned()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("TZ", ":UTC".to_owned()),
            ("_HANDLER", "bootstrap".to_owned()),
        ])
    }
}
