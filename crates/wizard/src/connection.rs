//! HTTP/1.1 over a socket, as far as a browser on the same machine needs it.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::ServiceExt;

/// The longest head of a request.
const HEAD_BYTES_LIMIT: usize = 32 * 1024;
/// The largest body: forms with a query or many tables.
const BODY_BYTES_LIMIT: usize = 8 * 1024 * 1024;
const HEADERS_LIMIT: usize = 100;
/// How long a connection may wait for its next request.
const NEXT_REQUEST_TIME: Duration = Duration::from_secs(60);
/// How long a body, or a piece of an answer, may take.
const TRANSFER_TIME: Duration = Duration::from_secs(30);

/// A request that is refused before anything looks at it.
struct Refused(StatusCode);

/// Answers the requests of a connection until one side closes it.
pub async fn serve(mut stream: TcpStream, router: Router) {
    let mut received = Vec::new();
    loop {
        let read = timeout(NEXT_REQUEST_TIME, read_request(&mut stream, &mut received)).await;
        let (request, keeps) = match read {
            Ok(Ok(Some(read))) => read,
            Ok(Err(Refused(status))) => {
                let text = status.canonical_reason().unwrap_or_default();
                let mut response = Response::new(Body::from(text));
                *response.status_mut() = status;
                // It is refused; whether the answer arrives does not matter.
                let _ = write_response(&mut stream, response, false, false).await;
                return;
            }
            Ok(Ok(None)) | Err(_) => return,
        };
        let is_head = request.method() == Method::HEAD;
        let response = match router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if write_response(&mut stream, response, is_head, keeps).await.is_err() || !keeps {
            return;
        }
    }
}

/// The next request, and whether the connection is kept; `None`: the client has closed it.
async fn read_request(
    stream: &mut TcpStream,
    received: &mut Vec<u8>,
) -> Result<Option<(Request<Body>, bool)>, Refused> {
    let (length, mut request, keeps) = loop {
        if let Some(head) = parse(received)? {
            break head;
        }
        if received.len() > HEAD_BYTES_LIMIT {
            return Err(Refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        match stream.read_buf(received).await {
            Ok(0) | Err(_) => return Ok(None),
            Ok(_) => {}
        }
    };
    received.drain(..length);
    let length = body_length(request.headers())?;
    if length > 0 && request.headers().get(header::EXPECT).is_some() {
        stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .await
            .map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    }
    while received.len() < length {
        match timeout(TRANSFER_TIME, stream.read_buf(received)).await {
            Ok(Ok(0) | Err(_)) => return Ok(None),
            Ok(Ok(_)) => {}
            Err(_) => return Err(Refused(StatusCode::REQUEST_TIMEOUT)),
        }
    }
    let body: Vec<u8> = received.drain(..length).collect();
    *request.body_mut() = Body::from(body);
    Ok(Some((request, keeps)))
}

/// The head of a request, its length, and whether the connection is kept; `None`: it is not complete.
fn parse(received: &[u8]) -> Result<Option<(usize, Request<Body>, bool)>, Refused> {
    let bad = Refused(StatusCode::BAD_REQUEST);
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
    let mut parsed = httparse::Request::new(&mut fields);
    let length = match parsed.parse(received) {
        Ok(httparse::Status::Complete(length)) if length > HEAD_BYTES_LIMIT => {
            return Err(Refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        Err(_) => return Err(bad),
    };
    let (Some(method), Some(path), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(bad);
    };
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    // Only paths: what begins with a host would go past the check of `Host`.
    if !path.starts_with('/') {
        return Err(bad);
    }
    let uri: Uri = path.parse().map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
    let mut headers = HeaderMap::new();
    for field in parsed.headers.iter() {
        let name =
            HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| Refused(StatusCode::BAD_REQUEST))?;
        headers.append(name, value);
    }
    let closes = headers
        .get(header::CONNECTION)
        .is_some_and(|value| value.to_str().is_ok_and(|value| value.eq_ignore_ascii_case("close")));
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(Some((length, request, version == 1 && !closes)))
}

fn body_length(headers: &HeaderMap) -> Result<usize, Refused> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(Refused(StatusCode::NOT_IMPLEMENTED));
    }
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else { return Ok(0) };
    let is_digits = !length.is_empty() && length.as_bytes().iter().all(u8::is_ascii_digit);
    if lengths.next().is_some() || !is_digits {
        return Err(Refused(StatusCode::BAD_REQUEST));
    }
    let length = length.to_str().ok().and_then(|length| length.parse().ok());
    match length {
        Some(length) if length <= BODY_BYTES_LIMIT => Ok(length),
        _ => Err(Refused(StatusCode::PAYLOAD_TOO_LARGE)),
    }
}

/// Writes an answer. One whose length is not known goes in chunks, each as soon as it is there.
async fn write_response(
    stream: &mut TcpStream,
    response: Response<Body>,
    is_head: bool,
    keeps: bool,
) -> std::io::Result<()> {
    let (parts, mut body) = response.into_parts();
    let reason = parts.status.canonical_reason().unwrap_or("Unknown");
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", parts.status.as_u16()).into_bytes();
    for (name, value) in &parts.headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    let has_body = !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let length = body.size_hint().exact();
    match length {
        _ if !has_body || parts.headers.contains_key(header::CONTENT_LENGTH) => {}
        Some(length) => head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes()),
        None => head.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    let connection: &[u8] =
        if keeps { b"connection: keep-alive\r\n\r\n" } else { b"connection: close\r\n\r\n" };
    head.extend_from_slice(connection);
    written(stream, &head).await?;
    if is_head || !has_body {
        return Ok(());
    }
    let is_chunked = length.is_none();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(std::io::Error::other)?;
        let Ok(data) = frame.into_data() else { continue };
        match is_chunked {
            true => written(stream, &chunk(&data)).await?,
            false => written(stream, &data).await?,
        }
    }
    if is_chunked {
        written(stream, b"0\r\n\r\n").await?;
    }
    Ok(())
}

fn chunk(data: &Bytes) -> Vec<u8> {
    // An empty chunk would be the last one.
    if data.is_empty() {
        return Vec::new();
    }
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

async fn written(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    match timeout(TRANSFER_TIME, stream.write_all(bytes)).await {
        Ok(done) => done,
        Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
    }
}
