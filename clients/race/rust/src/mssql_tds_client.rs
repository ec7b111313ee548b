//! mssql-tds, Microsoft's client in Rust.
//!
//! Loads with `BulkCopy::write_to_server_zerocopy` and TABLOCK; values are made before the clock starts, nvarchar as UTF-16, which
//! spares the client the conversion. Reads with `next_row_into`, its interface for columnar consumers, into Arrow builders.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder,
    Int32Builder, Int64Builder, RecordBatch, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use async_trait::async_trait;
use mssql_tds::connection::bulk_copy::{BulkCopy, BulkLoadRow};
use mssql_tds::connection::client_context::ClientContext;
use mssql_tds::connection::tds_client::TdsClient;
use mssql_tds::connection_provider::tds_connection_provider::TdsConnectionProvider;
use mssql_tds::core::{EncryptionSetting, TdsResult};
use mssql_tds::datatypes::column_values::{
    ColumnValues, SqlDate, SqlDateTime, SqlDateTime2, SqlDateTimeOffset, SqlMoney, SqlSmallDateTime,
    SqlSmallMoney, SqlTime, SqlXml,
};
use mssql_tds::datatypes::decoder::DecimalParts;
use mssql_tds::datatypes::row_writer::RowWriter;
use mssql_tds::datatypes::sql_json::SqlJson;
use mssql_tds::datatypes::sql_string::{EncodingType, SqlString};
use mssql_tds::datatypes::sql_vector::SqlVector;
use mssql_tds::message::bulk_load::StreamingBulkLoadWriter;
use uuid::Uuid;

use crate::Failure;
use crate::arguments::{Arguments, Mode};
use crate::checksum::Checksum;
use crate::meter::{Meter, Report};
use crate::rows::{COLUMNS, DAY_MICROSECONDS, DECIMAL, EPOCH_DAYS, Rows, day_and_time};
use crate::source;

const CLIENT: &str = "mssql-tds 0.3.0";

pub async fn run(arguments: &Arguments) -> Result<Report, Failure> {
    match arguments.mode {
        Mode::Load => load(arguments).await,
        Mode::Read => read(arguments).await,
    }
}

async fn connect(arguments: &Arguments) -> Result<TdsClient, Failure> {
    let mut context = ClientContext::default();
    context.user_name = arguments.user.clone();
    context.password = arguments.password.clone();
    context.database = arguments.database.clone();
    context.packet_size = arguments.packet_size_bytes();
    context.encryption_options.mode =
        if arguments.encrypt { EncryptionSetting::Required } else { EncryptionSetting::PreferOff };
    context.encryption_options.trust_server_certificate = true;
    let source = format!("tcp:{},{}", arguments.host, arguments.port);
    Ok(TdsConnectionProvider {}.create_client(context, &source, None).await?)
}

async fn load(arguments: &Arguments) -> Result<Report, Failure> {
    let commits = source::commits(arguments)?;
    let mut values = Vec::with_capacity(usize::try_from(arguments.rows)?);
    for batch in commits.iter().flatten() {
        values_of(batch, &mut values)?;
    }
    let mut client = connect(arguments).await?;

    let meter = Meter::start()?;
    let mut copy = BulkCopy::new(&mut client, arguments.table.as_str())
        .table_lock(true)
        .keep_nulls(true)
        .batch_size(arguments.batch_rows)
        .timeout(Duration::ZERO);
    let result = copy.write_to_server_zerocopy(values.iter()).await?;
    let mut report = meter.stop(CLIENT.to_owned(), result.rows_affected)?;
    report.source = Some("values");
    Ok(report)
}

/// A row of a bulk copy.
struct Values([ColumnValues; COLUMNS]);

#[async_trait]
impl BulkLoadRow for &Values {
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

/// Adds the rows of a batch as mssql-tds takes them.
fn values_of(batch: &RecordBatch, into: &mut Vec<Values>) -> Result<(), Failure> {
    let rows = Rows::of(batch)?;
    for index in 0..batch.num_rows() {
        macro_rules! cell {
            ($column:expr, $to:expr) => {
                if $column.is_valid(index) { $to($column.value(index)) } else { ColumnValues::Null }
            };
        }
        let date = |days: i32| SqlDate::create((i64::from(days) + EPOCH_DAYS) as u32).map(ColumnValues::Date);
        let datetime2 = |microseconds: i64| {
            let (day, time) = day_and_time(microseconds);
            // In units of 100 ns, whatever the scale.
            let time = SqlTime { time_nanoseconds: time as u64 * 10, scale: 6 };
            ColumnValues::DateTime2(SqlDateTime2 { days: day as u32, time })
        };
        let decimal = |value: i128| {
            let (precision, scale) = DECIMAL;
            ColumnValues::Decimal(DecimalParts::new(value >= 0, precision, scale, value.unsigned_abs()))
        };
        let wide = |text: &str| ColumnValues::String(SqlString::from_utf8_string(text.to_owned()));
        let narrow =
            |text: &str| ColumnValues::String(SqlString::new(text.as_bytes().to_vec(), EncodingType::Utf8));
        let [text1, text2, text3] = rows.texts;
        into.push(Values([
            cell!(rows.id, ColumnValues::Int),
            cell!(rows.int, ColumnValues::Int),
            cell!(rows.bigint, ColumnValues::BigInt),
            cell!(rows.float, ColumnValues::Float),
            cell!(rows.bit, ColumnValues::Bit),
            if rows.date.is_valid(index) { date(rows.date.value(index))? } else { ColumnValues::Null },
            cell!(rows.datetime2, datetime2),
            cell!(rows.decimal, decimal),
            cell!(text1, wide),
            cell!(text2, narrow),
            cell!(text3, wide),
        ]));
    }
    Ok(())
}

async fn read(arguments: &Arguments) -> Result<Report, Failure> {
    let mut client = connect(arguments).await?;
    let batch_rows = if arguments.batch_rows == 0 { usize::MAX } else { arguments.batch_rows };

    let meter = Meter::start()?;
    let mut columns = Columns::new()?;
    let mut batches = Vec::new();
    client.execute(arguments.query(), ()).await?;
    while client.next_row_into(&mut columns).await? {
        if columns.rows() == batch_rows {
            batches.push(columns.finish()?);
        }
    }
    batches.push(columns.finish()?);
    client.close_query().await?;
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let mut report = meter.stop(CLIENT.to_owned(), rows)?;

    let mut checksum = Checksum::default();
    for batch in &batches {
        checksum.add_batch(batch)?;
    }
    report.checksum = Some(checksum.text());
    Ok(report)
}

/// Builders of the benchmark's columns.
struct Columns {
    ints: [Int32Builder; 2],
    bigint: Int64Builder,
    float: Float64Builder,
    bit: BooleanBuilder,
    date: Date32Builder,
    datetime2: TimestampMicrosecondBuilder,
    decimal: Decimal128Builder,
    texts: [StringBuilder; 3],
    /// The first value that belongs to no column of the table.
    surprise: Option<usize>,
}

impl Columns {
    fn new() -> Result<Columns, Failure> {
        let (precision, scale) = DECIMAL;
        Ok(Columns {
            ints: Default::default(),
            bigint: Default::default(),
            float: Default::default(),
            bit: Default::default(),
            date: Default::default(),
            datetime2: Default::default(),
            decimal: Decimal128Builder::new().with_precision_and_scale(precision, scale as i8)?,
            texts: Default::default(),
            surprise: None,
        })
    }

    fn rows(&self) -> usize {
        self.bigint.len()
    }

    fn finish(&mut self) -> Result<RecordBatch, Failure> {
        if let Some(column) = self.surprise {
            return Err(format!("column {column} is of another type").into());
        }
        let [id, int] = &mut self.ints;
        let [text1, text2, text3] = &mut self.texts;
        let (precision, scale) = DECIMAL;
        let columns: [(DataType, ArrayRef); COLUMNS] = [
            (DataType::Int32, Arc::new(id.finish())),
            (DataType::Int32, Arc::new(int.finish())),
            (DataType::Int64, Arc::new(self.bigint.finish())),
            (DataType::Float64, Arc::new(self.float.finish())),
            (DataType::Boolean, Arc::new(self.bit.finish())),
            (DataType::Date32, Arc::new(self.date.finish())),
            (DataType::Timestamp(TimeUnit::Microsecond, None), Arc::new(self.datetime2.finish())),
            (DataType::Decimal128(precision, scale as i8), Arc::new(self.decimal.finish())),
            (DataType::Utf8, Arc::new(text1.finish())),
            (DataType::Utf8, Arc::new(text2.finish())),
            (DataType::Utf8, Arc::new(text3.finish())),
        ];
        let fields: Vec<Field> = (1..)
            .zip(&columns)
            .map(|(place, (kind, _)): (u32, _)| Field::new(format!("column{place}"), kind.clone(), true))
            .collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
    }

    fn refuse(&mut self, column: usize) {
        self.surprise.get_or_insert(column);
    }
}

impl RowWriter for Columns {
    fn write_null(&mut self, col: usize) {
        match col {
            0 | 1 => self.ints[col].append_null(),
            2 => self.bigint.append_null(),
            3 => self.float.append_null(),
            4 => self.bit.append_null(),
            5 => self.date.append_null(),
            6 => self.datetime2.append_null(),
            7 => self.decimal.append_null(),
            8..=10 => self.texts[col - 8].append_null(),
            _ => self.refuse(col),
        }
    }

    fn write_bool(&mut self, _: usize, val: bool) {
        self.bit.append_value(val);
    }

    fn write_i32(&mut self, col: usize, val: i32) {
        match self.ints.get_mut(col) {
            Some(ints) => ints.append_value(val),
            None => self.refuse(col),
        }
    }

    fn write_i64(&mut self, _: usize, val: i64) {
        self.bigint.append_value(val);
    }

    fn write_f64(&mut self, _: usize, val: f64) {
        self.float.append_value(val);
    }

    fn write_string(&mut self, col: usize, bytes: Cow<'_, [u8]>, encoding_type: EncodingType) {
        match col.checked_sub(8).and_then(|place| self.texts.get_mut(place)) {
            Some(texts) => texts.append_value(SqlString::decode(&bytes, encoding_type)),
            None => self.refuse(col),
        }
    }

    fn write_decimal(&mut self, _: usize, val: DecimalParts) {
        let magnitude = val.magnitude() as i128;
        self.decimal.append_value(if val.is_positive { magnitude } else { -magnitude });
    }

    fn write_date(&mut self, _: usize, val: SqlDate) {
        self.date.append_value((i64::from(val.get_days()) - EPOCH_DAYS) as i32);
    }

    fn write_datetime2(&mut self, _: usize, val: SqlDateTime2) {
        let microseconds = val.time.time_nanoseconds as i64 / 10;
        self.datetime2.append_value((i64::from(val.days) - EPOCH_DAYS) * DAY_MICROSECONDS + microseconds);
    }

    fn end_row(&mut self) {}

    // The table has none of these.

    fn write_u8(&mut self, col: usize, _: u8) {
        self.refuse(col);
    }

    fn write_i16(&mut self, col: usize, _: i16) {
        self.refuse(col);
    }

    fn write_f32(&mut self, col: usize, _: f32) {
        self.refuse(col);
    }

    fn write_bytes(&mut self, col: usize, _: Cow<'_, [u8]>) {
        self.refuse(col);
    }

    fn write_numeric(&mut self, col: usize, _: DecimalParts) {
        self.refuse(col);
    }

    fn write_time(&mut self, col: usize, _: SqlTime) {
        self.refuse(col);
    }

    fn write_datetime(&mut self, col: usize, _: SqlDateTime) {
        self.refuse(col);
    }

    fn write_smalldatetime(&mut self, col: usize, _: SqlSmallDateTime) {
        self.refuse(col);
    }

    fn write_datetimeoffset(&mut self, col: usize, _: SqlDateTimeOffset) {
        self.refuse(col);
    }

    fn write_money(&mut self, col: usize, _: SqlMoney) {
        self.refuse(col);
    }

    fn write_smallmoney(&mut self, col: usize, _: SqlSmallMoney) {
        self.refuse(col);
    }

    fn write_uuid(&mut self, col: usize, _: Uuid) {
        self.refuse(col);
    }

    fn write_xml(&mut self, col: usize, _: SqlXml) {
        self.refuse(col);
    }

    fn write_json(&mut self, col: usize, _: SqlJson) {
        self.refuse(col);
    }

    fn write_vector(&mut self, col: usize, _: SqlVector) {
        self.refuse(col);
    }
}
