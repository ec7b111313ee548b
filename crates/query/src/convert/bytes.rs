//! The bytes that CAST makes of numbers, dates and times, and takes back.
//!
//! The types of before 2008 show their numbers, the high-order byte first. Those of 2008 and decimal show the form that
//! rows hold, the low-order byte first. In front of it are the precision and scale of the type.

use tds::SqlType;

use super::number::scale_of;
use crate::datum::{DAYS_TO_1900, Datum, TICKS_PER_DAY, TICKS_PER_SECOND};
use tsql::SqlError;

/// Units of a datetime's time of day in a day.
const THREE_HUNDREDTHS_PER_DAY: u32 = 300 * 86_400;
const MINUTES_PER_DAY: u16 = 1440;

/// Returns the bytes of a value of a type; `None` for a type without such a form.
pub(super) fn bytes_of(value: &Datum, sql_type: &SqlType) -> Option<Vec<u8>> {
    Some(match (value, sql_type) {
        (Datum::Decimal(units), SqlType::Money) => i64::try_from(*units).ok()?.to_be_bytes().to_vec(),
        (Datum::Decimal(units), SqlType::SmallMoney) => i32::try_from(*units).ok()?.to_be_bytes().to_vec(),
        (Datum::Decimal(units), SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. }) => {
            let mut bytes = vec![*precision, scale_of(sql_type), 0, u8::from(*units >= 0)];
            let magnitude = units.unsigned_abs().to_le_bytes();
            bytes.extend(magnitude.get(..magnitude_bytes(*precision))?);
            bytes
        }
        (Datum::Moment(ticks), SqlType::DateTime) => {
            let (days, time) = days_since_1900(*ticks);
            let units = (time * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
            let mut bytes = i32::try_from(days).ok()?.to_be_bytes().to_vec();
            bytes.extend(u32::try_from(units).ok()?.to_be_bytes());
            bytes
        }
        (Datum::Moment(ticks), SqlType::SmallDateTime) => {
            let (days, time) = days_since_1900(*ticks);
            let minutes = time / (60 * TICKS_PER_SECOND);
            let mut bytes = u16::try_from(days).ok()?.to_be_bytes().to_vec();
            bytes.extend(u16::try_from(minutes).ok()?.to_be_bytes());
            bytes
        }
        (Datum::Date(days), _) => day_bytes(*days)?,
        (Datum::Time(ticks), SqlType::Time { scale }) => time_bytes(*ticks, *scale)?,
        (Datum::Moment(ticks), SqlType::DateTime2 { scale }) => {
            let mut bytes = time_bytes(ticks.rem_euclid(TICKS_PER_DAY), *scale)?;
            bytes.extend(day_bytes(ticks.div_euclid(TICKS_PER_DAY))?);
            bytes
        }
        (Datum::Instant { ticks, offset_minutes }, SqlType::DateTimeOffset { scale }) => {
            let mut bytes = time_bytes(ticks.rem_euclid(TICKS_PER_DAY), *scale)?;
            bytes.extend(day_bytes(ticks.div_euclid(TICKS_PER_DAY))?);
            bytes.extend(offset_minutes.to_le_bytes());
            bytes
        }
        _ => return None,
    })
}

/// Decodes bytes to the local ticks and the offset of a type of dates or times.
///
/// Errors: 210 for bytes that are none of the type's.
pub(super) fn moment_of(bytes: &[u8], to: &SqlType) -> Result<(i64, i16), SqlError> {
    let moment = match to {
        SqlType::DateTime => datetime(&low_order::<8>(bytes)),
        SqlType::SmallDateTime => small_datetime(&low_order::<4>(bytes)),
        SqlType::Date => day_of(bytes).map(|days| (days * TICKS_PER_DAY, 0)),
        SqlType::Time { .. } => time_of(bytes).filter(|(_, rest)| rest.is_empty()).map(|(time, _)| (time, 0)),
        SqlType::DateTime2 { .. } => time_of(bytes)
            .and_then(|(time, rest)| Some((day_of(rest)?.checked_mul(TICKS_PER_DAY)?.checked_add(time)?, 0))),
        SqlType::DateTimeOffset { .. } => instant(bytes),
        _ => None,
    };
    moment.ok_or_else(|| {
        let text = "Conversion failed when converting datetime from binary/varbinary string.";
        SqlError::new(210, 16, 1, text)
    })
}

/// Decodes bytes to the units and the scale of a decimal; `None` for bytes that are no decimal's.
pub(super) fn decimal_of(bytes: &[u8]) -> Option<(i128, u8)> {
    let [precision, scale, _, sign @ (0 | 1), magnitude @ ..] = bytes else { return None };
    if !(1..=38).contains(precision) || scale > precision || !matches!(magnitude.len(), 4 | 8 | 12 | 16) {
        return None;
    }
    let units = magnitude.iter().rev().fold(0_u128, |units, byte| units << 8 | u128::from(*byte));
    let units = i128::try_from(units).ok()?;
    Some((if *sign == 1 { units } else { -units }, *scale))
}

/// Decodes the units of a money or smallmoney: its low-order bytes.
pub(super) fn money_of(bytes: &[u8], to: &SqlType) -> i128 {
    match to {
        SqlType::SmallMoney => i128::from(i32::from_be_bytes(low_order(bytes))),
        _ => i128::from(i64::from_be_bytes(low_order(bytes))),
    }
}

/// Returns the last bytes, with zeros in front of too few.
fn low_order<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut last = [0; N];
    for (to, from) in last.iter_mut().rev().zip(bytes.iter().rev()) {
        *to = *from;
    }
    last
}

fn days_since_1900(ticks: i64) -> (i64, i64) {
    (ticks.div_euclid(TICKS_PER_DAY) - DAYS_TO_1900, ticks.rem_euclid(TICKS_PER_DAY))
}

fn datetime(bytes: &[u8; 8]) -> Option<(i64, i16)> {
    let [a, b, c, d, e, f, g, h] = *bytes;
    let days = i64::from(i32::from_be_bytes([a, b, c, d])) + DAYS_TO_1900;
    let units = u32::from_be_bytes([e, f, g, h]);
    let time = (units < THREE_HUNDREDTHS_PER_DAY).then(|| i64::from(units) * TICKS_PER_SECOND / 300)?;
    Some((days.checked_mul(TICKS_PER_DAY)?.checked_add(time)?, 0))
}

fn small_datetime(bytes: &[u8; 4]) -> Option<(i64, i16)> {
    let [a, b, c, d] = *bytes;
    let days = i64::from(u16::from_be_bytes([a, b])) + DAYS_TO_1900;
    let minutes = u16::from_be_bytes([c, d]);
    let time = (minutes < MINUTES_PER_DAY).then(|| i64::from(minutes) * 60 * TICKS_PER_SECOND)?;
    Some((days * TICKS_PER_DAY + time, 0))
}

fn instant(bytes: &[u8]) -> Option<(i64, i16)> {
    let (time, rest) = time_of(bytes)?;
    let (day, offset) = rest.split_at_checked(3)?;
    let offset = i16::from_le_bytes(offset.try_into().ok()?);
    if offset.unsigned_abs() > 14 * 60 {
        return None;
    }
    let utc = day_of(day)?.checked_mul(TICKS_PER_DAY)?.checked_add(time)?;
    Some((utc + i64::from(offset) * 60 * TICKS_PER_SECOND, offset))
}

/// Encodes a day in three bytes: days since 0001-01-01.
fn day_bytes(days: i64) -> Option<Vec<u8>> {
    u32::try_from(days).ok()?.to_le_bytes().get(..3).map(<[u8]>::to_vec)
}

fn day_of(bytes: &[u8]) -> Option<i64> {
    let [a, b, c] = *bytes else { return None };
    let days = i64::from(u32::from_le_bytes([a, b, c, 0]));
    (days <= crate::datum::DAYS_MAX).then_some(days)
}

/// Encodes a time: the scale, then units of it since midnight.
fn time_bytes(ticks: i64, scale: u8) -> Option<Vec<u8>> {
    let unit = 10_i64.pow(u32::from(7_u8.checked_sub(scale)?));
    let mut bytes = vec![scale];
    bytes.extend((ticks / unit).to_le_bytes().get(..time_width(scale))?);
    Some(bytes)
}

/// Ticks since midnight, and what stands behind them.
fn time_of(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (scale, rest) = bytes.split_first().filter(|(scale, _)| **scale <= 7)?;
    let (units, rest) = rest.split_at_checked(time_width(*scale))?;
    let units = units.iter().rev().fold(0_i64, |units, byte| units << 8 | i64::from(*byte));
    let ticks = units.checked_mul(10_i64.pow(u32::from(7 - *scale)))?;
    (ticks < TICKS_PER_DAY).then_some((ticks, rest))
}

fn time_width(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

fn magnitude_bytes(precision: u8) -> usize {
    match precision {
        0..=9 => 4,
        10..=19 => 8,
        20..=28 => 12,
        _ => 16,
    }
}
