use super::*;
use proptest::prelude::*;

fn endpoint(text: &str) -> Endpoint {
    Endpoint::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn error(text: &str) -> EndpointError {
    Endpoint::parse(text).expect_err(text)
}

#[test]
fn hosts_become_domains() {
    for (text, domain) in [
        ("https://a.example/x", "a.example"),
        ("http://a.example", "a.example"),
        ("https://a.example:8443/x", "a.example"),
        ("HTTPS://A.Example/X", "a.example"),
        ("https://a.example./", "a.example"),
        ("https://a.example..:443/", "a.example"),
        ("https://BÜCHER.example/", "xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://ａ。example/", "a.example"),
        ("https://%61.example/", "a.example"),
        ("https://a_b.example/", "a_b.example"),
        ("http://localhost:8080/", "localhost"),
        ("http://[::1]:80/", "[::1]"),
        ("http://[::FFFF:127.0.0.1]/", "[::ffff:7f00:1]"),
        // Numbers in every spelling: the address policy judges them, so they must be read as the address that is called.
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("https://a.example?q", "a.example"),
        ("https://a.example#f", "a.example"),
        ("https://a.example/a@b?u@v#w@x", "a.example"),
        ("https://a.example/http://b.example/", "a.example"),
        ("https://a.example//b\\c", "a.example"),
    ] {
        let endpoint = endpoint(text);
        assert_eq!(endpoint.domain(), domain, "{text}");
        assert_eq!(endpoint.url(), text, "kept as it was given");
        assert_eq!(*endpoint.hash(), EndpointHash::of(text));
    }
}

#[test]
fn a_host_stands_behind_two_forward_slashes() {
    for text in [
        "http:///x",
        "http:////x",
        "https:host/x",
        "https:/host/x",
        "https:host/?u=https://other/",
        "http:\\\\host",
        "http:\\\\host/x",
        "http:/\\host/x",
        "http:\\/host/x",
        "http://\\host/x",
        "http://host\\x",
        "http://host\\@other/",
        "http://host:80\\x",
    ] {
        assert_eq!(error(text), EndpointError::Authority, "{text}");
    }
}

#[test]
fn a_user_is_refused_even_when_it_is_empty() {
    for text in [
        "https://user@a.example/",
        "https://user:s3cret@a.example/",
        "https://:s3cret@a.example/",
        "https://@a.example/",
        "https://:@a.example/",
        "https://a.example@b.example",
        "https://a@b@c.example/",
    ] {
        assert_eq!(error(text), EndpointError::UserInfo, "{text}");
        assert!(!error(text).to_string().contains("s3cret"));
    }
}

#[test]
fn other_schemes_and_no_urls_are_refused() {
    for (text, scheme) in [
        ("ftp://a.example/", "ftp"),
        ("FILE:///etc/passwd", "file"),
        ("ws://a.example/", "ws"),
        ("mailto:a@b.example", "mailto"),
        ("javascript:alert(1)", "javascript"),
        ("localhost:8080", "localhost"),
        ("httpss://a.example/", "httpss"),
    ] {
        assert_eq!(error(text), EndpointError::Scheme(scheme.to_owned()), "{text}");
    }
    for text in [
        "",
        "x",
        "/x",
        "//a.example/",
        "?x",
        "http://",
        "http://?x",
        "https://#f",
        "http://:80/",
        "http://u@/",
        "http://a.example:99999/",
        "http://a.example:x/",
        "http://[::1",
        "http://1.2.3.4.5/",
        "http://a|b/",
        "http://a%2Fb/",
        "http://a%00b/",
        "http://\u{ad}/",
    ] {
        assert!(matches!(error(text), EndpointError::Malformed(_)), "{text:?}: {:?}", error(text));
    }
    for text in ["http://./", "http://...:80/x"] {
        assert_eq!(error(text), EndpointError::NoHost, "{text}");
    }
}

#[test]
fn what_parsers_drop_is_refused() {
    for found in [" ", "\t", "\n", "\r", "\0", "\u{7f}", "\u{85}", "\u{a0}", "\u{2028}", "\u{3000}"] {
        let inside = ["x", ".example/a", "b?c", "d#e"].join(found);
        for text in [
            format!("https://{inside}"),
            format!("{found}https://a.example/"),
            format!("https://a.example/{found}"),
            format!("ht{found}tp://a.example/"),
        ] {
            assert_eq!(error(&text), EndpointError::Whitespace, "{text:?}");
        }
    }
}

#[test]
fn urls_are_bounded_in_bytes() {
    let of_length = |filler: &str| {
        let missing = URL_BYTES_MAX - "https://a.example/".len();
        format!("https://a.example/{}", filler.repeat(missing / filler.len()))
    };
    assert_eq!(of_length("x").len(), URL_BYTES_MAX);
    endpoint(&of_length("x"));
    endpoint(&of_length("é"));
    assert_eq!(error(&(of_length("x") + "x")), EndpointError::TooLong);
    assert_eq!(error(&(of_length("é") + "é")), EndpointError::TooLong);
    assert_eq!(error(&" ".repeat(URL_BYTES_MAX + 1)), EndpointError::TooLong, "a long text is not parsed");
}

#[test]
fn an_identity_is_of_the_text_and_texts_for_people_end_before_the_query() {
    let texts = [
        "https://a.example/x",
        "https://a.example/x?",
        "https://a.example/x#f",
        "https://a.example/x#g",
        "https://a.example/x?token=s3cret",
        "https://a.example/x?token=s3cret#f",
        "https://a.example/x#f?token=s3cret",
    ];
    let hashes: std::collections::BTreeSet<_> = texts.iter().map(|text| endpoint(text).hash().clone()).collect();
    assert_eq!(hashes.len(), texts.len(), "no two texts are one endpoint");
    for text in texts {
        assert_eq!(endpoint(text).shown(), "https://a.example/x", "SE-1: {text}");
    }
    assert_eq!(endpoint("https://a.example?token=s3cret").shown(), "https://a.example");
}

proptest! {
    #[test]
    fn what_is_accepted_is_written_as_it_is_called(text in "https?:[/\\\\]{0,3}[a-z@:.\\\\]{0,8}[/?#\\\\]?\\PC{0,8}") {
        if let Ok(endpoint) = Endpoint::parse(&text) {
            let rest = text.split_once("://").expect("two slashes").1;
            let written = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = written.split(':').next().unwrap_or_default().trim_end_matches('.');
            prop_assert!(!endpoint.domain().is_empty() && !written.contains(['@', '\\']));
            // Host names know no case, and are called in lower case. An IPv4 address has many spellings (`0`, `0x7f.1`), which are all called by the usual one.
            let address = matches!(endpoint.parsed().host(), Some(url::Host::Ipv4(_)));
            prop_assert!(!host.is_ascii() || host.eq_ignore_ascii_case(endpoint.domain()) || host.contains("xn--") || address);
        }
    }

    #[test]
    fn hostile_texts_never_panic(text in any::<String>()) {
        let _verdict = Endpoint::parse(&text);
    }
}
