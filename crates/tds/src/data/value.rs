//! One cell as a [`Value`]: parameters, return values, variants. Rows of loads and results do not use it.

use std::borrow::Cow;

use crate::codec::{DecodeError, EncodeErrorKind, Reader, Writer};
use crate::data::value_data::{decode_data, encode_data};
use crate::data::variant::{decode_variant, encode_variant};
use crate::type_info::{LengthClass, TypeInfo};
use crate::vector::Vector;

/// A value of any T-SQL type. `Display` prints it as the server's CONVERT does (dates in style 121).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// `bit`
    Bit(bool),
    /// `tinyint`
    TinyInt(u8),
    /// `smallint`
    SmallInt(i16),
    /// `int`
    Int(i32),
    /// `bigint`
    BigInt(i64),
    /// `real`
    Real(f32),
    /// `float`
    Float(f64),
    /// `smallmoney`, in 1/10,000
    SmallMoney(i32),
    /// `money`, in 1/10,000
    Money(i64),
    /// `decimal` and `numeric`: `magnitude * 10^-scale`
    Decimal {
        /// The digits without the point, less than 10^precision.
        magnitude: u128,
        /// Sign; zero may carry one.
        negative: bool,
        /// Declared digits, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `date`, in days since 0001-01-01
    Date(i32),
    /// `time(scale)`
    Time {
        /// Units of 10^-scale s since midnight.
        ticks: u64,
        /// 0 to 7.
        scale: u8,
    },
    /// `datetime2(scale)`
    DateTime2 {
        /// Days since 0001-01-01.
        days: i32,
        /// Units of 10^-scale s since midnight.
        ticks: u64,
        /// 0 to 7.
        scale: u8,
    },
    /// `datetimeoffset(scale)`: an instant, and the offset in which it is shown
    DateTimeOffset {
        /// Days since 0001-01-01, of the time in UTC.
        days: i32,
        /// Units of 10^-scale s since midnight, in UTC.
        ticks: u64,
        /// 0 to 7.
        scale: u8,
        /// Minutes east of UTC, -840 to 840.
        offset_minutes: i16,
    },
    /// `datetime`
    DateTime {
        /// Days since 1900-01-01.
        days: i32,
        /// Units of 1/300 s since midnight.
        ticks: u32,
    },
    /// `smalldatetime`
    SmallDateTime {
        /// Days since 1900-01-01.
        days: u16,
        /// Minutes since midnight.
        minutes: u16,
    },
    /// Text of any character type, `xml` and `json`.
    String(String),
    /// `binary`, `varbinary`, `image`, `rowversion` and CLR types.
    Binary(Vec<u8>),
    /// `uniqueidentifier`, in wire order: the first three groups little-endian.
    Guid([u8; 16]),
    /// `vector`
    Vector(Vector),
    /// `sql_variant` that is not NULL.
    Variant(Box<VariantValue>),
}

/// Content of a `sql_variant`.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantValue {
    /// The base type with its collation and length.
    pub type_info: TypeInfo,
    /// A value of the base type; neither NULL nor another variant.
    pub value: Value,
}

/// The context of a value: `text`, `ntext` and `image` have a text pointer, or room for one, in rows and none in parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValuePlace {
    /// ROW and NBCROW of a result.
    Row,
    /// ROW of a bulk load, where text has no pointer yet.
    BulkRow,
    /// RPC parameters and RETURNVALUE.
    Parameter,
}

impl Value {
    /// Returns true for [`Value::Null`].
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }
}

/// Reads one value.
///
/// # Errors
/// Lengths that do not fit the type, numbers and times out of the type's range, and text that is invalid in its code page or has
/// unpaired surrogates.
pub fn decode_value(
    r: &mut Reader<'_>,
    type_info: &TypeInfo,
    place: ValuePlace,
) -> Result<Value, DecodeError> {
    let class = type_info.length_class();
    if class == LengthClass::Variant {
        return decode_variant(r);
    }
    let mut offset = r.position();
    let data = match class {
        LengthClass::Fixed(0) => None,
        LengthClass::Fixed(length) => Some(Cow::Borrowed(r.take(usize::from(length), "value")?)),
        LengthClass::ByteLen => match r.u8("value length")? {
            0 => None,
            length => Some(Cow::Borrowed(r.take(usize::from(length), "value")?)),
        },
        LengthClass::UShortLen => match r.u16("value length")? {
            NULL_USHORT => None,
            length => Some(Cow::Borrowed(r.take(usize::from(length), "value")?)),
        },
        LengthClass::Plp => decode_plp(r)?,
        LengthClass::LongLen => decode_long(r, place)?.map(Cow::Borrowed),
        LengthClass::Variant => None,
    };
    let Some(data) = data else { return Ok(Value::Null) };
    if class != LengthClass::Plp {
        offset = r.position() - data.len();
    }
    decode_data(&type_info.sql_type, type_info.collation, &data, offset)
}

/// Appends one value. A value that does not fit `type_info` is recorded in the writer as an error.
pub fn encode_value(value: &Value, type_info: &TypeInfo, w: &mut Writer, place: ValuePlace) {
    let class = type_info.length_class();
    if class == LengthClass::Variant {
        return encode_variant(value, w);
    }
    if value.is_null() {
        return encode_null(type_info, class, w, place);
    }
    let data = match encode_data(value, &type_info.sql_type, type_info.collation) {
        Ok(data) => data,
        Err(what) => return w.invalid("value", what),
    };
    let limited = matches!(class, LengthClass::UShortLen) || type_info.is_legacy_short();
    if limited && data.len() > type_info.max_length as usize {
        let limit = type_info.max_length as usize;
        return w.fail("value", EncodeErrorKind::TooLong { length: data.len(), limit });
    }
    match class {
        LengthClass::Fixed(length) if data.len() == usize::from(length) => w.bytes(&data),
        LengthClass::Fixed(_) => w.invalid("value", "an untyped NULL cannot carry a value"),
        LengthClass::ByteLen if data.is_empty() => {
            w.invalid("value", "an empty value of a one-byte length would be NULL");
        }
        LengthClass::ByteLen => w.b_varbyte(&data, "value"),
        LengthClass::UShortLen => w.us_varbyte(&data, "value"),
        LengthClass::Plp => w.plp(&data, "PLP chunk"),
        LengthClass::LongLen => {
            match place {
                ValuePlace::Row => w.bytes(TEXT_POINTER_AND_TIMESTAMP),
                ValuePlace::BulkRow => {
                    w.u8(16);
                    w.bytes(&[0xFF; 24]);
                }
                ValuePlace::Parameter => {}
            }
            w.l_varbyte(&data, "value");
        }
        LengthClass::Variant => {}
    }
}

/// The NULL of a two-byte length.
pub(crate) const NULL_USHORT: u16 = 0xFFFF;
/// The NULL of a four-byte length, in parameters.
const NULL_LONG: u32 = 0xFFFF_FFFF;
/// The NULL of a chunked value.
pub(crate) const NULL_PLP: u64 = u64::MAX;
/// The total length of a chunked value that is not known beforehand.
pub(crate) const UNKNOWN_PLP: u64 = u64::MAX - 1;

/// Bytes that servers send in place of a text pointer (behind its length byte) and timestamp; clients can use
/// neither.
const TEXT_POINTER_AND_TIMESTAMP: &[u8] = b"\x10dummy textptr\0\0\0dummyTS\0";

fn encode_null(type_info: &TypeInfo, class: LengthClass, w: &mut Writer, place: ValuePlace) {
    match class {
        LengthClass::Fixed(0) => {}
        LengthClass::Fixed(_) => {
            w.invalid("value", format!("NULL for {} that is NOT NULL", type_info.sql_type));
        }
        LengthClass::ByteLen => w.u8(0),
        LengthClass::UShortLen => w.u16(NULL_USHORT),
        LengthClass::Plp => w.u64(NULL_PLP),
        LengthClass::LongLen if place != ValuePlace::Parameter => w.u8(0),
        LengthClass::LongLen => w.u32(NULL_LONG),
        LengthClass::Variant => w.u32(0),
    }
}

/// Reads a chunked value (MS-TDS 2.2.5.2.3); borrowed if it came in one chunk.
pub(crate) fn decode_plp<'a>(r: &mut Reader<'a>) -> Result<Option<Cow<'a, [u8]>>, DecodeError> {
    let offset = r.position();
    let total = r.u64("PLP length")?;
    if total == NULL_PLP {
        return Ok(None);
    }
    let mut data = Cow::Borrowed(&[][..]);
    loop {
        match r.u32("PLP chunk length")? {
            0 => break,
            length => {
                let chunk = r.take(length as usize, "PLP chunk")?;
                if data.is_empty() {
                    data = Cow::Borrowed(chunk);
                } else {
                    data.to_mut().extend_from_slice(chunk);
                }
            }
        }
    }
    if total != UNKNOWN_PLP && total != data.len() as u64 {
        let what = format!("length {total} announced, {} bytes in chunks", data.len());
        return Err(DecodeError::invalid("PLP length", offset, what));
    }
    Ok(Some(data))
}

fn decode_long<'a>(r: &mut Reader<'a>, place: ValuePlace) -> Result<Option<&'a [u8]>, DecodeError> {
    match place {
        ValuePlace::Row | ValuePlace::BulkRow => {
            let pointer_len = r.u8("text pointer length")?;
            if pointer_len == 0 {
                return Ok(None);
            }
            r.take(usize::from(pointer_len), "text pointer")?;
            r.take(8, "text timestamp")?;
            r.l_varbyte("value").map(Some)
        }
        ValuePlace::Parameter => match r.u32("value length")? {
            NULL_LONG => Ok(None),
            length => r.take(length as usize, "value").map(Some),
        },
    }
}

impl TypeInfo {
    /// Returns true for the pre-7.0 string types, whose one-byte length is declared.
    fn is_legacy_short(&self) -> bool {
        self.form == crate::type_info::Form::Legacy && !self.sql_type.is_decimal()
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
