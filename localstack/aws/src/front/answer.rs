//! A function's answer as an HTTP response, by payload format 2.0.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Reads an answer. One without a status code is itself the body of a 200.
///
/// # Errors
/// What is wrong with it; the front answers 500 then.
pub(super) fn read(payload: &[u8]) -> Result<Response, String> {
    let answer: Value = serde_json::from_slice(payload).map_err(|error| format!("not JSON: {error}"))?;
    match answer.as_object().filter(|fields| fields.contains_key("statusCode")) {
        Some(fields) => written(fields),
        None => Ok(inferred(&answer)),
    }
}

fn inferred(answer: &Value) -> Response {
    let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn written(fields: &Map<String, Value>) -> Result<Response, String> {
    let mut response = Response::new(body(fields)?);
    *response.status_mut() = status(fields)?;
    let headers = response.headers_mut();
    if let Some(Value::Object(given)) = fields.get("headers") {
        for (name, value) in given {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| format!("{name} is not a header name"))?;
            headers.insert(name, header_value(value)?);
        }
    }
    if let Some(Value::Array(cookies)) = fields.get("cookies") {
        for cookie in cookies {
            headers.append(header::SET_COOKIE, header_value(cookie)?);
        }
    }
    if !headers.contains_key(header::CONTENT_TYPE) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain;charset=UTF-8"));
    }
    // This server sets the length itself.
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::TRANSFER_ENCODING);
    Ok(response)
}

fn status(fields: &Map<String, Value>) -> Result<StatusCode, String> {
    let status = match fields.get("statusCode") {
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_u64().and_then(|number| u16::try_from(number).ok()),
        None => None,
    };
    let status = status.and_then(|number| StatusCode::from_u16(number).ok());
    status.ok_or_else(|| "statusCode is not an HTTP status".to_owned())
}

fn body(fields: &Map<String, Value>) -> Result<Body, String> {
    let text = match fields.get("body") {
        None | Some(Value::Null) => return Ok(Body::empty()),
        Some(Value::String(text)) => text.clone(),
        Some(_) => return Err("body is not a text".to_owned()),
    };
    if fields.get("isBase64Encoded") == Some(&Value::Bool(true)) {
        let bytes = STANDARD.decode(text).map_err(|error| format!("body is not base64: {error}"))?;
        return Ok(Body::from(bytes));
    }
    Ok(Body::from(text))
}

fn header_value(value: &Value) -> Result<HeaderValue, String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| "the value of a header is not valid".to_owned())
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    async fn shown(payload: &str) -> Option<(u16, Vec<(String, String)>, Vec<u8>)> {
        let response = read(payload.as_bytes()).ok()?;
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let (status, headers) = (response.status().as_u16(), headers.collect());
        Some((status, headers, to_bytes(response.into_body(), 1000).await.unwrap().to_vec()))
    }

    #[tokio::test]
    async fn an_answer_is_read_field_by_field() {
        let (status, headers, body) = shown(
            r#"{"statusCode":201,"headers":{"X-A":"ü","Content-Length":"99","n":1},"cookies":["a=1","b=2"],
               "body":"AP8=","isBase64Encoded":true}"#,
        )
        .await
        .unwrap();
        assert_eq!((status, body), (201, vec![0, 255]));
        let expected = [
            ("x-a", "ü"),
            ("n", "1"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("content-type", "text/plain;charset=UTF-8"),
        ];
        assert_eq!(headers.len(), expected.len());
        for (name, value) in expected {
            assert!(headers.contains(&(name.to_owned(), value.to_owned())), "{name}: {headers:?}");
        }
    }

    #[tokio::test]
    async fn an_answer_without_a_status_is_the_body_of_a_200() {
        for (payload, body) in [(r#"{"a":1}"#, r#"{"a":1}"#), (r#""hi""#, "hi"), ("[1]", "[1]")] {
            let (status, headers, sent) = shown(payload).await.unwrap();
            assert_eq!((status, sent.as_slice()), (200, body.as_bytes()));
            assert!(headers.contains(&("content-type".to_owned(), "application/json".to_owned())));
        }
    }

    #[tokio::test]
    async fn an_invalid_answer_is_refused() {
        let cases = [
            "no json",
            r#"{"statusCode":"x"}"#,
            r#"{"statusCode":1000000}"#,
            r#"{"statusCode":200,"body":{}}"#,
            r#"{"statusCode":200,"body":"?","isBase64Encoded":true}"#,
            r#"{"statusCode":200,"headers":{"a b":"c"}}"#,
            r#"{"statusCode":200,"headers":{"a":"b\nc"}}"#,
        ];
        for payload in cases {
            assert!(shown(payload).await.is_none(), "{payload}");
        }
    }
}
