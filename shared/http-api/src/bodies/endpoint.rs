//! Endpoints: the state that their answers led to, and the decisions of their owners.

use crate::time;
use delivery::ports::endpoints::{EndpointView, SettingView};
use domain::{Circuit, Cooldown, CooldownAnswer, EndpointHash, EndpointSetting, EndpointState, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of endpoints.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndpointPage {
    /// The endpoints, by hash.
    pub(crate) endpoints: Vec<EndpointItem>,
    /// What to pass as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_after: Option<String>,
}

/// What is known of one URL.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndpointItem {
    /// Its identity: the first half of the SHA-256 of the URL, in hexadecimal digits.
    hash: String,
    /// The URL without its query, once a webhook was sent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Whether the circuit is closed, there is no cooldown, and no tenant decided anything.
    normal: bool,
    /// Whether requests wait because too many failed.
    circuit: CircuitBody,
    /// What the receiver asked for with `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cooldown: Option<CooldownBody>,
    /// Requests under way.
    inflight: u64,
    /// Webhooks that are held while the endpoint is paused or disabled, of all tenants.
    held: u64,
    /// The decision of each tenant that made one, and of each whose webhooks are held.
    settings: Vec<SettingBody>,
}

/// The state of a circuit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CircuitBody {
    /// `closed` (requests flow), `open` (nothing is sent) or `half_open` (one probe at a time).
    #[schema(example = "closed")]
    state: &'static str,
    /// Since when it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    since: Option<String>,
}

/// An endpoint's "not before" time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CooldownBody {
    /// `holding` (nothing is sent), `probing` (one request at a time) or `over` (requests flow).
    #[schema(example = "holding")]
    state: &'static str,
    /// Nothing is sent before this.
    #[schema(format = DateTime)]
    ends_at: String,
    /// The cooldown is over by then, whatever the probe was answered with.
    #[schema(format = DateTime)]
    window_end: String,
}

/// The decision of one tenant, and the webhooks that are held because of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettingBody {
    /// The tenant.
    config_id: String,
    /// `active`, `paused`, `disabled` or `gone` (the endpoint answered 410).
    #[schema(example = "paused")]
    state: &'static str,
    /// This tenant's webhooks that are held.
    held: u64,
}

/// A decision that is in force from now on.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Decided {
    /// The endpoint.
    pub(crate) hash: String,
    /// The tenant.
    pub(crate) config_id: String,
    /// `active`, `paused` or `disabled`.
    #[schema(example = "active")]
    pub(crate) state: &'static str,
    /// How many held webhooks are released because of it.
    pub(crate) released: u64,
}

impl EndpointItem {
    /// The answer for a view at `now`.
    pub(crate) fn new(view: EndpointView, now: Timestamp) -> Self {
        let url = view.url.map(|url| url.split(['?', '#']).next().unwrap_or_default().to_owned());
        Self {
            hash: view.hash.to_string(),
            url,
            normal: view.state.is_normal() && view.settings.is_empty(),
            circuit: circuit(view.state.circuit),
            cooldown: view.state.cooldown.map(|cooldown| self::cooldown(&cooldown, now)),
            inflight: view.inflight,
            held: view.settings.iter().map(|setting| setting.held).sum(),
            settings: view.settings.into_iter().map(SettingBody::from).collect(),
        }
    }

    /// The answer for an endpoint in its normal state, of which nothing is stored.
    pub(crate) fn normal(hash: EndpointHash, url: Option<String>, now: Timestamp) -> Self {
        let view = EndpointView { hash, url, state: EndpointState::default(), inflight: 0, settings: Vec::new() };
        Self::new(view, now)
    }
}

impl From<SettingView> for SettingBody {
    fn from(setting: SettingView) -> Self {
        let state = setting_name(setting.state);
        Self { config_id: setting.config_id.to_string(), state, held: setting.held }
    }
}

/// The name of a decision's state.
pub(crate) const fn setting_name(state: EndpointSetting) -> &'static str {
    match state {
        EndpointSetting::Active => "active",
        EndpointSetting::Paused => "paused",
        EndpointSetting::Disabled => "disabled",
        EndpointSetting::Gone => "gone",
    }
}

fn circuit(circuit: Circuit) -> CircuitBody {
    match circuit {
        Circuit::Closed { .. } => CircuitBody { state: "closed", since: None },
        Circuit::Open { since } => CircuitBody { state: "open", since: Some(time::write(since)) },
        Circuit::HalfOpen { .. } => CircuitBody { state: "half_open", since: None },
    }
}

fn cooldown(cooldown: &Cooldown, now: Timestamp) -> CooldownBody {
    let state = match cooldown.answer(now) {
        CooldownAnswer::Holding => "holding",
        CooldownAnswer::Probing | CooldownAnswer::Probe => "probing",
        CooldownAnswer::Over => "over",
    };
    CooldownBody { state, ends_at: time::write(cooldown.ends_at), window_end: time::write(cooldown.window_end) }
}
