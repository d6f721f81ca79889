//! One connection: requests in, answers out, until either side hangs up.

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;

use super::{Received, Seen};

/// More than any test sends, in bytes.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Answers the requests of one connection.
pub(super) async fn hold(stream: TcpStream, seen: &Arc<Seen>, connection: usize) -> Result<()> {
    stream.set_nodelay(true)?;
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    while let Some(mut request) = read_head(&mut reading, connection).await? {
        if request.header("expect").is_some() {
            writing.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        request.body = read_body(&mut reading, &request).await?.into();
        let goes_on = request.header("connection").is_none_or(|value| !value.eq_ignore_ascii_case("close"));
        let (reply, visit) = seen.arrive(request);
        tokio::select! {
            () = reply.ripen() => {}
            () = hung_up(&mut reading) => return Ok(()),
        }
        // It counts as gone before its answer is written: a test that reads the answer must not find it present.
        drop(visit);
        writing.write_all(&reply.encode()).await?;
        if !goes_on {
            break;
        }
    }
    writing.shutdown().await
}

/// Ends when the client does; what it sends ahead of its turn stays to be read.
async fn hung_up(reading: &mut BufReader<OwnedReadHalf>) {
    match reading.fill_buf().await {
        Ok(ahead) if !ahead.is_empty() => std::future::pending().await,
        Ok(_) | Err(_) => {}
    }
}

async fn read_line(reading: &mut BufReader<OwnedReadHalf>) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    reading.read_until(b'\n', &mut line).await?;
    line.strip_suffix(b"\r\n").map(<[u8]>::to_vec).ok_or_else(|| malformed("a line does not end"))
}

async fn read_head(reading: &mut BufReader<OwnedReadHalf>, connection: usize) -> Result<Option<Received>> {
    if reading.fill_buf().await?.is_empty() {
        return Ok(None);
    }
    let first = String::from_utf8_lossy(&read_line(reading).await?).into_owned();
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let line = read_line(reading).await?;
        if line.is_empty() {
            break;
        }
        let mut halves = line.splitn(2, |byte| *byte == b':');
        let name = String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
        let value = halves.next().ok_or_else(|| malformed("a header has no colon"))?.trim_ascii().to_vec();
        headers.push((name, value));
    }
    Ok(Some(Received { method, target, headers, body: bytes::Bytes::new(), connection }))
}

async fn read_body(reading: &mut BufReader<OwnedReadHalf>, request: &Received) -> Result<Vec<u8>> {
    if request.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return read_chunks(reading).await;
    }
    let length = request.header("content-length").map_or(Ok(0), |length| length.parse());
    let length = length.map_err(|_| malformed("Content-Length is no number"))?;
    read_exactly(reading, length).await
}

async fn read_chunks(reading: &mut BufReader<OwnedReadHalf>) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = String::from_utf8_lossy(&read_line(reading).await?).into_owned();
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| malformed("a chunk's size is no number"))?;
        if size == 0 {
            while !read_line(reading).await?.is_empty() {}
            return Ok(body);
        }
        body.extend(read_exactly(reading, size).await?);
        read_line(reading).await?;
    }
}

async fn read_exactly(reading: &mut BufReader<OwnedReadHalf>, length: usize) -> Result<Vec<u8>> {
    if length > BODY_BYTES_MAX {
        return Err(malformed("the body is too long"));
    }
    let mut bytes = vec![0; length];
    reading.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn malformed(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
