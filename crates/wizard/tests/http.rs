//! Requests over a socket, well formed and not.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use bulkwire_wizard::connection;
use futures::stream;

/// A server with an answer of known length, one in chunks, and one that repeats what it gets.
struct Place {
    port: u16,
    _runtime: tokio::runtime::Runtime,
}

impl Place {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let chunks = || async {
            let parts = ["ab", "", "c"].map(|part| Ok::<_, std::io::Error>(Bytes::from(part)));
            Body::from_stream(stream::iter(parts))
        };
        let router = Router::new()
            .route("/", get(|| async { "hello" }))
            .route("/chunks", get(chunks))
            .route("/echo", post(|body: Bytes| async move { body }));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection::serve(stream, router.clone()));
            }
        });
        Self { port, _runtime: runtime }
    }

    /// What comes back for these bytes, to the end.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        // A refusal may close the connection before everything is sent.
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }
}

#[test]
fn answers_follow_one_another_on_a_connection() {
    let place = Place::new();
    let answer = place.ask(
        "GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyzGET /chunks HTTP/1.1\r\nHost: h\r\n\r\n",
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
    let answer = place.ask("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n"), "{answer}");
    let answer = place.ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[test]
fn what_is_malformed_is_refused() {
    let place = Place::new();
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(40_000));
    for (request, status) in [
        ("no request at all\r\n\r\n", "400"),
        ("GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: +1\r\n\r\na", "400"),
        ("POST /echo HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", "413"),
        ("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "501"),
        (&long, "431"),
        ("GET /nowhere HTTP/1.1\r\n\r\n", "404"),
    ] {
        let answer = place.ask(request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.80}: {answer:.120}");
    }
    assert_eq!(place.ask("POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"), "");
}
