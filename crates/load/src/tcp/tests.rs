//! Connecting over loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;

use super::*;

fn soon() -> Deadline {
    Deadline::after(Some(Duration::from_secs(10)))
}

#[test]
fn a_name_or_an_address_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The name may have an IPv6 address too, on which nobody listens.
    for (host, parallel) in [("127.0.0.1", false), ("localhost", false), ("localhost", true)] {
        let stream = connect(host, port, parallel, soon()).unwrap();
        assert_eq!(stream.peer_addr().unwrap().port(), port);
        assert!(stream.nodelay().unwrap());
        listener.accept().unwrap();
    }
}

#[test]
fn all_addresses_are_tried_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stream = connect_parallel("h", open.port(), &[closed, closed, open], soon()).unwrap();
    assert_eq!(stream.peer_addr().unwrap(), open);
    let error = connect_parallel("h", 1, &[closed, closed], soon()).unwrap_err();
    assert!(matches!(&error, ConnectError::Refused { attempts, .. } if attempts.len() == 2), "{error}");
}

#[test]
fn a_closed_port_is_named_once() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = connect("127.0.0.1", closed.port(), false, soon()).unwrap_err().to_string();
    assert!(text.starts_with(&format!("cannot connect to 127.0.0.1:{}: ", closed.port())), "{text}");
    assert_eq!(text.matches(&closed.port().to_string()).count(), 1, "{text}");
}

#[test]
fn names_without_addresses_and_passed_deadlines_are_errors() {
    assert!(matches!(
        connect("no.such.host.invalid", 1433, false, soon()),
        Err(ConnectError::Resolve { .. })
    ));
    let passed = Deadline::after(Some(Duration::ZERO));
    assert!(matches!(connect("127.0.0.1", 1433, false, passed), Err(ConnectError::TimedOut { .. })));
}
