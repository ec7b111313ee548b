//! Logging in: what is sent, and what every kind of answer leads to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::{
    io::{Read, Write},
    sync::Arc,
};

use arrow::{
    array::Int32Array,
    datatypes::{DataType, Field, Schema},
    record_batch::RecordBatch,
};
use bulkwire_load::{self as load, tcp::ConnectError};
use load::{Client, Encryption, Error, LoginError};
use support::{Peer, Server, done, error, hex, login_reply, parse, utf16};
use tds::{
    FeatureRequest, FedAuthRequest, HEADER_LEN_BYTES, PacketHeader, PacketType, Status,
    packet_framer::frame_message,
};

fn login_error(error: &Error) -> Option<&LoginError> {
    match error {
        Error::Login(error) => Some(error),
        _ => None,
    }
}

/// ENVCHANGE 20.
fn routing(host: &str, port: u16) -> Vec<u8> {
    let mut data = vec![0];
    data.extend(port.to_le_bytes());
    data.extend(u16::try_from(host.len()).unwrap().to_le_bytes());
    data.extend(utf16(host));
    let mut body = vec![20];
    body.extend(u16::try_from(data.len()).unwrap().to_le_bytes());
    body.extend(data);
    body.extend([0, 0]);
    let mut token = vec![0xE3];
    token.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
    token.extend(body);
    token
}

#[test]
fn a_published_login_answer_is_understood() {
    let server = Server::start(|mut peer| peer.log_in());
    let config =
        server.config("Database=sales;App=tester;WSID=box;ApplicationIntent=ReadOnly;Language=Deutsch");
    let client = Client::connect(&config).unwrap();
    let info = client.server_info();
    assert_eq!((info.program.as_str(), info.version), ("Microsoft SQL Server", (17, 0, 1000)));
    assert_eq!((info.encryption, info.packet_size_bytes, info.utf8), (Encryption::None, 4096, false));
    assert_eq!(info.messages.iter().map(|m| m.number).collect::<Vec<_>>(), [5701, 5703]);
    assert_eq!(client.database(), "master");
    assert_eq!(client.collation().unwrap(), tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    assert!(!client.in_transaction());

    let login = server.join();
    assert_eq!((login.user_name.as_str(), login.password.expose().as_str()), ("sa", "secret"));
    assert_eq!(
        (login.database.as_str(), login.app_name.as_str(), login.host_name.as_str()),
        ("sales", "tester", "box")
    );
    assert_eq!((login.language.as_str(), login.packet_size_bytes), ("Deutsch", 32764));
    assert_eq!(
        login.type_flags & tds::login::type_flags::READ_ONLY_INTENT,
        tds::login::type_flags::READ_ONLY_INTENT
    );
    assert_eq!(login.features, [FeatureRequest::Utf8Support, FeatureRequest::VectorSupport(2)]);
}

#[test]
fn utf8_is_known_once_acknowledged() {
    let server = Server::start(|mut peer| {
        peer.greet();
        // The acknowledgement of SQL Server 2025, reduced to the feature that was asked for.
        peer.reply(&login_reply(&hex("ae 0a 01000000 01 ff")));
    });
    assert!(server.client().server_info().utf8);
}

#[test]
fn vectors_are_known_in_the_version_that_is_acknowledged() {
    for (keyword, acknowledged, known) in [("", "02", 2), ("", "01", 1), (";VectorTypeSupport=v1", "01", 1)] {
        let acknowledgement = format!("ae 0e 01000000 {acknowledged} ff");
        let server = Server::start(move |mut peer| {
            peer.greet();
            peer.reply(&login_reply(&hex(&acknowledgement)));
        });
        let client = bulkwire_load::Client::connect(&server.config(keyword)).unwrap();
        assert_eq!(client.server_info().vectors, known, "{keyword}");
    }
}

#[test]
fn refusals_carry_the_servers_words() {
    let wrong_password = [error(18456, 1, 14, "Login failed for user 'sa'."), done(2, 0, 0)].concat();
    let missing_database = [
        error(4060, 1, 11, "Cannot open database \"x\" requested by the login. The login failed."),
        error(18456, 1, 14, "Login failed for user 'sa'."),
        done(2, 0, 0),
    ]
    .concat();
    for (reply, numbers) in [(wrong_password, vec![18456]), (missing_database, vec![4060, 18456])] {
        let server = Server::start(move |mut peer| {
            peer.greet();
            peer.reply(&reply);
        });
        let error = Client::connect(&server.config("")).unwrap_err();
        let Some(LoginError::Refused(refusal)) = login_error(&error) else { panic!("{error:?}") };
        assert_eq!(refusal.messages().map(|m| m.number).collect::<Vec<_>>(), numbers);
        assert_eq!(error.server_message().unwrap().number, numbers[0]);
        assert!(
            error.to_string().starts_with(&format!("login refused: Msg {}, Level", numbers[0])),
            "{error}"
        );
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}

#[test]
fn a_redirection_is_followed() {
    let target = Server::start(|mut peer| peer.log_in());
    let port = target.port;
    let gateway = Server::start(move |mut peer| {
        peer.greet();
        peer.reply(&login_reply(&routing("127.0.0.1\\inst", port)));
    });
    let client = Client::connect(&gateway.config("Database=d")).unwrap();
    assert_eq!(client.server_info().address, ("127.0.0.1".to_owned(), port));
    let login = target.join();
    assert_eq!((login.server_name.as_str(), login.database.as_str()), ("127.0.0.1\\inst", "d"));
}

#[test]
fn a_redirection_to_nobody_names_who_redirected() {
    let closed = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let gateway = Server::start(move |mut peer| {
        peer.greet();
        peer.reply(&login_reply(&routing("127.0.0.1", closed)));
    });
    let port = gateway.port;
    let error = Client::connect(&gateway.config("")).unwrap_err().to_string();
    assert!(error.contains(&format!("where 127.0.0.1:{port} redirects, 127.0.0.1:{closed}")), "{error}");
}

#[test]
fn a_circle_of_redirections_ends() {
    let server = Server::listen(|listener| {
        let port = listener.local_addr().unwrap().port();
        for _ in 0..=10 {
            let mut peer = Peer::accept(&listener);
            peer.greet();
            peer.reply(&login_reply(&routing("127.0.0.1", port)));
        }
    });
    let error = Client::connect(&server.config("")).unwrap_err();
    assert!(matches!(login_error(&error), Some(LoginError::TooManyRedirects { .. })), "{error}");
    server.join();
}

#[test]
fn silence_nonsense_and_old_servers_are_errors() {
    let old = [hex("ad 1000 01 71000001 03 610062006300 08000000"), done(0, 0, 0)].concat();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("no acknowledgement", done(0, 0, 0)),
        ("old", old),
        ("nonsense", vec![0x42; 20]),
        ("rows", support::int_column()),
    ];
    for (case, reply) in cases {
        let server = Server::start(move |mut peer| {
            peer.greet();
            peer.reply(&reply);
        });
        let error = Client::connect(&server.config("")).unwrap_err();
        match (case, &error) {
            ("no acknowledgement", Error::Login(source))
                if matches!(**source, LoginError::NoAcknowledgement) => {}
            ("old", Error::Login(source)) if matches!(**source, LoginError::TooOld { .. }) => {}
            ("nonsense", Error::Protocol { .. }) | ("rows", Error::Unexpected { .. }) => {}
            _ => panic!("{case}: {error:?}"),
        }
    }
    let silent = Server::start(|mut peer| peer.message());
    let error = Client::connect(&silent.config("")).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
}

#[test]
fn encryption_is_never_given_up_unasked() {
    // The server offers none: an encrypted session was asked for by default.
    for (encrypt, refused) in [("Mandatory", true), ("Optional", true), ("Off", false)] {
        let server = Server::start(|mut peer| {
            peer.expect(PacketType::Prelogin);
            peer.reply(&hex(support::PRELOGIN_REPLY_WITHOUT_TLS));
            // LOGIN7 only if the client goes on in the clear.
            let login = peer.message();
            if login.is_some() {
                peer.reply(&login_reply(&[]));
            }
            login.is_some()
        });
        let text = format!("Server=127.0.0.1,{};Uid=sa;Pwd=secret;Encrypt={encrypt}", server.port);
        let result = Client::connect(&parse(&text));
        assert_eq!(
            matches!(
                result.as_ref().err().and_then(login_error),
                Some(LoginError::Encryption { .. } | LoginError::ClearPassword)
            ),
            refused,
            "{result:?}"
        );
        drop(result);
        assert_eq!(server.join(), !refused);
    }
}

#[test]
fn a_session_of_a_given_token_is_encrypted_whatever_is_asked_for() {
    // The question says so, and a server that encrypts the login alone is refused.
    for (answer, sends_login) in [(0, false), (1, true)] {
        let server = Server::start(move |mut peer| {
            let question = tds::Prelogin::decode(&peer.expect(PacketType::Prelogin).payload).unwrap();
            peer.reply(&prelogin_with_nonce(answer));
            (question.encryption, peer.packet().is_some())
        });
        let text = format!(
            "Server=127.0.0.1,{};Access Token=tok;Encrypt=Optional;TrustServerCertificate=yes",
            server.port
        );
        let failed = Client::connect(&parse(&text)).unwrap_err();
        let (asked, goes_on) = server.join();
        assert_eq!((asked, goes_on), (Some(tds::EncryptionOption::On), sends_login), "{failed:?}");
    }
}

#[test]
fn a_login_that_trickles_in_has_its_end() {
    let server = Server::start(|mut peer| {
        peer.greet();
        // A message without end, of messages to the user.
        let info = support::message(0xAB, 5701, 2, 0, "still here");
        while peer.socket.write_all(&part(&info)).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    });
    let failed = Client::connect(&server.config("Connect Timeout=1")).unwrap_err();
    let is_late =
        matches!(&failed, Error::Connect(error) if matches!(**error, ConnectError::TimedOut { .. }));
    assert!(is_late, "{failed:?}");
    server.join();
}

/// A packet that does not end its message.
fn part(payload: &[u8]) -> Vec<u8> {
    let mut packet = frame_message(PacketType::TabularResult, 4096, 51, Status::NORMAL, payload);
    packet[1] = 0;
    packet
}

#[test]
fn a_token_is_never_sent_in_the_clear() {
    let server = Server::start(|mut peer| {
        peer.expect(PacketType::Prelogin);
        peer.reply(&hex(support::PRELOGIN_REPLY_WITHOUT_TLS));
        peer.message().is_none()
    });
    let text = format!("Server=127.0.0.1,{};Access Token=tok;Encrypt=Optional", server.port);
    let error = Client::connect(&parse(&text)).unwrap_err();
    assert!(matches!(login_error(&error), Some(LoginError::ClearToken)), "{error:?}");
    assert!(server.join(), "the client sent a LOGIN7");
}

/// A TLS server with a fresh certificate, which is also returned as PEM.
fn tls_server(alpn: &[&[u8]]) -> (rustls::ServerConnection, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    (rustls::ServerConnection::new(Arc::new(config)).unwrap(), made.cert.pem())
}

/// The server's side of TLS, wrapped in PRELOGIN packets.
fn accept_tls(peer: &mut Peer) -> rustls::ServerConnection {
    let (mut connection, _) = tls_server(&[]);
    while connection.is_handshaking() {
        let (_, payload) = peer.packet().unwrap();
        let mut rest = payload.as_slice();
        while !rest.is_empty() {
            connection.read_tls(&mut rest).unwrap();
            connection.process_new_packets().unwrap();
        }
        let mut flight = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut flight).unwrap();
        }
        if !flight.is_empty() {
            peer.socket
                .write_all(&frame_message(PacketType::Prelogin, 4096, 0, Status::NORMAL, &flight))
                .unwrap();
        }
    }
    connection
}

fn read_message(stream: &mut impl Read) -> Vec<u8> {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; HEADER_LEN_BYTES];
        stream.read_exact(&mut header).unwrap();
        let header = PacketHeader::parse(&header).unwrap();
        let start = payload.len();
        payload.resize(start + header.payload_len(), 0);
        stream.read_exact(&mut payload[start..]).unwrap();
        if header.ends_message() {
            return payload;
        }
    }
}

/// A PRELOGIN reply with this encryption, FEDAUTHREQUIRED 1 and a nonce of 32 bytes `5a`.
fn prelogin_with_nonce(encryption: u8) -> Vec<u8> {
    let mut reply =
        hex("00 001a 0006 01 0020 0001 02 0021 0001 06 0022 0001 07 0023 0020 ff 11 00 03e8 0000");
    reply.extend([encryption, 0, 1]);
    reply.extend([0x5A; 32]);
    reply
}

#[test]
fn an_access_token_goes_with_the_echo_and_the_nonce() {
    let nonce = vec![0x5A_u8; 32];
    let good = [hex("ae 02 40000000"), nonce.clone(), vec![7; 32], hex("ff")].concat();
    let other_nonce = [hex("ae 02 40000000"), vec![0x5B; 32], vec![7; 32], hex("ff")].concat();
    for (acknowledgement, accepted) in [(good, true), (other_nonce, false), (Vec::new(), false)] {
        let server = Server::start(move |mut peer| {
            let question = tds::Prelogin::decode(&peer.expect(PacketType::Prelogin).payload).unwrap();
            peer.reply(&prelogin_with_nonce(1));
            let mut connection = accept_tls(&mut peer);
            let mut stream = rustls::Stream::new(&mut connection, &mut peer.socket);
            let login = tds::Login7::decode(&read_message(&mut stream)).unwrap();
            let reply = frame_message(
                PacketType::TabularResult,
                4096,
                51,
                Status::NORMAL,
                &login_reply(&acknowledgement),
            );
            stream.write_all(&reply).unwrap();
            (question.fed_auth_required, login)
        });
        let text = format!("Server=127.0.0.1,{};Access Token=tök;TrustServerCertificate=yes", server.port);
        let result = Client::connect(&parse(&text));
        let (asked, login) = server.join();
        assert_eq!(asked, Some(true));
        let expected = FedAuthRequest::SecurityToken {
            echo: true,
            token: tds::Secret::new(utf16("tök")),
            nonce: Some([0x5A; 32]),
        };
        assert_eq!(
            login.features,
            [
                FeatureRequest::FedAuth(expected),
                FeatureRequest::Utf8Support,
                FeatureRequest::VectorSupport(2)
            ]
        );
        assert_eq!((login.user_name.as_str(), login.packet_size_bytes), ("", 16380));
        match result {
            Ok(client) => assert!(accepted && client.server_info().encryption == Encryption::Full),
            Err(error) => {
                assert!(
                    !accepted && matches!(login_error(&error), Some(LoginError::FederatedSignIn { .. })),
                    "{error:?}"
                );
            }
        }
    }
}

#[test]
fn silence_after_any_message_of_a_token_has_its_end() {
    // PRELOGIN, TLS, LOGIN7, the acknowledgement, a batch: the server ends its part behind so many messages, or is gone.
    for closes in [false, true] {
        for messages in 0..=4 {
            let server = Server::start(move |mut peer| {
                peer.expect(PacketType::Prelogin);
                if messages > 0 {
                    peer.reply(&prelogin_with_nonce(1));
                }
                if messages > 1 {
                    let mut connection = accept_tls(&mut peer);
                    let mut stream = rustls::Stream::new(&mut connection, &mut peer.socket);
                    read_message(&mut stream);
                    let token = [hex("ae 02 40000000"), vec![0x5A; 32], vec![7; 32], hex("ff")].concat();
                    let acknowledged = login_reply(if messages > 2 { &token } else { &[] });
                    let answer =
                        frame_message(PacketType::TabularResult, 4096, 51, Status::NORMAL, &acknowledged);
                    // Without its acknowledgement the login is half an answer.
                    let answer = if messages > 2 { answer.as_slice() } else { &answer[..40] };
                    stream.write_all(answer).unwrap();
                    if messages > 3 {
                        read_message(&mut stream);
                    }
                }
                let mut rest = [0; 4096];
                while !closes && peer.socket.read(&mut rest).is_ok_and(|read| read > 0) {}
            });
            let text = format!(
                "Server=127.0.0.1,{};Access Token=tok;TrustServerCertificate=yes;Connect Timeout=1;Command Timeout=1",
                server.port
            );
            let result =
                Client::connect(&parse(&text)).and_then(|mut client| client.query_values("SELECT 1"));
            let error = result.unwrap_err();
            let is_silence = matches!(&error, Error::TimedOut { .. })
                || matches!(&error, Error::Connect(error) if matches!(**error, ConnectError::TimedOut { .. } | ConnectError::Silent { .. }))
                || matches!(&error, Error::Tls(error) if matches!(**error, bulkwire_load::tls::TlsError::TimedOut));
            assert_eq!(is_silence, !closes, "{messages} messages, closes {closes}: {error:?}");
            // Another try may succeed, where a connection of the kind was made before.
            let passes = bulkwire_load::retry::transient(&error).is_some() || matches!(error, Error::Tls(_));
            assert!(passes, "{messages} messages, closes {closes}: {error:?}");
            server.join();
        }
    }
}

#[test]
fn login_only_encryption_ends_with_the_login() {
    let server = Server::start(|mut peer| {
        peer.expect(PacketType::Prelogin);
        // The captured reply of SQL Server 2025: encryption 00.
        peer.reply(&hex("00 001f 0006 01 0025 0001 02 0026 0001 03 0027 0000 04 0027 0001 05 0028 0000 ff 11 00 03e8 0000 00 00 00"));
        let mut connection = accept_tls(&mut peer);
        let login = {
            let mut stream = rustls::Stream::new(&mut connection, &mut peer.socket);
            tds::Login7::decode(&read_message(&mut stream)).unwrap()
        };
        // From here on everything is clear, both ways.
        peer.reply(&login_reply(&[]));
        let batch = peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0x10, 0xC1, 3));
        (login.password.expose().clone(), batch.sql())
    });
    let text = format!(
        "Server=127.0.0.1,{};Uid=sa;Pwd=secret;Encrypt=Optional;TrustServerCertificate=yes",
        server.port
    );
    let mut client = Client::connect(&parse(&text)).unwrap();
    assert_eq!(client.server_info().encryption, Encryption::LoginOnly);
    assert_eq!(client.execute("SELECT 1").unwrap().rows_affected, 3);
    assert_eq!(server.join(), ("secret".to_owned(), "SELECT 1".to_owned()));
}

#[test]
fn strict_encryption_starts_with_tls() {
    let (mut connection, pem) = tls_server(&[b"tds/8.0"]);
    let directory = tempfile::tempdir().unwrap();
    let pinned = directory.path().join("server.pem");
    std::fs::write(&pinned, pem).unwrap();
    let server = Server::start(move |mut peer| {
        let mut stream = rustls::Stream::new(&mut connection, &mut peer.socket);
        let framed =
            |payload: &[u8]| frame_message(PacketType::TabularResult, 4096, 51, Status::NORMAL, payload);
        tds::Prelogin::decode(&read_message(&mut stream)).unwrap();
        stream.write_all(&framed(&hex(support::PRELOGIN_REPLY_WITHOUT_TLS))).unwrap();
        let login = tds::Login7::decode(&read_message(&mut stream)).unwrap();
        stream.write_all(&framed(&login_reply(&[]))).unwrap();
        tds::SqlBatch::decode(&read_message(&mut stream), tds::TdsVersion::V7_4).unwrap();
        // An answer in many records.
        let rows: Vec<u8> = (0..50_000).flat_map(support::int_row).collect();
        stream.write_all(&framed(&[support::int_column(), rows, done(0x10, 0xC1, 50_000)].concat())).unwrap();
        login
    });
    let text = format!(
        "Server=127.0.0.1,{};Uid=sa;Pwd=secret;Encrypt=Strict;ServerCertificate={}",
        server.port,
        pinned.display()
    );
    let mut client = Client::connect(&parse(&text)).unwrap();
    assert_eq!(client.server_info().encryption, Encryption::Strict);
    let stream = client.query("SELECT n", rows::Form::default()).unwrap();
    assert_eq!(stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 50_000);
    let login = server.join();
    assert_eq!((login.tds_version_number, login.packet_size_bytes), (0x0800_0000, 16380));
}

#[test]
fn a_bulk_load_goes_through_tls_packet_by_packet() {
    let server = Server::start(|mut peer| {
        peer.expect(PacketType::Prelogin);
        peer.reply(&prelogin_with_nonce(1));
        let mut connection = accept_tls(&mut peer);
        let mut stream = rustls::Stream::new(&mut connection, &mut peer.socket);
        let framed =
            |payload: &[u8]| frame_message(PacketType::TabularResult, 4096, 51, Status::NORMAL, payload);
        read_message(&mut stream);
        stream.write_all(&framed(&login_reply(&[]))).unwrap();
        read_message(&mut stream);
        stream.write_all(&framed(&done(0, 0, 0))).unwrap();
        let message = read_message(&mut stream);
        stream.write_all(&framed(&done(0x10, 0xF0, 100_000))).unwrap();
        message.len()
    });
    let text = format!("Server=127.0.0.1,{};Uid=sa;Pwd=secret;TrustServerCertificate=yes", server.port);
    let mut client = Client::connect(&parse(&text)).unwrap();
    let schema = Schema::new(vec![Field::new("n", DataType::Int32, false)]);
    let column = tds::Column::new("n", tds::SqlType::Int, false, None);
    let plan = load::LoadPlan {
        table: "t".parse().unwrap(),
        rows: rows::Plan::new(&schema, &[column], &rows::Mapping::ByName, rows::CastOptions::default())
            .unwrap(),
        batch_rows: 100_000,
        hints: rows::BulkHints::default(),
        transaction: load::BatchTransaction::Autocommit,
        count_rule: load::CountRule::Exact,
        rows_before: None,
        routing: None,
        routes: false,
        keeps_batch_rows: true,
        writers_max: 1,
        writers_reason: "as the test decides",
        choices: Vec::new(),
    };
    let numbers = Arc::new(Int32Array::from_iter_values(0..100_000));
    let batch = RecordBatch::try_new(Arc::new(schema), vec![numbers]).unwrap();
    let report =
        load::load(&mut client, &plan, [Ok::<_, std::io::Error>(batch)].into_iter(), &mut |_| {}).unwrap();
    assert_eq!(report.rows, 100_000);
    // COLMETADATA of one NOT NULL int named "n" (13 bytes), 5 bytes a row, DONE.
    assert_eq!(server.join(), 13 + 500_000 + 13);
}
