//! Every message that eleven real clients sent, decoded and compared with an independent program's log of the same
//! connections.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;

use bulkwire_tds::*;
use support::{fixture, messages};

const CLIENTS: [&str; 11] = [
    "freebcp",
    "go",
    "jdbc_native",
    "mssqlpython_arrow",
    "mssqltds",
    "odbc_bcp_exec",
    "odbc_dm_prefix",
    "pymssql",
    "pytds",
    "tedious20",
    "tiberius",
];

/// The bytes with which SQL Server 2025 answered an OLE DB client that had sent the options 0 to 5.
#[test]
fn a_prelogin_reply_is_that_of_a_real_server() {
    let captured = [
        0x00, 0x00, 0x1F, 0x00, 0x06, 0x01, 0x00, 0x25, 0x00, 0x01, 0x02, 0x00, 0x26, 0x00, 0x01, 0x03, 0x00,
        0x27, 0x00, 0x00, 0x04, 0x00, 0x27, 0x00, 0x01, 0x05, 0x00, 0x28, 0x00, 0x00, 0xFF, 0x11, 0x00, 0x03,
        0xE8, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];
    let stream = std::fs::read(fixture("wire-captures/odbc_dm_prefix/c1.c2s")).unwrap();
    let asked = Prelogin::decode(&messages(&stream)[0].1).unwrap();
    let version = ProgramVersion { major: 17, minor: 0, build: 1000, sub_build: 0 };
    let reply = Prelogin::reply_to(&asked, version, EncryptionOption::Off);
    assert_eq!(reply.encode().unwrap(), captured);
    assert_eq!(Prelogin::decode(&captured), Ok(reply));
}

#[test]
fn every_message_of_every_client_agrees_with_its_log() {
    for client in CLIENTS {
        let folder = fixture("wire-captures").join(client);
        let log = std::fs::read_to_string(folder.join("log.txt")).unwrap();
        for connection in 1..=2 {
            let stream = folder.join(format!("c{connection}.c2s"));
            if connection == 2 && !stream.exists() {
                continue;
            }
            check_connection(client, &stream, &log_lines(&log, connection));
        }
    }
}

/// The lines of one connection's messages.
fn log_lines(log: &str, connection: u32) -> Vec<&str> {
    let prefix = format!("[{connection} ");
    log.lines()
        .filter(|line| line.starts_with(&prefix))
        .filter_map(|line| line.split_once("] C: ").map(|(_, message)| message))
        .filter(|message| *message != "closed" && !message.starts_with("original "))
        .collect()
}

fn check_connection(client: &str, stream: &Path, log: &[&str]) {
    let bytes = std::fs::read(stream).unwrap();
    let messages = messages(&bytes);
    assert_eq!(messages.len(), log.len(), "{client}");
    let mut version = TdsVersion::V7_4;
    for ((head, payload), line) in messages.iter().zip(log) {
        let place = format!("{client}: {line}");
        let (kind, _) = line.split_once(' ').unwrap();
        assert_eq!(field(line, "bytes"), payload.len().to_string(), "{place}");
        assert_eq!(field(line, "status"), format!("{:#04x}", head.status.0 | 1), "{place}");
        assert!(!head.ignored, "{place}");
        match (kind, head.packet_type) {
            ("PRELOGIN", PacketType::Prelogin) => check_prelogin(payload, line, &place),
            ("LOGIN7", PacketType::Login7) => {
                let login = check_login(payload, line, &place);
                version = login.version().unwrap();
            }
            ("SQLBATCH", PacketType::SqlBatch) => check_batch(payload, line, version, &place),
            ("RPC", PacketType::Rpc) => check_describe(payload, version, &place),
            ("TRANSMGR", PacketType::TransactionManager) => check_transaction(payload, line, version, &place),
            ("ATTENTION", PacketType::Attention) => assert!(payload.is_empty(), "{place}"),
            ("BULK", PacketType::BulkLoad) => check_bulk_start(payload, line, &place),
            (kind, packet_type) => panic!("{place}: {kind} is {packet_type:?}"),
        }
    }
}

/// The value of `name=value` in a line, quotes taken off.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let start =
        line.find(&format!("{name}=")).unwrap_or_else(|| panic!("no {name} in {line}")) + name.len() + 1;
    let rest = &line[start..];
    match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next().unwrap(),
        None => rest.split(' ').next().unwrap(),
    }
}

fn check_prelogin(payload: &[u8], line: &str, place: &str) {
    let prelogin = Prelogin::decode(payload).unwrap_or_else(|error| panic!("{place}: {error}"));
    let ProgramVersion { major, minor, build, sub_build } = prelogin.version;
    let (build, sub_build) = (build.to_be_bytes(), sub_build.to_le_bytes());
    let version = format!("{major}.{minor}.{}.{}.{}.{}", build[0], build[1], sub_build[0], sub_build[1]);
    assert_eq!(field(line, "version"), version, "{place}");
    assert_eq!(
        (field(line, "encryption"), prelogin.encryption),
        ("NOT_SUP", Some(EncryptionOption::NotSupported))
    );
    let present = [
        (true, "0"),
        (prelogin.encryption.is_some(), "1"),
        (prelogin.instance.is_some(), "2"),
        (prelogin.thread_id.is_some(), "3"),
        (prelogin.mars.is_some(), "4"),
        (prelogin.trace_id.is_some(), "5"),
        (prelogin.fed_auth_required.is_some(), "6"),
    ];
    let options: Vec<&str> = present.iter().filter(|(present, _)| *present).map(|(_, name)| *name).collect();
    assert!(line.ends_with(&format!("options=[{}]", options.join(", "))), "{place}");
    // Encoded again it says the same, in the canonical layout.
    assert_eq!(Prelogin::decode(&prelogin.encode().unwrap()), Ok(prelogin), "{place}");
}

fn check_login(payload: &[u8], line: &str, place: &str) -> Login7 {
    let login = Login7::decode(payload).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(field(line, "tdsver"), format!("{:#010x}", login.tds_version_number), "{place}");
    assert_eq!(field(line, "packet"), login.packet_size_bytes.to_string(), "{place}");
    assert_eq!(field(line, "clientver"), format!("{:#010x}", login.client_program_version), "{place}");
    assert_eq!(field(line, "opt1"), format!("{:#04x}", login.option_flags1), "{place}");
    assert_eq!(field(line, "opt2"), format!("{:#04x}", login.option_flags2), "{place}");
    assert_eq!(field(line, "type"), format!("{:#04x}", login.type_flags), "{place}");
    assert_eq!(field(line, "opt3"), format!("{:#04x}", login.option_flags3), "{place}");
    let features: Vec<String> =
        login.features.iter().map(|feature| format!("{:#04x}", feature.id())).collect();
    assert_eq!(field(line, "features"), features.join(","), "{place}");
    for feature in &login.features {
        assert!(!matches!(feature, FeatureRequest::Unknown { .. }), "{place}: {feature:?}");
    }
    assert_eq!(field(line, "app"), login.app_name, "{place}");
    assert_eq!(field(line, "lib"), login.client_interface_name, "{place}");
    assert_eq!(field(line, "lang"), login.language, "{place}");
    assert_eq!(field(line, "db"), login.database, "{place}");
    assert_eq!(field(line, "host"), login.host_name, "{place}");
    assert!(!login.user_name.is_empty() && !login.password.expose().is_empty(), "{place}");
    assert!(login.password.expose().is_ascii(), "{place}: the password is not de-obfuscated");
    let again = Login7::decode(&login.encode().unwrap()).unwrap();
    // A client may set the extension bit without a feature; we only set it with one.
    let option_flags3 = again.option_flags3;
    assert_eq!(Login7 { option_flags3, ..login.clone() }, again, "{place}");
    login
}

fn check_batch(payload: &[u8], line: &str, version: TdsVersion, place: &str) {
    let batch = SqlBatch::decode(payload, version).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(field(line, "headers"), "22", "{place}");
    let quoted = &line[line.find("headers=22 ").unwrap() + "headers=22 ".len()..];
    assert_eq!(unquote_python(quoted), batch.text, "{place}");
    assert_eq!(batch.encode().unwrap(), payload, "{place}");
}

/// A string as Python's `repr` prints it.
fn unquote_python(quoted: &str) -> String {
    let inner = &quoted[1..quoted.len() - 1];
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next().unwrap() {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            c => text.push(c),
        }
    }
    text
}

/// The ODBC driver describes the table with an RPC by name.
fn check_describe(payload: &[u8], version: TdsVersion, place: &str) {
    let message = RpcMessage::decode(payload, version).unwrap_or_else(|error| panic!("{place}: {error}"));
    let [request] = message.requests.as_slice() else { panic!("{place}: {message:?}") };
    assert_eq!(request.procedure, Procedure::Name("sp_describe_first_result_set".into()), "{place}");
    assert_eq!(request.parameters[0].value, Value::String("select * from tcap".into()), "{place}");
    assert_eq!(request.parameters[0].type_info.sql_type.to_string(), "nvarchar(max)", "{place}");
    let again = RpcMessage::decode(&message.encode(version).unwrap(), version).unwrap();
    assert_eq!(again, message, "{place}");
}

fn check_transaction(payload: &[u8], line: &str, version: TdsVersion, place: &str) {
    let message =
        TransactionMessage::decode(payload, version).unwrap_or_else(|error| panic!("{place}: {error}"));
    let kind = match &message.request {
        TransactionRequest::Begin(_) => "BEGIN",
        TransactionRequest::Commit { .. } => "COMMIT",
        TransactionRequest::Rollback { .. } => "ROLLBACK",
        other => panic!("{place}: {other:?}"),
    };
    assert_eq!(line.rsplit(' ').next(), Some(kind), "{place}");
    assert_eq!(message.encode().unwrap(), payload, "{place}");
}

fn check_bulk_start(payload: &[u8], line: &str, place: &str) {
    let first: String = payload.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    assert!(line.ends_with(&format!("first bytes {first}")), "{place}");
    let mut r = Reader::new(payload);
    assert_eq!(r.u8("token"), Ok(token::token_byte::COL_METADATA), "{place}");
    let columns = decode_columns(&mut r, Direction::ClientToServer)
        .unwrap_or_else(|error| panic!("{place}: {error}"))
        .unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let expected = [
        "id",
        "col_int",
        "col_bigint",
        "col_float",
        "col_bit",
        "col_date",
        "col_datetime2",
        "col_decimal",
        "col_str1",
        "col_str2",
        "col_str3",
    ];
    assert_eq!(names, expected, "{place}");
    let layout = row_span::RowLayout::new(&columns);
    let mut rest = r.rest();
    for row in 0..3 {
        let length = layout.row_len(rest).unwrap().unwrap_or_else(|| panic!("{place}: row {row}"));
        rest = &rest[length..];
    }
    // The three ways in which clients end the stream.
    assert!(matches!(rest.len(), 0 | 9 | 13) && (rest.is_empty() || rest[0] == 0xFD), "{place}: {rest:02x?}");
}
