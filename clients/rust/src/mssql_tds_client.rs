//! mssql-tds, Microsoft's Rust client.

use std::time::Duration;

use async_trait::async_trait;
use mssql_tds::connection::bulk_copy::{BulkCopy, BulkLoadRow};
use mssql_tds::connection::client_context::{ClientContext, VectorVersion};
use mssql_tds::connection::tds_client::{ExecuteOptions, PreparedStatement, ResultSet, TdsClient};
use mssql_tds::connection_provider::tds_connection_provider::TdsConnectionProvider;
use mssql_tds::core::{CancelHandle, EncryptionSetting, TdsResult};
use mssql_tds::datatypes::column_values::{
    ColumnValues, SqlDate, SqlDateTime, SqlDateTime2, SqlDateTimeOffset, SqlMoney, SqlSmallDateTime,
    SqlSmallMoney, SqlTime, SqlXml,
};
use mssql_tds::datatypes::decoder::DecimalParts;
use mssql_tds::datatypes::sql_string::SqlString;
use mssql_tds::datatypes::sql_vector::SqlVector;
use mssql_tds::datatypes::sqldatatypes::VectorBaseType;
use mssql_tds::datatypes::sqltypes::SqlType;
use mssql_tds::error::Error;
use mssql_tds::message::bulk_load::StreamingBulkLoadWriter;
use mssql_tds::message::parameters::rpc_parameters::{RpcParameter, StatusFlags};
use mssql_tds::message::transaction_management::TransactionIsolationLevel;
use uuid::Uuid;

use crate::cell::Cell;
use crate::environment::{
    Column, Environment, EveryType, Failure, HUNDRED, MANY_ROWS, duplicate, expect, failed, keyed, long_text,
};
use crate::{Outcome, Run};

pub fn checks() -> Vec<(&'static str, Run)> {
    crate::checks![
        login_plain,
        login_only_tls,
        login_full_tls,
        login_strict,
        untrusted_certificate,
        wrong_password,
        query_every_type,
        parameters_every_type,
        parameters_output,
        prepared_repeatedly,
        several_results,
        large_values,
        pool_reset,
        error_details,
        cancel_query,
        cancel_streaming,
        query_timeout,
        transaction_rollback,
        isolation_levels,
        savepoint,
        bulk_every_type,
        bulk_not_null,
        bulk_smallmoney_not_null,
        bulk_in_batches,
        bulk_large_values,
        bulk_refused,
        bulk_rolled_back,
        cancel_bulk,
        vectors,
        vectors_of_half_precision,
        vectors_as_text,
    ]
}

fn context(at: &Environment) -> ClientContext {
    let mut context = ClientContext::default();
    context.user_name = at.user.clone();
    context.password = at.password.clone();
    context.database = "master".to_string();
    context.encryption_options.mode = EncryptionSetting::PreferOff;
    context.encryption_options.trust_server_certificate = true;
    context
}

async fn connect_to(at: &Environment, port: u16, context: ClientContext) -> TdsResult<TdsClient> {
    let source = format!("tcp:{},{port}", at.host);
    TdsConnectionProvider {}.create_client(context, &source, None).await
}

async fn connect(at: &Environment) -> Result<TdsClient, Failure> {
    Ok(connect_to(at, at.port, context(at)).await?)
}

async fn execute(client: &mut TdsClient, text: &str) -> TdsResult<()> {
    client.execute(text.to_string(), ()).await?;
    client.close_query().await
}

/// The rows of the current result and of all later ones.
async fn results(client: &mut TdsClient) -> TdsResult<Vec<Vec<Vec<ColumnValues>>>> {
    let mut results = Vec::new();
    let mut more = client.on_rows() || client.advance_to_rows().await?;
    while more {
        let mut rows = Vec::new();
        while let Some(row) = client.next_row().await? {
            rows.push(row);
        }
        results.push(rows);
        more = client.advance_to_rows().await?;
    }
    client.close_query().await?;
    Ok(results)
}

async fn rows(client: &mut TdsClient, text: &str) -> TdsResult<Vec<Vec<ColumnValues>>> {
    client.execute(text.to_string(), ()).await?;
    Ok(results(client).await?.into_iter().next().unwrap_or_default())
}

async fn scalar(client: &mut TdsClient, text: &str) -> Result<i32, Failure> {
    match rows(client, text).await?.first().and_then(|row| row.first()) {
        Some(ColumnValues::Int(value)) => Ok(*value),
        other => Err(failed(format!("{other:?}"))),
    }
}

/// Compares number, state, class, line and message.
fn expect_error<T>(result: TdsResult<T>, wanted: (u32, u8, i32, i32, &str)) -> Outcome {
    match result {
        Err(Error::SqlServerError { diagnostics }) => {
            let error = diagnostics.errors.first().ok_or_else(|| failed("no error in the answer"))?;
            let line = error.line_number.unwrap_or(0);
            expect("error", (error.number, error.state, error.class, line, error.message.as_str()), wanted)
        }
        Err(other) => Err(failed(format!("no error of the server: {other}"))),
        Ok(_) => Err(failed("no error came")),
    }
}

async fn log_in(at: &Environment, port: u16, context: ClientContext) -> Outcome {
    let mut client = connect_to(at, port, context).await?;
    let answer = rows(&mut client, "SELECT DB_NAME() + N' zwölf'").await?;
    match answer.first().and_then(|row| row.first()) {
        Some(ColumnValues::String(text)) => expect("answer", text.to_utf8_string().as_str(), "master zwölf"),
        other => Err(failed(format!("{other:?}"))),
    }
}

/// PreferOff is plain only where the server has no TLS.
async fn login_plain(at: &Environment) -> Outcome {
    let mut context = context(at);
    context.password = at.plain_password.clone();
    log_in(at, at.plain_port, context).await
}

async fn login_only_tls(at: &Environment) -> Outcome {
    log_in(at, at.port, context(at)).await
}

fn pinned(at: &Environment, mode: EncryptionSetting) -> ClientContext {
    let mut context = context(at);
    context.encryption_options.mode = mode;
    context.encryption_options.trust_server_certificate = false;
    context.encryption_options.server_certificate = Some(at.certificate.clone().into());
    context
}

async fn login_full_tls(at: &Environment) -> Outcome {
    log_in(at, at.port, pinned(at, EncryptionSetting::Required)).await
}

async fn login_strict(at: &Environment) -> Outcome {
    log_in(at, at.port, pinned(at, EncryptionSetting::Strict)).await
}

async fn untrusted_certificate(at: &Environment) -> Outcome {
    let mut context = pinned(at, EncryptionSetting::Required);
    context.encryption_options.server_certificate = None;
    match connect_to(at, at.port, context).await {
        Err(error) => expect("refused for the certificate", error.to_string().contains("certificate"), true),
        Ok(_) => Err(failed("the certificate was not refused")),
    }
}

async fn wrong_password(at: &Environment) -> Outcome {
    let mut context = context(at);
    context.password = "wrong".to_string();
    let message = format!("Login failed for user '{}'.", at.user);
    expect_error(connect_to(at, at.port, context).await, (18456, 1, 14, 1, &message))
}

fn text_of(column: &Column, value: &ColumnValues) -> Option<String> {
    let ticks = |time: &SqlTime| time.time_nanoseconds as i64;
    let cell = match value {
        ColumnValues::Null => return None,
        ColumnValues::TinyInt(value) => Cell::Integer((*value).into()),
        ColumnValues::SmallInt(value) => Cell::Integer((*value).into()),
        ColumnValues::Int(value) => Cell::Integer((*value).into()),
        ColumnValues::BigInt(value) => Cell::Integer(*value),
        ColumnValues::Bit(value) => Cell::Bit(*value),
        ColumnValues::Real(value) => Cell::Real(*value),
        ColumnValues::Float(value) => Cell::Float(*value),
        ColumnValues::Decimal(value) | ColumnValues::Numeric(value) => {
            let magnitude = value.magnitude() as i128;
            Cell::Decimal {
                value: if value.is_positive { magnitude } else { -magnitude },
                scale: value.scale,
            }
        }
        ColumnValues::Money(value) => {
            let whole = i64::from(value.msb_part) << 32 | i64::from(value.lsb_part as u32);
            Cell::Decimal { value: whole.into(), scale: 4 }
        }
        ColumnValues::SmallMoney(value) => Cell::Decimal { value: value.int_val.into(), scale: 4 },
        ColumnValues::Date(value) => Cell::Date { days: value.get_days().into() },
        ColumnValues::Time(value) => Cell::Time { ticks: ticks(value) },
        ColumnValues::DateTime(value) => Cell::of_datetime(value.days, value.time),
        ColumnValues::SmallDateTime(value) => Cell::of_small_datetime(value.days, value.time),
        ColumnValues::DateTime2(value) => Cell::Moment { days: value.days.into(), ticks: ticks(&value.time) },
        ColumnValues::DateTimeOffset(value) => Cell::Zoned {
            days: value.datetime2.days.into(),
            ticks: ticks(&value.datetime2.time),
            minutes: value.offset.into(),
        },
        ColumnValues::String(value) => Cell::Text(value.to_utf8_string()),
        ColumnValues::Xml(value) => Cell::Text(value.as_string()),
        ColumnValues::Uuid(value) => Cell::Text(value.to_string()),
        ColumnValues::Bytes(value) => Cell::Bytes(value.clone()),
        other => return Some(format!("{other:?}")),
    };
    Some(cell.text(column))
}

/// The value that a bulk copy writes for a cell.
fn written(column: &Column, row: usize) -> Result<ColumnValues, Failure> {
    let Some(cell) = Cell::of(column, row)? else { return Ok(ColumnValues::Null) };
    let scale = column.size(0) as u8;
    let time = |ticks: i64| SqlTime { time_nanoseconds: ticks as u64, scale };
    Ok(match (column.kind.as_str(), cell) {
        (_, Cell::Bit(value)) => ColumnValues::Bit(value),
        ("tinyint", Cell::Integer(value)) => ColumnValues::TinyInt(u8::try_from(value)?),
        ("smallint", Cell::Integer(value)) => ColumnValues::SmallInt(i16::try_from(value)?),
        ("int", Cell::Integer(value)) => ColumnValues::Int(i32::try_from(value)?),
        (_, Cell::Integer(value)) => ColumnValues::BigInt(value),
        (_, Cell::Real(value)) => ColumnValues::Real(value),
        (_, Cell::Float(value)) => ColumnValues::Float(value),
        ("money", Cell::Decimal { value, .. }) => {
            let value = i64::try_from(value)?;
            ColumnValues::Money(SqlMoney { lsb_part: value as i32, msb_part: (value >> 32) as i32 })
        }
        ("smallmoney", Cell::Decimal { value, .. }) => {
            ColumnValues::SmallMoney(SqlSmallMoney { int_val: i32::try_from(value)? })
        }
        (kind, Cell::Decimal { value, scale }) => {
            let parts = DecimalParts::new(value >= 0, column.size(0) as u8, scale, value.unsigned_abs());
            if kind == "numeric" { ColumnValues::Numeric(parts) } else { ColumnValues::Decimal(parts) }
        }
        (_, Cell::Date { days }) => ColumnValues::Date(SqlDate::create(u32::try_from(days)?)?),
        (_, Cell::Time { ticks }) => ColumnValues::Time(time(ticks)),
        ("datetime", Cell::Moment { days, ticks }) => {
            let (days, time) = Cell::datetime(days, ticks);
            ColumnValues::DateTime(SqlDateTime { days, time })
        }
        ("smalldatetime", Cell::Moment { days, ticks }) => {
            let (days, time) = Cell::small_datetime(days, ticks);
            ColumnValues::SmallDateTime(SqlSmallDateTime { days, time })
        }
        (_, Cell::Moment { days, ticks }) => {
            ColumnValues::DateTime2(SqlDateTime2 { days: u32::try_from(days)?, time: time(ticks) })
        }
        (_, Cell::Zoned { days, ticks, minutes }) => ColumnValues::DateTimeOffset(SqlDateTimeOffset {
            datetime2: SqlDateTime2 { days: u32::try_from(days)?, time: time(ticks) },
            offset: i16::try_from(minutes)?,
        }),
        ("uniqueidentifier", Cell::Text(text)) => ColumnValues::Uuid(Uuid::parse_str(&text)?),
        ("xml", Cell::Text(text)) => ColumnValues::Xml(SqlXml::from(text)),
        (_, Cell::Text(text)) => ColumnValues::String(SqlString::from_utf8_string(text)),
        (_, Cell::Bytes(bytes)) => ColumnValues::Bytes(bytes),
    })
}

/// The parameter that is sent for a cell, NULL of its type included.
fn parameter(column: &Column, row: usize) -> Result<SqlType, Failure> {
    macro_rules! typed {
        ($($value:ident => $sql:ident),*) => {
            match written(column, row)? {
                ColumnValues::Null => None,
                $(ColumnValues::$value(value) => Some(SqlType::$sql(Some(value))),)*
                ColumnValues::String(text) => Some(SqlType::NVarcharMax(Some(text))),
                ColumnValues::Bytes(bytes) => Some(SqlType::VarBinaryMax(Some(bytes))),
                other => return Err(failed(format!("{other:?}"))),
            }
        };
    }
    let value = typed!(
        TinyInt => TinyInt, SmallInt => SmallInt, Int => Int, BigInt => BigInt, Bit => Bit, Real => Real, Float => Float,
        Decimal => Decimal, Numeric => Numeric, Money => Money, SmallMoney => SmallMoney, Date => Date, Time => Time,
        DateTime => DateTime, SmallDateTime => SmallDateTime, DateTime2 => DateTime2, DateTimeOffset => DateTimeOffset,
        Uuid => Uuid, Xml => Xml
    );
    Ok(value.unwrap_or(match column.kind.as_str() {
        "bit" => SqlType::Bit(None),
        "tinyint" => SqlType::TinyInt(None),
        "smallint" => SqlType::SmallInt(None),
        "int" => SqlType::Int(None),
        "bigint" => SqlType::BigInt(None),
        "real" => SqlType::Real(None),
        "float" => SqlType::Float(None),
        "decimal" => SqlType::Decimal(None),
        "numeric" => SqlType::Numeric(None),
        "money" => SqlType::Money(None),
        "smallmoney" => SqlType::SmallMoney(None),
        "date" => SqlType::Date(None),
        "time" => SqlType::Time(None),
        "datetime" => SqlType::DateTime(None),
        "smalldatetime" => SqlType::SmallDateTime(None),
        "datetime2" => SqlType::DateTime2(None),
        "datetimeoffset" => SqlType::DateTimeOffset(None),
        "uniqueidentifier" => SqlType::Uuid(None),
        "xml" => SqlType::Xml(None),
        "binary" | "varbinary" | "image" => SqlType::VarBinary(None, 100),
        _ => SqlType::NVarchar(None, 100),
    }))
}

async fn compare(client: &mut TdsClient, table: &EveryType, name: &str, wanted_rows: usize) -> Outcome {
    let answer = rows(client, &format!("SELECT * FROM {name} ORDER BY id")).await?;
    let texts: Vec<Vec<Option<String>>> = answer
        .iter()
        .map(|row| {
            table.columns.iter().zip(&row[1..]).map(|(column, value)| text_of(column, value)).collect()
        })
        .collect();
    table.compare(&texts, wanted_rows, |column, row| column.texts[row].clone())
}

async fn query_every_type(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &at.table.create("mssql_tds_query", "NULL")).await?;
    for row in 0..at.table.rows {
        execute(&mut client, &at.table.insert("mssql_tds_query", row)).await?;
    }
    compare(&mut client, &at.table, "mssql_tds_query", at.table.rows).await
}

fn input(name: &str, value: SqlType) -> RpcParameter {
    RpcParameter::new(Some(format!("@{name}")), StatusFlags::NONE, value)
}

async fn parameters_every_type(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &at.table.create("mssql_tds_parameters", "NULL")).await?;
    let marks: Vec<String> = at.table.columns.iter().map(|column| format!("@{}", column.name)).collect();
    let insert = format!("INSERT INTO mssql_tds_parameters VALUES (@id, {})", marks.join(", "));
    for row in 0..at.table.rows {
        let mut parameters = vec![input("id", SqlType::Int(Some(i32::try_from(row)?)))];
        for column in &at.table.columns {
            parameters.push(input(&column.name, parameter(column, row)?));
        }
        let sent = client.execute_sp_executesql(insert.clone(), parameters, ()).await;
        sent.map_err(|error| format!("row {row}: {error}"))?;
        client.close_query().await?;
    }
    compare(&mut client, &at.table, "mssql_tds_parameters", at.table.rows).await
}

async fn parameters_output(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let sum = RpcParameter::new(Some("@sum".to_string()), StatusFlags::BY_REF_VALUE, SqlType::Int(Some(1)));
    let parameters = vec![sum, input("more", SqlType::Int(Some(41)))];
    client.execute_sp_executesql("SET @sum = @sum + @more".to_string(), parameters, ()).await?;
    client.close_query().await?;
    let values: Vec<ColumnValues> = client.get_return_values().into_iter().map(|value| value.value).collect();
    expect("outputs", values, vec![ColumnValues::Int(42)])
}

async fn prepared_repeatedly(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let table = "DROP TABLE IF EXISTS mssql_tds_prepared; CREATE TABLE mssql_tds_prepared (id int, name nvarchar(20))";
    execute(&mut client, table).await?;
    let mut insert = PreparedStatement::new("INSERT INTO mssql_tds_prepared VALUES (@id, @name)");
    let mut orphaned = None;
    for id in 0..50 {
        let name = (id % 10 != 0).then(|| SqlString::from_utf8_string(format!("name {id}")));
        let parameters =
            vec![input("id", SqlType::Int(Some(id))), input("name", SqlType::NVarchar(name, 20))];
        client.execute_prepared(&mut insert, parameters, &mut orphaned, ()).await?;
        client.close_query().await?;
    }
    let id = insert.take_id().ok_or_else(|| failed("the statement has no handle"))?;
    client.unprepare(id, ()).await?;
    let count = "SELECT COUNT(*) FROM mssql_tds_prepared WHERE name = CONCAT('name ', id) OR name IS NULL AND id % 10 = 0";
    expect("rows", scalar(&mut client, count).await?, 50)
}

async fn several_results(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let text = "SELECT 1 AS a; PRINT 'between'; SELECT 'x' AS b, 2 AS c WHERE 1 = 0; SELECT 3 AS d";
    client.execute(text.to_string(), ()).await?;
    let counts: Vec<usize> = results(&mut client).await?.iter().map(Vec::len).collect();
    expect("rows of the results", counts, vec![1, 0, 1])?;
    expect("messages", client.info_messages().len(), 1)
}

async fn large_values(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let (text, data) = (long_text(), [0_u8, 1, 2, 253, 254, 255, 10].repeat(1_000_000));
    let parameters = vec![
        input("text", SqlType::NVarcharMax(Some(SqlString::from_utf8_string(text.clone())))),
        input("data", SqlType::VarBinaryMax(Some(data.clone()))),
    ];
    client.execute_sp_executesql("SELECT @text, @data".to_string(), parameters, ()).await?;
    match results(&mut client).await?.into_iter().flatten().next().as_deref() {
        Some([ColumnValues::String(back), ColumnValues::Bytes(bytes)]) => {
            expect("equal", (back.to_utf8_string() == text, *bytes == data), (true, true))
        }
        other => Err(failed(format!("{} cells", other.map_or(0, <[_]>::len)))),
    }
}

async fn pool_reset(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let session = scalar(&mut client, "SELECT CAST(@@SPID AS int)").await?;
    let left = "CREATE TABLE #left (n int); SET LOCK_TIMEOUT 1234; BEGIN TRANSACTION";
    execute(&mut client, left).await?;
    client.prepare_reset_connection(false);
    expect("session", scalar(&mut client, "SELECT CAST(@@SPID AS int)").await?, session)?;
    expect("@@LOCK_TIMEOUT", scalar(&mut client, "SELECT @@LOCK_TIMEOUT").await?, -1)?;
    expect("@@TRANCOUNT", scalar(&mut client, "SELECT @@TRANCOUNT").await?, 0)?;
    expect("#left", scalar(&mut client, "SELECT ISNULL(OBJECT_ID('tempdb..#left'), 0)").await?, 0)
}

async fn error_details(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let missing = execute(&mut client, "SET NOCOUNT ON;\n\nSELECT * FROM no_such_table").await;
    expect_error(missing, (208, 1, 16, 3, "Invalid object name 'no_such_table'."))?;
    execute(&mut client, &keyed("mssql_tds_error")).await?;
    execute(&mut client, "INSERT INTO mssql_tds_error (id) VALUES (1)").await?;
    let message = duplicate("mssql_tds_error");
    let again = execute(&mut client, "INSERT INTO mssql_tds_error (id) VALUES (1)").await;
    expect_error(again, (2627, 1, 14, 1, &message))?;
    expect("rows", scalar(&mut client, "SELECT COUNT(*) FROM mssql_tds_error").await?, 1)
}

async fn cancel_query(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let session = scalar(&mut client, "SELECT CAST(@@SPID AS int)").await?;
    let handle = CancelHandle::new();
    let later = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        handle.cancel();
    };
    let options = ExecuteOptions { cancel: Some(&handle), ..ExecuteOptions::default() };
    let (done, ()) = tokio::join!(client.execute("WAITFOR DELAY '00:01:00'".to_string(), options), later);
    match done {
        Err(Error::OperationCancelledError(_)) => {}
        other => return Err(failed(format!("not cancelled: {other:?}"))),
    }
    expect("session", scalar(&mut client, "SELECT CAST(@@SPID AS int)").await?, session)
}

async fn cancel_streaming(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, HUNDRED).await?;
    client.execute(MANY_ROWS.to_string(), ()).await?;
    for _ in 0..3 {
        client.next_row().await?.ok_or_else(|| failed("no row"))?;
    }
    client.cancel_query(5).await?;
    expect("rows", scalar(&mut client, "SELECT COUNT(*) FROM #n").await?, 100)
}

async fn query_timeout(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let options = ExecuteOptions { timeout: Some(1), ..ExecuteOptions::default() };
    match client.execute("WAITFOR DELAY '00:01:00'".to_string(), options).await {
        Err(Error::TimeoutError(_)) => {}
        other => return Err(failed(format!("no time-out: {other:?}"))),
    }
    expect("answer", scalar(&mut client, "SELECT 42").await?, 42)
}

async fn transaction_rollback(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let table = "DROP TABLE IF EXISTS mssql_tds_rollback; CREATE TABLE mssql_tds_rollback (n int NOT NULL)";
    execute(&mut client, table).await?;
    for n in 0..3 {
        client.begin_transaction(TransactionIsolationLevel::NoChange, None).await?;
        execute(&mut client, &format!("INSERT INTO mssql_tds_rollback VALUES ({n})")).await?;
        let inside = format!("SELECT COUNT(*) FROM mssql_tds_rollback WHERE n = {n}");
        expect("rows inside", scalar(&mut client, &inside).await?, 1)?;
        match n {
            1 => client.commit_transaction(None, None).await?,
            _ => client.rollback_transaction(None, None).await?,
        }
    }
    let left = "SELECT SUM(n) * 100 + COUNT(*) FROM mssql_tds_rollback";
    expect("what is left", scalar(&mut client, left).await?, 101)
}

async fn isolation_levels(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    for level in [
        TransactionIsolationLevel::NoChange,
        TransactionIsolationLevel::ReadUncommitted,
        TransactionIsolationLevel::ReadCommitted,
        TransactionIsolationLevel::RepeatableRead,
        TransactionIsolationLevel::Serializable,
        TransactionIsolationLevel::Snapshot,
    ] {
        client.begin_transaction(level, None).await?;
        expect("@@TRANCOUNT", scalar(&mut client, "SELECT @@TRANCOUNT").await?, 1)?;
        client.commit_transaction(None, None).await?;
    }
    Ok(())
}

async fn savepoint(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let table = "DROP TABLE IF EXISTS mssql_tds_savepoint; CREATE TABLE mssql_tds_savepoint (n int NOT NULL)";
    execute(&mut client, table).await?;
    client.begin_transaction(TransactionIsolationLevel::NoChange, None).await?;
    execute(&mut client, "INSERT INTO mssql_tds_savepoint VALUES (1)").await?;
    client.save_transaction("here".to_string()).await?;
    execute(&mut client, "INSERT INTO mssql_tds_savepoint VALUES (2)").await?;
    client.rollback_transaction(Some("here".to_string()), None).await?;
    execute(&mut client, "INSERT INTO mssql_tds_savepoint VALUES (4)").await?;
    client.commit_transaction(None, None).await?;
    expect("sum", scalar(&mut client, "SELECT SUM(n) FROM mssql_tds_savepoint").await?, 5)
}

/// A row of a bulk copy.
struct Cells(Vec<ColumnValues>);

#[async_trait]
impl BulkLoadRow for Cells {
    async fn write_to_packet(
        &self,
        writer: &mut StreamingBulkLoadWriter<'_>,
        column_index: &mut usize,
    ) -> TdsResult<()> {
        for value in &self.0 {
            writer.write_column_value(*column_index, value).await?;
            *column_index += 1;
        }
        Ok(())
    }
}

fn numbers(id: i32) -> Cells {
    Cells(vec![ColumnValues::Int(id), ColumnValues::Int(id)])
}

async fn bulk(
    at: &Environment,
    table: &EveryType,
    name: &str,
    nullability: &str,
    row_count: usize,
) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &table.create(name, nullability)).await?;
    let mut source = Vec::new();
    for row in 0..row_count {
        let mut cells = vec![ColumnValues::Int(i32::try_from(row)?)];
        for column in &table.columns {
            cells.push(written(column, row)?);
        }
        source.push(Cells(cells));
    }
    let mut copy = BulkCopy::new(&mut client, name).table_lock(true).keep_nulls(true);
    let result = copy.write_to_server_zerocopy(source).await?;
    drop(copy);
    expect("rows copied", result.rows_affected, row_count as u64)?;
    compare(&mut client, table, name, row_count).await
}

async fn bulk_every_type(at: &Environment) -> Outcome {
    bulk(at, &at.table, "mssql_tds_bulk", "NULL", at.table.rows).await
}

async fn bulk_not_null(at: &Environment) -> Outcome {
    let table = at.table.without(&["c_smallmoney"]);
    bulk(at, &table, "mssql_tds_bulk_not_null", "NOT NULL", at.table.rows - 1).await
}

async fn bulk_smallmoney_not_null(_: &Environment) -> Outcome {
    Err(Failure::Cannot(
        "mssql-tds 0.3 writes the values of a smallmoney NOT NULL column without the length byte that it declares",
    ))
}

async fn bulk_in_batches(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("mssql_tds_batches")).await?;
    let mut copy =
        BulkCopy::new(&mut client, "mssql_tds_batches").batch_size(300).use_internal_transaction(true);
    let result = copy.write_to_server_zerocopy((0..1000).map(numbers).collect::<Vec<_>>()).await?;
    drop(copy);
    expect("rows copied", result.rows_affected, 1000)?;
    expect("rows", scalar(&mut client, "SELECT COUNT(*) FROM mssql_tds_batches WHERE v = id").await?, 1000)
}

async fn bulk_large_values(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let table = "DROP TABLE IF EXISTS mssql_tds_large; CREATE TABLE mssql_tds_large (t nvarchar(max) NULL)";
    execute(&mut client, table).await?;
    let text = long_text();
    let row = Cells(vec![ColumnValues::String(SqlString::from_utf8_string(text.clone()))]);
    BulkCopy::new(&mut client, "mssql_tds_large").write_to_server_zerocopy(vec![row]).await?;
    match rows(&mut client, "SELECT t FROM mssql_tds_large").await?.first().and_then(|row| row.first()) {
        Some(ColumnValues::String(back)) => expect("text", back.to_utf8_string() == text, true),
        other => Err(failed(format!("{}", other.is_some()))),
    }
}

async fn bulk_refused(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("mssql_tds_refused")).await?;
    let source: Vec<Cells> = [1, 2, 1].into_iter().map(numbers).collect();
    let result = BulkCopy::new(&mut client, "mssql_tds_refused").write_to_server_zerocopy(source).await;
    let message = duplicate("mssql_tds_refused");
    expect_error(result, (2627, 1, 14, 1, &message))?;
    let mut other = connect(at).await?;
    expect("rows left", scalar(&mut other, "SELECT COUNT(*) FROM mssql_tds_refused").await?, 0)
}

async fn bulk_rolled_back(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("mssql_tds_taken_back")).await?;
    client.begin_transaction(TransactionIsolationLevel::NoChange, None).await?;
    let source: Vec<Cells> = (0..10).map(numbers).collect();
    BulkCopy::new(&mut client, "mssql_tds_taken_back").write_to_server_zerocopy(source).await?;
    let count = "SELECT COUNT(*) FROM mssql_tds_taken_back";
    expect("rows inside", scalar(&mut client, count).await?, 10)?;
    client.rollback_transaction(None, None).await?;
    expect("rows left", scalar(&mut client, count).await?, 0)
}

/// The time-out of a slow load sends an attention.
async fn cancel_bulk(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("mssql_tds_cancelled")).await?;
    let slow = (0..100_000).map(|id| {
        std::thread::sleep(Duration::from_millis(1));
        numbers(id)
    });
    let mut copy = BulkCopy::new(&mut client, "mssql_tds_cancelled").timeout(Duration::from_secs(1));
    match copy.write_to_server_zerocopy(slow).await {
        Err(error) => expect("time-out", error.to_string().to_lowercase().contains("time"), true)?,
        Ok(_) => return Err(failed("no time-out")),
    }
    let mut other = connect(at).await?;
    let left = "SELECT COUNT(*) FROM mssql_tds_cancelled WITH (TABLOCKX)";
    expect("rows left", scalar(&mut other, left).await?, 0)
}

/// A table of vectors, filled by a parameter and by a bulk copy, with a NULL each.
async fn filled_vectors(client: &mut TdsClient, name: &str) -> Outcome {
    let table = format!("DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (id int NULL, v vector(3) NULL)");
    execute(client, &table).await?;
    let insert = format!("INSERT {name} VALUES (@id, @v)");
    for (id, value) in [(1, Some(SqlVector::try_from_f32(vec![1.0, -2.5, 3e38])?)), (2, None)] {
        let parameters = vec![
            input("id", SqlType::Int(Some(id))),
            input("v", SqlType::Vector(value, 3, VectorBaseType::Float32)),
        ];
        client.execute_sp_executesql(insert.clone(), parameters, ()).await?;
        client.close_query().await?;
    }
    let cells = vec![
        Cells(vec![
            ColumnValues::Int(3),
            ColumnValues::Vector(SqlVector::try_from_f32(vec![0.1, 0.2, 0.3])?),
        ]),
        Cells(vec![ColumnValues::Int(4), ColumnValues::Null]),
    ];
    let result = BulkCopy::new(client, name).write_to_server_zerocopy(cells).await?;
    expect("rows copied", result.rows_affected, 2)
}

async fn vectors(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    filled_vectors(&mut client, "mssql_tds_vectors").await?;
    let found = rows(&mut client, "SELECT v FROM mssql_tds_vectors ORDER BY id").await?;
    let wanted = [
        ColumnValues::Vector(SqlVector::try_from_f32(vec![1.0, -2.5, 3e38])?),
        ColumnValues::Null,
        ColumnValues::Vector(SqlVector::try_from_f32(vec![0.1, 0.2, 0.3])?),
        ColumnValues::Null,
    ];
    expect("vectors", found.concat() == wanted, true)?;
    let short = Some(SqlVector::try_from_f32(vec![1.0])?);
    let wrong = vec![input("v", SqlType::Vector(short, 1, VectorBaseType::Float32))];
    let text = "INSERT mssql_tds_vectors (v) VALUES (@v)".to_string();
    let answer = match client.execute_sp_executesql(text, wrong, ()).await {
        Ok(_) => client.close_query().await,
        Err(error) => Err(error),
    };
    expect_error(answer, (42204, 1, 16, 1, "The vector dimensions 1 and 3 do not match."))
}

/// Version 2 of the feature; version 1 gets the text.
async fn vectors_of_half_precision(at: &Environment) -> Outcome {
    let text = "SELECT CAST('[0.5, -1]' AS vector(2, float16)) AS h";
    let mut context = context(at);
    context.vector_version = VectorVersion::V2;
    let mut client = connect_to(at, at.port, context).await?;
    let found = rows(&mut client, text).await?.concat();
    expect("halves", found == [ColumnValues::Vector(SqlVector::try_from_f16(vec![0.5, -1.0])?)], true)?;
    let mut client = connect(at).await?;
    match rows(&mut client, text).await?.concat().first() {
        Some(ColumnValues::String(text)) => {
            expect("text", text.to_utf8_string(), "[5.0000000e-001,-1.0000000e+000]".to_string())
        }
        other => Err(failed(format!("{}", other.is_some()))),
    }
}

async fn vectors_as_text(at: &Environment) -> Outcome {
    let mut context = context(at);
    context.vector_version = VectorVersion::Off;
    let mut client = connect_to(at, at.port, context).await?;
    let text = "DECLARE @v vector(2) = '[1, 2]' SELECT @v AS v";
    match rows(&mut client, text).await?.concat().first() {
        Some(ColumnValues::String(text)) => {
            expect("text", text.to_utf8_string(), "[1.0000000e+000,2.0000000e+000]".to_string())
        }
        other => Err(failed(format!("{}", other.is_some()))),
    }
}
