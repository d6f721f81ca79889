//! API keys, each with the config ids that it covers (TN-1).
//!
//! Only the SHA-256 of a key is known here. Every key is compared, in constant time, so that the time of an answer says
//! nothing about a key. Keys are random texts of high entropy, which is why a plain hash suffices.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use domain::ConfigId;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use thiserror::Error;

use crate::problem::Problem;

/// Which requests are answered.
#[derive(Debug, Clone, Default)]
pub enum Auth {
    /// All requests: no key is needed.
    #[default]
    None,
    /// Requests that show one of these keys, by key id.
    Keys(BTreeMap<String, ApiKey>),
}

/// A key, hashed, and the config ids that it covers.
#[derive(Clone)]
pub struct ApiKey {
    hash: [u8; 32],
    config_ids: Arc<[String]>,
}

/// Why a key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The hash is not 64 hexadecimal digits.
    #[error("the hash of a key is 64 hexadecimal digits")]
    Hash,
    /// The key covers no config id.
    #[error("a key needs at least one config id")]
    ConfigIds,
}

impl ApiKey {
    /// A key by the SHA-256 of its text, in hexadecimal digits, that covers the config ids which fit one of
    /// `config_ids`; `*` in them stands for any text. A key with a plain `*` is an operator's.
    ///
    /// # Errors
    /// A [`KeyError`] that says what is wrong, without showing the hash.
    pub fn new(sha256_hex: &str, config_ids: Vec<String>) -> Result<Self, KeyError> {
        let mut hash = [0; 32];
        hex::decode_to_slice(sha256_hex, &mut hash).map_err(|_| KeyError::Hash)?;
        if config_ids.is_empty() {
            Err(KeyError::ConfigIds)
        } else {
            Ok(Self { hash, config_ids: config_ids.into() })
        }
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ApiKey").field("config_ids", &self.config_ids).finish_non_exhaustive()
    }
}

impl Auth {
    /// The caller by the key that the request shows.
    ///
    /// # Errors
    /// 401 without a known key, where keys are configured.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let Self::Keys(keys) = self else { return Ok(Caller { covered: None }) };
        let presented = presented(headers).ok_or_else(|| {
            Problem::unauthorized("send an API key as \"Authorization: Bearer <key>\" or in X-API-Key")
        })?;
        let digest: [u8; 32] = Sha256::digest(presented).into();
        let mut covered = None;
        for key in keys.values() {
            let same: Choice = key.hash.ct_eq(&digest);
            if bool::from(same) {
                covered = Some(Arc::clone(&key.config_ids));
            }
        }
        covered
            .map(|covered| Caller { covered: Some(covered) })
            .ok_or_else(|| Problem::unauthorized("this API key is not known"))
    }
}

/// The key that a request shows: the bearer token, else `X-API-Key`.
fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.as_bytes().split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
    });
    let key = bearer.or_else(|| headers.get("x-api-key").map(|value| value.as_bytes().trim_ascii()));
    key.filter(|key| !key.is_empty())
}

/// The caller of a request: which webhooks it may see and change.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The config ids that the caller's key covers; `None` where no key is needed: all of them.
    covered: Option<Arc<[String]>>,
}

impl Caller {
    /// Whether the caller covers this tenant.
    pub(crate) fn covers(&self, config_id: &ConfigId) -> bool {
        self.covered.as_ref().is_none_or(|covered| covered.iter().any(|pattern| fits(pattern, config_id.as_str())))
    }

    /// Whether the caller covers every tenant.
    pub(crate) fn is_operator(&self) -> bool {
        self.covered.as_ref().is_none_or(|covered| covered.iter().any(|pattern| pattern == "*"))
    }

    /// 403 unless the caller covers this tenant.
    pub(crate) fn may_use(&self, config_id: &ConfigId) -> Result<(), Problem> {
        let refused = || Problem::forbidden(format!("this API key does not cover the config id \"{config_id}\""));
        self.covers(config_id).then_some(()).ok_or_else(refused)
    }

    /// 403 unless the caller covers every tenant.
    pub(crate) fn may_operate(&self) -> Result<(), Problem> {
        let refused = || Problem::forbidden("this needs a key that covers every config id (\"*\")");
        self.is_operator().then_some(()).ok_or_else(refused)
    }

    /// 403 unless the caller covers the tenant that a filter names, or, when it names none, every tenant.
    pub(crate) fn may_filter(&self, config_id: Option<&ConfigId>) -> Result<(), Problem> {
        match config_id {
            Some(config_id) => self.may_use(config_id),
            None if self.is_operator() => Ok(()),
            None => Err(Problem::forbidden("name a config_id that this API key covers")),
        }
    }
}

/// Whether a config id fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, config_id: &str) -> bool {
    let mut segments = pattern.split('*');
    let Some(mut rest) = segments.next().and_then(|head| config_id.strip_prefix(head)) else { return false };
    let Some(tail) = segments.next_back() else { return rest.is_empty() };
    for segment in segments {
        match rest.split_once(segment) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_exact_or_have_stars() {
        for (pattern, id) in [
            ("a", "a"),
            ("*", "a"),
            ("a*", "a"),
            ("a:*", "a:b"),
            ("*c", "abc"),
            ("a*c", "abc"),
            ("a*b*c", "axbxc"),
            ("a**", "ab"),
        ] {
            assert!(fits(pattern, id), "{pattern} {id}");
        }
        for (pattern, id) in
            [("a", "ab"), ("b", "ab"), ("a:*", "a"), ("a*c", "ab"), ("a*b*c", "acb"), ("", "a"), ("aa*aa", "aaa")]
        {
            assert!(!fits(pattern, id), "{pattern} {id}");
        }
    }

    #[test]
    fn a_key_needs_a_hash_and_something_to_cover() {
        let hash = hex::encode(Sha256::digest("key"));
        assert!(ApiKey::new(&hash, vec!["*".to_owned()]).is_ok());
        assert_eq!(ApiKey::new("key", vec!["*".to_owned()]).unwrap_err(), KeyError::Hash);
        assert_eq!(ApiKey::new(&hash, Vec::new()).unwrap_err(), KeyError::ConfigIds);
        assert!(!format!("{:?}", ApiKey::new(&hash, vec!["*".to_owned()])).contains(&hash));
    }
}
