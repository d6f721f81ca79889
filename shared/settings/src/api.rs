//! Settings of the HTTP interface that callers use.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::kinds::{Kind, Named, Parsed, Rule, fields, list, map, mins, ms, one_of, secs, span, text, whole};
use crate::reader::Reader;

section! {
    /// The HTTP interface that callers use.
    "api." Api {
        /// IP address that a server listens on. Any other than 127.0.0.1 needs api.auth keys.
        host: String = text(IP_ADDRESS).or(LOOPBACK.to_owned());
        /// TCP port to listen on; 0 takes any free port.
        port: u16 = whole(0..=65_535).or(8080);
        /// How long a request may take to arrive.
        read_timeout: Duration = span(ms(100)..=mins(15)).or(secs(10));
        /// How long an answer may take to be written.
        write_timeout: Duration = span(ms(100)..=mins(15)).or(secs(10));
        /// The largest request body in bytes, on every route. No webhook may be larger than the topics take, nor,
        /// with functions, than Lambda takes: 4669440.
        max_request_size: u64 = whole(1_024..=8_388_608).or(1_048_576);
        /// Who may call: only holders of a key, or every caller. A deployed function starts only when this is set.
        auth: ApiAuth = one_of().or(ApiAuth::None);
        /// Keys by their id, each with the SHA-256 of the key and the config ids that it may use (`*`
        /// matches any text).
        keys: BTreeMap<String, ApiKey> = map(ApiKeyKind).or(BTreeMap::new());
    }
}

/// The address of this machine that other machines cannot reach.
const LOOPBACK: &str = "127.0.0.1";

const IP_ADDRESS: Rule = Rule {
    allowed: "an IP address, such as 127.0.0.1, or 0.0.0.0 for every IPv4 address of the machine",
    holds: |text| text.parse::<IpAddr>().is_ok(),
};

impl Api {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.auth == ApiAuth::None && self.host != LOOPBACK {
            let problem = format!(
                "{} is not {LOOPBACK}, so callers need keys: set api.auth to keys and list them in api.keys, or remove \
                 api.host",
                self.host
            );
            reader.conflict(&["api.host", "api.auth"], problem);
        }
        if self.auth == ApiAuth::Keys && self.keys.is_empty() {
            reader.conflict(
                &["api.auth", "api.keys"],
                "keys needs at least one entry in api.keys; add one, or set it to none",
            );
        }
    }
}

/// Which callers are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiAuth {
    /// Every caller.
    None,
    /// Holders of one of [`Api::keys`].
    Keys,
}

impl Named for ApiAuth {
    const NAMES: &'static [(&'static str, Self)] = &[("none", Self::None), ("keys", Self::Keys)];
}

/// One tenant's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// SHA-256 of the key: 64 hexadecimal digits in lower case.
    pub hash: String,
    /// The config ids that it may use; at least one. `*` stands for any text.
    pub config_ids: Vec<String>,
}

const HASH: Rule = Rule {
    allowed: "the SHA-256 of the key, 64 hexadecimal digits",
    holds: |text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
};

#[derive(Debug)]
struct ApiKeyKind;

impl Kind for ApiKeyKind {
    type Value = ApiKey;

    fn allowed(&self) -> String {
        "{\"hash\": SHA-256 as 64 hexadecimal digits, \"config_ids\": a list}".to_owned()
    }

    fn parse(&self, raw: &Value) -> Parsed<ApiKey> {
        let [hash, config_ids] = fields(raw, ["hash", "config_ids"])?;
        let mut problems = Vec::new();
        let hash = hash.as_str().filter(|hash| (HASH.holds)(hash)).map(str::to_ascii_lowercase);
        if hash.is_none() {
            // The value is not shown: it may be the key itself.
            problems.push(format!("hash is not {}", HASH.allowed));
        }
        let config_ids = list(text(Rule::ANY)).parse(&config_ids);
        match (hash, config_ids) {
            (Some(hash), Ok(config_ids)) if !config_ids.is_empty() => return Ok(ApiKey { hash, config_ids }),
            (_, Ok(config_ids)) if config_ids.is_empty() => {
                problems.push("config_ids is empty: name what the key may use, or \"*\"".to_owned());
            }
            (_, Err(_)) => problems.push("config_ids is not a list of texts".to_owned()),
            (_, Ok(_)) => {}
        }
        Err(problems)
    }

    fn show(&self, value: &ApiKey) -> Value {
        json!({ "hash": "[REDACTED]", "config_ids": value.config_ids })
    }

    fn is_secret(&self) -> bool {
        true
    }
}
