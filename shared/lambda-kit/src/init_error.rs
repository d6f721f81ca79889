//! A start that failed, as it is reported to the platform: its log and its console show the text, and the caller of an
//! invocation that waits for the start gets it.

use std::time::Duration;

use lambda_runtime_api_client::body::Body;
use lambda_runtime_api_client::{BoxError, PooledClient, build_request};
use settings::{Environment, ProcessEnvironment};
use wire::lambda::InitErrorReport;

/// The variable in which the platform names its Runtime API.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";
const PATH: &str = "/2018-06-01/runtime/init/error";
/// How long the report may delay the end of the process. The Runtime API is on the same machine and answers at once.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a function does not start.
#[derive(Debug)]
pub(crate) struct InitError {
    /// The stable code, which is the error's type.
    pub(crate) kind: &'static str,
    /// What is wrong, on one line.
    pub(crate) message: String,
    /// The exit code of the process.
    pub(crate) code: u8,
}

impl InitError {
    /// Reports an initialisation error to the Runtime API. Without one there is nothing to report to, and after the first
    /// event the platform refuses the report.
    pub(crate) fn report(&self) {
        let Some(api) = ProcessEnvironment.variables().remove(RUNTIME_API) else { return };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let reported = runtime.map_err(BoxError::from).and_then(|runtime| {
            let reported = runtime.block_on(async { tokio::time::timeout(REPORT_TIMEOUT, self.send(&api)).await });
            runtime.shutdown_background();
            reported?
        });
        if let Err(error) = reported {
            tracing::debug!(error, "the platform did not take the report of why the function does not start");
        }
    }

    async fn send(&self, api: &str) -> Result<(), BoxError> {
        let api = if api.contains("://") { api.to_owned() } else { format!("http://{api}") };
        let body = InitErrorReport::new(self.kind, &self.message).encode();
        let request = build_request()
            .method("POST")
            .uri(PATH)
            .header("content-type", "application/json")
            .header("lambda-runtime-function-error-type", self.kind)
            .body(Body::from(body))?;
        PooledClient::builder().with_endpoint(api.parse()?).build().call(request).await?;
        Ok(())
    }
}
