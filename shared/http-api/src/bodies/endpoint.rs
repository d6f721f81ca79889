//! Endpoints: what receivers told, and what owners decided.

use delivery::ports::endpoints::{EndpointView, OwnerView};
use domain::{Circuit, EndpointHash, EndpointState, Gate, GateAnswer, OwnerState, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use wire::http::time;

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
    gate: Option<GateBody>,
    /// Requests under way.
    inflight: u64,
    /// The tenants that decided something, or for whom webhooks are parked.
    owners: Vec<OwnerBody>,
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
pub(crate) struct GateBody {
    /// `closed`, `probing` or `open`.
    #[schema(example = "closed")]
    state: &'static str,
    /// Nothing is sent before this.
    #[schema(format = DateTime)]
    opens_at: String,
    /// By then everything that waited is released.
    #[schema(format = DateTime)]
    window_end: String,
}

/// What one tenant decided, and what waits for it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OwnerBody {
    /// The tenant.
    config_id: String,
    /// `active`, `paused`, `disabled` or `gone` (the endpoint answered 410).
    #[schema(example = "paused")]
    state: &'static str,
    /// Webhooks that wait for the owner.
    parked: u64,
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
    /// How many parked webhooks go out because of it.
    pub(crate) unparked: u64,
}

impl EndpointItem {
    /// What a view tells at `now`.
    pub(crate) fn new(view: EndpointView, now: Timestamp) -> Self {
        let url = view.url.map(|url| url.split(['?', '#']).next().unwrap_or_default().to_owned());
        Self {
            hash: view.hash.to_string(),
            url,
            normal: view.state.is_normal() && view.owners.is_empty(),
            circuit: circuit(view.state.circuit),
            gate: view.state.gate.map(|gate| self::gate(&gate, now)),
            inflight: view.inflight,
            owners: view.owners.into_iter().map(OwnerBody::from).collect(),
        }
    }

    /// An endpoint that nothing is kept of.
    pub(crate) fn normal(hash: EndpointHash, url: Option<String>, now: Timestamp) -> Self {
        let view = EndpointView { hash, url, state: EndpointState::default(), inflight: 0, owners: Vec::new() };
        Self::new(view, now)
    }
}

impl From<OwnerView> for OwnerBody {
    fn from(owner: OwnerView) -> Self {
        let state = owner_state(owner.state);
        Self { config_id: owner.config_id.to_string(), state, parked: owner.parked }
    }
}

/// The name of an owner's state.
pub(crate) const fn owner_state(state: OwnerState) -> &'static str {
    match state {
        OwnerState::Active => "active",
        OwnerState::Paused => "paused",
        OwnerState::Disabled => "disabled",
        OwnerState::Gone => "gone",
    }
}

fn circuit(circuit: Circuit) -> CircuitBody {
    match circuit {
        Circuit::Closed { .. } => CircuitBody { state: "closed", since: None },
        Circuit::Open { since } => CircuitBody { state: "open", since: Some(time::write(since)) },
        Circuit::HalfOpen { .. } => CircuitBody { state: "half_open", since: None },
    }
}

fn gate(gate: &Gate, now: Timestamp) -> GateBody {
    let state = match gate.answer(now) {
        GateAnswer::Closed => "closed",
        GateAnswer::ProbeUnderWay | GateAnswer::Probe => "probing",
        GateAnswer::Open => "open",
    };
    GateBody { state, opens_at: time::write(gate.opens_at), window_end: time::write(gate.window_end) }
}
