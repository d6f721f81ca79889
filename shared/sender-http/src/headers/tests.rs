use super::*;
use domain::{HeaderReason, Secret};
use proptest::prelude::*;

fn header(name: &str, value: &str) -> Header {
    Header { name: name.to_owned(), value: Secret::new(value) }
}

#[test]
fn what_the_domain_lets_through_can_be_sent() {
    for (name, value) in [("X-A", ""), ("X-City", "Zürich"), ("X-Tab", "a\tb"), ("!#$%&'*+-.^_`|~09", "token")] {
        let header = header(name, value);
        assert_eq!(header.check(), Ok(()));
        let (name, value) = sendable(&header).expect("sendable");
        assert_eq!(name.as_str(), header.name.to_ascii_lowercase());
        assert!(value.is_sensitive() && value.as_bytes() == header.value.reveal().as_bytes());
    }
}

proptest! {
    #[test]
    fn the_domain_and_the_http_client_agree(name in "[ -~]{0,3}|\\PC{1,3}", value in any::<String>()) {
        let header = header(&name, &value);
        let refused = matches!(header.check(), Err(HeaderReason::Name | HeaderReason::Value));
        prop_assert_eq!(refused, sendable(&header).is_err(), "{:?}", name);
    }
}
