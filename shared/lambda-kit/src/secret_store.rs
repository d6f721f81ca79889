//! AWS Secrets Manager: the value of one secret, in one stage.

use std::fmt;
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::config::Builder;
use aws_sdk_secretsmanager::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use delivery::fault::chain;

use crate::start::on_one_line;

/// How long a read may take with all its tries: the platform gives a start 10 s for everything.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one try may take, so that there is time for a second one.
const TRY_TIMEOUT: Duration = Duration::from_secs(2);

/// The name of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretArn(String);

impl SecretArn {
    /// Reads an ARN: `arn:PARTITION:secretsmanager:REGION:ACCOUNT:secret:NAME`.
    ///
    /// # Errors
    /// What the text is, when it is something else. It is not repeated: it may be the secret itself.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<_> = text.split(':').collect();
        match parts.as_slice() {
            ["arn", partition, "secretsmanager", region, account, "secret", name]
                if ![partition, region, account, name].iter().any(|part| part.is_empty()) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err("not the ARN of a secret: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME".to_owned()),
        }
    }

    /// The region that it is in.
    pub(crate) fn region(&self) -> &str {
        self.0.split(':').nth(3).unwrap_or_default()
    }
}

impl fmt::Display for SecretArn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Which of a secret's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The one that was written last.
    Current,
    /// The one before it.
    Previous,
}

impl Stage {
    const fn label(self) -> &'static str {
        match self {
            Self::Current => "AWSCURRENT",
            Self::Previous => "AWSPREVIOUS",
        }
    }
}

/// Secrets Manager, in the region of a secret.
pub(crate) struct SecretStore(Client);

impl SecretStore {
    pub(crate) fn new(aws: &SdkConfig, arn: &SecretArn) -> Self {
        let timeout = TimeoutConfig::builder().operation_timeout(READ_TIMEOUT).operation_attempt_timeout(TRY_TIMEOUT);
        let settings =
            Builder::from(aws).region(Region::new(arn.region().to_owned())).timeout_config(timeout.build());
        Self(Client::from_conf(settings.build()))
    }

    /// The value in a stage; none where a secret has no previous one.
    ///
    /// # Errors
    /// Why it could not be read, and what to do about it, on one line.
    pub(crate) async fn value(&self, arn: &SecretArn, stage: Stage) -> Result<Option<String>, String> {
        let request = self.0.get_secret_value().secret_id(&arn.0).version_stage(stage.label()).send();
        match request.await {
            Ok(answer) => match answer.secret_string {
                Some(text) => Ok(Some(text)),
                None => Err("it holds bytes: write it as text, with put-secret-value --secret-string".to_owned()),
            },
            Err(error) if stage == Stage::Previous && error.code() == Some("ResourceNotFoundException") => Ok(None),
            Err(error) => Err(refused(arn, &error)),
        }
    }
}

fn refused(arn: &SecretArn, error: &SdkError<GetSecretValueError>) -> String {
    let region = arn.region();
    let fix = match (error.code(), error) {
        (Some("AccessDeniedException"), _) => {
            "the function's role may not read it: allow it secretsmanager:GetSecretValue, and kms:Decrypt on its key"
                .to_owned()
        }
        (Some("ResourceNotFoundException"), _) => {
            "there is no such secret, or nothing in it: deploy the data stack, or write it with put-secret-value"
                .to_owned()
        }
        (Some("DecryptionFailure"), _) => {
            "it cannot be decrypted: enable its key, and allow the function's role kms:Decrypt on it".to_owned()
        }
        (Some("InvalidRequestException"), _) => {
            "it is about to be deleted: keep it with restore-secret, or deploy the data stack".to_owned()
        }
        (_, SdkError::TimeoutError(_) | SdkError::DispatchFailure(_)) => format!(
            "Secrets Manager did not answer: in a VPC, a function needs the endpoint com.amazonaws.{region}.secretsmanager \
             or a NAT gateway, and AWS credentials"
        ),
        _ => "Secrets Manager does not give it out".to_owned(),
    };
    let reason = error.code().map(|code| format!("{code}: {}", error.message().unwrap_or("without a message")));
    let reason = reason.unwrap_or_else(|| chain(error));
    format!("{fix} ({})", on_one_line(&reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_names_its_region_and_other_texts_are_refused() {
        let text = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:howk/secrets-key-a1B2c3";
        let arn = SecretArn::parse(text).unwrap();
        assert_eq!((arn.region(), arn.to_string()), ("eu-west-1", text.to_owned()));
        for text in [
            "",
            "howk/secrets-key",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:",
            "arn:aws:secretsmanager::123456789012:secret:howk",
            "arn:aws:kms:eu-west-1:123456789012:secret:howk",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:howk:key::",
            "the key itself, by mistake",
        ] {
            let problem = SecretArn::parse(text).unwrap_err();
            assert!(problem.starts_with("not the ARN of a secret") && !problem.contains("itself"), "{problem}");
        }
    }
}
