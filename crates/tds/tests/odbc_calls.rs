//! The calls that Microsoft's ODBC driver makes besides bulk loads, captured; what they say is known from the programs
//! that were run, `clients/odbc_bcp` and pyodbc.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use bulkwire_tds::rpc::parameter_status::BY_REFERENCE;
use bulkwire_tds::*;
use support::{fixture, messages};

/// Every call of a connection as `procedure argument|argument`, a procedure that was called by number by its name here; an output
/// argument begins with `&`, a type follows a colon.
fn calls(name: &str) -> Vec<String> {
    let stream = std::fs::read(fixture("odbc-calls").join(format!("{name}.c2s"))).unwrap();
    let mut calls = Vec::new();
    for (head, payload) in messages(&stream) {
        if head.packet_type != PacketType::Rpc {
            continue;
        }
        let message = RpcMessage::decode(&payload, TdsVersion::V7_4).unwrap();
        let again = RpcMessage::decode(&message.encode(TdsVersion::V7_4).unwrap(), TdsVersion::V7_4).unwrap();
        assert_eq!(again, message);
        for request in &message.requests {
            let procedure = match &request.procedure {
                Procedure::Name(name) => name.clone(),
                Procedure::Id(id) => format!("{id:?}"),
            };
            let arguments: Vec<String> = request.parameters.iter().map(argument).collect();
            calls.push(format!("{procedure} {}", arguments.join("|")));
        }
    }
    calls
}

fn argument(parameter: &Parameter) -> String {
    let output = if parameter.status & BY_REFERENCE != 0 { "&" } else { "" };
    let value = match &parameter.value {
        Value::Null => "NULL".to_string(),
        value => value.to_string(),
    };
    format!("{output}{}{value}:{}", parameter.name, parameter.type_info.sql_type)
}

#[test]
fn a_call_with_output_parameters_and_a_return_status() {
    assert_eq!(
        calls("output-parameters"),
        [concat!(
            "ExecuteSql ",
            "SET @number = @in * 2 + 2; SET @text = N'twenty-' + @text; SELECT @in AS echoed:nvarchar(200)|",
            "@in int, @number int OUTPUT, @text nvarchar(50) OUTPUT:nvarchar(200)|",
            "20:int|&NULL:int|&one:nvarchar(50)"
        )]
    );
}

#[test]
fn descriptions_of_parameters_and_of_a_result() {
    let query = "SELECT name FROM sys.tables WHERE object_id = @P1 AND name = @P2:nvarchar(max)";
    assert_eq!(
        calls("describe-parameters"),
        [
            format!("sp_describe_undeclared_parameters {query}"),
            format!("sp_describe_first_result_set {query}|@P1 int,@P2 nvarchar(128):nvarchar(max)"),
        ]
    );
}

/// Three sets of parameters are three calls in one message.
#[test]
fn an_array_of_parameters() {
    let calls = calls("parameter-arrays");
    let prepared = calls.iter().position(|call| call.starts_with("Prepare ")).expect("a call of sp_prepare");
    assert_eq!(
        calls[prepared + 1..],
        [
            "Execute 1:int|1:int|Åsa:nvarchar(20)|NULL:decimal(9, 2)",
            "Execute 1:int|2:int|NULL:nvarchar(20)|NULL:decimal(9, 2)",
            "Execute 1:int|3:int|c:nvarchar(20)|NULL:decimal(9, 2)",
            "Unprepare 1:int",
        ]
    );
}
