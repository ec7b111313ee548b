//! One column of a host file on its way into Arrow: a loop over a chunk's cells for each kind of value.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType, UInt8Type, UInt64Type,
};
use rows::Form;
use rows::text::TextError;
use rows::text::spelling::{NumberSpelling, TextSpelling};
use tds::{Column, Length, SqlType, Vector, VectorError, vector};

use super::cells::Cells;
use super::format_file::HostField;
use super::regional::RegionalFormat;
use super::text_column::{TextColumn, TextForm};
use super::value::{Fault, Remark, hex, moment_text, native, number_text};
use super::{Deviation, HostType};
use crate::FormatError;

/// Collects the values of one column.
pub(super) trait ColumnFiller: Send {
    /// Appends one value for each cell. A cell without a value is reported, and its place in the column has no
    /// meaning.
    fn fill(&mut self, cells: Cells<'_>, report: &mut Report);

    /// Returns the values so far and starts the next array.
    fn finish(&mut self) -> Result<ArrayRef, FormatError>;
}

/// Faults and deviations in one column of one chunk.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Row of the chunk and what is wrong there.
    pub(super) faults: Vec<(u32, Fault)>,
    /// Row of the chunk and what the original would not have mentioned.
    pub(super) remarks: Vec<(u32, Deviation)>,
}

/// Creates the filler for a field that is loaded into `column`. `text` is the encoding of text fields,
/// `regional` their form of money, dates and times.
pub(super) fn filler(
    field: &HostField,
    column: &Column,
    text: TextForm,
    regional: Option<&Arc<RegionalFormat>>,
    spelling: Option<TextSpelling>,
) -> Box<dyn ColumnFiller> {
    let sql_type = column.sql_type();
    if field.host_type.is_text() {
        let spelling = spelling.filter(|_| regional.is_none());
        let numbers = spelling.and_then(|spelling| spelling.numbers).filter(|_| is_number(sql_type));
        let source = match regional.filter(|_| is_money(sql_type) || is_moment(sql_type)) {
            Some(format) => Source::Regional {
                form: text,
                format: Arc::clone(format),
                is_money: is_money(sql_type),
                scratch: String::new(),
            },
            None => match numbers {
                Some(numbers) => Source::Numbers { form: text, numbers, scratch: String::new() },
                None => Source::Text { form: text, scratch: Vec::new() },
            },
        };
        return textual(source, column, text, spelling);
    }
    match same_kind(field.host_type, sql_type) {
        true => native_filler(field.host_type, sql_type),
        // Any other pair: format as text, then parse.
        false => {
            textual(Source::Spelled { host_type: field.host_type, scratch: Vec::new() }, column, text, None)
        }
    }
}

/// Creates the filler for a text field that stays text.
pub(super) fn text_filler(column: &Column, form: TextForm) -> Box<dyn ColumnFiller> {
    Box::new(TextColumn::unlimited(column, form))
}

/// Source of a value's text.
enum Source {
    Text { form: TextForm, scratch: Vec<u8> },
    Spelled { host_type: HostType, scratch: Vec<u8> },
    Regional { form: TextForm, format: Arc<RegionalFormat>, is_money: bool, scratch: String },
    Numbers { form: TextForm, numbers: NumberSpelling, scratch: String },
}

impl Source {
    /// Returns the text, in ASCII as far as it is.
    #[inline]
    fn text<'a>(&'a mut self, cell: &'a [u8]) -> Result<&'a [u8], Fault> {
        match self {
            Self::Text { form: TextForm::Wide, scratch } => {
                scratch.clear();
                let (units, _) = cell.as_chunks::<2>();
                for unit in units {
                    match u16::from_le_bytes(*unit) {
                        ascii @ 0..0x80 => scratch.push(ascii as u8),
                        _ => return Err(Fault::Syntax),
                    }
                }
                Ok(scratch)
            }
            Self::Text { .. } => Ok(cell),
            Self::Regional { form, format, is_money, scratch } => {
                let text = form.decode(cell).ok_or(Fault::Syntax)?;
                let plain = if *is_money { format.plain_money(&text) } else { format.plain_moment(&text) };
                *scratch = plain.ok_or(if *is_money { Fault::Syntax } else { Fault::Date })?;
                Ok(scratch.as_bytes())
            }
            Self::Numbers { form, numbers, scratch } => {
                let text = form.decode(cell).ok_or(Fault::Syntax)?;
                scratch.clear();
                match numbers.plain(&text) {
                    Ok(plain) => scratch.push_str(&plain),
                    // Blanks alone are judged as they are.
                    Err(TextError::Empty) => scratch.push_str(&text),
                    Err(_) => return Err(Fault::Syntax),
                }
                Ok(scratch.as_bytes())
            }
            Self::Spelled { host_type, scratch } => {
                scratch.clear();
                native::spell(*host_type, cell, scratch);
                Ok(scratch)
            }
        }
    }
}

fn is_number(sql_type: &SqlType) -> bool {
    use SqlType as T;
    let is_whole = matches!(sql_type, T::TinyInt | T::SmallInt | T::Int | T::BigInt);
    let is_exact = matches!(sql_type, T::Decimal { .. } | T::Numeric { .. } | T::Money | T::SmallMoney);
    is_whole || is_exact || matches!(sql_type, T::Real | T::Float)
}

fn is_money(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Money | SqlType::SmallMoney)
}

fn is_moment(sql_type: &SqlType) -> bool {
    use SqlType as T;
    matches!(
        sql_type,
        T::Date
            | T::Time { .. }
            | T::DateTime
            | T::SmallDateTime
            | T::DateTime2 { .. }
            | T::DateTimeOffset { .. }
    )
}

/// Creates the filler for values read from text.
fn textual(
    mut source: Source,
    column: &Column,
    form: TextForm,
    spelling: Option<TextSpelling>,
) -> Box<dyn ColumnFiller> {
    let sql_type = column.sql_type().clone();
    let meridiem = !matches!(source, Source::Text { form: TextForm::Wide, .. });
    let done = |value| (value, None);
    macro_rules! integers {
        ($arrow:ty, $native:ty) => {
            nullable_primitive::<$arrow, _>(data_type(&sql_type), move |cell| {
                let (low, high) = (<$native>::MIN as i64, <$native>::MAX as i64);
                let text = source.text(cell)?;
                if number_text::is_blank(text) {
                    return Ok((None, Some(Deviation::BlankNumber)));
                }
                // `integer` has checked the range, so the cast keeps the value.
                number_text::integer(text, low, high).map(|value| (Some(value as $native), None))
            })
        };
    }
    match sql_type.clone() {
        SqlType::Bit => Box::new(Bits {
            builder: BooleanBuilder::new(),
            convert: move |cell: &[u8]| number_text::bit(source.text(cell)?).map(done),
        }),
        SqlType::TinyInt => integers!(UInt8Type, u8),
        SqlType::SmallInt => integers!(Int16Type, i16),
        SqlType::Int => integers!(Int32Type, i32),
        SqlType::BigInt => integers!(Int64Type, i64),
        SqlType::Real => {
            primitive::<Float32Type, _>(DataType::Float32, move |cell| number_text::real(source.text(cell)?))
        }
        SqlType::Float => {
            primitive::<Float64Type, _>(DataType::Float64, move |cell| number_text::float(source.text(cell)?))
        }
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            primitive::<Decimal128Type, _>(data_type(&sql_type), move |cell| {
                number_text::decimal(source.text(cell)?, precision, scale).map(|value| (value, None))
            })
        }
        SqlType::Money | SqlType::SmallMoney => {
            let (low, high) = match sql_type {
                SqlType::Money => (i64::MIN, i64::MAX),
                _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
            };
            primitive::<Decimal128Type, _>(data_type(&sql_type), move |cell| {
                number_text::money(source.text(cell)?, meridiem, low, high)
                    .map(|value| (i128::from(value), None))
            })
        }
        SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. } => {
            let kind = sql_type.clone();
            instants(&sql_type, move |cell| {
                let text = source.text(cell)?;
                if let Some(spelling) = spelling {
                    return moment_text::by_load_rules(text, &kind, spelling).map(|value| (value, None));
                }
                match kind {
                    SqlType::Date => moment_text::date(text).map(|value| (value, None)),
                    SqlType::Time { .. } => moment_text::time(text).map(|value| (value, None)),
                    SqlType::DateTimeOffset { .. } => {
                        moment_text::datetimeoffset(text).map(|value| (value, None))
                    }
                    _ => moment_text::datetime2(text, meridiem),
                }
            })
        }
        SqlType::UniqueIdentifier => fixed_bytes::<16>(move |cell| hex::guid(source.text(cell)?)),
        SqlType::RowVersion => primitive::<UInt64Type, _>(DataType::UInt64, move |cell| {
            let mut bytes = Vec::with_capacity(8);
            let remark = hex::append(source.text(cell)?, 8, &mut bytes)?;
            bytes.resize(8, 0);
            Ok((bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)), remark))
        }),
        SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image | SqlType::Udt { .. } => {
            let limit = byte_limit(&sql_type);
            Box::new(Bytes {
                builder: BinaryBuilder::new(),
                scratch: Vec::new(),
                convert: move |cell: &[u8], out: &mut Vec<u8>| hex::append(source.text(cell)?, limit, out),
            })
        }
        SqlType::Vector { dimensions, base } => Box::new(Bytes {
            builder: BinaryBuilder::new(),
            scratch: Vec::new(),
            convert: move |cell: &[u8], out: &mut Vec<u8>| {
                let text = std::str::from_utf8(source.text(cell)?).map_err(|_| Fault::Syntax)?;
                let vector = Vector::parse(text, base).map_err(vector_fault)?;
                if vector.dimensions() != dimensions {
                    return Err(Fault::Malformed(OTHER_DIMENSIONS));
                }
                out.extend(vector.to_bytes());
                Ok(None)
            },
        }),
        SqlType::SqlVariant => Box::new(Bytes {
            builder: BinaryBuilder::new(),
            scratch: Vec::new(),
            convert: move |cell: &[u8], out: &mut Vec<u8>| variant_text(form, &mut source, cell, out),
        }),
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::NChar { .. }
        | SqlType::NVarChar { .. }
        | SqlType::Text
        | SqlType::NText
        | SqlType::Xml
        | SqlType::Json => match source {
            Source::Text { .. } | Source::Regional { .. } | Source::Numbers { .. } => {
                Box::new(TextColumn::new(column, form))
            }
            Source::Spelled { host_type, .. } => Box::new(TextColumn::spelled(column, host_type)),
        },
    }
}

const OTHER_DIMENSIONS: &str = "a vector of another number of dimensions";

/// Names the fault of a vector in the words for fields.
fn vector_fault(error: VectorError) -> Fault {
    match error {
        VectorError::Text { .. } => Fault::Syntax,
        VectorError::OutOfRange { .. } => Fault::Range,
        VectorError::Dimensions { .. } | VectorError::Count { .. } => Fault::Malformed(OTHER_DIMENSIONS),
        VectorError::Base { .. } => Fault::Malformed("a vector of another base type"),
        VectorError::NotFinite { .. } => Fault::Malformed("a vector with NaN or infinity"),
        VectorError::Malformed { length } => Fault::Length(length),
    }
}

/// Encodes a sql_variant of text: varchar if its code page has the characters, else nvarchar (MS-TDS
/// 2.2.5.5.4).
fn variant_text(
    form: TextForm,
    source: &mut Source,
    cell: &[u8],
    out: &mut Vec<u8>,
) -> Result<Remark, Fault> {
    let text = match source {
        Source::Text { .. } | Source::Regional { .. } | Source::Numbers { .. } => {
            form.decode(cell).ok_or(Fault::Refused(Deviation::InvalidText))?
        }
        Source::Spelled { .. } => String::from_utf8_lossy(source.text(cell)?),
    };
    let collation = tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    out.extend_from_slice(&[0xA7, 7]);
    out.extend_from_slice(&collation.to_bytes());
    out.extend_from_slice(&(VARIANT_TEXT_BYTES_MAX as u16).to_le_bytes());
    let head = out.len();
    if collation.code_page().encode_into(&text, out).is_err() {
        out.truncate(head);
        if let Some(base_type) = out.first_mut() {
            *base_type = 0xE7;
        }
        out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
    if out.len() - head > VARIANT_TEXT_BYTES_MAX { Err(Fault::TooLong) } else { Ok(None) }
}

const VARIANT_TEXT_BYTES_MAX: usize = 8000;

/// Returns true if native values of this host type need no more than a cast.
fn same_kind(host_type: HostType, sql_type: &SqlType) -> bool {
    use HostType as H;
    match sql_type {
        SqlType::Bit => host_type == H::Bit,
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            matches!(host_type, H::TinyInt | H::SmallInt | H::Int | H::BigInt)
        }
        SqlType::Real => host_type == H::Flt4,
        SqlType::Float => matches!(host_type, H::Flt4 | H::Flt8),
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => matches!(host_type, H::Decimal | H::Numeric),
        SqlType::Money => matches!(host_type, H::Money | H::Money4),
        SqlType::SmallMoney => host_type == H::Money4,
        SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. } => matches!(
            host_type,
            H::Date | H::Time | H::DateTime | H::DateTim4 | H::DateTime2 | H::DateTimeOffset
        ),
        SqlType::UniqueIdentifier => host_type == H::UniqueId,
        SqlType::SqlVariant => host_type == H::Variant,
        SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Image
        | SqlType::RowVersion
        | SqlType::Vector { .. }
        | SqlType::Udt { .. } => matches!(host_type, H::Binary | H::Image | H::Udt),
        _ => false,
    }
}

/// Creates the filler for values read from native bytes of the column's own kind.
fn native_filler(host_type: HostType, sql_type: &SqlType) -> Box<dyn ColumnFiller> {
    macro_rules! integers {
        ($arrow:ty, $native:ty, $same:pat) => {
            match host_type {
                $same => primitive::<$arrow, _>(data_type(sql_type), |cell| {
                    let (bytes, remark) = native::sized(cell)?;
                    Ok((<$native>::from_le_bytes(bytes), remark))
                }),
                _ => primitive::<$arrow, _>(data_type(sql_type), move |cell| {
                    let (value, remark) = native::integer(host_type, cell)?;
                    Ok((<$native>::try_from(value).map_err(|_| Fault::Range)?, remark))
                }),
            }
        };
    }
    match sql_type {
        SqlType::Bit => Box::new(Bits {
            builder: BooleanBuilder::new(),
            convert: |cell: &[u8]| {
                let ([value], remark) = native::sized(cell)?;
                Ok((value != 0, remark.or((value > 1).then_some(Deviation::BitBeyondOne))))
            },
        }),
        SqlType::TinyInt => integers!(UInt8Type, u8, HostType::TinyInt),
        SqlType::SmallInt => integers!(Int16Type, i16, HostType::SmallInt),
        SqlType::Int => integers!(Int32Type, i32, HostType::Int),
        SqlType::BigInt => integers!(Int64Type, i64, HostType::BigInt),
        SqlType::Real => primitive::<Float32Type, _>(DataType::Float32, |cell| {
            let (bytes, remark) = native::sized(cell)?;
            let value = f32::from_le_bytes(bytes);
            Ok((value, remark.or((!value.is_finite()).then_some(Deviation::NotFinite))))
        }),
        SqlType::Float => primitive::<Float64Type, _>(DataType::Float64, move |cell| {
            let (value, remark) = match host_type {
                HostType::Flt4 => {
                    let (bytes, remark) = native::sized(cell)?;
                    (f64::from(f32::from_le_bytes(bytes)), remark)
                }
                _ => {
                    let (bytes, remark) = native::sized(cell)?;
                    (f64::from_le_bytes(bytes), remark)
                }
            };
            Ok((value, remark.or((!value.is_finite()).then_some(Deviation::NotFinite))))
        }),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let (precision, scale) = (*precision, *scale);
            primitive::<Decimal128Type, _>(data_type(sql_type), move |cell| {
                let (decimal, odd) = native::decimal(cell)?;
                let (value, cut) = native::rescaled(decimal, precision, scale)?;
                Ok((value, odd.or(cut)))
            })
        }
        SqlType::Money | SqlType::SmallMoney => {
            primitive::<Decimal128Type, _>(data_type(sql_type), move |cell| match host_type {
                HostType::Money4 => {
                    let (bytes, remark) = native::sized(cell)?;
                    Ok((i128::from(i32::from_le_bytes(bytes)), remark))
                }
                _ => {
                    let (bytes, remark) = native::sized(cell)?;
                    Ok((i128::from(native::money(bytes)), remark))
                }
            })
        }
        SqlType::UniqueIdentifier => fixed_bytes::<16>(native::uniqueidentifier),
        SqlType::RowVersion => primitive::<UInt64Type, _>(DataType::UInt64, |cell| {
            let (bytes, remark) = native::sized(cell)?;
            Ok((u64::from_be_bytes(bytes), remark))
        }),
        &SqlType::Vector { dimensions, base } => Box::new(Bytes {
            builder: BinaryBuilder::new(),
            scratch: Vec::new(),
            convert: move |cell: &[u8], out: &mut Vec<u8>| {
                vector::check(cell, base, dimensions).map_err(vector_fault)?;
                out.extend_from_slice(cell);
                Ok(None)
            },
        }),
        SqlType::SqlVariant => Box::new(Bytes {
            builder: BinaryBuilder::new(),
            scratch: Vec::new(),
            convert: |cell: &[u8], out: &mut Vec<u8>| {
                // Base type and count of properties stand before every value.
                let [_, properties, rest @ ..] = cell else { return Err(Fault::Length(cell.len())) };
                if rest.len() < usize::from(*properties) {
                    return Err(Fault::Malformed("a sql_variant ends inside its properties"));
                }
                out.extend_from_slice(cell);
                Ok(None)
            },
        }),
        SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image | SqlType::Udt { .. } => {
            let limit = byte_limit(sql_type);
            Box::new(Bytes {
                builder: BinaryBuilder::new(),
                scratch: Vec::new(),
                convert: move |cell: &[u8], out: &mut Vec<u8>| {
                    if cell.len() > limit {
                        return Err(Fault::TooLong);
                    }
                    out.extend_from_slice(cell);
                    Ok(None)
                },
            })
        }
        _ => instants(sql_type, move |cell| native::instant(host_type, cell)),
    }
}

/// Creates the filler for dates and times in the exact form of `sql_type`.
fn instants(
    sql_type: &SqlType,
    mut read: impl FnMut(&[u8]) -> Result<(super::value::instant::Instant, Remark), Fault> + Send + 'static,
) -> Box<dyn ColumnFiller> {
    macro_rules! times {
        ($arrow:ty, $method:ident, $($scale:expr)?) => {
            primitive::<$arrow, _>(data_type(sql_type), move |cell| {
                let (instant, remark) = read(cell)?;
                Ok((instant.$method($($scale)?)? as _, remark))
            })
        };
    }
    match *sql_type {
        SqlType::Time { scale: scale @ 0 } => times!(Time32SecondType, time, scale),
        SqlType::Time { scale: scale @ 1..=3 } => times!(Time32MillisecondType, time, scale),
        SqlType::Time { scale: scale @ 4..=6 } => times!(Time64MicrosecondType, time, scale),
        SqlType::Time { scale } => times!(Time64NanosecondType, time, scale),
        SqlType::DateTime => times!(TimestampMillisecondType, datetime,),
        SqlType::SmallDateTime => times!(TimestampSecondType, smalldatetime,),
        SqlType::DateTime2 { scale: scale @ 0 } => times!(TimestampSecondType, timestamp, scale),
        SqlType::DateTime2 { scale: scale @ 1..=3 } => times!(TimestampMillisecondType, timestamp, scale),
        SqlType::DateTime2 { scale: scale @ 4..=6 } => times!(TimestampMicrosecondType, timestamp, scale),
        SqlType::DateTime2 { .. } => fixed_bytes::<8>(move |cell| {
            let (instant, remark) = read(cell)?;
            Ok((instant.exact()?, remark))
        }),
        SqlType::DateTimeOffset { scale } => fixed_bytes::<10>(move |cell| {
            let (instant, remark) = read(cell)?;
            Ok((instant.exact_offset(scale)?, remark))
        }),
        _ => primitive::<Date32Type, _>(DataType::Date32, move |cell| {
            let (instant, remark) = read(cell)?;
            Ok((instant.date(), remark))
        }),
    }
}

/// Returns the length of the type's longest value in bytes.
pub(super) fn byte_limit(sql_type: &SqlType) -> usize {
    match sql_type {
        SqlType::Binary { length } => usize::from(*length),
        SqlType::VarBinary { length: Length::Units(length) } => usize::from(*length),
        SqlType::RowVersion => 8,
        _ => usize::MAX,
    }
}

fn data_type(sql_type: &SqlType) -> DataType {
    rows::mapping::data_type_for(sql_type, &Form::Exact)
}

struct Primitive<T: ArrowPrimitiveType, F> {
    builder: PrimitiveBuilder<T>,
    convert: F,
}

fn primitive<T, F>(data_type: DataType, convert: F) -> Box<dyn ColumnFiller>
where
    T: ArrowPrimitiveType,
    F: FnMut(&[u8]) -> Result<(T::Native, Remark), Fault> + Send + 'static,
{
    let mut convert = convert;
    nullable_primitive::<T, _>(data_type, move |cell| {
        convert(cell).map(|(value, remark)| (Some(value), remark))
    })
}

/// Creates a filler for values of one width, where a cell may stand for NULL.
fn nullable_primitive<T, F>(data_type: DataType, convert: F) -> Box<dyn ColumnFiller>
where
    T: ArrowPrimitiveType,
    F: FnMut(&[u8]) -> Result<(Option<T::Native>, Remark), Fault> + Send + 'static,
{
    Box::new(Primitive { builder: PrimitiveBuilder::<T>::new().with_data_type(data_type), convert })
}

impl<T, F> ColumnFiller for Primitive<T, F>
where
    T: ArrowPrimitiveType,
    F: FnMut(&[u8]) -> Result<(Option<T::Native>, Remark), Fault> + Send,
{
    fn fill(&mut self, cells: Cells<'_>, report: &mut Report) {
        for (row, cell) in (0_u32..).zip(cells.iter()) {
            let Some(cell) = cell else {
                self.builder.append_null();
                continue;
            };
            match (self.convert)(cell) {
                Ok((value, remark)) => {
                    self.builder.append_option(value);
                    report.remarks.extend(remark.map(|remark| (row, remark)));
                }
                Err(fault) => {
                    self.builder.append_null();
                    report.faults.push((row, fault));
                }
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, FormatError> {
        Ok(Arc::new(self.builder.finish()))
    }
}

struct Bits<F> {
    builder: BooleanBuilder,
    convert: F,
}

impl<F> ColumnFiller for Bits<F>
where
    F: FnMut(&[u8]) -> Result<(bool, Remark), Fault> + Send,
{
    fn fill(&mut self, cells: Cells<'_>, report: &mut Report) {
        for (row, cell) in (0_u32..).zip(cells.iter()) {
            match cell.map(&mut self.convert) {
                None => self.builder.append_null(),
                Some(Ok((value, remark))) => {
                    self.builder.append_value(value);
                    report.remarks.extend(remark.map(|remark| (row, remark)));
                }
                Some(Err(fault)) => {
                    self.builder.append_null();
                    report.faults.push((row, fault));
                }
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, FormatError> {
        Ok(Arc::new(self.builder.finish()))
    }
}

struct FixedBytes<const W: usize, F> {
    builder: FixedSizeBinaryBuilder,
    convert: F,
}

fn fixed_bytes<const W: usize>(
    convert: impl FnMut(&[u8]) -> Result<([u8; W], Remark), Fault> + Send + 'static,
) -> Box<dyn ColumnFiller> {
    Box::new(FixedBytes { builder: FixedSizeBinaryBuilder::new(W as i32), convert })
}

impl<const W: usize, F> ColumnFiller for FixedBytes<W, F>
where
    F: FnMut(&[u8]) -> Result<([u8; W], Remark), Fault> + Send,
{
    fn fill(&mut self, cells: Cells<'_>, report: &mut Report) {
        for (row, cell) in (0_u32..).zip(cells.iter()) {
            match cell.map(&mut self.convert) {
                None => self.builder.append_null(),
                // The width is the array's own.
                Some(Ok((value, remark))) => {
                    let _ = self.builder.append_value(value);
                    report.remarks.extend(remark.map(|remark| (row, remark)));
                }
                Some(Err(fault)) => {
                    self.builder.append_null();
                    report.faults.push((row, fault));
                }
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, FormatError> {
        Ok(Arc::new(self.builder.finish()))
    }
}

struct Bytes<F> {
    builder: BinaryBuilder,
    scratch: Vec<u8>,
    convert: F,
}

impl<F> ColumnFiller for Bytes<F>
where
    F: FnMut(&[u8], &mut Vec<u8>) -> Result<Remark, Fault> + Send,
{
    fn fill(&mut self, cells: Cells<'_>, report: &mut Report) {
        for (row, cell) in (0_u32..).zip(cells.iter()) {
            let Some(cell) = cell else {
                self.builder.append_null();
                continue;
            };
            self.scratch.clear();
            match (self.convert)(cell, &mut self.scratch) {
                Ok(remark) => {
                    self.builder.append_value(&self.scratch);
                    report.remarks.extend(remark.map(|remark| (row, remark)));
                }
                Err(fault) => {
                    self.builder.append_null();
                    report.faults.push((row, fault));
                }
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, FormatError> {
        Ok(Arc::new(self.builder.finish()))
    }
}
