//! The rules of every field, and that bytes and order survive.

use domain::Secret;

use super::*;

const MINIMAL: &str = r#"{"endpoint":"https://a.example/","payload":null}"#;

fn context() -> Context {
    Context { config_id: ConfigId::parse("shop").unwrap(), default_max_attempts: 7, trace: None }
}

/// The minimal body with more members.
fn with(members: &str) -> String {
    format!(r#"{{"endpoint":"https://a.example/","payload":null,{members}}}"#)
}

/// The fields that a body is refused for.
fn refused(body: &str) -> Vec<String> {
    match read(body.as_bytes(), &context()) {
        Ok(request) => panic!("accepted: {request:?}"),
        Err(RequestError::Malformed { .. }) => vec!["malformed".to_owned()],
        Err(RequestError::Invalid(errors)) => errors.into_iter().map(|error| error.field).collect(),
    }
}

fn message(body: &str) -> String {
    match read(body.as_bytes(), &context()) {
        Err(RequestError::Invalid(errors)) => errors[0].message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn dl_4_payload_bytes_are_the_callers() {
    let digits = "9".repeat(100);
    for payload in [
        "null",
        "1.10",
        "-0.0",
        "1e308",
        &digits,
        r#"{ "b" : 1,	"a":[ 1 ,2 ], "b":2 }"#,
        "\"\\u003ca\\u003e<&> \\ud83d\\ude00 \u{1f600} \\ud800\"",
        r#""\/""#,
        "\"\"",
        "{}",
    ] {
        let body = format!(r#"{{"payload" :  {payload}  , "endpoint":"https://a.example/"}}"#);
        let request = read(body.as_bytes(), &context()).unwrap();
        assert_eq!(std::str::from_utf8(&request.webhook.payload.bytes).unwrap(), payload);
        let batch = format!(r#"{{"webhooks":[{body}]}}"#);
        let request = read_batch(batch.as_bytes(), &context()).unwrap().remove(0).unwrap();
        assert_eq!(std::str::from_utf8(&request.webhook.payload.bytes).unwrap(), payload);
    }
}

#[test]
fn minimal_and_full_bodies_are_read() {
    let minimal = read(MINIMAL.as_bytes(), &context()).unwrap();
    assert!(!minimal.require_script);
    let minimal = minimal.webhook;
    assert_eq!(
        (minimal.config_id.as_str(), minimal.max_attempts),
        ("shop", 7),
        "the context says what the body does not"
    );
    assert!(minimal.headers.is_empty() && minimal.signing_secrets.is_empty());
    let full = with(
        r#""headers":{"X-B":"1","a":"é","X-A":""},"idempotency_key":"k 1","signing_secret":"s",
        "signing_secrets":["t","s"],"max_attempts":100,"retry_on_status":[300,599],"require_script":true"#,
    );
    let full = read(full.as_bytes(), &context()).unwrap();
    assert!(full.require_script);
    let full = full.webhook;
    let names: Vec<_> = full.headers.iter().map(|header| header.name.as_str()).collect();
    assert_eq!(names, ["X-B", "a", "X-A"], "order and case are kept");
    assert_eq!(full.headers[1].value.reveal(), "é");
    let secrets: Vec<_> = full.signing_secrets.iter().map(Secret::reveal).collect();
    assert_eq!(secrets, ["s", "t"]);
    assert_eq!((full.max_attempts, full.retry_on_status), (100, vec![300, 599]));
    assert_eq!(full.idempotency_key.as_deref(), Some("k 1"));
    let nulls = with(
        r#""headers":null,"idempotency_key":null,"signing_secret":null,"signing_secrets":null,"max_attempts":null,
        "retry_on_status":null,"require_script":null"#,
    );
    assert_eq!(read(nulls.as_bytes(), &context()).unwrap().webhook, minimal, "null counts as absent");
}

#[test]
fn every_error_of_an_item_is_listed() {
    assert_eq!(refused("{}"), ["/endpoint", "/payload"]);
    assert_eq!(
        refused(
            r#"{"endpoint":5,"headers":[],"idempotency_key":"","signing_secret":"","max_attempts":0,
            "retry_on_status":[200],"require_script":"yes","max_attempt":3}"#
        ),
        [
            "/max_attempt",
            "/endpoint",
            "/payload",
            "/headers",
            "/idempotency_key",
            "/signing_secret",
            "/max_attempts",
            "/retry_on_status",
            "/require_script"
        ]
    );
    assert!(message(&with(r#""max_attempt":3"#)).contains("did you mean \"max_attempts\""));
    assert_eq!(refused(&with(r#""payload":1"#)), ["/payload"], "given twice");
    let many: Vec<_> = (0..1000).map(|index| format!("\"x{index}\":1")).collect();
    assert_eq!(refused(&with(&many.join(","))).len(), 50, "an answer stays small");
}

#[test]
fn absurd_numbers_are_refused_with_the_bound() {
    let huge = "9".repeat(400);
    for number in
        ["0", "-1", "-0", "101", "1.0", "1e1", "1e400", "99999999999999999999", &huge, "\"5\"", "true", "[]"]
    {
        let body = with(&format!("\"max_attempts\":{number}"));
        assert_eq!(refused(&body), ["/max_attempts"], "{number}");
        assert!(message(&body).contains("from 1 to 100"));
        assert_eq!(refused(&with(&format!("\"retry_on_status\":[500,{number}]"))), ["/retry_on_status"]);
    }
    let statuses = vec!["500"; 51].join(",");
    assert_eq!(refused(&with(&format!("\"retry_on_status\":[{statuses}]"))), ["/retry_on_status"]);
}

#[test]
fn headers_that_cannot_be_sent_are_refused_by_name() {
    for (header, field) in [
        (r#""X A":"1""#, "/headers/X A"),
        (r#""":"1""#, "/headers/"),
        (r#""é":"1""#, "/headers/é"),
        (r#""a/b~":"1""#, "/headers/a~1b~0"),
        (r#""a\n":"1""#, "/headers/a\\u{a}"),
        (r#""X-A":"1\r\nX-B: 2""#, "/headers/X-A"),
        (r#""X-A":"\u0000""#, "/headers/X-A"),
        (r#""X-A":"\u007f""#, "/headers/X-A"),
        (r#""X-A":1"#, "/headers/X-A"),
        (r#""X-A":null"#, "/headers/X-A"),
        (r#""X-A":["1"]"#, "/headers/X-A"),
        (r#""X-A":"1","x-a":"2""#, "/headers/x-a"),
        (r#""Host":"h""#, "/headers/Host"),
        (r#""content-length":"1""#, "/headers/content-length"),
        (r#""Transfer-Encoding":"chunked""#, "/headers/Transfer-Encoding"),
        (r#""CONNECTION":"close""#, "/headers/CONNECTION"),
        (r#""X-Webhook-Signature":"t""#, "/headers/X-Webhook-Signature"),
        (r#""webhook-signature":"v1""#, "/headers/webhook-signature"),
    ] {
        assert_eq!(refused(&with(&format!("\"headers\":{{{header}}}"))), [field], "{header}");
    }
    let large = "v".repeat(domain::HEADER_BYTES_MAX);
    assert_eq!(refused(&with(&format!("\"headers\":{{\"X-A\":\"{large}\"}}"))), ["/headers"]);
    let many: Vec<_> = (0..101).map(|index| format!("\"x-{index}\":\"1\"")).collect();
    assert_eq!(refused(&with(&format!("\"headers\":{{{}}}", many.join(",")))), ["/headers"]);
}

#[test]
fn secrets_are_refused_without_being_shown() {
    for secret in [r#""""#, r#""whsec_""#, r#""whsec_!hidden""#, r#""whsk_aGlkZGVu""#, "5"] {
        let body = with(&format!("\"signing_secret\":{secret}"));
        assert_eq!(refused(&body), ["/signing_secret"]);
        assert!(!message(&body).contains("hidden") && !message(&body).contains("aGlkZGVu"));
        assert_eq!(refused(&with(&format!("\"signing_secrets\":[\"a\",{secret}]"))), ["/signing_secrets/1"]);
    }
    assert_eq!(refused(&with(r#""signing_secrets":["1","2","3","4","5","6"]"#)), ["/signing_secrets"]);
    assert_eq!(
        refused(&with(r#""signing_secret":"0","signing_secrets":["1","2","3","4","5"]"#)),
        ["/signing_secrets"]
    );
    assert_eq!(refused(&with(r#""signing_secrets":"a""#)), ["/signing_secrets"]);
}

#[test]
fn idempotency_keys_are_printable_and_bounded() {
    for key in [r#""""#, "5", r#""a\nb""#, r#""\ud800""#, &format!("\"{}\"", "k".repeat(256))] {
        assert_eq!(refused(&with(&format!("\"idempotency_key\":{key}"))), ["/idempotency_key"], "{key}");
    }
    let longest = with(&format!("\"idempotency_key\":\"{}\"", "k".repeat(255)));
    assert!(read(longest.as_bytes(), &context()).is_ok());
}

#[test]
fn deep_payloads_are_refused_and_brackets_in_strings_are_not() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let body = |payload: &str| format!(r#"{{"endpoint":"https://a.example/","payload":{payload}}}"#);
    assert!(read(body(&nested(512)).as_bytes(), &context()).is_ok());
    assert_eq!(refused(&body(&nested(513))), ["/payload"]);
    assert_eq!(refused(&body(&nested(100_000))), ["/payload"]);
    assert!(read(body(&format!("\"{}\\\"{}\"", "[".repeat(600), "[".repeat(600))).as_bytes(), &context()).is_ok());
    assert!(read(body(&format!("[{}0]", "[],".repeat(600))).as_bytes(), &context()).is_ok(), "wide is not deep");
}

#[test]
fn malformed_bodies_say_where() {
    for body in
        ["", "{", "{\"endpoint\":}", "nul", "{\"a\":1}x", "{'a':1}", "{\"a\":01}", "\u{feff}{}", "{\"a\":\"\n\"}"]
    {
        assert_eq!(refused(body), ["malformed"], "{body}");
    }
    let Err(RequestError::Malformed { line, detail }) = read(b"{\n  \"endpoint\": x}", &context()) else {
        panic!("not malformed")
    };
    assert_eq!(line, 2);
    assert!(detail.ends_with("at line 2 column 15"), "{detail}");
    assert!(matches!(read(b"{\"endpoint\":\"\xff\"}", &context()), Err(RequestError::Malformed { line: 0, .. })));
    for body in ["null", "[]", "5", "\"x\"", "true"] {
        assert_eq!(refused(body), [""], "{body}");
    }
}

#[test]
fn a_batch_is_answered_item_by_item() {
    let batch = format!(r#"{{"webhooks":[{MINIMAL},5,{{"endpoint":"ftp://a/","payload":1}},{MINIMAL}]}}"#);
    let items = read_batch(batch.as_bytes(), &context()).unwrap();
    let fields = |item: &Result<Submission, Vec<ValidationError>>| match item {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.field.clone()).collect(),
    };
    let fields: Vec<_> = items.iter().map(fields).collect();
    assert_eq!(fields, [vec![], vec!["/webhooks/1".to_owned()], vec!["/webhooks/2/endpoint".to_owned()], vec![]]);
    let of = |count: usize| format!("{{\"webhooks\":[{}]}}", vec![MINIMAL; count].join(","));
    assert_eq!(read_batch(of(100).as_bytes(), &context()).unwrap().len(), 100);
    for bad in [of(0), of(101), "{}".to_owned(), "[]".to_owned(), r#"{"webhooks":{}}"#.to_owned()] {
        assert!(matches!(read_batch(bad.as_bytes(), &context()), Err(RequestError::Invalid(_))), "{bad}");
    }
    let Err(RequestError::Invalid(errors)) = read_batch(br#"{"webhooks":[1e999],"webhook":[]}"#, &context()) else {
        panic!()
    };
    assert_eq!(errors.len(), 2);
}
