//! The secrets of one request in clear, and how they are hidden in its answer.
//!
//! Made right before a request and dropped with it: nothing else in howk holds a webhook's secrets in clear (SE-1). A
//! receiver may echo its request, and the excerpt that is kept of its answer is logged and shown to operators and tenants.

use delivery::ports::vault::{Unsealable, Vault};
use domain::{Header, Secret, Webhook};

/// What stands in place of an echoed secret.
const HIDDEN: &str = "[REDACTED]";
/// The shortest word of a header's value that counts as a credential, in bytes: shorter words also occur in plain text.
const CREDENTIAL_BYTES_MIN: usize = 8;
/// The shortest beginning of a secret, cut off by the end of an excerpt, that is hidden, in bytes.
const BEGINNING_BYTES_MIN: usize = 4;

/// The headers and signing secrets of one webhook.
#[derive(Debug)]
pub(crate) struct Unsealed {
    pub(crate) headers: Vec<Header>,
    pub(crate) signing_secrets: Vec<Secret>,
}

impl Unsealed {
    /// Unseals the headers and signing secrets of a webhook.
    pub(crate) fn of(webhook: &Webhook, vault: &dyn Vault) -> Result<Self, Unsealable> {
        let headers = webhook.headers.iter().map(|sealed| -> Result<_, Unsealable> {
            let value = vault.unseal(&webhook.config_id, &sealed.value)?;
            Ok(Header { name: sealed.name.clone(), value })
        });
        let headers = headers.collect::<Result<_, _>>()?;
        let secrets = webhook.signing_secrets.iter().map(|sealed| vault.unseal(&webhook.config_id, sealed));
        Ok(Self { headers, signing_secrets: secrets.collect::<Result<_, _>>()? })
    }

    /// The text without any of these secrets, nor the beginning of one at its end.
    pub(crate) fn hide(&self, text: String) -> String {
        if text.is_empty() {
            return text;
        }
        let mut hidden = text;
        for word in self.credentials() {
            if hidden.contains(word) {
                hidden = hidden.replace(word, HIDDEN);
            }
            if let Some(beginning) = beginning_at_end(&hidden, word) {
                hidden.truncate(hidden.len() - beginning);
                hidden.push_str(HIDDEN);
            }
        }
        hidden
    }

    /// Signing secrets with and without their prefix, and the words of header values: `Bearer x` is echoed as `x` too.
    fn credentials(&self) -> impl Iterator<Item = &str> {
        let secrets = self.signing_secrets.iter().map(Secret::reveal);
        let bare = secrets.clone().filter_map(|secret| secret.split_once('_').map(|(_, key)| key));
        let values = self.headers.iter().flat_map(|header| header.value.reveal().split_ascii_whitespace());
        let words = bare.chain(values).filter(|word| word.len() >= CREDENTIAL_BYTES_MIN);
        secrets.filter(|secret| !secret.is_empty()).chain(words)
    }
}

/// How many bytes at the end of the text are the beginning of the word.
fn beginning_at_end(text: &str, word: &str) -> Option<usize> {
    let lengths = (BEGINNING_BYTES_MIN..word.len()).rev();
    lengths.filter_map(|length| word.get(..length)).find(|beginning| text.ends_with(beginning)).map(str::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unsealed(value: &str, secret: &str) -> Unsealed {
        let header = Header { name: "Authorization".to_owned(), value: Secret::new(value) };
        Unsealed { headers: vec![header], signing_secrets: vec![Secret::new(secret)] }
    }

    #[test]
    fn an_echo_shows_no_secret() {
        let unsealed = unsealed("Bearer token-of-acme", "whsec_c2VjcmV0IG9uZQ==");
        for (echo, expected) in [
            ("", ""),
            ("nothing of it", "nothing of it"),
            ("Authorization: Bearer token-of-acme\n", "Authorization: Bearer [REDACTED]\n"),
            ("token-of-acme,token-of-acme", "[REDACTED],[REDACTED]"),
            ("with whsec_c2VjcmV0IG9uZQ== signed", "with [REDACTED] signed"),
            ("with c2VjcmV0IG9uZQ== signed", "with [REDACTED] signed"),
            ("cut off: token-of-a", "cut off: [REDACTED]"),
            ("cut off: whsec_c2Vjc", "cut off: [REDACTED]"),
            ("a tok", "a tok"),
        ] {
            assert_eq!(unsealed.hide(echo.to_owned()), expected);
        }
    }

    proptest! {
        #[test]
        fn no_echo_shows_a_secret(before in "\\PC{0,20}", secret in "[a-zA-Z0-9+/é]{8,40}", cut in 0usize..80) {
            let mut echo = format!("{before}{secret}{secret}");
            echo.truncate(echo.floor_char_boundary(cut));
            let hidden = unsealed(&secret, "unrelated secret").hide(echo);
            prop_assert!(!hidden.contains(&secret));
        }
    }
}
