//! The conversation's two ends against one another, in memory: every state, every piece, every wrong order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/wire.rs"]
mod wire;

mod support;

use bulkwire_tds::conversation::client::{AnswerEnd, Cancel, Credential, LoginOutcome, LoginProblem};
use bulkwire_tds::conversation::client::{Phase, WantedEncryption};
use bulkwire_tds::conversation::server::{Conversation, Event, Offer, Step};
use bulkwire_tds::conversation::{ConversationError, client};
use bulkwire_tds::done::DoneStatus;
use bulkwire_tds::*;
use proptest::prelude::*;
use support::{fixture, messages};
use wire::*;

const AVAILABLE: Offer =
    Offer { encryption: EncryptionPolicy::Available, strict_only: false, access_tokens: false };
const PIECES: [usize; 9] = [1, 2, 3, 7, 8, 9, 511, 4096, usize::MAX];

fn login() -> Login7 {
    Login7 {
        user_name: "sa".to_owned(),
        password: "secret".into(),
        packet_size_bytes: 600,
        ..Login7::default()
    }
}

/// A login with integrated authentication, whose first token this is.
fn signing_in(token: &[u8]) -> Login7 {
    let mut login = Login7 { sspi: token.to_vec(), packet_size_bytes: 600, ..Login7::default() };
    login.option_flags2 |= bulkwire_tds::login::option_flags2::INTEGRATED_SECURITY;
    login
}

/// A client that has logged in.
fn connected(piece: usize) -> ClientEnd {
    let mut client = ClientEnd::new(AVAILABLE, piece);
    let outcome = client.connect(WantedEncryption::None, Credential::Password, &login());
    assert!(matches!(outcome, Some(Ok(LoginOutcome::Granted { .. }))), "{outcome:?}");
    client.server.log.clear();
    client
}

fn counts(tokens: &[Token]) -> Vec<u64> {
    let count = |token: &Token| match token {
        Token::Done(done) if done.status.contains(DoneStatus::COUNT) => Some(done.row_count),
        _ => None,
    };
    tokens.iter().filter_map(count).collect()
}

#[test]
fn every_wish_meets_every_offer() {
    use EncryptionPolicy::{Available, Required, Unavailable};
    use WantedEncryption::{Full, Login, None, Strict};
    for piece in PIECES {
        for (encryption, strict_only, wanted, expected) in [
            (Unavailable, false, None, "granted None"),
            (Unavailable, false, Login, "ClearPassword"),
            (Unavailable, false, Full, "Encryption(ServerCannotEncrypt)"),
            (Unavailable, false, Strict, "closed"),
            (Available, false, None, "granted None"),
            (Available, false, Login, "granted Stands"),
            (Available, false, Full, "granted Stands"),
            (Available, false, Strict, "granted Stands"),
            (Required, false, None, "Encryption(ServerRequires)"),
            (Required, false, Login, "granted Stands"),
            (Required, false, Full, "granted Stands"),
            (Required, false, Strict, "granted Stands"),
            (Required, true, None, "closed"),
            (Required, true, Full, "closed"),
            (Required, true, Strict, "granted Stands"),
        ] {
            let place = format!("{encryption:?} {strict_only} {wanted:?} in pieces of {piece}");
            let mut client = ClientEnd::new(Offer { encryption, strict_only, access_tokens: false }, piece);
            let got = match client.connect(wanted, Credential::Password, &login()) {
                Some(Ok(LoginOutcome::Granted { .. })) => {
                    let login = client.server.log.last().unwrap();
                    format!("granted {}", login.strip_prefix("login sa ").unwrap())
                }
                Some(Ok(outcome)) => format!("{outcome:?}"),
                Some(Err(problem)) => format!("{problem:?}"),
                Option::None => "closed".to_owned(),
            };
            assert_eq!(got, expected, "{place}");
            if got.starts_with("granted") {
                assert_eq!(client.packet_size.bytes(), 600, "{place}");
                client.ask("SELECT 1", Status::NORMAL);
                let (tokens, end) = client.read_answer().unwrap();
                assert_eq!((counts(&tokens), end), (vec![7], AnswerEnd::Done), "{place}");
            }
        }
    }
}

#[test]
fn an_access_token_never_goes_in_the_clear() {
    let clear = Offer { encryption: EncryptionPolicy::Unavailable, strict_only: false, access_tokens: false };
    for wanted in [WantedEncryption::None, WantedEncryption::Login] {
        let mut client = ClientEnd::new(clear, 9);
        let outcome = client.connect(wanted, Credential::Token, &login()).unwrap();
        assert_eq!(outcome, Err(LoginProblem::ClearToken));
        assert!(!client.server.log.iter().any(|line| line.starts_with("login")));
    }
    // Nor is a login granted that took no notice of it.
    let mut client = ClientEnd::new(AVAILABLE, 9);
    let outcome = client.connect(WantedEncryption::Full, Credential::Token, &login()).unwrap();
    assert!(matches!(outcome, Err(LoginProblem::FederatedSignIn { .. })));
}

#[test]
fn integrated_authentication_takes_the_steps_that_the_mechanism_wants() {
    for piece in PIECES {
        for (wanted, first, further, expected) in [
            (WantedEncryption::None, "proof", vec![], vec!["login  None", "token proof"]),
            (WantedEncryption::Login, "proof at once", vec![], vec!["login  Stands", "token proof at once"]),
            (
                WantedEncryption::Full,
                "more",
                vec!["more", "proof"],
                vec!["login  Stands", "token more", "token more", "token proof"],
            ),
            (
                WantedEncryption::Login,
                "more",
                vec!["done"],
                vec!["login  Stands", "token more", "token done"],
            ),
        ] {
            let mut client = ClientEnd::new(AVAILABLE, piece);
            client.sign_in = further.into_iter().map(str::as_bytes).collect();
            let outcome = client.connect(wanted, Credential::Integrated, &signing_in(first.as_bytes()));
            assert!(matches!(outcome, Some(Ok(LoginOutcome::Granted { .. }))), "{outcome:?}");
            assert_eq!(client.server.log[1..], expected, "in pieces of {piece}");
            let proven = expected.last().is_some_and(|last| last.starts_with("token proof"));
            assert_eq!(client.proof.is_some(), proven);
            client.ask("SELECT 1", Status::NORMAL);
            assert_eq!(counts(&client.read_answer().unwrap().0), [7]);
        }
    }
}

#[test]
fn steps_of_integrated_authentication_that_lead_nowhere() {
    // A server that never has enough, and a client that never has enough.
    let mut client = ClientEnd::new(AVAILABLE, 9);
    client.sign_in = std::iter::repeat_n(b"more".as_slice(), 100).collect();
    let outcome = client.connect(WantedEncryption::None, Credential::Integrated, &signing_in(b"more"));
    assert!(
        matches!(outcome, Some(Err(LoginProblem::Unexpected { what })) if what.contains("more steps")),
        "{outcome:?}"
    );
    // A step for a client that has sent a password.
    let mut client = ClientEnd::new(AVAILABLE, 9);
    let outcome = client.connect(WantedEncryption::None, Credential::Password, &signing_in(b"more"));
    assert!(
        matches!(outcome, Some(Err(LoginProblem::Unexpected { what })) if what.contains("nobody asked")),
        "{outcome:?}"
    );
    // A server that asks for a step, and a client that has none.
    let mut client = ClientEnd::new(AVAILABLE, 9);
    let outcome = client.connect(WantedEncryption::None, Credential::Integrated, &signing_in(b"more"));
    assert_eq!(outcome, None);
    // Two steps in one answer, and none at all.
    let mut connecting =
        client::Connecting::new(WantedEncryption::None, Credential::Integrated, Prelogin::default());
    assert_eq!(connecting.login_answered(), Err(LoginProblem::NoAcknowledgement));
    connecting.login_token(Token::Sspi(vec![1])).unwrap();
    assert!(connecting.login_token(Token::Sspi(vec![2])).is_err());
    // The client falls silent between two steps, or inside one.
    let server = server_after("sign-in");
    assert_eq!(server.end_of_stream(0), Ok(()));
    let mut server = server_after("sign-in");
    let packets = frame_message(PacketType::Sspi, 512, 0, Status::NORMAL, &[7; 600]);
    assert_eq!(server.next(&packets[..512]).unwrap().event, Event::NeedBytes(8));
    assert_eq!(server.end_of_stream(0), Err(ConversationError::CutOff));
    let Event::SignIn(token) = server.next(&packets[512..]).unwrap().event else { panic!("no token") };
    assert_eq!(token.len(), 600);
    // A login with a password has no further steps.
    let mut server = server_after("prelogin");
    server.next(&message(PacketType::Login7, &login().encode().unwrap())).unwrap();
    server.sign_in_continues();
    assert_eq!(server.next(b"\x11"), Err(ConversationError::OutOfTurn));
}

#[test]
fn an_empty_step_behind_the_login_is_passed_over_once() {
    let empty = message(PacketType::Sspi, b"");
    let batch = message(PacketType::SqlBatch, &SqlBatch::new("x", TdsVersion::V7_4, 0).encode().unwrap());
    let signed_in = || {
        let mut server = server_after("sign-in");
        server.next(&message(PacketType::Sspi, b"last")).unwrap();
        server.logged_in();
        server
    };
    let mut server = signed_in();
    assert_eq!(server.next(&empty).unwrap(), Step { consumed: 8, event: Event::NeedBytes(8) });
    let Event::Request(request) = server.next(&batch).unwrap().event else { panic!("no request") };
    assert_eq!(request.packet_type, PacketType::SqlBatch);
    let both = [empty.as_slice(), &batch].concat();
    let step = signed_in().next(&both).unwrap();
    assert_eq!(step.consumed, both.len());
    assert!(matches!(step.event, Event::Request(request) if request.packet_type == PacketType::SqlBatch));
    // A second one, one that says something, and one behind a request are no requests.
    for messages in [vec![&empty, &empty], vec![&message(PacketType::Sspi, b"x")], vec![&batch, &empty]] {
        let mut server = signed_in();
        let mut errors = 0;
        for bytes in messages {
            if let Event::Request(request) = server.next(bytes).unwrap().event {
                errors += usize::from(request.request(TdsVersion::V7_4).is_err());
                server.answered(false);
            }
        }
        assert_eq!(errors, 1);
    }
}

#[test]
fn a_ticket_may_go_in_the_clear_where_encryption_is_optional() {
    let clear = Offer { encryption: EncryptionPolicy::Unavailable, strict_only: false, access_tokens: false };
    let connect = |wanted| {
        let mut client = ClientEnd::new(clear, 9);
        client.connect(wanted, Credential::Integrated, &signing_in(b"proof")).unwrap()
    };
    assert!(matches!(connect(WantedEncryption::Login), Ok(LoginOutcome::Granted { .. })));
    assert!(matches!(connect(WantedEncryption::Full), Err(LoginProblem::Encryption(_))));
}

/// A login that asks where to get a token.
fn asking_for_a_token(echo: bool) -> Login7 {
    let feature = FeatureRequest::FedAuth(FedAuthRequest::Adal { echo, workflow: 1 });
    Login7 { packet_size_bytes: 600, features: vec![feature], ..Login7::default() }
}

#[test]
fn a_token_follows_the_login_and_never_in_the_clear() {
    let offer = |encryption| Offer { encryption, strict_only: false, access_tokens: true };
    let connect = |client: &mut ClientEnd, wanted| {
        client.connect(wanted, Credential::Federated, &asking_for_a_token(true)).unwrap()
    };
    for piece in PIECES {
        for wanted in [WantedEncryption::Full, WantedEncryption::Strict] {
            let mut client = ClientEnd::new(offer(EncryptionPolicy::Available), piece);
            // Longer than a packet.
            client.access_token =
                if piece == 1 { "good" } else { include_str!("both_ends.rs").split_at(900).0 };
            let outcome = connect(&mut client, wanted);
            assert!(matches!(outcome, Ok(LoginOutcome::Granted { .. })), "{outcome:?}");
            let [.., asked, token] = client.server.log.as_slice() else { panic!() };
            assert_eq!(asked, "asks for a token, echo true");
            assert_eq!(token, &format!("access token {} Stands", client.access_token));
            client.ask("SELECT 1", Status::NORMAL);
            assert_eq!(counts(&client.read_answer().unwrap().0), [7]);
        }
    }
    let mut client = ClientEnd::new(offer(EncryptionPolicy::Available), 9);
    assert!(matches!(connect(&mut client, WantedEncryption::Login), Err(LoginProblem::ClearToken)));
    let mut client = ClientEnd::new(offer(EncryptionPolicy::Unavailable), 9);
    assert!(matches!(connect(&mut client, WantedEncryption::None), Err(LoginProblem::ClearToken)));
    // A server that asks twice, and one that grants the login and says nothing of the token.
    for (token, expected) in [("again", "not a given token"), ("unheard", "did not acknowledge")] {
        let mut client = ClientEnd::new(offer(EncryptionPolicy::Available), 9);
        client.access_token = token;
        let outcome = connect(&mut client, WantedEncryption::Full);
        assert!(
            matches!(outcome, Err(LoginProblem::FederatedSignIn { reason }) if reason.contains(expected)),
            "{outcome:?}"
        );
    }
    // A server that asks for a token although a password was sent.
    let mut client = ClientEnd::new(offer(EncryptionPolicy::Available), 9);
    let outcome = client.connect(WantedEncryption::Full, Credential::Password, &asking_for_a_token(true));
    assert!(matches!(outcome, Some(Err(LoginProblem::FederatedSignIn { .. }))), "{outcome:?}");
}

#[test]
fn a_server_says_before_the_login_whether_it_takes_tokens() {
    for access_tokens in [false, true] {
        let offer = Offer { access_tokens, ..AVAILABLE };
        for asked in [None, Some(false), Some(true)] {
            let mut server = Conversation::new(offer, 1 << 12);
            let question = Prelogin { fed_auth_required: asked, ..Prelogin::default() };
            server.next(&message(PacketType::Prelogin, &question.encode().unwrap())).unwrap();
            let answer = server.answer_prelogin(ProgramVersion::default()).unwrap();
            let reply = Prelogin::decode(&answer.packets[8..]).unwrap();
            assert_eq!(reply.fed_auth_required, asked.map(|asked| asked && access_tokens));
        }
    }
}

/// An answer to a login may be no grant: it is empty, of an old version, a routing, or rows.
#[test]
fn answers_to_a_login_that_are_no_grant() {
    let routing = Routing { server: "elsewhere".to_owned(), port: 1444, database: None };
    let old = Token::LoginAck(LoginAck {
        interface: 1,
        version: TdsVersion::V7_1,
        program_name: String::new(),
        program_version: [8, 0, 0, 0],
    });
    for (tokens, expected) in [
        (vec![], Err(LoginProblem::NoAcknowledgement)),
        (vec![old], Err(LoginProblem::TooOld { version: TdsVersion::V7_1 })),
        (
            vec![login_ack(), Token::EnvChange(EnvChange::Routing(routing.clone()))],
            Ok(LoginOutcome::Routed(routing)),
        ),
        (vec![Token::Row], Err(LoginProblem::Unexpected { what: "the server sent rows" })),
    ] {
        let mut connecting =
            client::Connecting::new(WantedEncryption::None, Credential::Password, Prelogin::default());
        let taken = tokens.into_iter().try_for_each(|token| connecting.login_token(token));
        assert_eq!(taken.and_then(|()| connecting.outcome()), expected);
    }
}

#[test]
fn requests_attentions_and_bulk_loads_in_pieces() {
    for piece in PIECES {
        let mut client = connected(piece);
        // An answer of several packets, and a request of several.
        client.ask("long", Status::NORMAL);
        assert_eq!(client.read_answer().unwrap().0.len(), 1001);
        let text = "x".repeat(3000);
        client.ask(&text, Status::NORMAL);
        assert_eq!(counts(&client.read_answer().unwrap().0), [7]);
        // The reset bits of the first packet.
        client.ask("a", Status::RESET_CONNECTION);
        client.read_answer().unwrap();
        client.ask("b", Status::RESET_CONNECTION_SKIP_TRAN);
        client.read_answer().unwrap();
        assert_eq!(client.server.log, ["long", &text, "reset, a", "reset but transaction, b"]);
        client.server.log.clear();

        // An attention while the server works: its own answer, then the acknowledgement.
        client.ask("wait", Status::NORMAL);
        while client.travel() {}
        assert_eq!(client.cancel(), Cancel::SendAttention);
        assert_eq!(client.cancel(), Cancel::Nothing);
        let (tokens, end) = client.read_answer().unwrap();
        assert_eq!((tokens.len(), end), (2, AnswerEnd::Acknowledged));
        // One that comes after the answer has left: the acknowledgement is all the same waited for.
        client.ask("SELECT 1", Status::NORMAL);
        while client.travel() {}
        client.cancel();
        let (tokens, end) = client.read_answer().unwrap();
        assert_eq!((counts(&tokens), end), (vec![7], AnswerEnd::Acknowledged));
        assert_eq!(client.cancel(), Cancel::Nothing, "nothing is under way");
        assert_eq!(client.server.log, ["wait", "attention", "SELECT 1", "attention"]);
        client.server.log.clear();

        // A bulk load, whole.
        let rows: Vec<u8> = (0..2000_u32).map(|n| n as u8).collect();
        client.ask("insert bulk", Status::NORMAL);
        client.read_answer().unwrap();
        bulk(&mut client, &rows, true);
        assert_eq!(counts(&client.read_answer().unwrap().0), [2000]);
        assert!(client.server.rows == rows);
        // Given up with an attention inside the message.
        client.ask("insert bulk", Status::NORMAL);
        client.read_answer().unwrap();
        bulk(&mut client, &rows, false);
        client.cancel();
        assert_eq!(client.read_answer().unwrap().1, AnswerEnd::Acknowledged);
        // Taken back with the bit for that.
        client.ask("insert bulk", Status::NORMAL);
        client.read_answer().unwrap();
        let mut framer = PacketFramer::new(PacketType::BulkLoad, 512, 0);
        let mut packets = Vec::new();
        framer.frame_into(&rows, false, &mut packets);
        framer.cancel_into(&mut packets);
        client.send(&packets);
        client.answer.expect();
        assert_eq!(client.read_answer().unwrap().1, AnswerEnd::Done);
        // Announced, and then something else.
        client.ask("insert bulk", Status::NORMAL);
        client.read_answer().unwrap();
        client.ask("SELECT 1", Status::NORMAL);
        assert_eq!(counts(&client.read_answer().unwrap().0), [7]);
        // Not announced: an error of the request alone.
        bulk(&mut client, b"", true);
        client.read_answer().unwrap();
        assert_eq!(
            client.server.log,
            [
                "insert bulk",
                "bulk",
                "rows 2000",
                "insert bulk",
                "bulk",
                "attention",
                "insert bulk",
                "bulk",
                "ignored rows",
                "insert bulk",
                "SELECT 1",
                "UnannouncedBulk"
            ]
        );
        assert_eq!(client.refused, None);
        client.server.conversation.end_of_stream(0).unwrap();
    }
}

/// A bulk message, or the head of one.
fn bulk(client: &mut ClientEnd, rows: &[u8], whole: bool) {
    let mut packets = Vec::new();
    PacketFramer::new(PacketType::BulkLoad, 512, 0).frame_into(rows, whole, &mut packets);
    client.send(&packets);
    client.answer.expect();
    client.phase = Phase::Receiving;
}

fn message(packet_type: PacketType, payload: &[u8]) -> Vec<u8> {
    frame_message(packet_type, 4096, 0, Status::NORMAL, payload)
}

/// A server's end in the state that `till` leads to.
fn server_after(till: &str) -> Conversation {
    let mut server = Conversation::new(AVAILABLE, 1 << 12);
    let mut take = |bytes: &[u8]| {
        let Step { consumed, event } = server.next(bytes).unwrap();
        assert_eq!(consumed, bytes.len());
        match event {
            Event::Prelogin => drop(server.answer_prelogin(ProgramVersion::default()).unwrap()),
            Event::Login { login, .. } => match (login.sspi.as_slice(), login.features.as_slice()) {
                (b"more", _) => server.sign_in_continues(),
                (_, [FeatureRequest::FedAuth(_)]) => server.access_token_asked(),
                _ => server.logged_in(),
            },
            _ => {}
        }
    };
    let asked = match till {
        "sign-in" => signing_in(b"more"),
        "token" => asking_for_a_token(false),
        _ => login(),
    };
    let not_supported = Prelogin { encryption: Some(EncryptionOption::NotSupported), ..Prelogin::default() };
    let batch = SqlBatch::new("SELECT 1", TdsVersion::V7_4, 0).encode().unwrap();
    let steps = [
        ("prelogin", message(PacketType::Prelogin, &not_supported.encode().unwrap())),
        (
            if matches!(till, "sign-in" | "token") { till } else { "login" },
            message(PacketType::Login7, &asked.encode().unwrap()),
        ),
        ("request", message(PacketType::SqlBatch, &batch)),
        ("attention", message(PacketType::Attention, b"")),
    ];
    if till != "start" {
        for (name, bytes) in &steps {
            take(bytes);
            if *name == till {
                break;
            }
        }
    }
    server
}

#[test]
fn what_comes_in_the_wrong_order_is_refused_with_what_and_where() {
    use PacketType::{
        Attention, FedAuthToken, Login7, PreTds7Login, Prelogin, Rpc, SqlBatch, Sspi, TabularResult,
    };
    let login = login().encode().unwrap();
    let prelogin = bulkwire_tds::Prelogin::default().encode().unwrap();
    for (state, packet_type, payload, expected) in [
        // MS-TDS 3.3.5.1 lets clients of 7.0 and 7.1 begin so. Their versions are not spoken here, and a 7.2 client that
        // does it has never been met: it would send its password in the clear.
        ("start", Login7, login.as_slice(), "Login7 before PRELOGIN"),
        ("start", SqlBatch, b"", "SqlBatch before PRELOGIN"),
        ("start", PreTds7Login, b"", "PreTds7Login before PRELOGIN"),
        ("start", Attention, b"", "Attention before PRELOGIN"),
        ("prelogin", SqlBatch, b"", "SqlBatch before login"),
        ("prelogin", Prelogin, &prelogin, "Prelogin before login"),
        ("prelogin", Attention, b"", "Attention before login"),
        // Integrated authentication begins in LOGIN7, and tokens of Entra come there, or when they are asked for.
        ("prelogin", Sspi, b"", "Sspi before login"),
        ("prelogin", FedAuthToken, b"", "FedAuthToken before login"),
        ("sign-in", SqlBatch, b"", "SqlBatch in place of a step of integrated authentication"),
        ("sign-in", Attention, b"", "Attention in place of a step of integrated authentication"),
        ("sign-in", Login7, &login, "Login7 in place of a step of integrated authentication"),
        ("token", SqlBatch, b"", "SqlBatch in place of an access token"),
        ("token", Attention, b"", "Attention in place of an access token"),
        ("token", Login7, &login, "Login7 in place of an access token"),
        ("request", SqlBatch, b"", "SqlBatch before the answer to the last request"),
        ("request", Rpc, b"", "Rpc before the answer to the last request"),
        ("request", PacketType::BulkLoad, b"", "BulkLoad before the answer to the last request"),
    ] {
        let mut server = server_after(state);
        let bytes = message(packet_type, payload);
        assert_eq!(server.next(&bytes).unwrap_err().to_string(), expected);
        assert_eq!(server.next(&bytes), Err(ConversationError::Closed), "after {expected}");
    }
    // Well formed as messages, but no requests.
    // Sspi too, although empty: the login was none with integrated authentication.
    for packet_type in [Login7, Prelogin, Sspi, FedAuthToken, TabularResult, PreTds7Login] {
        let mut server = server_after("login");
        let step = server.next(&message(packet_type, b"")).unwrap();
        let Event::Request(message) = step.event else { panic!("{step:?}") };
        let error = message.request(TdsVersion::V7_4).unwrap_err();
        assert_eq!(error.to_string(), format!("{packet_type:?} after login"));
    }
}

#[test]
fn nothing_follows_a_message_that_has_to_be_answered_first() {
    let mut bytes = message(PacketType::Prelogin, &Prelogin::default().encode().unwrap());
    bytes.push(0x10);
    assert_eq!(server_after("start").next(&bytes), Err(ConversationError::OutOfTurn));
    let mut bytes = message(PacketType::Login7, &login().encode().unwrap());
    bytes.push(0x01);
    assert_eq!(server_after("prelogin").next(&bytes), Err(ConversationError::OutOfTurn));
    // Behind an attention the client waits for its acknowledgement; what it sends all the same stays where it is.
    let mut server = server_after("attention");
    assert_eq!(server.next(b"\x01").unwrap(), Step { consumed: 0, event: Event::Owed });
    assert!(server.answered(true), "an attention is acknowledged, and no bulk load expected any more");
    assert_eq!(server.next(b"\x01").unwrap().event, Event::NeedBytes(8));
    server.close();
    assert_eq!(server.next(b""), Ok(Step { consumed: 0, event: Event::Owed }));
    assert_eq!(server.next(b"\x01"), Err(ConversationError::Closed));
}

#[test]
fn an_attention_in_each_state_after_login() {
    let attention = message(PacketType::Attention, b"");
    // Nothing under way: it is acknowledged alone.
    let mut server = server_after("login");
    assert_eq!(server.next(&attention).unwrap().event, Event::Attention);
    assert!(server.answered(false));
    // Before the rows that INSERT BULK announced, and before a request in its stead.
    let mut server = server_after("request");
    assert!(!server.answered(true));
    assert_eq!(server.next(&attention).unwrap().event, Event::Attention);
    assert!(server.answered(false));
    // Into a request that is not whole: that is forgotten.
    let batch = SqlBatch::new("x".repeat(600), TdsVersion::V7_4, 0).encode().unwrap();
    let packets = frame_message(PacketType::SqlBatch, 512, 0, Status::NORMAL, &batch);
    let cut = [&packets[..512], &attention].concat();
    let mut server = server_after("login");
    assert_eq!(server.next(&cut).unwrap(), Step { consumed: cut.len(), event: Event::Attention });
    assert!(server.answered(false));
    let Event::Request(request) = server.next(&packets).unwrap().event else { panic!("no request") };
    assert!(request.payload == batch);
    // Behind the rows, before they are answered: two answers, of which the first is the load's own.
    let mut server = server_after("request");
    server.answered(true);
    assert_eq!(server.next(b"\x07").unwrap(), Step { consumed: 0, event: Event::BulkBegins });
    let rows = message(PacketType::BulkLoad, b"rows");
    assert_eq!(server.next(&rows).unwrap().event, Event::BulkRows { payload: 8..12, last: true });
    assert_eq!(server.next(&attention).unwrap().event, Event::Attention);
    assert!(server.answered(false));
}

#[test]
fn a_stream_ends_between_messages_or_is_cut_off() {
    assert_eq!(server_after("login").end_of_stream(0), Ok(()));
    assert_eq!(server_after("login").end_of_stream(3), Err(ConversationError::CutOff));
    let batch = frame_message(PacketType::SqlBatch, 512, 0, Status::NORMAL, &[0; 600]);
    let mut server = server_after("login");
    server.next(&batch[..512]).unwrap();
    assert_eq!(server.end_of_stream(0), Err(ConversationError::CutOff));
}

#[test]
fn messages_have_a_limit_that_bulk_loads_do_not() {
    let request = |length| frame_message(PacketType::Rpc, 4096, 0, Status::NORMAL, &vec![0; length]);
    assert!(matches!(server_after("login").next(&request(1 << 12)).unwrap().event, Event::Request(_)));
    let error = server_after("login").next(&request((1 << 12) + 1)).unwrap_err();
    assert!(matches!(&error, ConversationError::Decode { error, .. } if error.field == "message length"));
    // A login's own, which is larger than this server's for requests.
    let error = server_after("start").next(&message(PacketType::Prelogin, &vec![0; 1 << 18])).unwrap_err();
    assert!(matches!(error, ConversationError::Decode { .. }));
    let mut server = server_after("request");
    server.answered(true);
    let packet = &frame_message(PacketType::BulkLoad, 4096, 0, Status::NORMAL, &[0; 5000])[..4096];
    server.next(packet).unwrap();
    for _ in 0..1000 {
        assert_eq!(server.next(packet).unwrap().event, Event::BulkRows { payload: 8..4096, last: false });
    }
}

#[test]
fn only_versions_whose_tokens_are_known_are_spoken() {
    use conversation::server::{granted_packet_size, spoken_version};
    for (number, spoken) in
        [(0x7400_0004, true), (0x0800_0000, true), (0x7209_0002, true), (0x7100_0001, false), (0, false)]
    {
        let login = Login7 { tds_version_number: number, ..Login7::default() };
        assert_eq!(spoken_version(&login).is_ok(), spoken, "{number:08X}");
    }
    for (asked, clear, encrypted) in
        [(0, 4096, 4096), (1, 512, 512), (8000, 8000, 8000), (8001, 8000, 8000), (32767, 32764, 16380)]
    {
        assert_eq!((granted_packet_size(asked, false), granted_packet_size(asked, true)), (clear, encrypted));
    }
}

#[test]
fn a_client_takes_the_packet_size_it_is_told_or_shown() {
    let mut size = client::PacketSize::default();
    size.limit(4092);
    assert_eq!(size.bytes(), 4092);
    size.limit(1);
    assert_eq!(size.bytes(), 512);
    size.grant(8000);
    size.limit(600);
    assert_eq!(size.bytes(), 8000, "what was granted holds");
    let mut untold = client::PacketSize::default();
    untold.logged_in(32764);
    assert_eq!(untold.bytes(), 4092);
    let mut environment = client::Environment::new(TdsVersion::V7_4);
    for bytes in [0, 511, 32768, u32::MAX] {
        let change = EnvChange::PacketSize { new: bytes, old: 4096 };
        let refused = environment.apply(&change, |_| panic!("{bytes} is no packet size"));
        assert_eq!(refused, Err(ConversationError::PacketSize { bytes }));
    }
}

/// All that real clients sent, in pieces: the same messages as an unpacking without states finds.
#[test]
fn captured_clients_keep_to_the_conversation() {
    for folder in std::fs::read_dir(fixture("wire-captures")).unwrap() {
        let folder = folder.unwrap().path();
        for stream in ["c1.c2s", "c2.c2s"] {
            let Ok(bytes) = std::fs::read(folder.join(stream)) else { continue };
            let messages = messages(&bytes);
            for piece in [1, 5, 8, 600, usize::MAX] {
                replay(&format!("{} {stream}", folder.display()), &bytes, &messages, piece);
            }
        }
    }
}

/// Shows a capture to a server's end, message by message as its client waited for answers.
fn replay(place: &str, mut bytes: &[u8], messages: &[(MessageHead, Vec<u8>)], piece: usize) {
    let clear = Offer { encryption: EncryptionPolicy::Unavailable, strict_only: false, access_tokens: false };
    let mut server = Conversation::new(clear, 1 << 24);
    let mut packets = MessageReader::new(32767, 1 << 24);
    for (index, (head, payload)) in messages.iter().enumerate() {
        let (length, _) = packets.collect(bytes, &mut Vec::new()).unwrap();
        let message = bytes.split_off(..length).unwrap();
        let (mut shown, mut at, mut got, mut over) = (0, 0, Vec::new(), false);
        while !over {
            let Step { consumed, event } = server.next(&message[at..shown]).unwrap();
            let head_at = at;
            at += consumed;
            match event {
                Event::NeedBytes(_) => {
                    assert!(shown < message.len(), "{place}: message {index} is whole");
                    shown = shown.saturating_add(piece).min(message.len());
                    continue;
                }
                Event::Prelogin => {
                    server.answer_prelogin(ProgramVersion::default()).unwrap().next.unwrap();
                    (got, over) = (payload.clone(), true);
                }
                Event::Login { login, leave_tls } => {
                    assert!(!leave_tls);
                    assert_eq!(*login, Login7::decode(payload).unwrap());
                    server.logged_in();
                    (got, over) = (payload.clone(), true);
                }
                Event::Request(request) => {
                    assert_eq!((request.packet_type, request.status), (head.packet_type, head.status));
                    request.request(TdsVersion::V7_4).unwrap();
                    (got, over) = (request.payload, true);
                    let next = messages.get(index + 1).map(|(head, _)| head.packet_type);
                    server.answered(next == Some(PacketType::BulkLoad));
                }
                Event::Attention => {
                    assert_eq!(head.packet_type, PacketType::Attention);
                    assert!(server.answered(false));
                    over = true;
                }
                Event::BulkBegins => assert_eq!(head.packet_type, PacketType::BulkLoad),
                Event::BulkRows { payload, last } => {
                    got.extend_from_slice(&message[head_at..][payload]);
                    over = last;
                    if last {
                        assert!(!server.answered(false));
                    }
                }
                event => panic!("{place}: {event:?}"),
            }
        }
        assert_eq!((at, &got), (message.len(), payload), "{place}: message {index}");
    }
    server.end_of_stream(0).unwrap();
}

/// Everything that a client's end finds in bytes that arrive up to each of `ends`.
fn answer_steps(bytes: &[u8], ends: &[usize]) -> (Vec<Token>, Option<AnswerEnd>, bool) {
    let (mut packets, mut answer) = (client::AnswerPackets::default(), client::Answer::new(TdsVersion::V7_4));
    answer.expect();
    let (mut at, mut tokens) = (0, Vec::new());
    let mut ends = ends.iter();
    let mut end = 0;
    loop {
        match answer.next(false) {
            Err(_) => return (tokens, None, true),
            Ok(client::AnswerStep::End(end)) => return (tokens, Some(end), false),
            Ok(client::AnswerStep::Token(Token::Row | Token::NbcRow)) => match answer.skip_rows() {
                Some(Ok(span)) if span.rows > 0 => {}
                _ => return (tokens, None, true),
            },
            Ok(client::AnswerStep::Token(token)) => tokens.push(token),
            Ok(client::AnswerStep::NeedPackets) => {
                let Ok(room) = answer.room() else { return (tokens, None, true) };
                match packets.unpack(&bytes[at..end], room) {
                    Err(_) => return (tokens, None, true),
                    Ok((consumed, progress)) => {
                        at += consumed;
                        answer.received(progress == Some(true));
                        if progress.is_none() {
                            match ends.next() {
                                Some(next) => end = *next,
                                None => return (tokens, None, false),
                            }
                        }
                    }
                }
            }
        }
    }
}

fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let types = prop_oneof![
        Just(PacketType::SqlBatch),
        Just(PacketType::Rpc),
        Just(PacketType::Attention),
        Just(PacketType::BulkLoad),
        Just(PacketType::TransactionManager),
        Just(PacketType::Prelogin),
        Just(PacketType::Login7),
        Just(PacketType::Sspi)
    ];
    (types, prop::collection::vec(any::<u8>(), 0..700), any::<u8>()).prop_map(
        |(packet_type, payload, status)| frame_message(packet_type, 512, 0, Status(status & 0x1A), &payload),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Any bytes in any state: no panic, never more consumed than shown, and one event a byte at most.
    #[test]
    fn any_bytes_are_taken_or_refused(
        state in prop::sample::select(vec!["start", "prelogin", "sign-in", "login", "request", "attention"]),
        messages in prop::collection::vec(prop_oneof![any_message(), prop::collection::vec(any::<u8>(), 0..40)], 0..6),
        piece in 1_usize..800,
        bulk in any::<bool>(),
    ) {
        let mut server = server_after(state);
        let (mut pending, mut steps, total) = (Vec::new(), 0, messages.concat().len());
        'all: for bytes in messages.concat().chunks(piece) {
            pending.extend_from_slice(bytes);
            loop {
                steps += 1;
                prop_assert!(steps <= 3 * total + 3);
                let Ok(Step { consumed, event }) = server.next(&pending) else { break 'all };
                prop_assert!(consumed <= pending.len());
                if let Event::BulkRows { payload, .. } = &event {
                    prop_assert!(payload.end <= consumed);
                }
                pending.drain(..consumed);
                match event {
                    Event::NeedBytes(needed) => {
                        prop_assert!(needed > pending.len() && needed <= 32767);
                        break;
                    }
                    Event::Owed | Event::TlsFirst => {
                        server.tls_established();
                        server.answered(bulk);
                        break;
                    }
                    Event::Prelogin => drop(server.answer_prelogin(ProgramVersion::default())),
                    Event::Login { .. } | Event::SignIn(_) | Event::AccessToken(_) if bulk => server.logged_in(),
                    Event::Login { .. } | Event::SignIn(_) | Event::AccessToken(_) => {
                        server.sign_in_continues();
                        server.logged_in();
                    }
                    Event::Request(message) => {
                        prop_assert!(message.payload.len() <= 1 << 12);
                        let _ = message.request(TdsVersion::V7_4);
                        server.answered(bulk);
                    }
                    Event::BulkBegins => {}
                    Event::BulkRows { last: false, .. } => {}
                    Event::BulkRows { .. } | Event::BulkIgnored | Event::Attention => {
                        server.answered(bulk);
                    }
                }
            }
        }
    }

    /// Any answer: the same tokens whole, and in two pieces.
    #[test]
    fn any_answer_is_the_same_in_two_pieces(
        payload in prop::collection::vec(prop_oneof![Just(0xFD), Just(0xE3), any::<u8>()], 0..300),
        split in any::<prop::sample::Index>(),
    ) {
        let bytes = answer(&[payload, done(DoneStatus::FINAL, 0)].concat());
        let split = split.index(bytes.len());
        prop_assert_eq!(answer_steps(&bytes, &[split, bytes.len()]), answer_steps(&bytes, &[bytes.len()]));
    }
}

/// A packet of some type that is a whole message of one byte.
fn packet_of(packet_type: u8) -> Vec<u8> {
    vec![packet_type, 1, 0, 9, 0, 0, 1, 0, 0xFF]
}

#[test]
fn only_the_first_answer_may_be_of_the_type_of_prelogin() {
    let mut payload = Vec::new();
    for first in [0x04, 0x12] {
        let mut packets = client::AnswerPackets::default();
        assert_eq!(packets.unpack(&packet_of(first), &mut payload), Ok((9, Some(true))));
        assert_eq!(packets.unpack(&packet_of(0x04), &mut payload), Ok((9, Some(true))));
        assert!(packets.unpack(&packet_of(0x12), &mut payload).is_err());
    }
    assert!(client::AnswerPackets::default().unpack(&packet_of(0x01), &mut payload).is_err());
}
