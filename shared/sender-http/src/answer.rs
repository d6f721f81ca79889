//! Reads an answer within bounds: status, `Retry-After`, where a redirect points, and the beginning of the body.
//!
//! Called once the headers of an answer have arrived. From then on the attempt is judged by its status: a body that is slow,
//! endless or broken costs at most [`BODY_TIME_MAX`] and [`DRAIN_BYTES_MAX`], and never turns a delivered webhook into
//! a retry. A body that ends within the bounds is read to its end, so that its connection is used again; any other
//! connection is dropped. Nothing is decompressed.

use std::time::Duration;

use domain::{Answer, EXCERPT_BYTES_MAX, Timestamp};
use reqwest::header::LOCATION;
use reqwest::{Response, Url};
use tokio::time::Sleep;

use crate::retry_after;

/// How long a body may take once the headers have arrived, if the total deadline allows that much.
pub(crate) const BODY_TIME_MAX: Duration = Duration::from_secs(1);
/// How many bytes after the excerpt are read so that the connection can be used again; beyond that a new connection is
/// cheaper than the rest of the body.
pub(crate) const DRAIN_BYTES_MAX: usize = 64 * 1024;

/// The longest `location` that is kept, in characters.
const LOCATION_CHARS_MAX: usize = 256;
/// Three more bytes complete the character that the excerpt's bound may cut.
const KEPT_BYTES_MAX: usize = EXCERPT_BYTES_MAX + 3;

/// Reads an answer; `deadline` is the request's.
pub(crate) async fn read(response: Response, now: Timestamp, deadline: std::pin::Pin<&mut Sleep>) -> Answer {
    let status = response.status().as_u16();
    let retry_after = retry_after::read(response.headers(), now);
    let location = if (300..400).contains(&status) { location(&response) } else { None };
    let mut kept = Vec::new();
    tokio::select! {
        biased;
        () = drain(response, &mut kept) => {}
        () = deadline => {}
        () = tokio::time::sleep(BODY_TIME_MAX) => {}
    }
    Answer { status, retry_after, location, excerpt: excerpt(&kept) }
}

/// Reads a body to its end or to the bound, keeping its beginning.
async fn drain(mut response: Response, kept: &mut Vec<u8>) {
    let bound = KEPT_BYTES_MAX + DRAIN_BYTES_MAX;
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    // A body that is announced as too long is read only for its excerpt.
    let bound = if announced.is_some_and(|length| length > bound) { KEPT_BYTES_MAX } else { bound };
    let mut total: usize = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = KEPT_BYTES_MAX.saturating_sub(kept.len());
        kept.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        total = total.saturating_add(chunk.len());
        if total >= bound {
            break;
        }
    }
}

/// The beginning of a body as text: invalid UTF-8 is replaced, and no character is cut.
fn excerpt(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    text.truncate(text.floor_char_boundary(EXCERPT_BYTES_MAX));
    text
}

/// Where a redirect points, without query, fragment and user info.
fn location(response: &Response) -> Option<String> {
    let value = response.headers().get(LOCATION)?;
    let text = String::from_utf8_lossy(value.as_bytes());
    let shown = shown_location(&text, response.url());
    (!shown.is_empty()).then(|| shown.chars().take(LOCATION_CHARS_MAX).collect())
}

fn shown_location(text: &str, base: &Url) -> String {
    let plain = text.split(['?', '#']).next().unwrap_or_default();
    if !plain.contains('@') {
        return plain.to_owned();
    }
    // The part before an @ may be a password, which only a parser can tell.
    without_user(plain, base).unwrap_or_else(|| plain.rsplit('@').next().unwrap_or_default().to_owned())
}

fn without_user(text: &str, base: &Url) -> Option<String> {
    let mut url = base.join(text).ok()?;
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    Some(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_bounded_and_cuts_no_character() {
        assert_eq!(excerpt(b""), "");
        assert_eq!(excerpt(b"ok"), "ok");
        assert_eq!(excerpt(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
        let cut = excerpt(&"€".repeat(400).as_bytes()[..KEPT_BYTES_MAX]);
        assert_eq!(cut, "€".repeat(341));
        let garbage = excerpt(&[0xff; KEPT_BYTES_MAX]);
        assert!(garbage.len() <= EXCERPT_BYTES_MAX && garbage.chars().all(|c| c == '\u{fffd}'));
    }

    #[test]
    fn a_location_shows_no_query_fragment_or_user() {
        let base = Url::parse("https://hooks.example/in/box").expect("a URL");
        let table = [
            ("https://else.example/a?token=s3cret", "https://else.example/a"),
            ("https://else.example/a#s3cret", "https://else.example/a"),
            ("https://me:s3cret@else.example/a?b", "https://else.example/a"),
            ("//me:s3cret@else.example/a", "https://else.example/a"),
            ("https:\\\\me:s3cret@else.example/a", "https://else.example/a"),
            ("/relative/path?token=s3cret", "/relative/path"),
            ("/@handle", "https://hooks.example/@handle"),
            ("https://me:s3cret@[::bad/a", "[::bad/a"),
            ("?token=s3cret", ""),
        ];
        for (text, expected) in table {
            assert_eq!(shown_location(text, &base), expected, "{text}");
        }
    }
}
