//! Converts one column of a batch to the bytes of a host field, row after row.

use std::borrow::Cow;
use std::io::Write as _;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Field, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType, UInt8Type, UInt64Type,
};
use rows::column_text::{TextOptions, format_column};
use rows::text::calendar::{DAYS_TO_1900, DAYS_TO_1970};
use rows::text::guid;
use tds::{BcpText, CodePage, Length, SqlType, TypeInfo, Value, ValuePlace, Vector};

use super::format_file::HostField;
use super::layout::NativeVersion;
use super::text_column::TextForm;
use super::value::hex;
use super::value::instant::{TICKS_PER_DAY, TICKS_PER_MINUTE};
use super::write_options::{FixedWidth, HostWriteOptions, LongValues, UnmappableText};
use super::{HostType, transliteration};
use crate::{FormatError, Reason};

/// The bytes of a field in every row of a batch.
#[derive(Debug, Default)]
pub(super) struct Lane {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Row (from 0) of the first value of which characters were replaced, and how many there were.
    pub(super) replaced: Option<(usize, u64)>,
}

/// Writes the values of a column as fields.
pub(super) struct LaneWriter {
    field: HostField,
    sql_type: SqlType,
    text: TextForm,
    options: HostWriteOptions,
}

impl Lane {
    /// Returns the field in `row`.
    #[inline]
    pub(super) fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).and_then(|row| self.ends.get(row)).copied().unwrap_or(0);
        let end = self.ends.get(row).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Counts the rows in the lane.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the bytes of all rows, without what stands between them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.replaced = None;
    }
}

/// A value that cannot be written: its row, from 0, and the reason.
type Misfit = (usize, Reason);

impl LaneWriter {
    pub(super) fn new(
        field: HostField,
        sql_type: SqlType,
        text: TextForm,
        options: &HostWriteOptions,
    ) -> Self {
        Self { field, sql_type, text, options: options.clone() }
    }

    /// Replaces the lane's content by this column.
    pub(super) fn write(
        &self,
        array: &ArrayRef,
        schema_field: &Field,
        lane: &mut Lane,
    ) -> Result<(), FormatError> {
        lane.clear();
        lane.ends.reserve(array.len());
        if self.field.host_type.is_text() {
            let spelled = self.spell(array, schema_field)?;
            self.write_text(&spelled, lane)
        } else {
            self.write_native(array, lane)
        }
        .map_err(|(row, reason)| FormatError::new(reason).in_row(row as u64))
    }

    /// Writes a field that no column fills: nothing, or as many blanks or zeros as it must have.
    pub(super) fn write_absent(&self, rows: usize, lane: &mut Lane) {
        lane.clear();
        for _ in 0..rows {
            if self.field.prefix_length > 0 {
                lane.bytes.extend(std::iter::repeat_n(0xFF, usize::from(self.field.prefix_length)));
            } else if let Some(size) = self.field.host_type.size_bytes() {
                lane.bytes.extend(std::iter::repeat_n(0, size));
            } else if self.field.terminator.is_empty() {
                self.pad(0, lane);
            }
            lane.ends.push(lane.bytes.len());
        }
    }

    /// Formats the column as text, in the spelling of `bcp -c`.
    fn spell(&self, array: &ArrayRef, schema_field: &Field) -> Result<StringArray, FormatError> {
        let mut text = String::new();
        let escape = self.options.odbc_escapes
            && matches!(
                self.sql_type,
                SqlType::DateTime | SqlType::SmallDateTime | SqlType::DateTime2 { .. }
            );
        let spelled = match &self.sql_type {
            // Seventeen digits, or eight, though fewer would do.
            SqlType::Float if !self.options.shortest_floats => array
                .as_primitive::<Float64Type>()
                .iter()
                .map(|value| value.map(|value| BcpText(&Value::Float(value)).to_string()))
                .collect(),
            SqlType::Real if !self.options.shortest_floats => array
                .as_primitive::<Float32Type>()
                .iter()
                .map(|value| value.map(|value| self.real(value)))
                .collect(),
            SqlType::SqlVariant => array
                .as_binary::<i32>()
                .iter()
                .map(|value| value.map(variant_text).transpose())
                .collect::<Result<StringArray, FormatError>>()?,
            // The server's spelling has a digit too few for every value.
            SqlType::Vector { .. } => array
                .as_binary::<i32>()
                .iter()
                .map(|value| value.map(vector_text).transpose())
                .collect::<Result<StringArray, FormatError>>()?,
            _ => format_column(array, schema_field, &TextOptions::bcp())
                .map_err(|error| FormatError::new(Reason::Text(error.to_string())))?,
        };
        if !escape {
            return Ok(spelled);
        }
        Ok(spelled
            .iter()
            .map(|value| {
                value.map(|value| {
                    text.clear();
                    text.push_str("{ts '");
                    text.push_str(value);
                    text.push_str("'}");
                    text.clone()
                })
            })
            .collect())
    }

    /// Formats a `real`. In UTF-16 the library spells the type's extremes with ten digits, as C's constants
    /// have them.
    fn real(&self, value: f32) -> String {
        let digits = match value.abs() {
            f32::MAX => "3.402823466E+38",
            f32::MIN_POSITIVE => "1.175494351E-38",
            _ => "",
        };
        if digits.is_empty() || self.text != TextForm::Wide {
            return BcpText(&Value::Real(value)).to_string();
        }
        format!("{}{digits}", if value < 0.0 { "-" } else { "" })
    }

    fn write_text(&self, spelled: &StringArray, lane: &mut Lane) -> Result<(), Misfit> {
        let field = &self.field;
        let wide = field.host_type == HostType::NChar;
        let delimited = field.prefix_length == 0 && !field.terminator.is_empty();
        let fixed = self.is_fixed();
        let trim = self.options.trim_blanks
            && !fixed
            && matches!(self.sql_type, SqlType::Char { .. } | SqlType::NChar { .. });
        for (row, value) in spelled.iter().enumerate() {
            let Some(value) = value else {
                if fixed {
                    self.pad(0, lane);
                } else {
                    lane.bytes.extend(std::iter::repeat_n(0xFF, usize::from(field.prefix_length)));
                }
                lane.ends.push(lane.bytes.len());
                continue;
            };
            let value = if trim { value.trim_end_matches(' ') } else { value };
            let start = lane.bytes.len();
            lane.bytes.extend(std::iter::repeat_n(0, usize::from(field.prefix_length)));
            let head = lane.bytes.len();
            if value.is_empty() && delimited {
                // An empty text is one NUL, since an empty field would be read as NULL.
                lane.bytes.extend_from_slice(if wide { &[0, 0] } else { &[0] });
            } else {
                self.encode(value, row, lane)?;
            }
            let length = lane.bytes.len() - head;
            if fixed {
                let limit = field.length as usize;
                if length > limit {
                    if self.options.fixed_width == FixedWidth::Refuse {
                        return Err((row, Reason::TooWide { length, limit }));
                    }
                    lane.bytes.truncate(head + limit);
                }
                self.pad(length.min(limit), lane);
            } else if field.prefix_length > 0 {
                self.prefix(start, head, row, lane)?;
            }
            lane.ends.push(lane.bytes.len());
        }
        Ok(())
    }

    /// Appends text in the field's encoding.
    #[inline]
    fn encode(&self, value: &str, row: usize, lane: &mut Lane) -> Result<(), Misfit> {
        let page = match self.text {
            TextForm::Wide => {
                if value.is_ascii() {
                    lane.bytes.extend(value.bytes().flat_map(|byte| [byte, 0]));
                } else {
                    lane.bytes.extend(value.encode_utf16().flat_map(u16::to_le_bytes));
                }
                return Ok(());
            }
            TextForm::Page(CodePage::Utf8) => {
                lane.bytes.extend_from_slice(value.as_bytes());
                return Ok(());
            }
            TextForm::Page(page) => Some(page),
            TextForm::Latin1 => None,
        };
        if value.is_ascii() {
            lane.bytes.extend_from_slice(value.as_bytes());
            return Ok(());
        }
        let start = lane.bytes.len();
        if transliteration::encode(value, page, &mut lane.bytes) {
            if self.options.unmappable == UnmappableText::Refuse {
                lane.bytes.truncate(start);
                let lacks = |character: &char| {
                    let mut encoded = Vec::new();
                    transliteration::encode(character.encode_utf8(&mut [0; 4]), page, &mut encoded)
                };
                let character = value.chars().find(lacks).unwrap_or(char::REPLACEMENT_CHARACTER);
                let encoding =
                    page.map_or("code page 28591".to_owned(), |page| format!("code page {}", page.number()));
                return Err((row, Reason::Unmappable { character, encoding }));
            }
            lane.replaced.get_or_insert((row, 0)).1 += 1;
        }
        Ok(())
    }

    /// Pads a value with blanks up to the field's length.
    fn pad(&self, length: usize, lane: &mut Lane) {
        let missing = (self.field.length as usize).saturating_sub(length);
        match self.field.host_type {
            HostType::NChar => lane.bytes.extend(std::iter::repeat_n([b' ', 0], missing / 2).flatten()),
            HostType::Char => lane.bytes.extend(std::iter::repeat_n(b' ', missing)),
            _ => lane.bytes.extend(std::iter::repeat_n(0, missing)),
        }
    }

    /// Writes the length of what stands behind `head` into the prefix at `start`; a long value may be cut in pieces.
    fn prefix(&self, start: usize, head: usize, row: usize, lane: &mut Lane) -> Result<(), Misfit> {
        let width = usize::from(self.field.prefix_length);
        let length = lane.bytes.len() - head;
        if let Some(piece) = self.piece_bytes(length) {
            let value = lane.bytes.split_off(head);
            lane.bytes.truncate(start);
            lane.bytes.extend_from_slice(&(u64::MAX - 1).to_le_bytes());
            for piece in value.chunks(piece) {
                lane.bytes.extend_from_slice(&(piece.len() as u32).to_le_bytes());
                lane.bytes.extend_from_slice(piece);
            }
            lane.bytes.extend_from_slice(&[0; 4]);
            return Ok(());
        }
        // All bits set is NULL.
        if width < 8 && length as u64 >= (1 << (8 * width)) - 1 {
            return Err((row, Reason::TooWide { length, limit: (1 << (8 * width)) - 2 }));
        }
        let prefix = (length as u64).to_le_bytes();
        for (slot, byte) in lane.bytes.iter_mut().skip(start).take(width).zip(prefix) {
            *slot = byte;
        }
        Ok(())
    }

    /// Returns the bytes of a piece, if a value of this length is written in pieces.
    fn piece_bytes(&self, length: usize) -> Option<usize> {
        if self.field.prefix_length != 8 || length <= WHOLE_BYTES_MAX {
            return None;
        }
        let becomes_unicode = self.field.host_type == HostType::NChar
            && matches!(self.sql_type, SqlType::VarChar { length: Length::Max });
        let pieces = match self.options.long_values {
            LongValues::Whole => false,
            LongValues::Pieces => true,
            LongValues::Vendor => becomes_unicode || self.sql_type == SqlType::Xml,
        };
        let bytes = match self.field.host_type {
            HostType::NChar => 1020,
            HostType::Char => 1021,
            _ => 1022,
        };
        pieces.then_some(bytes)
    }

    /// Writes values of a fixed size: prefix (if any) and bytes.
    fn fixed<const W: usize>(
        &self,
        rows: usize,
        lane: &mut Lane,
        mut value: impl FnMut(usize) -> Option<[u8; W]>,
    ) -> Result<(), Misfit> {
        let width = usize::from(self.field.prefix_length);
        lane.bytes.reserve(rows * (W + width));
        let mut prefix = [0; 8];
        prefix[0] = W as u8;
        for row in 0..rows {
            match value(row) {
                Some(bytes) => {
                    lane.bytes.extend_from_slice(prefix.get(..width).unwrap_or_default());
                    lane.bytes.extend_from_slice(&bytes);
                }
                None if width > 0 => lane.bytes.extend(std::iter::repeat_n(0xFF, width)),
                None if self.field.terminator.is_empty() => return Err((row, Reason::NullWithoutPrefix)),
                None => return Err((row, Reason::NullWithoutPrefix)),
            }
            lane.ends.push(lane.bytes.len());
        }
        Ok(())
    }

    /// Returns true if nothing but a length says where a value ends. Without a length the value's bytes are all that is written, as
    /// who writes one value into a file wants them.
    fn is_fixed(&self) -> bool {
        self.field.prefix_length == 0 && self.field.terminator.is_empty() && self.field.length > 0
    }

    /// Writes values of any length: prefix and bytes.
    fn variable<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a [u8]>>,
        lane: &mut Lane,
    ) -> Result<(), Misfit> {
        let width = usize::from(self.field.prefix_length);
        // NULL of a sql_variant is a length of zero.
        let null = if self.field.host_type == HostType::Variant { 0 } else { 0xFF };
        for (row, value) in values.enumerate() {
            match value {
                Some(value) => {
                    let start = lane.bytes.len();
                    lane.bytes.extend(std::iter::repeat_n(0, width));
                    let head = lane.bytes.len();
                    lane.bytes.extend_from_slice(value);
                    if width > 0 {
                        self.prefix(start, head, row, lane)?;
                    } else if self.is_fixed() {
                        let limit = self.field.length as usize;
                        if value.len() > limit {
                            return Err((row, Reason::TooWide { length: value.len(), limit }));
                        }
                        self.pad(value.len(), lane);
                    }
                }
                None if width > 0 => lane.bytes.extend(std::iter::repeat_n(null, width)),
                None if self.is_fixed() => return Err((row, Reason::NullWithoutPrefix)),
                None => {}
            }
            lane.ends.push(lane.bytes.len());
        }
        Ok(())
    }

    fn write_native(&self, array: &ArrayRef, lane: &mut Lane) -> Result<(), Misfit> {
        let rows = array.len();
        macro_rules! numbers {
            ($arrow:ty, $W:literal, $value:expr) => {{
                let values = array.as_primitive::<$arrow>();
                let convert = $value;
                self.fixed::<$W>(rows, lane, |row| values.is_valid(row).then(|| convert(values.value(row))))
            }};
        }
        match &self.sql_type {
            SqlType::Bit => {
                let values = array.as_boolean();
                self.fixed::<1>(rows, lane, |row| values.is_valid(row).then(|| [u8::from(values.value(row))]))
            }
            SqlType::TinyInt => numbers!(UInt8Type, 1, |value: u8| [value]),
            SqlType::SmallInt => numbers!(Int16Type, 2, i16::to_le_bytes),
            SqlType::Int => numbers!(Int32Type, 4, i32::to_le_bytes),
            SqlType::BigInt => numbers!(Int64Type, 8, i64::to_le_bytes),
            SqlType::Real => numbers!(Float32Type, 4, f32::to_le_bytes),
            SqlType::Float => numbers!(Float64Type, 8, f64::to_le_bytes),
            // Within the types' ranges, which the exact form keeps.
            SqlType::SmallMoney => numbers!(Decimal128Type, 4, |value: i128| (value as i32).to_le_bytes()),
            SqlType::Money => numbers!(Decimal128Type, 8, |value: i128| {
                let [a, b, c, d, e, f, g, h] = (value as i64).to_le_bytes();
                [e, f, g, h, a, b, c, d]
            }),
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                let (precision, scale) = (*precision, *scale);
                numbers!(Decimal128Type, 19, |value: i128| {
                    let mut bytes = [0; 19];
                    let head = [precision, scale, u8::from(value >= 0)];
                    for (slot, byte) in
                        bytes.iter_mut().zip(head.into_iter().chain(value.unsigned_abs().to_le_bytes()))
                    {
                        *slot = byte;
                    }
                    bytes
                })
            }
            SqlType::Date => {
                numbers!(Date32Type, 3, |days: i32| date(i64::from(days) + i64::from(DAYS_TO_1970)))
            }
            SqlType::Time { scale: 0 } => {
                numbers!(Time32SecondType, 5, |value: i32| time(value as u64 * 10_000_000))
            }
            SqlType::Time { scale: 1..=3 } => {
                numbers!(Time32MillisecondType, 5, |value: i32| time(value as u64 * 10_000))
            }
            SqlType::Time { scale: 4..=6 } => {
                numbers!(Time64MicrosecondType, 5, |value: i64| time(value as u64 * 10))
            }
            SqlType::Time { .. } => numbers!(Time64NanosecondType, 5, |value: i64| time(value as u64 / 100)),
            SqlType::SmallDateTime => numbers!(TimestampSecondType, 4, |seconds: i64| {
                let days = seconds.div_euclid(86_400) + i64::from(DAYS_TO_1970 - DAYS_TO_1900);
                let [a, b] = (days as u16).to_le_bytes();
                let [c, d] = ((seconds.rem_euclid(86_400) / 60) as u16).to_le_bytes();
                [a, b, c, d]
            }),
            SqlType::DateTime => numbers!(TimestampMillisecondType, 8, |milliseconds: i64| {
                let days = milliseconds.div_euclid(86_400_000) + i64::from(DAYS_TO_1970 - DAYS_TO_1900);
                let ticks = (milliseconds.rem_euclid(86_400_000) * 3 + 5) / 10;
                let [a, b, c, d] = (days as i32).to_le_bytes();
                let [e, f, g, h] = (ticks as u32).to_le_bytes();
                [a, b, c, d, e, f, g, h]
            }),
            SqlType::DateTime2 { scale: 0 } => {
                numbers!(TimestampSecondType, 8, |value: i64| moment(value, 86_400))
            }
            SqlType::DateTime2 { scale: 1..=3 } => {
                numbers!(TimestampMillisecondType, 8, |value: i64| moment(value, 86_400_000))
            }
            SqlType::DateTime2 { scale: 4..=6 } => {
                numbers!(TimestampMicrosecondType, 8, |value: i64| moment(value, 86_400_000_000))
            }
            SqlType::DateTime2 { .. } => {
                let values = array.as_fixed_size_binary();
                self.fixed::<8>(rows, lane, |row| values.is_valid(row).then(|| exact(values.value(row))))
            }
            SqlType::DateTimeOffset { .. } => {
                let values = array.as_fixed_size_binary();
                self.fixed::<10>(rows, lane, |row| {
                    values.is_valid(row).then(|| exact_offset(values.value(row)))
                })
            }
            SqlType::UniqueIdentifier => {
                let values = array.as_fixed_size_binary();
                self.fixed::<16>(rows, lane, |row| {
                    let value = || guid::swap_order(values.value(row).try_into().unwrap_or_default());
                    values.is_valid(row).then(value)
                })
            }
            SqlType::RowVersion => numbers!(UInt64Type, 8, u64::to_be_bytes),
            SqlType::SqlVariant if self.options.native_version < NativeVersion::Current => {
                let values = array.as_binary::<i32>().iter();
                let older = values.map(|value| value.map(older_variant).transpose());
                let older = older.collect::<Result<Vec<_>, _>>().map_err(|error| (0, *error.reason))?;
                self.variable(older.iter().map(Option::as_deref), lane)
            }
            _ => self.variable(array.as_binary::<i32>().iter(), lane),
        }
    }
}

/// Values up to this length are written whole even where longer ones come in pieces.
const WHOLE_BYTES_MAX: usize = 1020;

fn time(ticks: u64) -> [u8; 5] {
    let [a, b, c, d, e, ..] = ticks.to_le_bytes();
    [a, b, c, d, e]
}

fn date(days_since_0001: i64) -> [u8; 3] {
    let [a, b, c, ..] = days_since_0001.to_le_bytes();
    [a, b, c]
}

fn time_and_date(ticks: u64, days: i64) -> [u8; 8] {
    let [a, b, c, d, e] = time(ticks);
    let [f, g, h] = date(days);
    [a, b, c, d, e, f, g, h]
}

/// Converts a timestamp since 1970, in units of which a day has `per_day`.
fn moment(value: i64, per_day: i64) -> [u8; 8] {
    let days = value.div_euclid(per_day) + i64::from(DAYS_TO_1970);
    let ticks = value.rem_euclid(per_day) as u64 * (TICKS_PER_DAY / per_day as u64);
    time_and_date(ticks, days)
}

/// Reads the exact form of `datetime2(7)`.
fn exact(bytes: &[u8]) -> [u8; 8] {
    let ticks = u64::from_be_bytes(bytes.try_into().unwrap_or_default());
    time_and_date(ticks % TICKS_PER_DAY, (ticks / TICKS_PER_DAY) as i64)
}

/// Reads the exact form of `datetimeoffset`. The file has it in UTC already.
fn exact_offset(bytes: &[u8]) -> [u8; 10] {
    let (utc, offset) = bytes.split_at(bytes.len().min(8));
    let [a, b, c, d, e, f, g, h] = exact(utc);
    let [i, j] = (u16::from_be_bytes(offset.try_into().unwrap_or_default()) ^ 0x8000).to_le_bytes();
    debug_assert!(i64::from(i16::from_le_bytes([i, j])) * TICKS_PER_MINUTE < TICKS_PER_DAY as i64);
    [a, b, c, d, e, f, g, h, i, j]
}

/// Formats a vector as a JSON array of the shortest numbers that read back as the same.
fn vector_text(bytes: &[u8]) -> Result<String, FormatError> {
    let vector =
        Vector::from_bytes(bytes).map_err(|error| FormatError::new(Reason::Text(error.to_string())))?;
    let elements: Vec<String> = vector.elements().iter().map(f32::to_string).collect();
    Ok(format!("[{}]", elements.join(",")))
}

/// Base types of date, time, datetime2 and datetimeoffset in a sql_variant (MS-TDS 2.2.5.4.2).
const YOUNGER: std::ops::RangeInclusive<u8> = 0x28..=0x2B;
const NVARCHAR: u8 = 0xE7;
/// Longest text of a sql_variant, in bytes.
const VARIANT_TEXT_BYTES_MAX: u16 = 8000;

/// Encodes a sql_variant as versions before 2008 know it: dates and times of the younger types are text
/// there, as in fields of their own.
fn older_variant(body: &[u8]) -> Result<Cow<'_, [u8]>, FormatError> {
    if body.first().is_none_or(|base| !YOUNGER.contains(base)) {
        return Ok(Cow::Borrowed(body));
    }
    let text = variant_text(body)?;
    let mut older = vec![NVARCHAR, 7];
    older.extend_from_slice(&tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.to_bytes());
    older.extend_from_slice(&VARIANT_TEXT_BYTES_MAX.to_le_bytes());
    older.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    Ok(Cow::Owned(older))
}

/// Formats a sql_variant in this wire form as text.
fn variant_text(body: &[u8]) -> Result<String, FormatError> {
    let fail = |error: tds::DecodeError| FormatError::new(Reason::Text(error.to_string()));
    let mut framed = (body.len() as u32).to_le_bytes().to_vec();
    framed.extend_from_slice(body);
    let type_info = TypeInfo::new(SqlType::SqlVariant, true, None);
    let value =
        tds::decode_value(&mut tds::Reader::new(&framed), &type_info, ValuePlace::Row).map_err(fail)?;
    let binary = match &value {
        Value::Variant(variant) => match &variant.value {
            Value::Binary(bytes) => Some(bytes),
            _ => None,
        },
        _ => None,
    };
    Ok(match binary {
        Some(bytes) => {
            let mut text = Vec::new();
            hex::spell(bytes, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        None => {
            let mut text = Vec::new();
            let _ = write!(text, "{}", BcpText(&value));
            String::from_utf8_lossy(&text).into_owned()
        }
    })
}
