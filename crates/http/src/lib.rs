//! HTTP/1.1 for a few routes: a router of axum behind hyper, with limits of what a client can make a server hold or wait for.
//!
//! `axum::serve` has no such limits: a client could open any number of connections, and send a request for ever.

mod patience;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::patience::Patient;

/// Maximum number of header fields of a request.
const HEADERS_LIMIT: usize = 100;
/// The least that hyper takes for the head of a request.
const HEAD_BYTES_MIN: usize = 8 << 10;
/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Limits of the requests that a server accepts.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at a time. For one more the oldest is closed that waits for its client; if all are being answered, the new one.
    pub connections: usize,
    /// The longest head of a request in bytes; at least 8 KiB.
    pub head_bytes: usize,
    /// The largest body in bytes. It is read as a whole before its route is asked.
    pub body_bytes: usize,
    /// Longest time from the last answer, or the start of the connection, to the end of the next head.
    pub head_time: Duration,
    /// Longest time for receiving a body, and for an answer to wait for its reader.
    pub transfer_time: Duration,
}

/// Answers requests until it is dropped, which closes all connections. The answer to a client that has left is dropped too.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits) {
    let router = router.layer(from_fn_with_state(limits, whole));
    let mut connections = JoinSet::new();
    let mut open = VecDeque::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if !has_room(&mut open, limits.connections) {
                        continue;
                    }
                    let answering = Answering::default();
                    let router = router.clone().layer(Extension(answering.clone()));
                    let task = connections.spawn(converse(stream, router, limits));
                    open.push_back(Open { task, answering });
                }
                // Out of file descriptors, or a peer that left at once: neither is a reason to stop.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Flag that is set while a request of a connection is being answered. The connection does not wait for its
/// client then.
#[derive(Debug, Clone, Default)]
struct Answering(Arc<AtomicBool>);

/// Marks a connection as being answered for as long as it lives.
struct Answer(Answering);

impl Answer {
    fn begin(answering: Answering) -> Answer {
        answering.0.store(true, Ordering::Relaxed);
        Answer(answering)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

/// A connection that was accepted.
struct Open {
    task: AbortHandle,
    answering: Answering,
}

/// Makes room for one more connection. So a few clients that say nothing, even if they connect again and
/// again, keep no others out.
fn has_room(open: &mut VecDeque<Open>, limit: usize) -> bool {
    open.retain(|connection| !connection.task.is_finished());
    if open.len() < limit {
        return true;
    }
    let waits = |connection: &Open| !connection.answering.0.load(Ordering::Relaxed);
    let Some(oldest) = open.iter().position(waits) else { return false };
    if let Some(connection) = open.remove(oldest) {
        connection.task.abort();
    }
    true
}

async fn converse(stream: TcpStream, router: Router, limits: Limits) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(HEADERS_LIMIT)
        .max_buf_size(limits.head_bytes.max(HEAD_BYTES_MIN));
    let stream = TokioIo::new(Patient::new(stream, limits.transfer_time));
    // A connection may end in any way; hyper has answered what can be answered.
    let _ = builder.serve_connection(stream, TowerToHyperService::new(router)).await;
}

/// Reads the body of a request before anything looks at it, and refuses what is no request for this server.
async fn whole(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // Only paths: what begins with a host would go past a check of `Host`.
    if parts.uri.authority().is_some() || !parts.uri.path().starts_with('/') {
        return refused(StatusCode::BAD_REQUEST);
    }
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return refused(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let read = timeout(limits.transfer_time, Limited::new(body, limits.body_bytes).collect()).await;
    let body = match read {
        Ok(Ok(read)) => read.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return refused(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => return refused(StatusCode::BAD_REQUEST),
        Err(_) => return refused(StatusCode::REQUEST_TIMEOUT),
    };
    let answer = parts.extensions.get().cloned().map(Answer::begin);
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    drop(answer);
    response
}

/// Makes an answer after which the connection ends: the rest of the request is not read.
fn refused(status: StatusCode) -> Response {
    let text = status.canonical_reason().unwrap_or_default();
    (status, [(header::CONNECTION, HeaderValue::from_static("close"))], text).into_response()
}
