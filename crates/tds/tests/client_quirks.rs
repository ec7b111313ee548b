//! Requests of real clients in forms that no other fixture has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use bulkwire_tds::*;
use support::{fixture, hex_file, messages};

fn payload(name: &str) -> Vec<u8> {
    let bytes = hex_file(&fixture("clients").join(name));
    let [(_, payload)] = messages(&bytes).try_into().expect("one message");
    payload
}

#[test]
fn jdbc_declares_a_null_uniqueidentifier_with_length_0() {
    let message = RpcMessage::decode(&payload("jdbc-null-guid.hex"), TdsVersion::V7_4).unwrap();
    let [request] = message.requests.as_slice() else { panic!("{message:?}") };
    assert_eq!(request.procedure, Procedure::Id(ProcId::ExecuteSql));
    let [statement, declarations, value] = request.parameters.as_slice() else { panic!("{request:?}") };
    assert_eq!(statement.value, Value::String("SELECT @P0".into()));
    assert_eq!(declarations.value, Value::String("@P0 uniqueidentifier".into()));
    assert_eq!(value.type_info.sql_type, SqlType::UniqueIdentifier);
    assert!(value.value.is_null());
}
