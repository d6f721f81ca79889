//! Schemas of request bodies.

use utoipa::ToSchema;

/// A webhook to send. Unknown fields are refused.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used: wire reads the bytes")]
pub(crate) struct NewWebhook {
    /// The URL to POST to: http or https, without user and password.
    #[schema(max_length = 2048, format = "uri", example = "https://example.com/hooks")]
    endpoint: String,
    /// Any JSON, null included. It is sent byte for byte as it stands here.
    payload: serde_json::Value,
    /// Headers of the request, in this order. At most 100 and 16 KiB.
    headers: Option<std::collections::BTreeMap<String, String>>,
    /// Repeating it within one config id gives the same webhook, delivered once. Whatever else the repeat says is not
    /// compared and changes nothing.
    #[schema(min_length = 1, max_length = 255)]
    idempotency_key: Option<String>,
    /// What requests are signed with: plain text, or `whsec_` or `whsk_` and base64.
    #[schema(max_length = 1024)]
    signing_secret: Option<String>,
    /// More secrets, while one is rotated; requests carry a signature of each.
    #[schema(max_items = 5)]
    signing_secrets: Option<Vec<String>>,
    /// The number of requests at most.
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: Option<u32>,
    /// Status codes, 300 to 599, that are retried although the rules would not.
    #[schema(max_items = 50)]
    retry_on_status: Option<Vec<u16>>,
    /// Accept only if a script is configured for the config id.
    require_script: Option<bool>,
}

/// Webhooks to send, accepted or refused one by one.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used: wire reads the bytes")]
pub(crate) struct NewWebhooks {
    /// The webhooks.
    #[schema(min_items = 1, max_items = 100)]
    webhooks: Vec<NewWebhook>,
}

/// Which dead letters to replay; at least one field.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used: wire reads the bytes")]
pub(crate) struct ReplayFilter {
    /// Of this config id.
    config_id: Option<String>,
    /// Of this endpoint: its hash or its URL.
    endpoint: Option<String>,
    /// For this reason.
    #[schema(example = "exhausted")]
    reason_type: Option<String>,
    /// Given up at or after this.
    #[schema(format = DateTime)]
    since: Option<String>,
    /// Given up before this.
    #[schema(format = DateTime)]
    until: Option<String>,
}

/// Whose decision it is.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used: wire reads the bytes")]
pub(crate) struct Decider {
    /// The config id whose webhooks to this endpoint are meant.
    config_id: String,
}
