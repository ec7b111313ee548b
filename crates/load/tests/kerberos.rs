//! A sign-in with a ticket, step by step: the program that makes tokens is a script here.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::{fs, os::unix::fs::PermissionsExt};

use bulkwire_load::{Client, Error, LoginError, tcp::ConnectError};
use support::{Peer, Server, hex, login_reply, parse};
use tds::{PacketType, login::option_flags2};

/// Signs in to whom it is asked for with the token 0A; 0B ends that, and 0C wants 0D.
const SCRIPT: &str = r#"#!/bin/sh
read begin
case $begin in
*'"service":"MSSQLSvc/nowhere:1"'*) echo '{"error":"Kerberos: no such service"}'; exit;;
*'"service":"MSSQLSvc/db:1","given":true,"principal":"ann@X"'*) echo '{"token":"0a"}';;
*'"service":"MSSQLSvc@127.0.0.1:'*'","given":false,"principal":null'*) echo '{"token":"0a"}';;
esac
while read line; do
case $line in
*'"0b"'*) echo '{"done":true}';;
*'"0c"'*) echo '{"token":"0d"}';;
*) echo '{"error":"not my token"}';;
esac
done
"#;

/// Logs in to a server that does this after LOGIN7.
fn sign_in(more: &str, script: impl FnOnce(&mut Peer) + Send + 'static) -> Result<Client, Error> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bulkwire");
    fs::write(&program, SCRIPT).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    sign_in::look_in(folder.path().to_owned());
    let server = Server::start(move |mut peer| {
        peer.expect(PacketType::Prelogin);
        peer.reply(&hex(support::PRELOGIN_REPLY_WITHOUT_TLS));
        let Some(login) = peer.message() else { return };
        let login = tds::Login7::decode(&login.payload).unwrap();
        assert_eq!((login.user_name.as_str(), login.sspi.as_slice()), ("", [0x0A].as_slice()));
        assert_ne!(login.option_flags2 & option_flags2::INTEGRATED_SECURITY, 0);
        script(&mut peer);
    });
    let text = format!("Server=127.0.0.1,{};Encrypt=Off;Integrated Security=SSPI{more}", server.port);
    let result = Client::connect(&parse(&text));
    server.join();
    result
}

/// The SSPI token of one byte.
fn token(byte: u8) -> Vec<u8> {
    vec![0xED, 1, 0, byte]
}

fn signed_in(result: Result<Client, Error>) {
    assert_eq!(result.unwrap().database(), "master");
}

// One test: scripts that are written while another test starts a process could not be run.
#[test]
fn steps_of_a_sign_in() {
    // The last token in a message of its own, or with the rest of the answer; nothing is sent for it.
    signed_in(sign_in("", |peer| {
        peer.reply(&token(0x0B));
        peer.reply(&login_reply(&[]));
    }));
    signed_in(sign_in("", |peer| peer.reply(&[token(0x0B), login_reply(&[])].concat())));
    signed_in(sign_in(";User ID=ann@X;ServerSPN=MSSQLSvc/db:1", |peer| {
        peer.reply(&token(0x0C));
        assert_eq!(peer.expect(PacketType::Sspi).payload, [0x0D]);
        peer.reply(&token(0x0C));
        assert_eq!(peer.expect(PacketType::Sspi).payload, [0x0D]);
        peer.reply(&[token(0x0B), login_reply(&[])].concat());
    }));
    // A server that never proves who it is, and one with a wrong proof.
    let error = sign_in("", |peer| peer.reply(&login_reply(&[]))).unwrap_err();
    assert!(matches!(&error, Error::Login(login) if matches!(**login, LoginError::Unproven)), "{error:?}");
    for reply in [token(0x0E), [token(0x0E), login_reply(&[])].concat()] {
        let error = sign_in("", move |peer| peer.reply(&reply)).unwrap_err();
        assert_eq!(error.to_string(), "not my token");
    }
    // Silence after any message of the login: the limit is that of the whole.
    let silent: [fn(&mut Peer); 3] = [
        |_| (),
        |peer| peer.reply(&token(0x0C)),
        |peer| {
            peer.reply(&token(0x0C));
            peer.expect(PacketType::Sspi);
            peer.reply(&token(0x0C));
        },
    ];
    for (messages, script) in silent.into_iter().enumerate() {
        let error = sign_in(";Connect Timeout=1", move |peer| {
            script(peer);
            while peer.message().is_some() {}
        })
        .unwrap_err();
        let is_late =
            matches!(&error, Error::Connect(error) if matches!(**error, ConnectError::TimedOut { .. }));
        assert!(is_late, "{messages}: {error:?}");
    }
    let error = sign_in(";ServerSPN=MSSQLSvc/nowhere:1", |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "Kerberos: no such service");
}
