//! Requests over a socket, well formed and not.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use bulkwire_http::Limits;
use futures::stream;

const LIMITS: Limits = Limits {
    connections: 8,
    head_bytes: 32 << 10,
    body_bytes: 1 << 20,
    head_time: Duration::from_secs(60),
    transfer_time: Duration::from_secs(60),
};
/// For clients that are slow on purpose.
const IMPATIENT: Limits =
    Limits { head_time: Duration::from_millis(200), transfer_time: Duration::from_millis(200), ..LIMITS };
/// More than the sockets of both sides hold.
const LONG_BYTES: usize = 64 << 20;

/// A server with an answer of known length, one in chunks, and one that repeats what it gets.
struct Place {
    port: u16,
    _runtime: tokio::runtime::Runtime,
}

impl Place {
    fn new() -> Self {
        Self::within(LIMITS)
    }

    fn within(limits: Limits) -> Self {
        let chunks = || async {
            let parts = ["ab", "", "c"].map(|part| Ok::<_, std::io::Error>(Bytes::from(part)));
            Body::from_stream(stream::iter(parts))
        };
        let router = Router::new()
            .route("/", get(|| async { "hello" }))
            .route("/chunks", get(chunks))
            .route("/long", get(|| async { vec![0; LONG_BYTES] }))
            .route("/echo", post(|body: Bytes| async move { body }));
        Self::serving(router, limits)
    }

    fn serving(router: Router, limits: Limits) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(bulkwire_http::serve(listener, router, limits));
        Self { port, _runtime: runtime }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends these bytes and returns the whole answer.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        // A refusal may close the connection before everything is sent.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }
}

#[test]
fn answers_follow_one_another_on_a_connection() {
    let place = Place::new();
    let answer = place.ask(
        "GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyzGET /chunks HTTP/1.1\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{answer}");
    assert!(answer.contains("content-length: 5\r\n") && answer.contains("\r\n\r\nhello"), "{answer}");
    assert!(answer.contains("\r\n\r\nxyz"), "{answer}");
    assert!(answer.contains("transfer-encoding: chunked"), "{answer}");
    assert!(answer.ends_with("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"), "{answer}");
}

#[test]
fn a_head_has_no_body_and_a_close_is_kept() {
    let place = Place::new();
    let answer = place.ask("HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n"), "{answer}");
    let answer = place.ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[test]
fn what_is_malformed_is_refused() {
    let place = Place::new();
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(200_000));
    for (request, status) in [
        ("no request at all\r\n\r\n", "400"),
        ("GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: +1\r\n\r\na", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", "413"),
        ("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"),
        ("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", "400"),
        (&long, "431"),
        ("GET /nowhere HTTP/1.1\r\nConnection: close\r\n\r\n", "404"),
    ] {
        let answer = place.ask(request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.80}: {answer:.120}");
    }
    let chunks = "POST /echo HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert!(place.ask(&format!("{chunks}2\r\nab\r\n0\r\n\r\n")).ends_with("\r\n\r\nab"));
    let piece = format!("8000\r\n{}\r\n", "a".repeat(0x8000));
    let answer = place.ask(&format!("{chunks}{}0\r\n\r\n", piece.repeat(33)));
    // The rest of what is too large is not read, so that the answer itself may be lost.
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413 "), "{answer:.120}");
}

/// Tells when it is dropped.
struct Told(mpsc::Sender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn an_answer_ends_when_its_client_leaves() {
    let (sender, receiver) = mpsc::channel();
    let router = Router::new().route(
        "/",
        get(move || {
            let told = Told(sender.clone());
            async move {
                std::future::pending::<()>().await;
                drop(told);
            }
        }),
    );
    let place = Place::serving(router, LIMITS);
    let mut stream = place.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(stream);
    receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    // One that leaves in the middle of its request gets no answer.
    let place = Place::new();
    let mut stream = place.connect();
    stream.write_all(b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nab").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn slow_clients_are_cut_off() {
    let place = Place::within(IMPATIENT);
    for half in ["", "GET / HT", "GET / HTTP/1.1\r\nHost: h\r\n"] {
        let mut stream = place.connect();
        stream.write_all(half.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{half}");
    }
    let mut stream = place.connect();
    stream.write_all(b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nab").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    // One who waits with the next request is no better.
    let mut stream = place.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    answer.clear();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn an_answer_that_nobody_reads_ends() {
    let place = Place::within(IMPATIENT);
    let mut stream = place.connect();
    stream.write_all(b"GET /long HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.len() < LONG_BYTES, "{}", answer.len());
}

/// They may come again and again: the oldest of them makes room, however long it might still wait.
#[test]
fn silent_connections_keep_nobody_out() {
    let place = Place::within(Limits { connections: 4, ..LIMITS });
    let mut silent = Vec::new();
    for round in 0..5 {
        for kind in 0..4 {
            let mut stream = place.connect();
            let said = match kind {
                0 => "",
                1 => "GET / HTTP/1.1\r\nHost: h\r\n",
                2 => "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nab",
                _ => "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
            };
            stream.write_all(said.as_bytes()).unwrap();
            silent.push(stream);
        }
        let answer = place.ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 "), "round {round}: {answer:?}");
    }
}

/// Here a request keeps its place until it is answered, however many others come.
#[test]
fn connections_beyond_the_limit_are_closed_while_all_others_are_answered() {
    let (begun, is_begun) = mpsc::channel();
    let release = std::sync::Arc::new(tokio::sync::Notify::new());
    let waiting = std::sync::Arc::clone(&release);
    let slow = move || {
        let (begun, waiting) = (begun.clone(), std::sync::Arc::clone(&waiting));
        async move {
            begun.send(()).unwrap();
            waiting.notified().await;
            "done"
        }
    };
    let router = Router::new().route("/slow", get(slow));
    let place = Place::serving(router, Limits { connections: 1, ..LIMITS });
    let mut first = place.connect();
    first.write_all(b"GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    is_begun.recv().unwrap();
    let mut answer = Vec::new();
    let _ = place.connect().read_to_end(&mut answer);
    assert_eq!(answer, b"");
    release.notify_one();
    let mut answer = String::new();
    first.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("done"), "{answer}");
}
