//! A start that failed, as the platform is told of it: its log and its console show the text, and a caller gets it.

use std::time::Duration;

use lambda_runtime_api_client::body::Body;
use lambda_runtime_api_client::{BoxError, PooledClient, build_request};
use settings::{Environment, ProcessEnvironment};
use wire::lambda::InitErrorReport;

/// Where the platform says that its Runtime API is.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";
const PATH: &str = "/2018-06-01/runtime/init/error";
/// The report may hold up the end of the process this long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a function does not start.
#[derive(Debug)]
pub(crate) struct InitError {
    /// The stable code, which is the error's type.
    pub(crate) kind: &'static str,
    /// What is wrong, on one line.
    pub(crate) why: String,
    /// What the process ends with.
    pub(crate) code: u8,
}

impl InitError {
    /// Reports an initialisation error to the Runtime API. Without one, or after the first event, nobody listens.
    pub(crate) fn report(&self) {
        let Some(api) = ProcessEnvironment.variables().remove(RUNTIME_API) else { return };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let reported = runtime.map_err(BoxError::from).and_then(|runtime| {
            let reported = runtime.block_on(async { tokio::time::timeout(PATIENCE, self.send(&api)).await });
            runtime.shutdown_background();
            reported?
        });
        if let Err(error) = reported {
            tracing::debug!(error, "the platform was not told why the function does not start");
        }
    }

    async fn send(&self, api: &str) -> Result<(), BoxError> {
        let api = if api.contains("://") { api.to_owned() } else { format!("http://{api}") };
        let body = InitErrorReport::new(self.kind, &self.why).encode();
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
