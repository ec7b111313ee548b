//! What drivers expect beyond the values: notices, names of types, session ids, and declarations that say little.

use std::io::{Read, Write};

use crate::client::Client;
use crate::served::*;
use tds::env_change::EnvChange;
use tds::login::{Login7, option_flags1, option_flags2};
use tds::packet::PacketType;
use tds::rpc::{Parameter, ProcId, Procedure, RpcMessage, RpcRequest, parameter_status};
use tds::table_parameter::DEFAULT_COLUMN;
use tds::token::Token;
use tds::type_info::TypeInfo;
use tds::vector::VectorBase;
use tds::version::TdsVersion;
use tds::{Collation, Column, ColumnFlags, Length, SqlType, TableParameter, Value};

const VERSION: TdsVersion = TdsVersion::V7_4;

fn parameter(name: &str, sql_type: SqlType, value: Value) -> Parameter {
    let collation = sql_type.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    Parameter::input(name, TypeInfo::new(sql_type, true, collation), value)
}

fn text(value: &str) -> Parameter {
    parameter("", SqlType::NVarChar { length: Length::Units(4000) }, Value::String(value.to_owned()))
}

fn call(procedure: Procedure, parameters: Vec<Parameter>) -> Vec<u8> {
    let request = RpcRequest::new(procedure, parameters);
    RpcMessage::new(request, VERSION, 0).encode(VERSION).unwrap()
}

fn ask(client: &mut Client, payload: &[u8]) -> Vec<Token> {
    client.socket.write_all(&packets(PacketType::Rpc, payload)).unwrap();
    client.answer()
}

/// The message with other bytes in the place of these, which it has once.
fn patched(mut message: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let places: Vec<usize> =
        (0..message.len() - from.len()).filter(|at| message[*at..].starts_with(from)).collect();
    assert_eq!(places.len(), 1, "{from:02x?} is {} times in {message:02x?}", places.len());
    message[places[0]..places[0] + from.len()].copy_from_slice(to);
    message
}

fn infos(tokens: &[Token]) -> Vec<i32> {
    let number = |token: &Token| match token {
        Token::Info(message) => Some(message.number),
        _ => None,
    };
    tokens.iter().filter_map(number).collect()
}

#[test]
fn what_no_cursor_can_be_opened_on_is_said_before_its_rows() {
    let server = server();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE PROCEDURE two AS SELECT 1 AS a"));
    for (sql, results) in [("EXEC two", 1), ("SELECT 1 AS a; SELECT 2 AS b", 2), ("SELECT 1 AS a", 1)] {
        let mut handle = parameter("", SqlType::Int, Value::Null);
        handle.status = parameter_status::BY_REFERENCE;
        let (scroll, direct) = (Value::Int(0x8), Value::Int(0x2001));
        let payload = call(
            Procedure::Id(ProcId::CursorOpen),
            vec![
                handle,
                text(sql),
                parameter("", SqlType::Int, scroll),
                parameter("", SqlType::Int, direct),
                parameter("", SqlType::Int, Value::Int(0)),
            ],
        );
        let tokens = ask(&mut client, &payload);
        assert_no_error(&tokens);
        let columns = tokens.iter().filter(|token| matches!(token, Token::ColMetaData(Some(_)))).count();
        assert_eq!(columns, results, "{sql}");
        let is_cursor = sql == "SELECT 1 AS a";
        assert_eq!(infos(&tokens), if is_cursor { vec![] } else { vec![16954] }, "{sql}");
        let first = tokens.iter().position(|token| matches!(token, Token::ColMetaData(_)));
        let notice = tokens.iter().position(|token| matches!(token, Token::Info(_)));
        assert!(is_cursor || notice < first, "{sql}: {tokens:?}");
    }
}

#[test]
fn built_in_clr_types_name_their_class() {
    let server = server();
    let mut client = connect(&server);
    assert_no_error(&client.batch("CREATE DATABASE shapes"));
    let sql = "USE shapes; SELECT hierarchyid::Parse('/1/') AS h, geometry::Point(1, 2, 0) AS g, geography::Point(1, 2, 4326) AS e";
    let tokens = client.batch(sql);
    assert_no_error(&tokens);
    let columns = tokens.iter().find_map(|token| match token {
        Token::ColMetaData(Some(columns)) => Some(columns),
        _ => None,
    });
    let columns = columns.unwrap();
    for (column, (name, class, length)) in columns.iter().zip([
        ("hierarchyid", "SqlHierarchyId", 892),
        ("geometry", "SqlGeometry", 0xFFFF),
        ("geography", "SqlGeography", 0xFFFF),
    ]) {
        let expected = SqlType::Udt {
            database: "shapes".to_owned(),
            schema: "sys".to_owned(),
            name: name.to_owned(),
            assembly: format!(
                "Microsoft.SqlServer.Types.{class}, Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, \
                 PublicKeyToken=89845dcd8080cc91"
            ),
        };
        assert_eq!((column.sql_type(), column.type_info.max_length), (&expected, length));
    }
}

#[test]
fn a_database_that_cannot_be_opened_need_not_be_fatal() {
    let server = server();
    for (fatal, numbers) in [(true, vec![4060, 18456]), (false, vec![])] {
        let mut login = Login7 { database: "nowhere".into(), ..login() };
        if !fatal {
            login.option_flags1 &= !(option_flags1::INIT_DB_FATAL | option_flags1::USE_DB);
        }
        let mut client = Client::connect(server.address());
        let tokens = client.log_in(&login);
        assert_eq!(error_numbers(&tokens), numbers);
        let is_in = tokens.iter().any(|token| matches!(token, Token::LoginAck(_)));
        assert_eq!((is_in, infos(&tokens).contains(&4060)), (!fatal, !fatal));
        if !fatal {
            let database = tokens.iter().find_map(|token| match token {
                Token::EnvChange(EnvChange::Database(change)) => Some(change.new.as_str()),
                _ => None,
            });
            assert_eq!(database, Some("master"));
            assert_eq!(scalar(&mut client, "SELECT CAST(DB_ID() AS int)"), 1);
        }
    }
}

#[test]
fn a_language_that_the_server_does_not_speak_is_refused_unless_that_is_not_fatal() {
    let server = server();
    for (language, fatal, is_in) in [
        ("us_english", true, true),
        ("English", true, true),
        ("Deutsch", true, true),
        ("Klingon", true, false),
        ("Klingon", false, true),
    ] {
        let mut login = Login7 { language: language.into(), ..login() };
        if !fatal {
            login.option_flags2 &= !option_flags2::INIT_LANG_FATAL;
        }
        let tokens = Client::connect(server.address()).log_in(&login);
        let taken = tokens.iter().any(|token| matches!(token, Token::LoginAck(_)));
        assert_eq!(taken, is_in, "{language} {fatal}: {tokens:?}");
    }
}

#[test]
fn packets_of_the_server_have_the_session_id() {
    let server = server();
    let mut client = connect(&server);
    let spid = scalar(&mut client, "SELECT CAST(@@SPID AS int)");
    client.socket.write_all(&crate::client::batch_packets("SELECT 1")).unwrap();
    let mut header = [0; 8];
    client.socket.read_exact(&mut header).unwrap();
    assert_eq!(i32::from(u16::from_be_bytes([header[4], header[5]])), spid);
}

fn rows_of(name: &str, columns: Vec<Column>, rows: Vec<u8>, row_count: u64) -> Parameter {
    let table = TableParameter {
        database: String::new(),
        schema: String::new(),
        name: name.to_owned(),
        columns: Some(columns),
        order: Vec::new(),
        places: Vec::new(),
        rows,
        row_count,
    };
    Parameter::table("@t", 0, table)
}

/// Drivers declare what they do not know: a column without a value has no precision, and one with defaults alone no value.
#[test]
fn tables_are_taken_whose_columns_have_no_values() {
    let server = server();
    let mut client = connect(&server);
    for batch in [
        "CREATE TYPE decimals AS TABLE (d decimal(10, 2), i int)",
        "CREATE TYPE defaults AS TABLE (a int NOT NULL DEFAULT 5, b varchar(9) DEFAULT 'bb')",
        "CREATE PROCEDURE take_decimals @t decimals READONLY AS SELECT COUNT(*) * 100 + COUNT(d) * 10 + SUM(i) AS n FROM @t",
        "CREATE PROCEDURE take_defaults @t defaults READONLY AS SELECT SUM(a) * 100 + SUM(LEN(b)) AS n FROM @t",
    ] {
        assert_no_error(&client.batch(batch));
    }
    let one = |client: &mut Client, payload: &[u8]| {
        client.socket.write_all(&packets(PacketType::Rpc, payload)).unwrap();
        let batch = client.rows().remove(0);
        batch.column(0).as_any().downcast_ref::<arrow::array::Int32Array>().expect("an int").value(0)
    };
    let columns = vec![
        Column::new("", SqlType::Decimal { precision: 37, scale: 0 }, true, None),
        Column::new("", SqlType::Int, true, None),
    ];
    let rows = [0xD1, 0, 4, 3, 0, 0, 0, 0xD1, 0, 4, 4, 0, 0, 0].to_vec();
    let payload =
        call(Procedure::Name("take_decimals".to_owned()), vec![rows_of("decimals", columns, rows, 2)]);
    let payload = patched(payload, &[0x6A, 17, 37, 0], &[0x6A, 17, 0, 0]);
    assert_eq!(one(&mut client, &payload), 207);
    let default = |sql_type, collation| {
        let mut column = Column::new("", sql_type, true, collation);
        column.flags = ColumnFlags(column.flags.0 | DEFAULT_COLUMN);
        column
    };
    let columns = vec![
        default(SqlType::Int, None),
        default(SqlType::VarChar { length: Length::Units(9) }, Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS)),
    ];
    for count in [0_u8, 1, 3] {
        let rows = vec![0xD1; usize::from(count)];
        let table = rows_of("defaults", columns.clone(), rows, count.into());
        let payload = call(Procedure::Name("take_defaults".to_owned()), vec![table]);
        if count == 0 {
            assert_no_error(&ask(&mut client, &payload));
        } else {
            assert_eq!(one(&mut client, &payload), i32::from(count) * 502);
        }
    }
}

#[test]
fn a_declaration_that_is_no_type_is_an_error_of_its_call() {
    let server = server();
    let mut client = connect(&server);
    let declared = |sql_type: SqlType| {
        vec![text("SELECT 1"), text("@p sql_variant"), parameter("@p", sql_type, Value::Null)]
    };
    let vector = SqlType::Vector { dimensions: 1998, base: VectorBase::Float32 };
    for (sql_type, from, to) in [
        (vector, [0xF5, 0x40, 0x1F], [0xF5, 0x44, 0x1F]),
        (SqlType::Decimal { precision: 38, scale: 7 }, [0x6A, 17, 38], [0x6A, 17, 39]),
        (SqlType::DateTime2 { scale: 7 }, [0x00, 0x2A, 7], [0x00, 0x2A, 8]),
        (SqlType::Int, [0x00, 0x26, 4], [0x00, 0x26, 3]),
    ] {
        let payload = call(Procedure::Id(ProcId::ExecuteSql), declared(sql_type.clone()));
        let tokens = ask(&mut client, &patched(payload, &from, &to));
        assert_eq!(error_numbers(&tokens), [8016], "{sql_type}: {tokens:?}");
        assert_eq!(scalar(&mut client, "SELECT 7"), 7, "{sql_type}");
    }
}
