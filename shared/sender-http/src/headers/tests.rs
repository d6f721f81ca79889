use super::*;
use crate::test_receiver::header;
use proptest::prelude::*;

fn reason(name: &str, value: &str) -> Option<HeaderReason> {
    check_headers(&[header(name, value)]).err().map(|error| error.reason)
}

#[test]
fn what_can_be_sent_and_what_cannot() {
    for (name, value) in [
        ("X-A", ""),
        ("x-webhook-id", "mine"),
        ("Authorization", "Bearer s3cret"),
        ("X-City", "Zürich"),
        ("X-Tab", "a\tb"),
        ("!#$%&'*+-.^_`|~09", "token"),
    ] {
        assert_eq!(reason(name, value), None, "{name}");
    }
    for name in ["", " ", "X A", "X-A:", "X-Ä", "X-A\r\nX-B", "X\0A", "(x)"] {
        assert_eq!(reason(name, "v"), Some(HeaderReason::Name), "{name:?}");
    }
    for value in ["a\r\nX-Injected: 1", "a\nb", "a\rb", "a\0b", "\u{7f}", "\u{1}"] {
        assert_eq!(reason("X-A", value), Some(HeaderReason::Value), "{value:?}");
    }
    for name in RESERVED.iter().copied().chain(["Host", "CONTENT-LENGTH", "X-Webhook-Signature"]) {
        assert_eq!(reason(name, "v"), Some(HeaderReason::Reserved), "{name}");
    }
}

#[test]
fn there_is_a_bound() {
    let headers: Vec<_> = (0..=HEADERS_MAX).map(|number| header(&format!("X-{number}"), "v")).collect();
    assert_eq!(check_headers(&headers[..HEADERS_MAX]), Ok(()));
    assert_eq!(check_headers(&headers).expect_err("too many").reason, HeaderReason::TooMany);
}

#[test]
fn an_error_names_the_header_and_hides_its_value() {
    let error = check_headers(&[header("Authorization", "Bearer s3cret\n")]).expect_err("a line break");
    assert_eq!(
        error.to_string(),
        "header \"Authorization\": the value contains a line break or another control character"
    );
    let error = check_headers(&[header(&"\r\n".repeat(500), "v")]).expect_err("no name");
    assert!(error.to_string().len() < 250 && !error.to_string().contains('\n'));
}

proptest! {
    #[test]
    fn hostile_headers_never_panic(name in any::<String>(), value in any::<String>()) {
        let _verdict = check_headers(&[header(&name, &value)]);
    }
}
