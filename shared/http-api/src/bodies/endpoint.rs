//! Endpoints: what receivers told, and what owners decided.

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
    /// The URL without its query, when a webhook told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Whether nothing is out of the ordinary.
    normal: bool,
    /// Whether requests are held back because they failed.
    circuit: CircuitBody,
    /// What the receiver asked for with `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cooldown: Option<CooldownBody>,
    /// Requests under way.
    inflight: u64,
    /// The tenants that decided something, or for whom webhooks are held.
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
    /// `closed`, `probing` or `open`.
    #[schema(example = "closed")]
    state: &'static str,
    /// Nothing is sent before this.
    #[schema(format = DateTime)]
    ends_at: String,
    /// By then everything that waited is released.
    #[schema(format = DateTime)]
    window_end: String,
}

/// What one tenant decided, and what waits for it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettingBody {
    /// The tenant.
    config_id: String,
    /// `active`, `paused`, `disabled` or `gone` (the endpoint answered 410).
    #[schema(example = "paused")]
    state: &'static str,
    /// Webhooks that wait for the owner.
    held: u64,
}

/// A decision that counts from now on.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Decided {
    /// The endpoint.
    pub(crate) hash: String,
    /// The tenant.
    pub(crate) config_id: String,
    /// `active`, `paused` or `disabled`.
    #[schema(example = "active")]
    pub(crate) state: &'static str,
    /// How many held webhooks go out because of it.
    pub(crate) released: u64,
}

impl EndpointItem {
    /// What a view tells at `now`.
    pub(crate) fn new(view: EndpointView, now: Timestamp) -> Self {
        let url = view.url.map(|url| url.split(['?', '#']).next().unwrap_or_default().to_owned());
        Self {
            hash: view.hash.to_string(),
            url,
            normal: view.state.is_normal() && view.settings.is_empty(),
            circuit: circuit(view.state.circuit),
            cooldown: view.state.cooldown.map(|cooldown| self::cooldown(&cooldown, now)),
            inflight: view.inflight,
            settings: view.settings.into_iter().map(SettingBody::from).collect(),
        }
    }

    /// An endpoint that nothing is kept of.
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

/// The name of an owner's state.
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
        CooldownAnswer::Holding => "closed",
        CooldownAnswer::Probing | CooldownAnswer::Probe => "probing",
        CooldownAnswer::Over => "open",
    };
    CooldownBody { state, ends_at: time::write(cooldown.ends_at), window_end: time::write(cooldown.window_end) }
}
