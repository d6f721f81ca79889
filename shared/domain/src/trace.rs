//! The trace that a webhook belongs to, from the request that brought it to the request that delivers it.
//!
//! Howk makes no spans of its own and passes the parent on as it came, as W3C's Trace Context lets a part do that does
//! not take part in a trace. A trace is never a reason to refuse anything: a header that cannot be read counts as absent.

use std::sync::Arc;

/// The length of a `traceparent` of version 00, in bytes.
const LENGTH: usize = 55;

/// A W3C `traceparent`.
///
/// Shape: `00-`, 32 hexadecimal digits of the trace, `-`, 16 of the parent, `-`, 2 of flags; lower case, neither id all
/// zeros. Source: W3C Trace Context, section 3.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent(Arc<str>);

impl TraceParent {
    /// Reads the header `traceparent`. Of a later version the parts of the known one are kept.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let known = text.get(..LENGTH)?;
        let rest = text.get(LENGTH..)?;
        let mut parts = known.split('-');
        let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_later = version != "00" && version != "ff" && is_hex(version, 2);
        let ends_well = rest.is_empty() || (is_later && rest.starts_with('-'));
        if parts.next().is_some() || !ends_well || (version != "00" && !is_later) {
            return None;
        }
        Self::of(trace, parent, flags)
    }

    /// Reads AWS X-Ray's header `X-Amzn-Trace-Id`; a header without a parent gives nothing.
    pub fn of_xray(text: &str) -> Option<Self> {
        let field = |wanted: &str| {
            let mut fields = text.split(';').filter_map(|field| field.trim().split_once('='));
            fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
        };
        let (epoch, unique) = field("Root")?.strip_prefix("1-")?.split_once('-')?;
        let flags = if field("Sampled") == Some("1") { "01" } else { "00" };
        Self::of(&format!("{epoch}{unique}"), field("Parent")?, flags)
    }

    /// The header's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of(trace: &str, parent: &str, flags: &str) -> Option<Self> {
        let is_id = |text: &str, digits: usize| is_hex(text, digits) && text.bytes().any(|byte| byte != b'0');
        let is_sound = is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2);
        is_sound.then(|| Self(format!("00-{trace}-{parent}-{flags}").into()))
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOUND: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn parsed(text: &str) -> Option<String> {
        TraceParent::parse(text).map(|parent| parent.as_str().to_owned())
    }

    #[test]
    fn a_traceparent_is_read_or_ignored() {
        assert_eq!(parsed(SOUND).as_deref(), Some(SOUND));
        assert_eq!(parsed(&format!(" {SOUND} ")).as_deref(), Some(SOUND));
        assert_eq!(parsed(&SOUND.replacen("00", "cc", 1)).as_deref(), Some(SOUND), "a later version");
        assert_eq!(parsed(&format!("{}-more", SOUND.replacen("00", "cc", 1))).as_deref(), Some(SOUND));
        for wrong in [
            "",
            "00",
            &SOUND.replacen("00", "ff", 1),
            &format!("{SOUND}-more"),
            &SOUND.to_uppercase(),
            &SOUND.replace("b7ad6b7169203331", "0000000000000000"),
            &SOUND.replace("0af7651916cd43dd8448eb211c80319c", "00000000000000000000000000000000"),
            &SOUND.replace("-01", "-0g"),
            &SOUND.replace('-', "_"),
            &"-".repeat(LENGTH),
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_xray_header_with_a_parent_is_a_traceparent() {
        let of = |text: &str| TraceParent::of_xray(text).map(|parent| parent.as_str().to_owned());
        let trace = "5759e988bd862e3fe1be46a994272793";
        assert_eq!(
            of("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a:0"),
            Some(format!("00-{trace}-53995c3f42cd8ad8-01"))
        );
        assert_eq!(
            of("Self=1-67891234-x; Root=1-5759e988-bd862e3fe1be46a994272793; Parent=53995c3f42cd8ad8; Sampled=?"),
            Some(format!("00-{trace}-53995c3f42cd8ad8-00"))
        );
        for wrong in
            ["", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1", "Root=2-5759e988-bd;Parent=5", "Root=;;="]
        {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_ignored(text: String) {
            prop_assert!(TraceParent::parse(&text).is_none_or(|parent| parent.as_str().len() == LENGTH));
            prop_assert!(TraceParent::of_xray(&text).is_none_or(|parent| parent.as_str().len() == LENGTH));
        }
    }
}
