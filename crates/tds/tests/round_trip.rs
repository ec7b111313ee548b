//! Every message and token, encoded and decoded again, for values that no example has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bulkwire_tds::*;
use proptest::option;
use proptest::prelude::*;

fn version() -> impl Strategy<Value = TdsVersion> {
    prop::sample::select(vec![
        TdsVersion::V7_1,
        TdsVersion::V7_2,
        TdsVersion::V7_3A,
        TdsVersion::V7_3B,
        TdsVersion::V7_4,
        TdsVersion::V8_0,
    ])
}

/// Any text, surrogate pairs included, that fits a one-byte count.
fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..100).prop_map(String::from_iter)
}

fn bytes(limit: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..limit)
}

fn prelogin() -> impl Strategy<Value = Prelogin> {
    let encryption = prop::sample::select(vec![
        EncryptionOption::Off,
        EncryptionOption::On,
        EncryptionOption::NotSupported,
        EncryptionOption::Required,
        EncryptionOption::Strict,
    ]);
    let version = any::<(u8, u8, u16, u16)>().prop_map(|(major, minor, build, sub_build)| ProgramVersion {
        major,
        minor,
        build,
        sub_build,
    });
    let instance = prop::collection::vec(1u8..=255, 0..20);
    let thread_id = prop_oneof![Just(OptionData::Empty), any::<u32>().prop_map(OptionData::Value)];
    let trace_id = prop_oneof![
        Just(OptionData::Empty),
        any::<([u8; 16], [u8; 16], u32)>().prop_map(|(connection_id, activity_id, activity_sequence)| {
            OptionData::Value(TraceId { connection_id, activity_id, activity_sequence })
        }),
    ];
    (
        (version, option::of(encryption), any::<bool>(), option::of(instance), option::of(thread_id)),
        (any::<Option<bool>>(), option::of(trace_id), any::<Option<bool>>(), any::<Option<[u8; 32]>>()),
        prop::collection::vec((8u8..0xFF, bytes(10)), 0..3),
    )
        .prop_map(|((version, encryption, certificate, instance, thread_id), rest, unknown)| {
            let (mars, trace_id, fed_auth_required, nonce) = rest;
            let client_certificate = certificate && encryption.is_some();
            Prelogin {
                version,
                encryption,
                client_certificate,
                instance,
                thread_id,
                mars,
                trace_id,
                fed_auth_required,
                nonce,
                unknown,
            }
        })
}

fn feature() -> impl Strategy<Value = FeatureRequest> {
    let fed_auth = prop_oneof![
        (any::<bool>(), bytes(300), any::<Option<[u8; 32]>>()).prop_map(|(echo, token, nonce)| {
            FedAuthRequest::SecurityToken { echo, token: Secret::new(token), nonce }
        }),
        (any::<bool>(), any::<u8>()).prop_map(|(echo, workflow)| FedAuthRequest::Adal { echo, workflow }),
        (any::<bool>(), 3u8..0x80, bytes(30)).prop_map(|(echo, library, data)| {
            FedAuthRequest::Other { echo, library, data: Secret::new(data) }
        }),
    ];
    prop_oneof![
        bytes(300).prop_map(FeatureRequest::SessionRecovery),
        fed_auth.prop_map(FeatureRequest::FedAuth),
        any::<u8>().prop_map(FeatureRequest::ColumnEncryption),
        Just(FeatureRequest::GlobalTransactions),
        any::<u8>().prop_map(FeatureRequest::AzureSqlSupport),
        any::<u8>().prop_map(FeatureRequest::DataClassification),
        Just(FeatureRequest::Utf8Support),
        Just(FeatureRequest::AzureSqlDnsCaching),
        any::<u8>().prop_map(FeatureRequest::JsonSupport),
        any::<u8>().prop_map(FeatureRequest::VectorSupport),
        Just(FeatureRequest::EnhancedRouting),
        bytes(60).prop_map(FeatureRequest::UserAgent),
        (0x20u8..0xFF, bytes(20)).prop_map(|(id, data)| FeatureRequest::Unknown { id, data }),
    ]
}

fn login() -> impl Strategy<Value = Login7> {
    // Long authentication data needs the 32-bit length.
    let sspi = prop_oneof![3 => bytes(200), 1 => (65_530usize..66_000).prop_map(|length| vec![7; length])];
    (
        (version(), any::<[u32; 4]>(), any::<[u8; 4]>(), any::<i32>(), any::<u32>(), any::<[u8; 6]>()),
        (name(), name(), name(), name(), name(), name()),
        (name(), name(), sspi, name(), name()),
        prop::collection::vec(feature(), 0..5),
    )
        .prop_map(|(fixed, names, more, features)| {
            let (version, numbers, flags, client_time_zone, client_lcid, client_id) = fixed;
            let (host_name, user_name, password, app_name, server_name, client_interface_name) = names;
            let (language, database, sspi, attach_db_file, change_password) = more;
            // The short form of earlier versions has no room for the fields that came with 7.2.
            let old = version < TdsVersion::V7_2;
            let features = if old { Vec::new() } else { features };
            let change_password = if old { String::new() } else { change_password };
            let sspi = if old { sspi[..sspi.len().min(100)].to_vec() } else { sspi };
            let extension = if features.is_empty() { 0 } else { login::option_flags3::EXTENSION };
            Login7 {
                tds_version_number: version.to_login(),
                packet_size_bytes: numbers[0],
                client_program_version: numbers[1],
                client_pid: numbers[2],
                connection_id: numbers[3],
                option_flags1: flags[0],
                option_flags2: flags[1],
                type_flags: flags[2],
                option_flags3: flags[3] & !login::option_flags3::EXTENSION | extension,
                client_time_zone,
                client_lcid,
                host_name,
                user_name,
                password: Secret::new(password),
                app_name,
                server_name,
                client_interface_name,
                language,
                database,
                client_id,
                sspi,
                attach_db_file,
                change_password: Secret::new(change_password),
                features,
            }
        })
}

fn all_headers() -> impl Strategy<Value = AllHeaders> {
    let trace =
        any::<([u8; 16], u32)>().prop_map(|(activity_id, sequence)| TraceActivity { activity_id, sequence });
    (any::<u64>(), any::<u32>(), option::of(trace), option::of(bytes(50))).prop_map(
        |(transaction_descriptor, outstanding_requests, trace_activity, query_notification)| AllHeaders {
            transaction_descriptor,
            outstanding_requests,
            trace_activity,
            query_notification,
        },
    )
}

fn begin() -> impl Strategy<Value = BeginTransaction> {
    (0u8..6, name_of_127_bytes()).prop_map(|(isolation, name)| BeginTransaction {
        isolation: Isolation::from_number(isolation).unwrap(),
        name,
    })
}

fn name_of_127_bytes() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter)
}

fn transaction_request() -> impl Strategy<Value = TransactionRequest> {
    let end = || (name_of_127_bytes(), option::of(begin()));
    prop_oneof![
        bytes(20).prop_map(TransactionRequest::GetDtcAddress),
        bytes(300).prop_map(TransactionRequest::Propagate),
        begin().prop_map(TransactionRequest::Begin),
        Just(TransactionRequest::Promote),
        end().prop_map(|(name, begin)| TransactionRequest::Commit { name, begin }),
        end().prop_map(|(name, begin)| TransactionRequest::Rollback { name, begin }),
        name_of_127_bytes().prop_map(|name| TransactionRequest::Save { name }),
    ]
}

fn typed_value() -> impl Strategy<Value = (TypeInfo, Value)> {
    let latin = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let of = |sql_type: SqlType, value: Value| (TypeInfo::new(sql_type, true, None), value);
    prop_oneof![
        any::<i32>().prop_map(move |v| of(SqlType::Int, Value::Int(v))),
        any::<i64>().prop_map(move |v| of(SqlType::BigInt, Value::BigInt(v))),
        any::<bool>().prop_map(move |v| of(SqlType::Bit, Value::Bit(v))),
        prop::collection::vec(-1e38f32..1e38, 1..50).prop_map(move |elements| {
            let (dimensions, base) = (elements.len() as u16, VectorBase::Float32);
            of(SqlType::Vector { dimensions, base }, Value::Vector(Vector::new(base, elements).unwrap()))
        }),
        prop::collection::vec(-65_504f32..65_504.0, 1..50).prop_map(move |elements| {
            let (dimensions, base) = (elements.len() as u16, VectorBase::Float16);
            of(SqlType::Vector { dimensions, base }, Value::Vector(Vector::new(base, elements).unwrap()))
        }),
        Just(of(SqlType::SmallInt, Value::Null)),
        (-1e300f64..1e300).prop_map(move |v| of(SqlType::Float, Value::Float(v))),
        any::<[u8; 16]>().prop_map(move |v| of(SqlType::UniqueIdentifier, Value::Guid(v))),
        bytes(3000).prop_map(move |v| of(SqlType::VarBinary { length: Length::Max }, Value::Binary(v))),
        name().prop_map(move |v| {
            (TypeInfo::new(SqlType::NVarChar { length: Length::Max }, true, latin), Value::String(v))
        }),
        name().prop_map(move |v| {
            let sql_type = SqlType::NVarChar { length: Length::Units(4000) };
            (TypeInfo::new(sql_type, true, latin), Value::String(v))
        }),
        Just((TypeInfo::new(SqlType::NText, true, latin), Value::Null)),
        name().prop_map(move |v| (TypeInfo::new(SqlType::NText, true, latin), Value::String(v))),
    ]
}

fn column() -> impl Strategy<Value = Column> {
    (name(), any::<u16>(), 0u16..16, typed_value(), option::of(name())).prop_map(
        |(name, user_type, flags, (type_info, _), table)| {
            let is_lob = type_info.sql_type.is_legacy_lob();
            let table = table.filter(|table| is_lob && !table.is_empty());
            let (user_type, flags) = (u32::from(user_type), ColumnFlags(flags));
            Column { name, user_type, flags, type_info, table_name: table.into_iter().collect() }
        },
    )
}

fn rpc_request() -> impl Strategy<Value = RpcRequest> {
    let procedure = prop_oneof![
        name().prop_map(Procedure::Name),
        (1u16..=15).prop_map(|number| Procedure::Id(ProcId::from_number(number).unwrap())),
    ];
    // At most 127 units: in 7.1 a count of 128 would be taken for a batch flag.
    let parameter =
        (name_of_127_bytes(), 0u8..4, typed_value()).prop_map(|(name, status, (type_info, value))| {
            Parameter { name, status, type_info, value, table: None }
        });
    (procedure, 0u16..8, prop::collection::vec(parameter, 0..5)).prop_map(|(procedure, flags, parameters)| {
        RpcRequest { procedure, flags, parameters, no_execute: false }
    })
}

fn server_message() -> impl Strategy<Value = ServerMessage> {
    (
        any::<i32>(),
        any::<u8>(),
        any::<u8>(),
        prop::collection::vec(any::<char>(), 0..500),
        name(),
        name(),
        0u32..65536,
    )
        .prop_map(|(number, state, class, message, server, procedure, line)| ServerMessage {
            number,
            state,
            class,
            message: String::from_iter(message),
            server,
            procedure,
            line,
        })
}

fn env_change() -> impl Strategy<Value = EnvChange> {
    let text = || (name(), name()).prop_map(|(new, old)| TextChange { new, old });
    let event = prop::sample::select(vec![
        TransactionEvent::Begin,
        TransactionEvent::Commit,
        TransactionEvent::Rollback,
        TransactionEvent::EnlistDtc,
        TransactionEvent::Defect,
        TransactionEvent::Ended,
    ]);
    let routing = (any::<u16>(), name(), option::of(name())).prop_map(|(port, server, database)| Routing {
        port,
        server,
        database,
    });
    prop_oneof![
        text().prop_map(EnvChange::Database),
        text().prop_map(EnvChange::Language),
        text().prop_map(EnvChange::Charset),
        any::<(u32, u32)>().prop_map(|(new, old)| EnvChange::PacketSize { new, old }),
        text().prop_map(EnvChange::UnicodeSortId),
        text().prop_map(EnvChange::UnicodeComparison),
        any::<(Option<[u8; 5]>, Option<[u8; 5]>)>().prop_map(|(new, old)| EnvChange::Collation { new, old }),
        (event, any::<Option<u64>>(), any::<Option<u64>>())
            .prop_map(|(event, new, old)| EnvChange::Transaction { event, new, old }),
        name().prop_map(EnvChange::MirroringPartner),
        bytes(500).prop_map(EnvChange::PromoteTransaction),
        bytes(200).prop_map(EnvChange::TransactionManagerAddress),
        Just(EnvChange::ResetConnectionAck),
        name().prop_map(EnvChange::UserInstance),
        routing.prop_map(EnvChange::Routing),
        (22u8..=255, bytes(20)).prop_map(|(kind, data)| EnvChange::Unknown { kind, data }),
    ]
}

fn token() -> impl Strategy<Value = Token> {
    let done = || {
        (any::<u16>(), any::<u16>(), 0u64..=u64::from(u32::MAX))
            .prop_map(|(status, command, row_count)| Done { status: DoneStatus(status), command, row_count })
    };
    let ack = (any::<u8>(), version(), name(), any::<[u8; 4]>()).prop_map(
        |(interface, version, program_name, program_version)| LoginAck {
            interface,
            version,
            program_name,
            program_version,
        },
    );
    let feature_acks =
        prop::collection::vec((0u8..0xFF, bytes(100)).prop_map(|(id, data)| FeatureAck { id, data }), 0..4);
    let session_state = (any::<u32>(), any::<bool>(), prop::collection::vec((any::<u8>(), bytes(600)), 0..4))
        .prop_map(|(sequence, recoverable, entries)| SessionState { sequence, recoverable, entries });
    let fed_auth_info =
        (option::of(name()), option::of(name()), prop::collection::vec((3u8..=255, bytes(20)), 0..2))
            .prop_map(|(sts_url, service_principal, other)| FedAuthInfo {
                sts_url,
                service_principal,
                other,
            });
    let return_value = (any::<u16>(), name(), 0u8..4, 0u32..65536, any::<u16>(), typed_value()).prop_map(
        |(ordinal, name, status, user_type, flags, (type_info, value))| ReturnValue {
            ordinal,
            name,
            status,
            user_type,
            flags: ColumnFlags(flags),
            type_info,
            value,
        },
    );
    prop_oneof![
        server_message().prop_map(Token::Error),
        server_message().prop_map(Token::Info),
        env_change().prop_map(Token::EnvChange),
        ack.prop_map(Token::LoginAck),
        done().prop_map(Token::Done),
        done().prop_map(Token::DoneProc),
        done().prop_map(Token::DoneInProc),
        Just(Token::ColMetaData(None)),
        prop::collection::vec(column(), 0..5).prop_map(|columns| Token::ColMetaData(Some(columns))),
        prop::collection::vec(any::<u16>(), 0..20).prop_map(Token::Order),
        any::<i32>().prop_map(Token::ReturnStatus),
        return_value.prop_map(Token::ReturnValue),
        feature_acks.prop_map(Token::FeatureExtAck),
        session_state.prop_map(Token::SessionState),
        fed_auth_info.prop_map(Token::FedAuthInfo),
        bytes(500).prop_map(Token::Sspi),
        bytes(50).prop_map(Token::TabName),
        bytes(50).prop_map(Token::ColInfo),
    ]
}

proptest! {
    #[test]
    fn prelogins(prelogin in prelogin()) {
        prop_assert_eq!(Prelogin::decode(&prelogin.encode().unwrap()), Ok(prelogin));
    }

    #[test]
    fn logins(login in login()) {
        prop_assert_eq!(Login7::decode(&login.encode().unwrap()), Ok(login));
    }

    #[test]
    fn fed_auth_tokens(token in bytes(2000), nonce in any::<Option<[u8; 32]>>()) {
        let message = FedAuthToken { token: Secret::new(token), nonce };
        prop_assert_eq!(FedAuthToken::decode(&message.encode().unwrap()), Ok(message));
    }

    #[test]
    fn sql_batches(text in ".{0,300}", headers in all_headers(), version in version()) {
        let batch = SqlBatch { headers: version.has_all_headers().then_some(headers), text };
        prop_assert_eq!(SqlBatch::decode(&batch.encode().unwrap(), version), Ok(batch));
    }

    #[test]
    fn transaction_messages(request in transaction_request(), headers in all_headers(), version in version()) {
        let message = TransactionMessage { headers: version.has_all_headers().then_some(headers), request };
        prop_assert_eq!(TransactionMessage::decode(&message.encode().unwrap(), version), Ok(message));
    }

    #[test]
    fn rpc_messages(
        requests in prop::collection::vec(rpc_request(), 1..4),
        skipped in any::<usize>(),
        headers in all_headers(),
        version in version(),
    ) {
        let mut requests = requests;
        if version.has_all_headers() {
            let index = skipped % requests.len();
            requests[index].no_execute = skipped % 3 == 0;
        }
        let message = RpcMessage { headers: version.has_all_headers().then_some(headers), requests };
        let bytes = message.encode(version).unwrap();
        prop_assert_eq!(RpcMessage::decode(&bytes, version), Ok(message));
    }

    /// A token is read back exactly, takes exactly its bytes, and is "not yet" while any of them is missing.
    #[test]
    fn tokens(token in token(), version in version()) {
        let mut w = Writer::new();
        token.encode(&mut w, version);
        let mut bytes = w.finish().unwrap();
        let length = bytes.len();
        let reader = TokenReader::new(version);
        bytes.extend_from_slice(&[0xFD; 16]);
        prop_assert_eq!(reader.next(&bytes), Ok(Some((token, length))));
        for end in (0..length).step_by(length / 20 + 1).chain([length - 1]) {
            prop_assert_eq!(reader.next(&bytes[..end]), Ok(None));
        }
    }
}

/// Before 7.2 the fixed part of LOGIN7 is shorter: no new password, no long length.
#[test]
fn a_login_of_7_1_ends_its_fixed_part_at_86_bytes() {
    let mut bytes = vec![0u8; 86];
    bytes[4..8].copy_from_slice(&0x7100_0001u32.to_le_bytes());
    bytes[36..40].copy_from_slice(&[86, 0, 2, 0]);
    bytes.extend_from_slice(&[b'v', 0, b'm', 0]);
    bytes[0] = u8::try_from(bytes.len()).unwrap();
    let login = Login7::decode(&bytes).unwrap();
    assert_eq!((login.version(), login.host_name.as_str()), (Some(TdsVersion::V7_1), "vm"));
    let with_new_password = Login7 { change_password: "x".into(), ..login };
    assert_eq!(with_new_password.encode().unwrap_err().field, "LOGIN7 TDSVersion");
}

/// The layouts that 7.2 widened.
#[test]
fn tokens_of_7_1_have_narrow_fields() {
    let encode = |token: Token| {
        let mut w = Writer::new();
        token.encode(&mut w, TdsVersion::V7_1);
        w.finish()
    };
    let done = Done { status: DoneStatus::COUNT, command: done::command::SELECT, row_count: 3 };
    assert_eq!(encode(Token::Done(done)).unwrap(), [0xFD, 0x10, 0, 0xC1, 0, 3, 0, 0, 0]);
    let message = ServerMessage { number: 208, state: 1, class: 16, line: 7, ..ServerMessage::default() };
    let expected = [0xAA, 12, 0, 208, 0, 0, 0, 1, 16, 0, 0, 0, 0, 7, 0];
    assert_eq!(encode(Token::Error(message.clone())).unwrap(), expected);
    let beyond = ServerMessage { line: 65_536, ..message };
    assert_eq!(encode(Token::Error(beyond)).unwrap_err().field, "message line number");
}

#[test]
fn columns_of_7_1_have_narrow_fields() {
    let mut column = Column::new("c", SqlType::Image, true, None);
    column.table_name = vec!["t".into()];
    let mut w = Writer::new();
    Token::ColMetaData(Some(vec![column.clone()])).encode(&mut w, TdsVersion::V7_1);
    let bytes = w.finish().unwrap();
    let expected = [
        0x81, 1, 0, // one column
        0, 0, 9, 0, // two bytes of user type, flags
        0x22, 0xFF, 0xFF, 0xFF, 0x7F, // image
        1, 0, b't', 0, // one table name, no parts
        1, b'c', 0,
    ];
    assert_eq!(bytes, expected);
    let read = TokenReader::new(TdsVersion::V7_1).next(&bytes);
    assert_eq!(read, Ok(Some((Token::ColMetaData(Some(vec![column])), bytes.len()))));
}

/// Bytes of the published forms of transaction changes, routing and session reset.
#[test]
fn env_changes_have_their_published_bytes() {
    let encode = |change: EnvChange| {
        let mut w = Writer::new();
        Token::EnvChange(change).encode(&mut w, TdsVersion::V7_4);
        w.finish().unwrap()
    };
    let descriptor = Some(0x0807_0605_0403_0201);
    let begin = EnvChange::Transaction { event: TransactionEvent::Begin, new: descriptor, old: None };
    assert_eq!(encode(begin), [0xE3, 11, 0, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
    let commit = EnvChange::Transaction { event: TransactionEvent::Commit, new: None, old: descriptor };
    assert_eq!(encode(commit), [0xE3, 11, 0, 9, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(encode(EnvChange::ResetConnectionAck), [0xE3, 3, 0, 18, 0, 0]);
    let routing = Routing { port: 1433, server: "a".into(), database: None };
    assert_eq!(
        encode(EnvChange::Routing(routing)),
        [0xE3, 12, 0, 20, 7, 0, 0, 0x99, 0x05, 1, 0, b'a', 0, 0, 0]
    );
}
