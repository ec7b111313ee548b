//! tiberius: rows of values both ways.
//!
//! Loads with TABLOCK and KEEP_NULLS; rows are made before the clock starts, strings borrowed. Reads its row stream.

use std::borrow::Cow;

use arrow::array::{Array, RecordBatch};
use futures_util::TryStreamExt;
use tiberius::numeric::Numeric;
use tiberius::time::{Date, DateTime2, Time};
use tiberius::{
    AuthMethod, Client, ColumnData, Config, EncryptionLevel, Row, SqlBulkCopyOption, SqlBulkCopyOptions,
    TokenRow,
};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use crate::Failure;
use crate::arguments::{Arguments, Mode};
use crate::checksum::Checksum;
use crate::meter::{Meter, Report};
use crate::rows::{COLUMNS, DAY_MICROSECONDS, DECIMAL, EPOCH_DAYS, Rows, day_and_time};
use crate::source;

const CLIENT: &str = "tiberius 0.13.0";

type Connection = Client<Compat<TcpStream>>;

pub async fn run(arguments: &Arguments) -> Result<Report, Failure> {
    match arguments.mode {
        Mode::Load => load(arguments).await,
        Mode::Read => read(arguments).await,
    }
}

async fn connect(arguments: &Arguments) -> Result<Connection, Failure> {
    let mut config = Config::new();
    config.host(&arguments.host);
    config.port(arguments.port);
    config.database(&arguments.database);
    config.authentication(AuthMethod::sql_server(&arguments.user, &arguments.password));
    config.encryption(if arguments.encrypt {
        EncryptionLevel::Required
    } else {
        EncryptionLevel::NotSupported
    });
    config.trust_cert();
    config.packet_size(arguments.packet_size_bytes().into());
    config.command_timeout(None);
    let socket = TcpStream::connect(config.get_addr()).await?;
    socket.set_nodelay(true)?;
    Ok(Client::connect(config, socket.compat_write()).await?)
}

async fn load(arguments: &Arguments) -> Result<Report, Failure> {
    let commits = source::commits(arguments)?;
    let mut values = Vec::new();
    for batches in &commits {
        let mut rows = Vec::new();
        for batch in batches {
            values_of(batch, &mut rows)?;
        }
        values.push(rows);
    }
    let mut client = connect(arguments).await?;
    let options = SqlBulkCopyOptions::from(SqlBulkCopyOption::TableLock) | SqlBulkCopyOption::KeepNulls;

    let meter = Meter::start()?;
    let mut sent = 0;
    for rows in values {
        let mut request = client.bulk_insert_with_options(&arguments.table, &["*"], options, &[]).await?;
        for row in rows {
            request.send(row).await?;
        }
        sent += request.finalize().await?.total();
    }
    let mut report = meter.stop(CLIENT.to_owned(), sent)?;
    report.source = Some("values");
    Ok(report)
}

/// Adds the rows of a batch as tiberius takes them.
fn values_of<'a>(batch: &'a RecordBatch, into: &mut Vec<TokenRow<'a>>) -> Result<(), Failure> {
    let rows = Rows::of(batch)?;
    for index in 0..batch.num_rows() {
        macro_rules! cell {
            ($column:expr) => {
                ($column.is_valid(index)).then(|| $column.value(index))
            };
        }
        let mut row = TokenRow::with_capacity(COLUMNS);
        row.push(ColumnData::I32(cell!(rows.id)));
        row.push(ColumnData::I32(cell!(rows.int)));
        row.push(ColumnData::I64(cell!(rows.bigint)));
        row.push(ColumnData::F64(cell!(rows.float)));
        row.push(ColumnData::Bit(cell!(rows.bit)));
        row.push(ColumnData::Date(cell!(rows.date).map(|days| date(i64::from(days) + EPOCH_DAYS))));
        row.push(ColumnData::DateTime2(cell!(rows.datetime2).map(|microseconds| {
            let (day, time) = day_and_time(microseconds);
            DateTime2::new(date(day), Time::new(time as u64, 6))
        })));
        row.push(ColumnData::Numeric(
            cell!(rows.decimal).map(|value| Numeric::new_with_scale(value, DECIMAL.1)),
        ));
        for text in rows.texts {
            row.push(ColumnData::String(cell!(text).map(Cow::Borrowed)));
        }
        into.push(row);
    }
    Ok(())
}

/// A date by its days since 0001-01-01.
fn date(days: i64) -> Date {
    Date::new(days as u32)
}

async fn read(arguments: &Arguments) -> Result<Report, Failure> {
    let mut client = connect(arguments).await?;
    let meter = Meter::start()?;
    let mut checksum = Checksum::default();
    let mut received = 0;
    let mut rows = client.simple_query(arguments.query()).await?.into_row_stream();
    while let Some(row) = rows.try_next().await? {
        received += 1;
        add_row(&mut checksum, &row)?;
    }
    drop(rows);
    let mut report = meter.stop(CLIENT.to_owned(), received)?;
    report.checksum = Some(checksum.text());
    Ok(report)
}

fn add_row(checksum: &mut Checksum, row: &Row) -> Result<(), Failure> {
    for (index, (_, cell)) in row.cells().enumerate() {
        match cell {
            ColumnData::I32(Some(value)) => checksum.add(index, i64::from(*value) as u64),
            ColumnData::I64(Some(value)) => checksum.add(index, *value as u64),
            ColumnData::F64(Some(value)) => checksum.add(index, value.to_bits()),
            ColumnData::Bit(Some(value)) => checksum.add(index, (*value).into()),
            ColumnData::Date(Some(value)) => {
                checksum.add(index, (i64::from(value.days()) - EPOCH_DAYS) as u64);
            }
            ColumnData::DateTime2(Some(value)) => {
                let days = i64::from(value.date().days()) - EPOCH_DAYS;
                // Scale 6: the increments are microseconds.
                checksum.add(index, (days * DAY_MICROSECONDS + value.time().increments() as i64) as u64);
            }
            ColumnData::Numeric(Some(value)) => checksum.add(index, value.value() as u64),
            ColumnData::String(Some(text)) => checksum.add_text(index, text),
            ColumnData::I32(None)
            | ColumnData::I64(None)
            | ColumnData::F64(None)
            | ColumnData::Bit(None)
            | ColumnData::Date(None)
            | ColumnData::DateTime2(None)
            | ColumnData::Numeric(None)
            | ColumnData::String(None) => {}
            other => return Err(format!("column {index}: {other:?}").into()),
        }
    }
    Ok(())
}
