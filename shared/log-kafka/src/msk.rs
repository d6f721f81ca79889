//! The brokers of an MSK cluster, by the cluster's ARN: one request to AWS when a process starts.
//!
//! The environment may name the brokers instead, which saves the request; but they change with the cluster, and its ARN
//! does not.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_kafka::Client;
use aws_sdk_kafka::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_kafka::operation::get_bootstrap_brokers::{GetBootstrapBrokersError, GetBootstrapBrokersOutput};
use delivery::{Fault, FaultKind};

use crate::config::{Auth, Security};

/// How long the request may take, with its repetitions. AWS ends the start of a function after 10 seconds, and a start that
/// fails must log the reason before.
const TIMEOUT: Duration = Duration::from_secs(4);

/// An MSK cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MskCluster {
    arn: String,
    region: String,
}

impl MskCluster {
    /// Reads an ARN: `arn:PARTITION:kafka:REGION:ACCOUNT:cluster/NAME/ID`.
    ///
    /// # Errors
    /// A permanent [`Fault`] when it has another shape.
    pub fn parse(arn: &str) -> Result<Self, Fault> {
        let parts: Vec<_> = arn.splitn(6, ':').collect();
        if let ["arn", partition, "kafka", region, account, resource] = parts.as_slice()
            && ![partition, region, account].iter().any(|part| part.is_empty())
            && let ["cluster", name, id] = resource.split('/').collect::<Vec<_>>().as_slice()
            && !name.is_empty()
            && !id.is_empty()
        {
            return Ok(Self { arn: arn.to_owned(), region: (*region).to_owned() });
        }
        let problem =
            format!("\"{arn}\" is not the ARN of an MSK cluster: arn:aws:kafka:REGION:ACCOUNT:cluster/NAME/ID");
        Err(Fault::new(FaultKind::Permanent, problem))
    }

    /// The brokers to start from, as host:port, for the way to sign in. The request is made with the AWS identity of the process.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the cluster has no listener for it, does not exist, or may not be described; a transient one
    /// when AWS does not answer.
    pub async fn brokers(&self, security: &Security) -> Result<Vec<String>, Fault> {
        self.brokers_by(&aws_config::load_defaults(BehaviorVersion::latest()).await, security).await
    }

    /// The same with other AWS settings, but in the region of the cluster.
    ///
    /// # Errors
    /// As [`Self::brokers`].
    pub async fn brokers_by(&self, settings: &SdkConfig, security: &Security) -> Result<Vec<String>, Fault> {
        let timeout = TimeoutConfig::builder().operation_timeout(TIMEOUT).build();
        let settings = aws_sdk_kafka::config::Builder::from(settings)
            .region(Region::new(self.region.clone()))
            .timeout_config(timeout)
            .build();
        let request = Client::from_conf(settings).get_bootstrap_brokers().cluster_arn(&self.arn).send();
        let found = request.await.map_err(|error| self.refused(error))?;
        let (listener, brokers) = listener(&found, security);
        let brokers: Vec<_> = brokers.unwrap_or_default().split(',').map(str::trim).collect();
        if brokers.iter().all(|broker| broker.is_empty()) {
            let problem = format!("the MSK cluster {} has no listener for {listener}", self.arn);
            return Err(Fault::new(FaultKind::Permanent, problem));
        }
        Ok(brokers.into_iter().map(str::to_owned).collect())
    }

    fn refused(&self, error: SdkError<GetBootstrapBrokersError>) -> Fault {
        let arn = &self.arn;
        let (kind, problem) = match error.code() {
            Some("AccessDeniedException" | "ForbiddenException") => (
                FaultKind::Permanent,
                format!("the AWS identity may not read the brokers of {arn}: allow it kafka:GetBootstrapBrokers"),
            ),
            Some("NotFoundException") => (FaultKind::Permanent, format!("there is no MSK cluster {arn}")),
            Some("BadRequestException" | "UnauthorizedException") => {
                (FaultKind::Permanent, format!("AWS refuses to name the brokers of {arn}"))
            }
            Some(_) | None => (FaultKind::Transient, format!("AWS did not answer with the brokers of {arn}")),
        };
        Fault::caused(kind, problem, error)
    }
}

/// The listener for a way to sign in, by what it is called and its brokers within the cluster's network.
fn listener<'a>(found: &'a GetBootstrapBrokersOutput, security: &Security) -> (&'static str, Option<&'a str>) {
    match (&security.auth, security.tls) {
        (Auth::Tokens(_), _) => ("IAM", found.bootstrap_broker_string_sasl_iam()),
        (Auth::Scram(_), _) => ("SASL/SCRAM", found.bootstrap_broker_string_sasl_scram()),
        (Auth::None, true) => ("TLS without sign-in", found.bootstrap_broker_string_tls()),
        (Auth::None, false) => ("plaintext", found.bootstrap_broker_string()),
    }
}
