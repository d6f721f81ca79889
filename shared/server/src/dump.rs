//! `delivery.dump_requests`: logs every request in full, except values that may be credentials.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::ports::sender::{AddressRefused, Health, Request, Sender};
use domain::{Endpoint, Outcome};

/// Logs requests and outcomes of another sender.
pub(crate) struct DumpingSender(pub(crate) Arc<dyn Sender>);

#[async_trait]
impl Sender for DumpingSender {
    async fn send(&self, request: Request<'_>) -> Outcome {
        let webhook = &request.dispatch.webhook;
        let body = String::from_utf8_lossy(&webhook.payload.bytes);
        tracing::info!(
            webhook_id = %webhook.id, url = webhook.endpoint.shown(), attempt = request.dispatch.attempt,
            headers = ?webhook.headers, %body, "request",
        );
        let outcome = self.0.send(request).await;
        tracing::info!(webhook_id = %webhook.id, ?outcome, "answer");
        outcome
    }

    fn vet(&self, endpoint: &Endpoint) -> Result<(), AddressRefused> {
        self.0.vet(endpoint)
    }

    async fn probe(&self, health_url: &Endpoint) -> Health {
        self.0.probe(health_url).await
    }
}
