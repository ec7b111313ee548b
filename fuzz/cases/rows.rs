//! Fuzz cases of the conversion crate: rows come out the same however they arrive, and values survive their text.
//!
//! This file is part of two programs: the fuzzer, and the test of the conversion crate that runs the saved corpus.
//! A case returns whether it accepted the input, which the driver takes as a hint that it is worth changing further.

use arrow::array::{Array, RecordBatch, StringArray};
use rows::column_text::{TextOptions, format_column};
use rows::mapping::{GuidForm, OffsetForm, ReadOptions, Scale7};
use rows::text::{self, DateOrder, ParseOptions, TextError};
use rows::{Decoder, Form, RowDecodeError};
use tds::{
    Column, Direction, Reader, RowLayout, SqlType, TdsVersion, Value, ValuePlace, Writer, decode_columns_of,
    decode_value, encode_value,
};

/// A case: given bytes, panics if something is wrong, else says whether the input was accepted.
pub type Case = fn(&[u8]) -> bool;

/// Name (that of its corpus directory too) and body of every case of this file.
pub const CASES: &[(&str, Case)] = &[("decoder", decoder), ("text", text)];

/// COLMETADATA, then rows: the same batches, or the same error, whether they arrive whole or in two pieces, and whatever
/// the size of the batches. Compared with the walk that looks at lengths only, and with values decoded one by one.
/// The first bytes choose direction and form, rows of a batch, and the split.
pub fn decoder(data: &[u8]) -> bool {
    let Some((choice, bytes)) = data.split_first_chunk::<4>() else { return false };
    let direction = match choice[0] & 1 {
        0 => Direction::ServerToClient,
        _ => Direction::ClientToServer,
    };
    let form = form_of(choice[0] >> 1);
    let mut r = Reader::new(bytes);
    let columns = decode_columns_of(&mut r, direction, TdsVersion::V7_4);
    let Ok(Some(columns)) = columns else { return false };
    let rows = &bytes[r.position()..];
    // Each column takes room for the cells of a block; hundreds of columns show nothing that these do not.
    if columns.len() > 300 || Decoder::new(&columns, form.clone()).is_err() {
        return false;
    }
    let whole = decoded(&columns, &form, rows, rows.len(), usize::MAX);
    let batch_rows = usize::from(choice[1]);
    let split = usize::from(u16::from_le_bytes([choice[2], choice[3]])).min(rows.len());
    let cut = decoded(&columns, &form, rows, split, batch_rows);

    let span = RowLayout::new(&columns).complete_rows(rows);
    match (&whole, &cut) {
        (Ok((batch, consumed)), Ok(cut)) => {
            assert_eq!((batch, consumed), (&cut.0, &cut.1), "in pieces");
            let span = span.expect("rows that can be decoded can be passed over");
            assert_eq!((span.rows, span.bytes), (batch.num_rows() as u64, *consumed));
            check_cells(&columns, batch, &rows[..*consumed]);
            for (array, field) in batch.columns().iter().zip(batch.schema().fields()) {
                format_column(array, field, &TextOptions::default())
                    .expect("a value of SQL Server has a text");
            }
            batch.num_rows() > 0
        }
        (Err(error), Err(cut)) => {
            assert_eq!(error, cut, "in pieces");
            false
        }
        _ => panic!("{whole:?} becomes {cut:?} in pieces"),
    }
}

/// All rows at the head of `rows`, seen up to `split` at first, and their length in bytes.
fn decoded(
    columns: &[Column],
    form: &Form,
    rows: &[u8],
    split: usize,
    batch_rows: usize,
) -> Result<(RecordBatch, usize), RowDecodeError> {
    let mut decoder = Decoder::new(columns, form.clone()).expect("made before").with_batch_rows(batch_rows);
    let (mut at, mut seen, mut batches) = (0, split, Vec::new());
    loop {
        let consumed = decoder.decode(&rows[at..seen])?;
        at += consumed;
        if decoder.is_full() {
            batches.push(decoder.take_batch().expect("decoded rows"));
        } else if seen == rows.len() {
            break;
        } else {
            seen = rows.len();
        }
    }
    batches.push(decoder.take_batch().expect("decoded rows"));
    let batch = arrow::compute::concat_batches(&decoder.schema(), &batches).expect("of one schema");
    assert_eq!(decoder.rows_decoded(), batch.num_rows() as u64);
    Ok((batch, at))
}

/// What was decoded column by column can be decoded value by value, and the same cells are NULL.
fn check_cells(columns: &[Column], batch: &RecordBatch, rows: &[u8]) {
    let mut r = Reader::new(rows);
    for row in 0..batch.num_rows() {
        let is_compressed = r.u8("row token") == Ok(tds::row_span::NBCROW);
        let bitmap = match is_compressed {
            true => r.take(columns.len().div_ceil(8), "NULL bitmap").expect("a whole row"),
            false => &[],
        };
        for (index, column) in columns.iter().enumerate() {
            let left_out = bitmap.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
            let value = match left_out {
                true => Value::Null,
                false => decode_value(&mut r, &column.type_info, ValuePlace::Row)
                    .unwrap_or_else(|error| panic!("row {row}, column {index}: {error}")),
            };
            assert_eq!(value.is_null(), batch.column(index).is_null(row), "row {row}, column {index}");
        }
    }
}

fn form_of(choice: u8) -> Form {
    match choice % 4 {
        0 => Form::Exact,
        1 => Form::default(),
        2 => Form::Arrow(ReadOptions {
            scale_7: Scale7::Microseconds,
            date_time_offset: OffsetForm::Instant,
            guid: GuidForm::Text,
        }),
        _ => Form::Arrow(ReadOptions {
            scale_7: Scale7::Text,
            date_time_offset: OffsetForm::Text,
            guid: GuidForm::Bytes,
        }),
    }
}

/// A value in text. The first three bytes choose the type, what may be lost, and precision or scale. What parses must
/// print in a spelling that parses, with nothing to lose, as the same value.
pub fn text(data: &[u8]) -> bool {
    let Some((choice, bytes)) = data.split_first_chunk::<3>() else { return false };
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let sql_type = type_of(choice[0], choice[2]);
    let options = ParseOptions {
        allow_rounding: choice[1] & 1 != 0,
        drop_time_zone: choice[1] & 2 != 0,
        date_order: match choice[1] >> 2 & 3 {
            0 => None,
            1 => Some(DateOrder::DayMonthYear),
            _ => Some(DateOrder::MonthDayYear),
        },
        year_cutoff: (choice[1] & 16 != 0).then_some(2049),
    };
    let Ok(value) = parse(text, &sql_type, &options) else { return false };
    let printed = value.to_string();
    assert_eq!(parse(&printed, &sql_type, &ParseOptions::default()), Ok(value.clone()), "{printed:?}");

    // The same through a row and the column's own writer.
    for options in [TextOptions::default(), TextOptions::bcp()] {
        let printed = through_a_column(&value, &sql_type, &options);
        let again = parse(printed.value(0), &sql_type, &ParseOptions::default());
        assert_eq!(again, Ok(value.clone()), "{:?}", printed.value(0));
    }
    true
}

fn through_a_column(value: &Value, sql_type: &SqlType, options: &TextOptions) -> StringArray {
    let column = Column::new("c", sql_type.clone(), true, None);
    let mut w = Writer::new();
    w.u8(tds::row_span::ROW);
    encode_value(value, &column.type_info, &mut w, ValuePlace::Row);
    let row = w.finish().expect("a value of the type");
    let mut decoder = Decoder::new(&[column], Form::Exact).expect("a column that can be decoded");
    assert_eq!(decoder.decode(&row), Ok(row.len()));
    let batch = decoder.take_batch().expect("one row");
    format_column(batch.column(0), batch.schema().field(0), options)
        .expect("a value of SQL Server has a text")
}

fn type_of(kind: u8, size: u8) -> SqlType {
    let scale = size % 8;
    let precision = 1 + size % 38;
    match kind % 18 {
        0 => SqlType::Bit,
        1 => SqlType::TinyInt,
        2 => SqlType::SmallInt,
        3 => SqlType::Int,
        4 => SqlType::BigInt,
        5 => SqlType::Real,
        6 => SqlType::Float,
        7 => SqlType::SmallMoney,
        8 => SqlType::Money,
        9 => SqlType::Decimal { precision, scale: (size / 38 * 7).min(precision) },
        10 => SqlType::Date,
        11 => SqlType::Time { scale },
        12 => SqlType::DateTime2 { scale },
        13 => SqlType::DateTimeOffset { scale },
        14 => SqlType::DateTime,
        15 => SqlType::SmallDateTime,
        16 => SqlType::UniqueIdentifier,
        _ => SqlType::VarBinary { length: tds::Length::Max },
    }
}

fn parse(text: &str, sql_type: &SqlType, options: &ParseOptions) -> Result<Value, TextError> {
    use text::{binary, bit, datetime, guid, money, number};
    Ok(match *sql_type {
        SqlType::Bit => Value::Bit(bit::bit(text)?),
        SqlType::TinyInt => Value::TinyInt(number::tinyint(text)?),
        SqlType::SmallInt => Value::SmallInt(number::smallint(text)?),
        SqlType::Int => Value::Int(number::int(text)?),
        SqlType::BigInt => Value::BigInt(number::bigint(text)?),
        SqlType::Real => Value::Real(number::real(text)?),
        SqlType::Float => Value::Float(number::float(text)?),
        SqlType::SmallMoney => Value::SmallMoney(money::smallmoney(text, options)?),
        SqlType::Money => Value::Money(money::money(text, options)?),
        SqlType::Decimal { precision, scale } => {
            let units = number::decimal(text, precision, scale, options)?;
            Value::Decimal { magnitude: units.unsigned_abs(), negative: units < 0, precision, scale }
        }
        SqlType::Date => Value::Date(datetime::date(text, options)?),
        SqlType::Time { scale } => Value::Time { ticks: datetime::time(text, scale, options)?, scale },
        SqlType::DateTime2 { scale } => {
            let (days, ticks) = datetime::datetime2(text, scale, options)?;
            Value::DateTime2 { days, ticks, scale }
        }
        SqlType::DateTimeOffset { scale } => {
            let (days, ticks, offset_minutes) = datetime::datetimeoffset(text, scale, options)?;
            Value::DateTimeOffset { days, ticks, scale, offset_minutes }
        }
        SqlType::DateTime => {
            let (days, ticks) = datetime::datetime(text, options)?;
            Value::DateTime { days, ticks }
        }
        SqlType::SmallDateTime => {
            let (days, minutes) = datetime::smalldatetime(text, options)?;
            Value::SmallDateTime { days, minutes }
        }
        SqlType::UniqueIdentifier => Value::Guid(guid::swap_order(guid::guid(text)?)),
        _ => Value::Binary(binary::binary(text)?),
    })
}
