//! tiberius.

use std::borrow::Cow;
use std::time::Duration;

use tiberius::numeric::Numeric;
use tiberius::time::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
use tiberius::xml::XmlData;
use tiberius::{
    AuthMethod, Client, ColumnData, Config, EncryptionLevel, IsolationLevel, Row, SqlBulkCopyOption,
    SqlBulkCopyOptions, TokenRow, Uuid,
};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use crate::cell::{Cell, increments, ticks_of};
use crate::environment::{
    Column, Environment, EveryType, Failure, duplicate, expect, failed, keyed, long_text,
};
use crate::{Outcome, Run};

type Connection = Client<Compat<TcpStream>>;

pub fn checks() -> Vec<(&'static str, Run)> {
    crate::checks![
        login_plain,
        login_only_tls,
        login_full_tls,
        login_strict,
        untrusted_certificate,
        wrong_password,
        query_every_type,
        exact_money,
        parameters_every_type,
        prepared_repeatedly,
        parameters_output,
        several_results,
        large_values,
        pool_reset,
        error_details,
        cancel_query,
        leaving_ends_the_query,
        command_timeout,
        transaction_rollback,
        isolation_levels,
        savepoint,
        savepoint_by_request,
        bulk_every_type,
        bulk_not_null,
        bulk_image,
        empty_xml,
        bulk_large_values,
        bulk_refused,
        bulk_rolled_back,
        cancel_bulk,
    ]
}

fn config(at: &Environment) -> Config {
    let mut config = Config::new();
    config.host(&at.host);
    config.port(at.port);
    config.database("master");
    config.authentication(AuthMethod::sql_server(&at.user, &at.password));
    config.encryption(EncryptionLevel::NotSupported);
    config
}

async fn connect_with(config: Config) -> Result<Connection, tiberius::error::Error> {
    let socket = TcpStream::connect(config.get_addr()).await?;
    socket.set_nodelay(true)?;
    Client::connect(config, socket.compat_write()).await
}

async fn connect(at: &Environment) -> Result<Connection, Failure> {
    Ok(connect_with(config(at)).await?)
}

async fn execute(client: &mut Connection, text: &str) -> Outcome {
    client.simple_query(text).await?.into_results().await?;
    Ok(())
}

async fn scalar(client: &mut Connection, text: &str) -> Result<i32, Failure> {
    let row = client.simple_query(text).await?.into_row().await?.ok_or_else(|| failed("no row"))?;
    row.get::<i32, _>(0).ok_or_else(|| failed("NULL"))
}

/// Compares number, state, class, line and message.
fn expect_error<T>(result: Result<T, tiberius::error::Error>, wanted: (u32, u8, u8, u32, &str)) -> Outcome {
    match result {
        Err(tiberius::error::Error::Server(error)) => expect(
            "error",
            (error.code(), error.state(), error.class(), error.line(), error.message()),
            wanted,
        ),
        Err(other) => Err(failed(format!("no error of the server: {other}"))),
        Ok(_) => Err(failed("no error came")),
    }
}

async fn log_in(config: Config) -> Outcome {
    let mut client = connect_with(config).await?;
    let row = client.simple_query("SELECT DB_NAME() + N' zwölf'").await?.into_row().await?;
    expect("answer", row.as_ref().and_then(|row| row.get::<&str, _>(0)), Some("master zwölf"))
}

async fn login_plain(at: &Environment) -> Outcome {
    log_in(config(at)).await
}

async fn login_only_tls(at: &Environment) -> Outcome {
    let mut config = config(at);
    config.encryption(EncryptionLevel::Off);
    config.trust_cert();
    log_in(config).await
}

async fn login_full_tls(at: &Environment) -> Outcome {
    let mut config = config(at);
    config.encryption(EncryptionLevel::Required);
    config.trust_cert_ca(&at.certificate);
    config.hostname_in_certificate("localhost");
    log_in(config).await
}

async fn login_strict(_: &Environment) -> Outcome {
    Err(Failure::Cannot("tiberius 0.13 has no TDS 8.0: EncryptionLevel ends at Required"))
}

async fn untrusted_certificate(at: &Environment) -> Outcome {
    let mut config = config(at);
    config.encryption(EncryptionLevel::Required);
    match log_in(config).await {
        Err(Failure::Failed(text)) if text.contains("certificate") => Ok(()),
        Err(Failure::Failed(text)) => Err(failed(format!("another refusal: {text}"))),
        _ => Err(failed("the certificate was not refused")),
    }
}

async fn wrong_password(at: &Environment) -> Outcome {
    let mut config = config(at);
    config.authentication(AuthMethod::sql_server(&at.user, "wrong"));
    let message = format!("Login failed for user '{}'.", at.user);
    expect_error(connect_with(config).await, (18456, 1, 14, 1, &message))
}

/// A value as tiberius reads it.
fn read(column: &Column, data: &ColumnData<'static>) -> Result<Option<String>, Failure> {
    let cell = match data {
        ColumnData::U8(value) => value.map(|value| Cell::Integer(value.into())),
        ColumnData::I16(value) => value.map(|value| Cell::Integer(value.into())),
        ColumnData::I32(value) => value.map(|value| Cell::Integer(value.into())),
        ColumnData::I64(value) => value.map(Cell::Integer),
        ColumnData::Bit(value) => value.map(Cell::Bit),
        ColumnData::F32(value) => value.map(Cell::Real),
        // money, too, is read as a double.
        ColumnData::F64(value) if column.kind.ends_with("money") => {
            value.map(|value| Cell::Decimal { value: (value * 1e4).round() as i128, scale: 4 })
        }
        ColumnData::F64(value) => value.map(Cell::Float),
        ColumnData::String(value) => value.as_ref().map(|text| Cell::Text(text.to_string())),
        ColumnData::Guid(value) => value.map(|id| Cell::Text(id.to_string())),
        ColumnData::Binary(value) => value.as_ref().map(|bytes| Cell::Bytes(bytes.to_vec())),
        ColumnData::Numeric(value) => {
            value.map(|value| Cell::Decimal { value: value.value(), scale: value.scale() })
        }
        ColumnData::Xml(value) => value.as_ref().map(|xml| Cell::Text(xml.as_ref().clone().into_string())),
        ColumnData::DateTime(value) => {
            value.map(|value| Cell::of_datetime(value.days(), value.seconds_fragments()))
        }
        ColumnData::SmallDateTime(value) => {
            value.map(|value| Cell::of_small_datetime(value.days(), value.seconds_fragments()))
        }
        ColumnData::Time(value) => value.map(|time| Cell::Time { ticks: ticks(time) }),
        ColumnData::Date(value) => value.map(|date| Cell::Date { days: date.days().into() }),
        ColumnData::DateTime2(value) => value
            .map(|moment| Cell::Moment { days: moment.date().days().into(), ticks: ticks(moment.time()) }),
        ColumnData::DateTimeOffset(value) => value.map(|zoned| Cell::Zoned {
            days: zoned.datetime2().date().days().into(),
            ticks: ticks(zoned.datetime2().time()),
            minutes: zoned.offset().into(),
        }),
    };
    Ok(cell.map(|cell| cell.text(column)))
}

fn ticks(time: Time) -> i64 {
    ticks_of(time.increments(), time.scale())
}

/// The value that is written for a cell, NULL of the right type included.
fn written(column: &Column, row: usize) -> Result<ColumnData<'static>, Failure> {
    let cell = Cell::of(column, row)?;
    let scale = column.size(0);
    let time = |ticks: i64| Time::new(increments(ticks, scale), scale as u8);
    Ok(match (column.kind.as_str(), cell) {
        ("bit", Some(Cell::Bit(value))) => ColumnData::Bit(Some(value)),
        ("bit", _) => ColumnData::Bit(None),
        ("tinyint", Some(Cell::Integer(value))) => ColumnData::U8(Some(u8::try_from(value)?)),
        ("tinyint", _) => ColumnData::U8(None),
        ("smallint", Some(Cell::Integer(value))) => ColumnData::I16(Some(i16::try_from(value)?)),
        ("smallint", _) => ColumnData::I16(None),
        ("int", Some(Cell::Integer(value))) => ColumnData::I32(Some(i32::try_from(value)?)),
        ("int", _) => ColumnData::I32(None),
        ("bigint", Some(Cell::Integer(value))) => ColumnData::I64(Some(value)),
        ("bigint", _) => ColumnData::I64(None),
        ("real", Some(Cell::Real(value))) => ColumnData::F32(Some(value)),
        ("real", _) => ColumnData::F32(None),
        ("float", Some(Cell::Float(value))) => ColumnData::F64(Some(value)),
        ("float", _) => ColumnData::F64(None),
        ("decimal" | "numeric" | "money" | "smallmoney", Some(Cell::Decimal { value, scale })) => {
            ColumnData::Numeric(Some(Numeric::new_with_scale(value, scale)))
        }
        ("decimal" | "numeric" | "money" | "smallmoney", _) => ColumnData::Numeric(None),
        ("date", Some(Cell::Date { days })) => ColumnData::Date(Some(Date::new(u32::try_from(days)?))),
        ("date", _) => ColumnData::Date(None),
        ("time", Some(Cell::Time { ticks })) => ColumnData::Time(Some(time(ticks))),
        ("time", _) => ColumnData::Time(None),
        ("datetime", Some(Cell::Moment { days, ticks })) => {
            let (days, fragments) = Cell::datetime(days, ticks);
            ColumnData::DateTime(Some(DateTime::new(days, fragments)))
        }
        ("datetime", _) => ColumnData::DateTime(None),
        ("smalldatetime", Some(Cell::Moment { days, ticks })) => {
            let (days, minutes) = Cell::small_datetime(days, ticks);
            ColumnData::SmallDateTime(Some(SmallDateTime::new(days, minutes)))
        }
        ("smalldatetime", _) => ColumnData::SmallDateTime(None),
        ("datetime2", Some(Cell::Moment { days, ticks })) => {
            ColumnData::DateTime2(Some(DateTime2::new(Date::new(u32::try_from(days)?), time(ticks))))
        }
        ("datetime2", _) => ColumnData::DateTime2(None),
        ("datetimeoffset", Some(Cell::Zoned { days, ticks, minutes })) => {
            let utc = DateTime2::new(Date::new(u32::try_from(days)?), time(ticks));
            ColumnData::DateTimeOffset(Some(DateTimeOffset::new(utc, i16::try_from(minutes)?)))
        }
        ("datetimeoffset", _) => ColumnData::DateTimeOffset(None),
        ("binary" | "varbinary" | "image", Some(Cell::Bytes(bytes))) => {
            ColumnData::Binary(Some(Cow::Owned(bytes)))
        }
        ("binary" | "varbinary" | "image", _) => ColumnData::Binary(None),
        ("uniqueidentifier", Some(Cell::Text(text))) => ColumnData::Guid(Some(Uuid::parse_str(&text)?)),
        ("uniqueidentifier", _) => ColumnData::Guid(None),
        ("xml", Some(Cell::Text(text))) => ColumnData::Xml(Some(Cow::Owned(XmlData::new(text)))),
        ("xml", _) => ColumnData::Xml(None),
        (_, Some(Cell::Text(text))) => ColumnData::String(Some(Cow::Owned(text))),
        (_, _) => ColumnData::String(None),
    })
}

fn wanted(column: &Column, row: usize) -> Option<String> {
    let text = column.texts[row].clone()?;
    if column.kind != "money" {
        return Some(text);
    }
    // Read as a double: what it makes of the limits.
    let value = (text.parse::<f64>().ok()? * 1e4).round() as i128;
    Some(Cell::Decimal { value, scale: 4 }.text(column))
}

/// The table of what tiberius can write: an empty XML value gets one terminator too many from it, and desynchronises.
fn writable(at: &Environment, without: &[&str]) -> EveryType {
    at.table.without(without).with_text("c_xml", 2, "<e/>")
}

async fn compare(client: &mut Connection, table: &EveryType, name: &str, rows: usize) -> Outcome {
    let text = format!("SELECT * FROM {name} ORDER BY id");
    let answer: Vec<Row> = client.simple_query(text).await?.into_first_result().await?;
    let mut read_rows = Vec::new();
    for row in &answer {
        let mut cells = Vec::new();
        for (column, (_, data)) in table.columns.iter().zip(row.cells().skip(1)) {
            cells.push(read(column, data)?);
        }
        read_rows.push(cells);
    }
    table.compare(&read_rows, rows, wanted)
}

async fn query_every_type(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &at.table.create("tiberius_query", "NULL")).await?;
    for row in 0..at.table.rows {
        execute(&mut client, &at.table.insert("tiberius_query", row)).await?;
    }
    compare(&mut client, &at.table, "tiberius_query", at.table.rows).await
}

async fn exact_money(_: &Environment) -> Outcome {
    Err(Failure::Cannot("tiberius reads money as f64: its limits lose their last digits"))
}

async fn parameters_every_type(at: &Environment) -> Outcome {
    let table = writable(at, &[]);
    let mut client = connect(at).await?;
    execute(&mut client, &table.create("tiberius_parameters", "NULL")).await?;
    let marks: Vec<String> = (1..=table.columns.len() + 1).map(|n| format!("@P{n}")).collect();
    let insert = format!("INSERT INTO tiberius_parameters VALUES ({})", marks.join(", "));
    for row in 0..table.rows {
        let mut query = tiberius::Query::new(insert.as_str());
        query.bind(i32::try_from(row)?);
        for column in &table.columns {
            query.bind(match written(column, row)? {
                // Where the driver sends the text's type or no NULL of a type, the server converts.
                ColumnData::Numeric(None) => ColumnData::String(None),
                other => other,
            });
        }
        let result = query.execute(&mut client).await.map_err(|error| format!("row {row}: {error}"))?;
        expect("rows affected", result.total(), 1)?;
    }
    compare(&mut client, &table, "tiberius_parameters", table.rows).await
}

async fn prepared_repeatedly(at: &Environment) -> Outcome {
    // tiberius has no prepared statements: each execution is an sp_executesql of the same text.
    let mut client = connect(at).await?;
    let table =
        "DROP TABLE IF EXISTS tiberius_prepared; CREATE TABLE tiberius_prepared (id int, name nvarchar(20))";
    execute(&mut client, table).await?;
    for id in 0..50_i32 {
        let name = (id % 10 != 0).then(|| format!("name {id}"));
        let done = client.execute("INSERT INTO tiberius_prepared VALUES (@P1, @P2)", &[&id, &name]).await?;
        expect("rows affected", done.total(), 1)?;
    }
    for id in 0..50_i32 {
        let find = "SELECT name FROM tiberius_prepared WHERE id = @P1";
        let row = client.query(find, &[&id]).await?.into_row().await?.ok_or_else(|| failed("no row"))?;
        let name = (id % 10 != 0).then(|| format!("name {id}"));
        expect("name", row.get::<&str, _>(0).map(str::to_owned), name)?;
    }
    Ok(())
}

async fn parameters_output(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let mut command = tiberius::Command::new("sp_executesql");
    command.bind_param("@stmt", "SET @sum = @sum + @more");
    command.bind_param("@params", "@sum int OUTPUT, @more int");
    command.bind_out_param("@sum", 1_i32);
    command.bind_param("@more", 41_i32);
    let result = command.exec(&mut client).await?.into_command_result().await?;
    expect("sum", result.try_return_value::<i32>("@sum")?, Some(42))
}

async fn several_results(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let text = "SELECT 1 AS a; PRINT 'between'; SELECT 'x' AS b, 2 AS c WHERE 1 = 0; SELECT 3 AS d";
    let results = client.simple_query(text).await?.into_results().await?;
    let rows: Vec<usize> = results.iter().map(Vec::len).collect();
    expect("rows of the results", rows, vec![1, 0, 1])
}

async fn large_values(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let (text, data) = (long_text(), [0_u8, 1, 2, 253, 254, 255, 10].repeat(1_000_000));
    let row = client.query("SELECT @P1, @P2", &[&text, &data]).await?.into_row().await?;
    let row = row.ok_or_else(|| failed("no row"))?;
    expect("text", row.get::<&str, _>(0) == Some(text.as_str()), true)?;
    expect("data", row.get::<&[u8], _>(1) == Some(data.as_slice()), true)
}

async fn pool_reset(_: &Environment) -> Outcome {
    Err(Failure::Cannot("tiberius has no connection reset: pools of it ask SELECT 1"))
}

async fn error_details(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let missing = client.execute("SET NOCOUNT ON;\n\nSELECT * FROM no_such_table", &[]).await;
    expect_error(missing, (208, 1, 16, 3, "Invalid object name 'no_such_table'."))?;
    execute(&mut client, &keyed("tiberius_error")).await?;
    let insert = "INSERT INTO tiberius_error (id) VALUES (@P1)";
    client.execute(insert, &[&1_i32]).await?;
    let message = duplicate("tiberius_error");
    expect_error(client.execute(insert, &[&1_i32]).await, (2627, 1, 14, 1, &message))?;
    expect("rows", scalar(&mut client, "SELECT COUNT(*) FROM tiberius_error").await?, 1)
}

async fn cancel_query(_: &Environment) -> Outcome {
    Err(Failure::Cannot(
        "cancel_query of tiberius 0.13 stops reading at the end of the cancelled answer, before the acknowledgement that SQL \
         Server sends as a message of its own",
    ))
}

/// The server hears that a client has left, and its locks are free.
async fn leaving_ends_the_query(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("tiberius_left")).await?;
    let locking = "BEGIN TRANSACTION; INSERT INTO tiberius_left (id) VALUES (1); WAITFOR DELAY '00:01:00'";
    let waiting = client.simple_query(locking);
    let _ =
        tokio::time::timeout(Duration::from_millis(300), async { waiting.await?.into_results().await }).await;
    drop(client);
    let mut other = connect(at).await?;
    let left = "SELECT COUNT(*) FROM tiberius_left WITH (TABLOCKX)";
    expect("rows left", scalar(&mut other, left).await?, 0)
}

async fn command_timeout(at: &Environment) -> Outcome {
    let mut config = config(at);
    config.command_timeout(Some(Duration::from_millis(300)));
    let mut client = connect_with(config).await?;
    match client.execute("WAITFOR DELAY '00:01:00'", &[]).await {
        Ok(_) => Err(failed("no time-out")),
        Err(error) => expect("time-out", error.to_string().contains("within 300ms"), true),
    }
}

async fn transaction_rollback(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let table = "DROP TABLE IF EXISTS tiberius_rollback; CREATE TABLE tiberius_rollback (n int NOT NULL)";
    execute(&mut client, table).await?;
    for n in 0..3_i32 {
        client.begin_transaction().await?;
        client.execute("INSERT INTO tiberius_rollback VALUES (@P1)", &[&n]).await?;
        let inside = format!("SELECT COUNT(*) FROM tiberius_rollback WHERE n = {n}");
        expect("rows inside", scalar(&mut client, &inside).await?, 1)?;
        match n {
            1 => client.commit_transaction().await?,
            _ => client.rollback_transaction().await?,
        }
    }
    let left = "SELECT SUM(n) * 100 + COUNT(*) FROM tiberius_rollback";
    expect("what is left", scalar(&mut client, left).await?, 101)
}

async fn isolation_levels(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    for level in [
        IsolationLevel::Unspecified,
        IsolationLevel::ReadUncommitted,
        IsolationLevel::ReadCommitted,
        IsolationLevel::RepeatableRead,
        IsolationLevel::Serializable,
        IsolationLevel::Snapshot,
    ] {
        client.begin_transaction_with_isolation(level).await?;
        expect("@@TRANCOUNT", scalar(&mut client, "SELECT @@TRANCOUNT").await?, 1)?;
        client.commit_transaction().await?;
    }
    Ok(())
}

async fn savepoint(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    let table = "DROP TABLE IF EXISTS tiberius_savepoint; CREATE TABLE tiberius_savepoint (n int NOT NULL)";
    execute(&mut client, table).await?;
    client.begin_transaction().await?;
    execute(&mut client, "INSERT INTO tiberius_savepoint VALUES (1)").await?;
    let text = "SAVE TRANSACTION here; INSERT INTO tiberius_savepoint VALUES (2); ROLLBACK TRANSACTION here; \
                INSERT INTO tiberius_savepoint VALUES (4)";
    execute(&mut client, text).await?;
    client.commit_transaction().await?;
    expect("sum", scalar(&mut client, "SELECT SUM(n) FROM tiberius_savepoint").await?, 5)
}

async fn savepoint_by_request(_: &Environment) -> Outcome {
    Err(Failure::Cannot(
        "save_transaction of tiberius 0.13 counts the savepoint's name in characters where the protocol counts bytes",
    ))
}

async fn bulk_rows(client: &mut Connection, table: &EveryType, name: &str, rows: usize) -> Outcome {
    let options = SqlBulkCopyOptions::from(SqlBulkCopyOption::TableLock) | SqlBulkCopyOption::KeepNulls;
    let mut load = client.bulk_insert_with_options(name, &["*"], options, &[]).await?;
    for row in 0..rows {
        let mut token = TokenRow::with_capacity(table.columns.len() + 1);
        token.push(ColumnData::I32(Some(i32::try_from(row)?)));
        for column in &table.columns {
            token.push(written(column, row)?);
        }
        load.send(token).await.map_err(|error| format!("row {row}: {error}"))?;
    }
    expect("rows loaded", load.finalize().await?.total(), rows as u64)
}

async fn bulk(at: &Environment, name: &str, nullability: &str, rows: usize) -> Outcome {
    let table = writable(at, &["c_image"]);
    let mut client = connect(at).await?;
    execute(&mut client, &table.create(name, nullability)).await?;
    bulk_rows(&mut client, &table, name, rows).await?;
    compare(&mut client, &table, name, rows).await
}

async fn bulk_every_type(at: &Environment) -> Outcome {
    bulk(at, "tiberius_bulk", "NULL", at.table.rows).await
}

async fn bulk_not_null(at: &Environment) -> Outcome {
    bulk(at, "tiberius_bulk_not_null", "NOT NULL", at.table.rows - 1).await
}

async fn bulk_image(_: &Environment) -> Outcome {
    Err(Failure::Cannot("tiberius 0.13 writes no image values in a bulk load"))
}

async fn empty_xml(_: &Environment) -> Outcome {
    Err(Failure::Cannot("tiberius 0.13 writes one terminator too many behind an empty XML value"))
}

async fn bulk_large_values(_: &Environment) -> Outcome {
    Err(Failure::Cannot("tiberius 0.13 refuses more than 65535 bytes for a (max) column in a bulk load"))
}

fn numbers(id: i32) -> TokenRow<'static> {
    let mut row = TokenRow::new();
    row.push(ColumnData::I32(Some(id)));
    row.push(ColumnData::I32(Some(id)));
    row
}

async fn bulk_refused(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("tiberius_refused")).await?;
    let mut load = client.bulk_insert("tiberius_refused").await?;
    for id in [1, 2, 1] {
        load.send(numbers(id)).await?;
    }
    let message = duplicate("tiberius_refused");
    expect_error(load.finalize().await, (2627, 1, 14, 1, &message))?;
    expect("rows left", scalar(&mut client, "SELECT COUNT(*) FROM tiberius_refused").await?, 0)
}

async fn bulk_rolled_back(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("tiberius_taken_back")).await?;
    client.begin_transaction().await?;
    let mut load = client.bulk_insert("tiberius_taken_back").await?;
    load.send(numbers(1)).await?;
    load.finalize().await?;
    let count = "SELECT COUNT(*) FROM tiberius_taken_back";
    expect("rows inside", scalar(&mut client, count).await?, 1)?;
    client.rollback_transaction().await?;
    expect("rows left", scalar(&mut client, count).await?, 0)
}

/// tiberius cannot take a load back: the connection is dropped in the middle of one.
async fn cancel_bulk(at: &Environment) -> Outcome {
    let mut client = connect(at).await?;
    execute(&mut client, &keyed("tiberius_cancelled")).await?;
    let mut load = client.bulk_insert("tiberius_cancelled").await?;
    for id in 0..20_000 {
        load.send(numbers(id)).await?;
    }
    drop(load);
    drop(client);
    let mut other = connect(at).await?;
    let left = "SELECT COUNT(*) FROM tiberius_cancelled WITH (TABLOCKX)";
    expect("rows left", scalar(&mut other, left).await?, 0)
}
