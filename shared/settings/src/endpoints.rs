//! Settings of the endpoints of a domain, or of all whose domain fits a pattern.

use std::collections::BTreeMap;

use domain::Endpoint;
use serde_json::{Value, json};

use crate::concurrency::Host;
use crate::key::Key;
use crate::kinds::{Kind, Or, Parsed, fields, map};
use crate::reader::Reader;

/// The settings of the endpoints of one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSettings {
    /// A URL that answers 200 when the endpoint can take work; the scheduler asks it before a cooldown ends.
    pub health_url: String,
}

/// Reads the key `endpoints`, the only one that is no section.
pub(crate) fn read(reader: &mut Reader) -> BTreeMap<String, EndpointSettings> {
    let key = Key {
        path: "endpoints",
        help: "Settings of the endpoints of a domain (`*.x.com`: of `x.com` and all below it; `*`: of all): the URL that is asked for their health.",
    };
    let setting: Or<_> = map(EndpointKind).named(DomainPattern).or(BTreeMap::new());
    reader.read(key, setting)
}

/// A domain, `*.` and a domain, or `*`.
#[derive(Debug)]
struct DomainPattern;

impl Kind for DomainPattern {
    type Value = String;

    fn allowed(&self) -> String {
        "a domain, *.domain or *".to_owned()
    }

    fn parse(&self, raw: &Value) -> Parsed<String> {
        let text = raw.as_str().unwrap_or_default().trim();
        match text.strip_prefix("*.") {
            _ if text == "*" => Ok(text.to_owned()),
            Some(parent) => Host.parse(&Value::from(parent)).map(|parent| format!("*.{parent}")),
            None => Host.parse(raw),
        }
    }

    fn show(&self, value: &String) -> Value {
        Value::from(value.as_str())
    }
}

#[derive(Debug)]
struct EndpointKind;

impl Kind for EndpointKind {
    type Value = EndpointSettings;

    fn allowed(&self) -> String {
        "{\"health_url\": a http or https URL}".to_owned()
    }

    fn parse(&self, raw: &Value) -> Parsed<EndpointSettings> {
        let [health_url] = fields(raw, ["health_url"])?;
        // The URL is not shown: its query may carry a token.
        match Endpoint::parse(health_url.as_str().unwrap_or_default()) {
            Ok(endpoint) => Ok(EndpointSettings { health_url: endpoint.url().to_owned() }),
            Err(error) => Err(vec![format!("health_url: {error}")]),
        }
    }

    fn show(&self, value: &EndpointSettings) -> Value {
        let shown = value.health_url.split(['?', '#']).next().unwrap_or_default();
        json!({ "health_url": shown })
    }
}
