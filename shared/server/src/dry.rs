//! `--dry`: logs the requests and sends none.

use async_trait::async_trait;
use delivery::ports::sender::{AddressRefused, Health, Request, Sender};
use domain::{Answer, Endpoint, Outcome};

/// A sender that sends nothing: every attempt counts as answered with 200.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrySender;

#[async_trait]
impl Sender for DrySender {
    async fn send(&self, request: Request<'_>) -> Outcome {
        let webhook = &request.dispatch.webhook;
        tracing::info!(
            webhook_id = %webhook.id, config_id = %webhook.config_id, url = webhook.endpoint.shown(),
            attempt = request.dispatch.attempt, bytes = webhook.payload.bytes.len(), "dry run: would send",
        );
        Outcome::Answered(Answer { status: 200, ..Answer::default() })
    }

    fn vet(&self, _endpoint: &Endpoint) -> Result<(), AddressRefused> {
        Ok(())
    }

    async fn probe(&self, _health_url: &Endpoint) -> Health {
        Health::Good
    }
}
