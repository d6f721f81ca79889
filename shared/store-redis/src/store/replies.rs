//! Replies of scripts, read with `wire`. A value that cannot be read counts as lost.

use domain::{ClaimFact, Duplicate, EndpointSetting, EndpointState, Fence, Next, Timestamp, Token};
use wire::hot;

/// Fields and values in turn, as a script replies with a hash.
pub(super) type Fields = Vec<String>;

/// Whether a claim was taken.
pub(super) fn claim(reply: &[String]) -> ClaimFact {
    let words: Vec<_> = reply.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["taken", fence, takeover] => match fence.parse() {
            Ok(fence) => ClaimFact::Taken { fence: Fence(fence), takeover: *takeover == "1" },
            Err(_) => ClaimFact::Unknown,
        },
        ["settled", terminal, due, attempt] => {
            let next = match (due.parse(), attempt.parse()) {
                (Ok(due), Ok(attempt)) => Some(Next { due: Timestamp::from_ms(due), attempt }),
                _ => None,
            };
            ClaimFact::Settled(Duplicate { terminal: *terminal == "1", next })
        }
        ["held", until] => match until.parse() {
            Ok(until) => ClaimFact::Held { until: Timestamp::from_ms(until) },
            Err(_) => ClaimFact::Unknown,
        },
        _ => ClaimFact::Unknown,
    }
}

/// Whether an endpoint's token bucket gave a token.
pub(super) fn token(word: &str) -> Token {
    match word.parse::<u64>() {
        Ok(turn_us) => Token::Wait(Timestamp::from_ms(turn_us.div_ceil(1000))),
        Err(_) if word == "taken" => Token::Taken,
        Err(_) => Token::Free,
    }
}

/// The state of an endpoint.
pub(super) fn endpoint(fields: &Fields) -> EndpointState {
    hot::endpoint_state::decode(pairs(fields)).unwrap_or_default()
}

/// The value of one field.
pub(super) fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    pairs(fields).find(|(field, _)| *field == name).map(|(_, value)| value)
}

/// The setting of an endpoint for one tenant.
pub(super) fn setting(line: &str) -> EndpointSetting {
    hot::setting::decode(line).map(|(state, _)| state).unwrap_or_default()
}

fn pairs(fields: &Fields) -> impl Iterator<Item = (&str, &str)> {
    fields.chunks_exact(2).filter_map(|pair| match pair {
        [name, value] => Some((name.as_str(), value.as_str())),
        _ => None,
    })
}
