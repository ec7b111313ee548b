//! The body of a `sql_variant` value as text (MS-TDS 2.2.5.5.4): base type, count of property bytes,
//! properties, data.

use tds::{Collation, type_token as token};

use super::charset::Charset;
use super::decimal;
use super::error::RowDecodeErrorReason as Reason;
use super::temporal::{self, Moment};
use super::utf16;
use crate::text::{
    calendar::DAYS_MAX, calendar::DAYS_TO_1970, clock::ticks_per_day, guid::swap_order, write,
};

/// Appends the text of the variant whose body this is, as CONVERT spells the inner value.
pub(crate) fn write_variant(out: &mut Vec<u8>, body: &[u8]) -> Result<(), Reason> {
    let [base, count, rest @ ..] = body else { return Err(malformed("shorter than its head")) };
    let (properties, data) =
        rest.split_at_checked(usize::from(*count)).ok_or(malformed("shorter than its properties"))?;
    match (*base, properties) {
        (token::BIT, []) => out.push(if bytes(data)? == [0] { b'0' } else { b'1' }),
        (token::INT1, []) => write::unsigned(out, temporal::number::<1>(bytes(data)?)),
        (token::INT2, []) => write::signed(out, i64::from(i16::from_le_bytes(bytes(data)?))),
        (token::INT4, []) => write::signed(out, i64::from(i32::from_le_bytes(bytes(data)?))),
        (token::INT8, []) => write::signed(out, i64::from_le_bytes(bytes(data)?)),
        (token::FLT4, []) => write::real(out, f32::from_le_bytes(bytes(data)?)),
        (token::FLT8, []) => write::float(out, f64::from_le_bytes(bytes(data)?)),
        (token::MONEY4, []) => write::scaled(out, i128::from(i32::from_le_bytes(bytes(data)?)), 4, true),
        (token::MONEY, []) => write::scaled(out, i128::from(decimal::money(bytes(data)?)), 4, true),
        (token::DATETIM4, []) => {
            let seconds = temporal::smalldatetime(bytes(data)?)?;
            timestamp(out, seconds, 0);
        }
        (token::DATETIME, []) => {
            let milliseconds = temporal::datetime(bytes(data)?)?;
            timestamp(out, milliseconds, 3);
        }
        (token::DATEN, []) => write::date(out, temporal::date(bytes(data)?)? + DAYS_TO_1970),
        (token::TIMEN, &[scale @ 0..=7]) => write_time(out, data, scale)?,
        (token::DATETIME2N, &[scale @ 0..=7]) => write_datetime2(out, data, scale)?,
        (token::DATETIMEOFFSETN, &[scale @ 0..=7]) => write_datetimeoffset(out, data, scale)?,
        (token::DECIMALN | token::NUMERICN, &[precision @ 1..=38, scale]) if scale <= precision => {
            write::scaled(out, decimal::value(data, decimal::limit(precision), precision)?, scale, true);
        }
        (token::GUID, []) => write::guid(out, &swap_order(bytes(data)?)),
        (token::BIGVARBIN | token::BIGBINARY, &[low, high]) => {
            check_declared([low, high])?;
            out.extend_from_slice(b"0x");
            write::hex(out, data);
        }
        (token::NVARCHAR | token::NCHAR, &[_, _, _, _, _, low, high]) => {
            check_declared([low, high])?;
            utf16::append_all(data, out)?;
        }
        (token::BIGVARCHR | token::BIGCHAR, &[a, b, c, d, e, low, high]) => {
            check_declared([low, high])?;
            Charset::new(Some(Collation::from_bytes([a, b, c, d, e]))).append(data, out)?;
        }
        _ => return Err(malformed("unknown base type or properties")),
    }
    Ok(())
}

/// Writes a `time(scale)` from its wire data.
pub(super) fn write_time(out: &mut Vec<u8>, data: &[u8], scale: u8) -> Result<(), Reason> {
    check_length(data, time_bytes(scale), "time")?;
    let ticks = number(data, "time")?;
    if ticks >= ticks_per_day(scale) {
        return Err(Reason::OutOfRange { sql_type: "time" });
    }
    write::time(out, ticks, scale);
    Ok(())
}

/// Writes a `datetime2(scale)` from its wire data.
pub(super) fn write_datetime2(out: &mut Vec<u8>, data: &[u8], scale: u8) -> Result<(), Reason> {
    check_length(data, time_bytes(scale) + 3, "datetime2")?;
    let moment = match data.len() {
        6 => temporal::datetime2::<6>(bytes(data)?),
        7 => temporal::datetime2::<7>(bytes(data)?),
        8 => temporal::datetime2::<8>(bytes(data)?),
        length => return Err(Reason::Length { length, expected: "datetime2" }),
    };
    write_moment(out, moment, scale, "datetime2")
}

/// Writes a `datetimeoffset(scale)` from its wire data: the local time, then the offset.
pub(super) fn write_datetimeoffset(out: &mut Vec<u8>, data: &[u8], scale: u8) -> Result<(), Reason> {
    check_length(data, time_bytes(scale) + 5, "datetimeoffset")?;
    let (utc, offset) = match data.len() {
        8 => temporal::datetimeoffset::<8>(bytes(data)?)?,
        9 => temporal::datetimeoffset::<9>(bytes(data)?)?,
        10 => temporal::datetimeoffset::<10>(bytes(data)?)?,
        length => return Err(Reason::Length { length, expected: "datetimeoffset" }),
    };
    let out_of_range = Reason::OutOfRange { sql_type: "datetimeoffset" };
    let per_day = ticks_per_day(scale) as i64;
    if utc.days > DAYS_MAX as u32 || utc.ticks >= ticks_per_day(scale) {
        return Err(out_of_range);
    }
    let local = utc.ticks as i64 + i64::from(offset) * (per_day / 1440);
    let days = i64::from(utc.days) + local.div_euclid(per_day);
    let days = u32::try_from(days).map_err(|_| out_of_range)?;
    let moment = Moment { days, ticks: local.rem_euclid(per_day).unsigned_abs() };
    write_moment(out, moment, scale, "datetimeoffset")?;
    write::offset(out, offset);
    Ok(())
}

fn write_moment(out: &mut Vec<u8>, moment: Moment, scale: u8, sql_type: &'static str) -> Result<(), Reason> {
    match i32::try_from(moment.days) {
        Ok(days) if days <= DAYS_MAX && moment.ticks < ticks_per_day(scale) => {
            write::date(out, days);
            out.push(b' ');
            write::time(out, moment.ticks, scale);
            Ok(())
        }
        _ => Err(Reason::OutOfRange { sql_type }),
    }
}

/// Writes a count of 10^-scale s since 1970, within the calendar.
fn timestamp(out: &mut Vec<u8>, value: i64, scale: u8) {
    let per_day = ticks_per_day(scale) as i64;
    write::date(out, value.div_euclid(per_day) as i32 + DAYS_TO_1970);
    out.push(b' ');
    write::time(out, value.rem_euclid(per_day).unsigned_abs(), scale);
}

/// Returns the bytes of a time of day with `scale` fractional digits (MS-TDS 2.2.5.5.1.8).
fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

fn check_length(data: &[u8], length: usize, expected: &'static str) -> Result<(), Reason> {
    if data.len() == length { Ok(()) } else { Err(Reason::Length { length: data.len(), expected }) }
}

fn number(data: &[u8], expected: &'static str) -> Result<u64, Reason> {
    match data.len() {
        3 => Ok(temporal::number::<3>(bytes(data)?)),
        4 => Ok(temporal::number::<4>(bytes(data)?)),
        5 => Ok(temporal::number::<5>(bytes(data)?)),
        length => Err(Reason::Length { length, expected }),
    }
}

fn bytes<const N: usize>(data: &[u8]) -> Result<[u8; N], Reason> {
    data.try_into().map_err(|_| malformed("data of another length than the base type's"))
}

/// Checks the declared length, in bytes, of text and binary data; a variant holds none of the `max` types.
fn check_declared(length: [u8; 2]) -> Result<(), Reason> {
    if u16::from_le_bytes(length) > VARIANT_DATA_BYTES_MAX {
        return Err(malformed("a declared length above 8000 bytes"));
    }
    Ok(())
}

const VARIANT_DATA_BYTES_MAX: u16 = 8000;

fn malformed(what: &'static str) -> Reason {
    Reason::Variant { what }
}
