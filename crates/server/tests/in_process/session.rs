//! Sessions driven directly: bulk loads, remote calls, transactions, cancellation, restart. No socket.

use std::sync::Arc;

use crate::instances::empty;
use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::Schema;
use databases::instance::Instance;
use databases::storage::Databases;
use executor::session::response::{DoneKind, Response, SessionChange};
use executor::session::{BulkTarget, Cancellation, ClientConnection, LoginSettings, Request, Session};
use executor::statements::{BulkWriter, begin_bulk, execute, open_session};
use rows::mapping::{Form, field_for};
use tds::rpc::{Parameter, ProcId, Procedure, RpcRequest};
use tds::transaction_request::{BeginTransaction, Isolation, TransactionRequest};
use tds::{Collation, Column, ColumnFlags, Length, SqlType, TableParameter, TypeInfo, Value};
use tokio::sync::mpsc;
use tsql::SqlError;

fn open(instance: &Arc<Instance>) -> Session {
    let login = LoginSettings {
        database: String::new(),
        user: "sa".into(),
        application: String::new(),
        host: String::new(),
        spid: 51,
        ansi_defaults: true,
        is_encrypted: false,
        client: ClientConnection::default(),
    };
    open_session(Arc::clone(instance), login).unwrap()
}

async fn run(session: &mut Session, request: Request) -> Vec<Response> {
    let (events, mut queue) = mpsc::channel(1);
    let (_, all) = tokio::join!(execute(session, request, events, Cancellation::new()), async {
        let mut all = Vec::new();
        while let Some(event) = queue.recv().await {
            all.push(event);
        }
        all
    });
    all
}

async fn batch(session: &mut Session, text: &str) -> Vec<Response> {
    let events = run(session, Request::Batch(text.into())).await;
    for event in &events {
        if let Response::Error(message) = event {
            panic!("{text}: {} {}", message.number, message.message);
        }
    }
    events
}

/// All rows as text, cells joined by blanks.
async fn rows_of(session: &mut Session, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for event in batch(session, text).await {
        let Response::Batch(rows) = event else { continue };
        let schema = rows.schema();
        let columns: Vec<StringArray> = rows
            .columns()
            .iter()
            .zip(schema.fields())
            .map(|(column, field)| {
                rows::column_text::format_column(column, field, &Default::default()).unwrap()
            })
            .collect();
        for row in 0..rows.num_rows() {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| {
                    if arrow::array::Array::is_null(column, row) {
                        "NULL".into()
                    } else {
                        column.value(row).to_string()
                    }
                })
                .collect();
            lines.push(cells.join(" "));
        }
    }
    lines
}

async fn expect_bulk(session: &mut Session, text: &str) -> BulkTarget {
    let events = batch(session, text).await;
    events
        .into_iter()
        .find_map(|event| if let Response::BulkExpected(target) = event { Some(*target) } else { None })
        .expect("INSERT BULK announces a load")
}

fn load(writer: &mut BulkWriter, columns: &[Column], arrays: Vec<ArrayRef>) -> Result<(), SqlError> {
    writer.columns(columns)?;
    let fields: Vec<_> = columns.iter().map(|column| field_for(column, &Form::Exact)).collect();
    writer.append(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap())
}

fn int_column(name: &str) -> Column {
    Column::new(name, SqlType::Int, true, None)
}

fn text_column(name: &str) -> Column {
    let sql_type = SqlType::NVarChar { length: Length::Units(40) };
    Column::new(name, sql_type, true, Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS))
}

const TABLE: &str = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, guid uniqueidentifier, made datetime2(3), \
                     amount decimal(8,2) DEFAULT 5 CHECK (amount > 0), code char(4))";

#[tokio::test(flavor = "multi_thread")]
async fn bulk_values_are_converted_to_the_tables_types() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, TABLE).await;
    let statement = "INSERT BULK t ([amount] NVARCHAR(20), [id] INT, [guid] NVARCHAR(36), [made] NVARCHAR(30), [code] VARCHAR(4))";
    let target = expect_bulk(&mut session, statement).await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    let columns = [
        text_column("amount"),
        int_column("id"),
        text_column("guid"),
        text_column("made"),
        text_column("code"),
    ];
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![Some("1.005"), None])),
        Arc::new(Int32Array::from(vec![2, 1])),
        Arc::new(StringArray::from(vec![Some("6f9619ff-8b86-d011-b42d-00c04fc964ff"), None])),
        Arc::new(StringArray::from(vec![Some("2024-02-29 12:00:00.1234"), None])),
        Arc::new(StringArray::from(vec![Some("ab"), Some("abcd")])),
    ];
    load(&mut writer, &columns, arrays).unwrap();
    assert_eq!(writer.finish().unwrap(), 2);
    assert_eq!(
        rows_of(&mut session, "SELECT id, guid, made, amount, code + '|' FROM t ORDER BY id").await,
        [
            "1 NULL NULL 5.00 abcd|",
            "2 6F9619FF-8B86-D011-B42D-00C04FC964FF 2024-02-29 12:00:00.123 1.01 ab  |"
        ]
    );
}

/// mssql-tds puts a byte order mark before the XML of a bulk copy; SQL Server's XML has none.
#[tokio::test(flavor = "multi_thread")]
async fn bulk_xml_loses_its_byte_order_mark() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, "CREATE TABLE t (x xml NULL)").await;
    let target = expect_bulk(&mut session, "INSERT BULK t (x xml)").await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    let values = StringArray::from(vec![Some("\u{FEFF}<a>\u{FEFF}</a>"), None, Some("<b/>")]);
    load(&mut writer, &[text_column("x")], vec![Arc::new(values)]).unwrap();
    assert_eq!(writer.finish().unwrap(), 3);
    assert_eq!(
        rows_of(&mut session, "SELECT CAST(x AS nvarchar(20)) FROM t").await,
        ["<a>\u{FEFF}</a>", "NULL", "<b/>"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_load_is_whole_or_leaves_nothing() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, TABLE).await;
    let ids = |ids: Vec<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(ids))] };
    // Dropped without an end.
    let target = expect_bulk(&mut session, "INSERT BULK t (id int)").await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    load(&mut writer, &[int_column("id")], ids(vec![1, 2])).unwrap();
    drop(writer);
    assert_eq!(rows_of(&mut session, "SELECT COUNT(*) FROM t").await, ["0"]);
    // A duplicate in the second batch.
    let target = expect_bulk(&mut session, "INSERT BULK t (id int)").await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    load(&mut writer, &[int_column("id")], ids(vec![1, 2])).unwrap();
    assert_eq!(load(&mut writer, &[int_column("id")], ids(vec![3, 2])).unwrap_err().number, 2627);
    writer.abort();
    assert_eq!(rows_of(&mut session, "SELECT COUNT(*) FROM t").await, ["0"]);
    // Within a transaction that is rolled back.
    batch(&mut session, "BEGIN TRAN").await;
    let target = expect_bulk(&mut session, "INSERT BULK t (id int)").await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    load(&mut writer, &[int_column("id")], ids(vec![1, 2])).unwrap();
    assert_eq!(writer.finish().unwrap(), 2);
    assert_eq!(
        rows_of(&mut session, "SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t").await,
        ["2", "0"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn loads_of_a_transaction_know_the_keys_of_those_before_until_it_is_undone() {
    async fn loaded(session: &mut Session, ids: &[i32]) -> Result<u64, i32> {
        let target = expect_bulk(session, "INSERT BULK t (id int)").await;
        let mut writer = begin_bulk(session, target).unwrap();
        let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
        if let Err(error) = load(&mut writer, &[int_column("id")], vec![ids]) {
            writer.abort();
            return Err(error.number);
        }
        writer.finish().map_err(|error| error.number)
    }
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, TABLE).await;
    batch(&mut session, "BEGIN TRAN").await;
    assert_eq!(loaded(&mut session, &[1, 2]).await, Ok(2));
    assert_eq!(loaded(&mut session, &[3, 1]).await, Err(2627));
    assert_eq!(loaded(&mut session, &[3]).await, Ok(1));
    batch(&mut session, "SAVE TRAN here").await;
    assert_eq!(loaded(&mut session, &[4]).await, Ok(1));
    batch(&mut session, "ROLLBACK TRAN here").await;
    assert_eq!(loaded(&mut session, &[4]).await, Ok(1));
    batch(&mut session, "COMMIT").await;
    assert_eq!(loaded(&mut session, &[4]).await, Err(2627));
    batch(&mut session, "BEGIN TRAN").await;
    assert_eq!(loaded(&mut session, &[5]).await, Ok(1));
    batch(&mut session, "ROLLBACK").await;
    assert_eq!(loaded(&mut session, &[5, 6]).await, Ok(2));
    let ids = rows_of(&mut session, "SELECT id FROM t ORDER BY id").await;
    assert_eq!(ids, ["1", "2", "3", "4", "5", "6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_decide_about_nulls_and_checks() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, TABLE).await;
    let rows = |id: i32, amount: Option<i32>| -> Vec<ArrayRef> {
        vec![Arc::new(Int32Array::from(vec![id])), Arc::new(Int32Array::from(vec![amount]))]
    };
    let columns = [int_column("id"), int_column("amount")];
    for (hints, id, amount, expected) in [
        ("", 1, None, Ok("5.00")),
        ("WITH (KEEP_NULLS)", 2, None, Ok("NULL")),
        ("", 3, Some(-1), Ok("-1.00")),
        ("WITH (CHECK_CONSTRAINTS)", 4, Some(-1), Err(547)),
    ] {
        let target = expect_bulk(&mut session, &format!("INSERT BULK t (id int, amount int) {hints}")).await;
        let mut writer = begin_bulk(&mut session, target).unwrap();
        match expected {
            Ok(stored) => {
                load(&mut writer, &columns, rows(id, amount)).unwrap();
                writer.finish().unwrap();
                assert_eq!(
                    rows_of(&mut session, &format!("SELECT amount FROM t WHERE id = {id}")).await,
                    [stored]
                );
            }
            Err(number) => {
                assert_eq!(load(&mut writer, &columns, rows(id, amount)).unwrap_err().number, number)
            }
        }
    }
    let target = expect_bulk(&mut session, "INSERT BULK t (code varchar(4))").await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    let error = load(&mut writer, &[text_column("code")], vec![Arc::new(StringArray::from(vec!["abcde"]))])
        .unwrap_err();
    assert_eq!(error.number, 2628);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_was_promised_is_verified() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, TABLE).await;
    let ids = |ids: Vec<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(ids))] };
    let column = [int_column("id")];
    let target = expect_bulk(&mut session, "INSERT BULK t (id int) WITH (ORDER (id ASC))").await;
    let mut writer = begin_bulk(&mut session, target.clone()).unwrap();
    load(&mut writer, &column, ids(vec![1, 5])).unwrap();
    load(&mut writer, &column, ids(vec![6, 9])).unwrap();
    writer.finish().unwrap();
    for (first, second) in [(vec![12, 11], vec![]), (vec![12, 13], vec![11])] {
        let mut writer = begin_bulk(&mut session, target.clone()).unwrap();
        let loaded =
            load(&mut writer, &column, ids(first)).and_then(|()| load(&mut writer, &column, ids(second)));
        assert_eq!(loaded.unwrap_err().number, 4819);
        writer.abort();
    }
    // An order that is not the clustered key's promises nothing.
    let target = expect_bulk(&mut session, "INSERT BULK t (id int) WITH (ORDER (id DESC))").await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    load(&mut writer, &column, ids(vec![20, 30])).unwrap();
    writer.finish().unwrap();
    assert_eq!(rows_of(&mut session, "SELECT COUNT(*) FROM t").await, ["6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unchecked_rows_end_trust_and_foreign_keys_are_checked_on_demand() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, "CREATE TABLE p (id int PRIMARY KEY); INSERT p VALUES (1)").await;
    batch(&mut session, "CREATE TABLE c (id int CHECK (id > 0), p_id int REFERENCES p (id))").await;
    let columns = [int_column("id"), int_column("p_id")];
    let rows = |id: i32, p_id: i32| -> Vec<ArrayRef> {
        vec![Arc::new(Int32Array::from(vec![id])), Arc::new(Int32Array::from(vec![p_id]))]
    };
    let untrusted = "SELECT (SELECT COUNT(*) FROM sys.check_constraints WHERE is_not_trusted = 1), \
                     (SELECT COUNT(*) FROM sys.foreign_keys WHERE is_not_trusted = 1)";
    let checked = "INSERT BULK c (id int, p_id int) WITH (CHECK_CONSTRAINTS)";
    let target = expect_bulk(&mut session, checked).await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    load(&mut writer, &columns, rows(1, 1)).unwrap();
    writer.finish().unwrap();
    assert_eq!(rows_of(&mut session, untrusted).await, ["0 0"]);
    let target = expect_bulk(&mut session, checked).await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    load(&mut writer, &columns, rows(2, 9)).unwrap();
    assert_eq!(writer.finish().unwrap_err().number, 547);
    assert_eq!(rows_of(&mut session, "SELECT COUNT(*) FROM c").await, ["1"]);
    let target = expect_bulk(&mut session, "INSERT BULK c (id int, p_id int)").await;
    let mut writer = begin_bulk(&mut session, target).unwrap();
    load(&mut writer, &columns, rows(-2, 9)).unwrap();
    writer.finish().unwrap();
    assert_eq!(rows_of(&mut session, untrusted).await, ["1 1"]);
    let again = Request::Batch("ALTER TABLE c WITH CHECK CHECK CONSTRAINT ALL".to_string());
    let answer = run(&mut session, again).await;
    assert!(answer.iter().any(|event| matches!(event, Response::Error(error) if error.number == 547)));
    batch(&mut session, "DELETE c WHERE id < 0; ALTER TABLE c WITH CHECK CHECK CONSTRAINT ALL").await;
    assert_eq!(rows_of(&mut session, untrusted).await, ["0 0"]);
}

fn parameter(name: &str, sql_type: SqlType, value: Value, status: u8) -> Parameter {
    let collation = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    Parameter {
        name: name.into(),
        status,
        type_info: TypeInfo::new(sql_type, true, collation),
        value,
        table: None,
    }
}

fn text(value: &str) -> Parameter {
    parameter("", SqlType::NVarChar { length: Length::Max }, Value::String(value.into()), 0)
}

fn call(id: ProcId, parameters: Vec<Parameter>) -> Request {
    Request::Rpc(vec![RpcRequest { procedure: Procedure::Id(id), flags: 0, parameters, no_execute: false }])
}

/// The kinds of a reply's events, for comparing their order.
fn shape(events: &[Response]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event {
            Response::Columns(_) => "columns".to_string(),
            Response::Order(columns) => format!("order {columns:?}"),
            Response::Batch(batch) => format!("rows {}", batch.num_rows()),
            Response::PageRows(rows) => format!("rows {}", rows.rows()),
            Response::Done(done) => format!("{:?}", done.kind),
            Response::ReturnStatus(status) => format!("status {status}"),
            Response::ReturnValue(value) => format!("value {} {} {}", value.ordinal, value.name, value.value),
            Response::Error(message) => format!("error {}", message.number),
            Response::Info(message) => format!("info {}", message.number),
            Response::Change(change) => format!("{change:?}").split(['(', ' ']).next().unwrap().to_string(),
            Response::BulkExpected(_) => "bulk".to_string(),
            Response::Flush => "flush".to_string(),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_calls_bind_by_position_and_return_outputs() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    let request = call(
        ProcId::ExecuteSql,
        vec![
            text("SELECT @a AS a; SET @b = @a + 1"),
            text("@a int, @b int OUTPUT"),
            parameter("", SqlType::Int, Value::Int(41), 0),
            parameter("@b", SqlType::Int, Value::Null, 1),
        ],
    );
    let events = run(&mut session, request).await;
    assert_eq!(
        shape(&events),
        ["columns", "rows 1", "InProcedure", "status 0", "value 3 @b 42", "Procedure"]
    );
    let request = call(
        ProcId::PrepExec,
        vec![
            parameter("", SqlType::Int, Value::Null, 1),
            text("@p nvarchar(10)"),
            text("SELECT @p"),
            text("x"),
        ],
    );
    let events = run(&mut session, request).await;
    assert_eq!(shape(&events), ["columns", "rows 1", "InProcedure", "status 0", "value 0  1", "Procedure"]);
    let events = run(
        &mut session,
        call(ProcId::Execute, vec![parameter("", SqlType::Int, Value::Int(1), 0), text("y")]),
    )
    .await;
    assert_eq!(shape(&events), ["columns", "rows 1", "InProcedure", "status 0", "Procedure"]);
    let gone = || call(ProcId::Unprepare, vec![parameter("", SqlType::Int, Value::Int(1), 0)]);
    assert_eq!(shape(&run(&mut session, gone()).await), ["status 0", "Procedure"]);
    assert_eq!(shape(&run(&mut session, gone()).await), ["error 8179", "Procedure"]);
}

/// As tiberius calls it: the names without their @.
#[tokio::test(flavor = "multi_thread")]
async fn sp_executesql_takes_names_without_their_sign() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    let nvarchar = || SqlType::NVarChar { length: Length::Max };
    let request = call(
        ProcId::ExecuteSql,
        vec![
            parameter("stmt", nvarchar(), Value::String("SELECT @P1 AS a".into()), 0),
            parameter("params", nvarchar(), Value::String("@P1 int".into()), 0),
            parameter("@P1", SqlType::Int, Value::Int(41), 0),
        ],
    );
    let events = run(&mut session, request).await;
    assert_eq!(shape(&events), ["columns", "rows 1", "InProcedure", "status 0", "Procedure"]);
}

/// A table-valued parameter of int columns; NULL where a value is None.
fn table(name: &str, type_name: &str, columns: &[u16], rows: &[&[Option<i32>]]) -> Parameter {
    let column = |flags: &u16| Column {
        flags: ColumnFlags(*flags),
        name: String::new(),
        ..Column::new("", SqlType::Int, true, None)
    };
    let mut bytes = Vec::new();
    for row in rows {
        bytes.push(0xD1);
        for value in *row {
            match value {
                Some(value) => {
                    bytes.push(4);
                    bytes.extend(value.to_le_bytes());
                }
                None => bytes.push(0),
            }
        }
    }
    let table = TableParameter {
        database: String::new(),
        schema: if type_name.is_empty() { String::new() } else { "dbo".into() },
        name: type_name.into(),
        columns: (!columns.is_empty()).then(|| columns.iter().map(column).collect()),
        order: Vec::new(),
        places: Vec::new(),
        rows: bytes,
        row_count: rows.len() as u64,
    };
    Parameter::table(name, 0, table)
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_come_as_parameters() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(
        &mut session,
        "CREATE TYPE pair AS TABLE (a int NOT NULL CHECK (a < 100), b int NULL DEFAULT 7, c bigint IDENTITY)",
    )
    .await;
    batch(&mut session, "CREATE TABLE kept (a int, b int, c int)").await;
    let keep = "CREATE PROCEDURE keep @rows dbo.pair READONLY, @n int = 0 OUTPUT AS
        INSERT kept SELECT a, b, c FROM @rows SET @n = @@ROWCOUNT";
    batch(&mut session, keep).await;
    let keep = |parameters: Vec<Parameter>| {
        let procedure = Procedure::Name("dbo.keep".into());
        Request::Rpc(vec![RpcRequest { procedure, flags: 0, parameters, no_execute: false }])
    };
    const DEFAULT: u16 = tds::table_parameter::DEFAULT_COLUMN;
    let columns = [1, 1, DEFAULT];
    let rows: &[&[Option<i32>]] = &[&[Some(1), Some(2)], &[Some(3), None]];
    // By the name of its type, and by that of the procedure's parameter.
    for (name, type_name) in [("", "pair"), ("@rows", "pair"), ("@ROWS", "")] {
        let count = parameter("@n", SqlType::Decimal { precision: 9, scale: 3 }, Value::Null, 1);
        let events = run(&mut session, keep(vec![table(name, type_name, &columns, rows), count])).await;
        assert_eq!(
            shape(&events),
            ["InProcedure", "status 0", "value 1 @n 2.000", "Procedure"],
            "{events:?}"
        );
    }
    assert_eq!(
        rows_of(&mut session, "SELECT a, b, c FROM kept ORDER BY c, a").await[..2],
        ["1 2 1", "1 2 1"]
    );
    // No rows at all, and DEFAULT.
    let events = run(&mut session, keep(vec![table("@rows", "pair", &[], &[])])).await;
    assert_eq!(shape(&events), ["InProcedure", "status 0", "Procedure"]);
    // A column of defaults.
    let defaults = table("@rows", "pair", &[1, DEFAULT, DEFAULT], &[&[Some(50)]]);
    run(&mut session, keep(vec![defaults])).await;
    assert_eq!(rows_of(&mut session, "SELECT b FROM kept WHERE a = 50").await, ["7"]);
    // A statement of its own; the type's name is declared.
    let request = call(
        ProcId::ExecuteSql,
        vec![
            text("SELECT SUM(a) + @more AS s FROM @t"),
            text("@t dbo.pair READONLY, @more int"),
            table("@t", "", &columns, rows),
            parameter("@more", SqlType::Int, Value::Int(10), 0),
        ],
    );
    let events = run(&mut session, request).await;
    assert_eq!(shape(&events), ["columns", "rows 1", "InProcedure", "status 0", "Procedure"]);
    for (wrong, number) in [
        (table("@rows", "pair", &[1, 1], &[]), 500),
        (table("@rows", "pair", &[1, 1, 1], &[]), 1077),
        (table("@rows", "nosuch", &columns, rows), 2715),
        (table("@rows", "pair", &columns, &[&[None, None]]), 515),
        (table("@rows", "pair", &columns, &[&[Some(100), None]]), 547),
        (table("@n", "pair", &columns, rows), 206),
        (parameter("@rows", SqlType::Int, Value::Int(1), 0), 206),
    ] {
        let events = run(&mut session, keep(vec![wrong])).await;
        assert_eq!(shape(&events), [format!("error {number}"), "Procedure".to_string()]);
    }
    assert_eq!(rows_of(&mut session, "SELECT COUNT(*) FROM kept").await, ["7"]);
}

/// As pymssql binds them: a longer scale than the procedure's, and `text`.
#[tokio::test(flavor = "multi_thread")]
async fn outputs_have_the_types_that_the_client_declares() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    let create = "CREATE PROCEDURE back @d decimal(6, 5) OUTPUT, @t text OUTPUT, @v varchar(10) OUTPUT AS SET @v = 'vvv'";
    batch(&mut session, create).await;
    let decimal = Value::Decimal { magnitude: 62_340_000, negative: false, precision: 8, scale: 7 };
    let request = Request::Rpc(vec![RpcRequest::new(
        Procedure::Name("back".into()),
        vec![
            parameter("@d", SqlType::Decimal { precision: 8, scale: 7 }, decimal, 1),
            parameter("@t", SqlType::Text, Value::String("long".into()), 1),
            parameter("@v", SqlType::NVarChar { length: Length::Units(2) }, Value::Null, 1),
        ],
    )]);
    let types: Vec<String> = run(&mut session, request)
        .await
        .iter()
        .filter_map(|event| match event {
            Response::ReturnValue(value) => Some(format!("{} {}", value.sql_type, value.value)),
            _ => None,
        })
        .collect();
    assert_eq!(types, ["decimal(8, 7) 6.2340000", "varchar(max) long", "nvarchar(2) vv"]);
    let wrong = Request::Rpc(vec![RpcRequest::new(
        Procedure::Name("back".into()),
        vec![
            parameter("@d", SqlType::Int, Value::Null, 0),
            parameter("@t", SqlType::Text, Value::Null, 0),
            parameter("@v", SqlType::Int, Value::Null, 1),
        ],
    )]);
    assert_eq!(shape(&run(&mut session, wrong).await), ["error 245", "Procedure"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn global_temporary_objects_go_with_their_session() {
    let instance = Arc::new(empty());
    let (mut first, mut second) = (open(&instance), open(&instance));
    batch(&mut first, "CREATE TABLE ##g (a int) INSERT ##g VALUES (1)").await;
    batch(&mut first, "CREATE PROCEDURE ##p AS SELECT 5").await;
    assert_eq!(rows_of(&mut second, "SELECT a FROM ##g").await, ["1"]);
    // Somebody uses it: it stays as long as he does.
    batch(&mut second, "BEGIN TRAN INSERT ##g VALUES (2)").await;
    drop(first);
    assert_eq!(rows_of(&mut second, "SELECT COUNT(*) FROM ##g").await, ["2"]);
    batch(&mut second, "COMMIT").await;
    let exists = "SELECT COUNT(*) FROM tempdb.sys.objects WHERE name IN ('##g', '##p')";
    for _ in 0..500 {
        if rows_of(&mut second, exists).await == ["0"] {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("##g is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_requests_tell_descriptors() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, "CREATE TABLE t (a int)").await;
    let begin = Request::Transaction(TransactionRequest::Begin(BeginTransaction::default()));
    let events = run(&mut session, begin).await;
    let Some(Response::Change(SessionChange::TransactionBegun(first))) = events.first() else {
        panic!("{events:?}");
    };
    batch(&mut session, "INSERT t VALUES (1)").await;
    let commit = TransactionRequest::Commit { name: String::new(), begin: Some(BeginTransaction::default()) };
    let events = run(&mut session, Request::Transaction(commit)).await;
    let [
        Response::Change(SessionChange::TransactionCommitted(ended)),
        Response::Change(SessionChange::TransactionBegun(second)),
        Response::Done(done),
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(ended, first);
    assert_ne!(second, first);
    assert_eq!(done.kind, DoneKind::Statement);
    // A pool's reset rolls back.
    batch(&mut session, "INSERT t VALUES (2)").await;
    assert_eq!(session.reset(false), [SessionChange::TransactionRolledBack(*second)]);
    assert_eq!(rows_of(&mut session, "SELECT a FROM t").await, ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_request_sets_the_isolation_level() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    let level = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
    let begin = BeginTransaction { isolation: Isolation::Serializable, name: String::new() };
    run(&mut session, Request::Transaction(TransactionRequest::Begin(begin))).await;
    assert_eq!(rows_of(&mut session, level).await, ["4"]);
    let begin = Some(BeginTransaction { isolation: Isolation::RepeatableRead, name: String::new() });
    let commit = TransactionRequest::Commit { name: String::new(), begin };
    run(&mut session, Request::Transaction(commit)).await;
    assert_eq!(rows_of(&mut session, level).await, ["3"]);
    let commit = TransactionRequest::Commit { name: String::new(), begin: None };
    run(&mut session, Request::Transaction(commit)).await;
    let begin = Request::Transaction(TransactionRequest::Begin(BeginTransaction::default()));
    run(&mut session, begin).await;
    assert_eq!(rows_of(&mut session, level).await, ["3"], "the level is kept where none is asked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_request_stops_and_leaves_nothing() {
    let instance = Arc::new(empty());
    let mut session = open(&instance);
    batch(&mut session, "CREATE TABLE t (a int)").await;
    let (events, mut queue) = mpsc::channel(1);
    let cancellation = Cancellation::new();
    let text = "WHILE 1 = 1 SELECT 1; INSERT t VALUES (1)";
    let running = execute(&mut session, Request::Batch(text.into()), events, cancellation.clone());
    let listening = async {
        queue.recv().await.expect("the loop answers");
        cancellation.cancel();
        while queue.recv().await.is_some() {}
    };
    tokio::join!(running, listening);
    assert_eq!(rows_of(&mut session, "SELECT COUNT(*) FROM t").await, ["0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_declared_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        let store = Databases::open(directory.path(), true).unwrap();
        Arc::new(Instance::new(store).unwrap())
    };
    {
        let mut session = open(&start());
        batch(
            &mut session,
            "CREATE DATABASE db; CREATE TABLE db.dbo.t (id int IDENTITY(5, 5) PRIMARY KEY, v varchar(10) DEFAULT 'd', \
             CHECK (v <> 'x')); INSERT db..t DEFAULT VALUES; INSERT db..t DEFAULT VALUES",
        )
        .await;
    }
    let mut session = open(&start());
    batch(&mut session, "USE db; INSERT t DEFAULT VALUES").await;
    assert_eq!(rows_of(&mut session, "SELECT id, v FROM t").await, ["5 d", "10 d", "15 d"]);
    let events = run(&mut session, Request::Batch("INSERT t VALUES ('x')".into())).await;
    assert_eq!(shape(&events), ["error 547", "info 3621", "Statement"]);
    let events =
        run(&mut session, Request::Batch("SET IDENTITY_INSERT t ON; INSERT t (id) VALUES (10)".into())).await;
    assert_eq!(shape(&events), ["Statement", "error 2627", "info 3621", "Statement"]);
    batch(&mut session, "SET IDENTITY_INSERT t OFF; CREATE TABLE later (a int)").await;
    let ids = rows_of(
        &mut session,
        "SELECT COUNT(*), COUNT(DISTINCT object_id) FROM sys.objects WHERE is_ms_shipped = 0",
    )
    .await;
    assert_eq!(ids, ["5 5"]);
}
