//! Remote calls: what ends with them, and what is refused before anything is done.

use std::sync::Arc;

use executor::session::response::Response;
use executor::session::{Cancellation, Request, Session};
use executor::statements::execute;
use tds::rpc::{Parameter, ProcId, Procedure, RpcRequest, parameter_status};
use tds::{Collation, Length, SqlType, TypeInfo, Value};
use tokio::sync::mpsc;

use crate::answers::answer;
use crate::instances::{empty, session};

fn parameter(name: &str, sql_type: SqlType, value: Value, status: u8) -> Parameter {
    let collation = sql_type.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let type_info = TypeInfo::new(sql_type, true, collation);
    Parameter { name: name.into(), status, type_info, value, table: None }
}

fn text(value: &str) -> Parameter {
    parameter("", SqlType::NVarChar { length: Length::Max }, Value::String(value.into()), 0)
}

fn int(value: i32) -> Parameter {
    parameter("", SqlType::Int, Value::Int(value), 0)
}

/// What a call answers: rows, handles and errors.
async fn call(session: &mut Session, procedure: Procedure, parameters: Vec<Parameter>) -> Vec<String> {
    let request = Request::Rpc(vec![RpcRequest { procedure, flags: 0, parameters, no_execute: false }]);
    let (events, mut queue) = mpsc::channel(64);
    execute(session, request, events, Cancellation::new()).await;
    let mut lines = Vec::new();
    while let Ok(event) = queue.try_recv() {
        match event {
            Response::Batch(batch) => lines.push(format!("rows {}", batch.num_rows())),
            Response::Error(error) => lines.push(format!("error {}: {}", error.number, error.message)),
            Response::ReturnValue(value) => lines.push(format!("value {}", value.value)),
            _ => {}
        }
    }
    lines
}

async fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let lines = answer(session, query).await;
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

/// Every way to run a statement with a parameter, twice: its temporary tables end with the call.
#[tokio::test(flavor = "multi_thread")]
async fn temporary_tables_of_a_call_end_with_it() {
    let instance = Arc::new(empty());
    let mut own = session(&instance, 51);
    let statement = "SELECT @a AS a INTO #q; CREATE TABLE #r (b int PRIMARY KEY); INSERT #r SELECT a FROM #q; SELECT * FROM #r";
    let declared = "@a int";
    answer(&mut own, "CREATE PROCEDURE makes @a int AS SELECT @a AS a INTO #q SELECT * FROM #q").await;
    answer(&mut own, "CREATE TABLE #r (kept int); INSERT #r VALUES (7)").await;
    for round in 1..3 {
        let id = |id| Procedure::Id(id);
        let plain = vec![text(statement), text(declared), int(round)];
        assert_eq!(call(&mut own, id(ProcId::ExecuteSql), plain).await, ["rows 1"]);
        let handle = parameter("", SqlType::Int, Value::Null, parameter_status::BY_REFERENCE);
        let prepared = vec![handle, text(declared), text(statement), int(round)];
        let answered = call(&mut own, id(ProcId::PrepExec), prepared).await;
        assert_eq!(answered, ["rows 1".to_string(), format!("value {round}")]);
        assert_eq!(call(&mut own, id(ProcId::Execute), vec![int(round), int(5)]).await, ["rows 1"]);
        assert_eq!(call(&mut own, Procedure::Name("makes".into()), vec![int(1)]).await, ["rows 1"]);
        assert_eq!(rows(&mut own, "SELECT OBJECT_ID('tempdb..#q')").await, ["NULL"]);
        assert_eq!(rows(&mut own, "SELECT kept FROM #r").await, ["7"]);
    }
}

/// A parameter that the client sends without a value has none: nothing is done.
#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_without_a_value_is_not_null() {
    let instance = Arc::new(empty());
    let mut own = session(&instance, 51);
    answer(&mut own, "CREATE TABLE t (v int); INSERT t VALUES (1)").await;
    let none = || parameter("@v", SqlType::Int, Value::Null, parameter_status::DEFAULT_VALUE);
    let update = "UPDATE t SET v = @v";
    let sql = vec![text(update), text("@v int"), none()];
    let expected = "error 8178: The parameterized query '(@v int)UPDATE t SET v = @v' expects the parameter '@v', which was not supplied.";
    assert_eq!(call(&mut own, Procedure::Id(ProcId::ExecuteSql), sql).await, [expected]);
    let handle = parameter("", SqlType::Int, Value::Null, parameter_status::BY_REFERENCE);
    let prepared = vec![handle, text("@v int"), text(update), none()];
    assert_eq!(call(&mut own, Procedure::Id(ProcId::PrepExec), prepared).await, [expected]);
    let handle = parameter("", SqlType::Int, Value::Null, parameter_status::BY_REFERENCE);
    let prepared = vec![handle, text("@v int"), text(update)];
    let answered = call(&mut own, Procedure::Id(ProcId::Prepare), prepared).await;
    let number = answered[0].strip_prefix("value ").unwrap().parse().unwrap();
    assert_eq!(call(&mut own, Procedure::Id(ProcId::Execute), vec![int(number), none()]).await, [expected]);
    assert_eq!(rows(&mut own, "SELECT v FROM t").await, ["1"]);
    // A default is one, and so is NULL.
    let default = vec![text(update), text("@v int = 3"), none()];
    assert_eq!(call(&mut own, Procedure::Id(ProcId::ExecuteSql), default).await, [""; 0]);
    assert_eq!(rows(&mut own, "SELECT v FROM t").await, ["3"]);
    let null = parameter("@v", SqlType::Int, Value::Null, 0);
    let sql = vec![text(update), text("@v int"), null];
    assert_eq!(call(&mut own, Procedure::Id(ProcId::ExecuteSql), sql).await, [""; 0]);
    assert_eq!(rows(&mut own, "SELECT v FROM t").await, ["NULL"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_has_2100_parameters_at_most() {
    let instance = Arc::new(empty());
    let mut own = session(&instance, 51);
    for (count, refused) in [(2098, false), (2099, true)] {
        let declared: Vec<String> = (0..count).map(|number| format!("@p{number} int")).collect();
        let mut parameters = vec![text("SELECT @p7 AS a"), text(&declared.join(", "))];
        parameters.extend((0..count).map(int));
        let answered = call(&mut own, Procedure::Id(ProcId::ExecuteSql), parameters).await;
        match refused {
            true => assert!(answered[0].starts_with("error 8003: "), "{answered:?}"),
            false => assert_eq!(answered, ["rows 1"]),
        }
    }
}

/// Errors of a call that comes to run nothing heed XACT_ABORT too.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_refused_ends_the_transaction_under_xact_abort() {
    let instance = Arc::new(empty());
    for (aborts, depth) in [("OFF", "1"), ("ON", "0")] {
        let mut own = session(&instance, 51);
        answer(&mut own, &format!("SET XACT_ABORT {aborts} BEGIN TRAN")).await;
        let answered = call(&mut own, Procedure::Name("nosuch".into()), Vec::new()).await;
        assert!(answered[0].starts_with("error 2812"), "{answered:?}");
        assert_eq!(rows(&mut own, "SELECT @@TRANCOUNT").await, [depth]);
    }
}
