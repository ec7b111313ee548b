//! Converts values between Arrow and their bytes in a record, if those differ.

use super::kind::Kind;

/// Days from 0001-01-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_162;
/// Days from 0001-01-01 to 1900-01-01.
const DAYS_TO_1900: i64 = 693_595;
/// Days of the calendar, 0001-01-01 to 9999-12-31.
const CALENDAR_DAYS: i64 = 3_652_059;
/// Days since 1900-01-01 that a `datetime` may have: 1753-01-01 to 9999-12-31.
pub const DATETIME_DAYS: std::ops::RangeInclusive<i64> = -53_690..=CALENDAR_DAYS - DAYS_TO_1900 - 1;
/// Days since 1970-01-01 between the calendar's first and its last.
pub const INNER_DAYS: std::ops::Range<i32> =
    (1 - DAYS_TO_1970) as i32..(CALENDAR_DAYS - DAYS_TO_1970 - 1) as i32;
const DAY_SECONDS: i64 = 86_400;
const TICKS_PER_DAY: i64 = 864_000_000_000;
const OUTSIDE: &str = "the value is outside the range of its type";
const FINER: &str = "the value is finer than its type";

/// Returns ten to the power of `digits`, which is at most 9.
#[inline]
pub fn power_of_ten(digits: u8) -> i64 {
    const POWERS: [i64; 10] =
        [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    POWERS.get(usize::from(digits)).copied().unwrap_or(1_000_000_000)
}

/// Returns the number of fractional digits that Arrow's unit of a time or timestamp of this scale has.
#[inline]
pub fn unit_digits(scale: u8) -> u8 {
    match scale {
        0 => 0,
        1..=3 => 3,
        4..=6 => 6,
        _ => 9,
    }
}

/// Returns the bytes of a time of this scale.
pub fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Writes a value of a temporal or money kind from Arrow's integer. The reason says why it cannot be kept.
pub fn put_integer(kind: Kind, value: i64, out: &mut [u8]) -> Result<(), &'static str> {
    match kind {
        Kind::Date => put_days(value.checked_add(DAYS_TO_1970).ok_or(OUTSIDE)?, out),
        Kind::Time { scale } => {
            let units = rescale(value, unit_digits(scale), scale).ok_or(FINER)?;
            if !(0..DAY_SECONDS * power_of_ten(scale)).contains(&units) {
                return Err(OUTSIDE);
            }
            put_unsigned(units as u64, out);
            Ok(())
        }
        Kind::DateTime2 { scale } => {
            let units = rescale(value, unit_digits(scale), scale).ok_or(FINER)?;
            let day = DAY_SECONDS * power_of_ten(scale);
            let (time, days) = out.split_at_mut(time_bytes(scale).min(out.len()));
            put_unsigned(units.rem_euclid(day) as u64, time);
            put_days(units.div_euclid(day) + DAYS_TO_1970, days)
        }
        Kind::SmallDateTime => {
            if value % 60 != 0 {
                return Err(FINER);
            }
            let days = u16::try_from(value.div_euclid(DAY_SECONDS) + DAYS_TO_1970 - DAYS_TO_1900)
                .map_err(|_| OUTSIDE)?;
            let (time, date) = out.split_at_mut(2.min(out.len()));
            put_unsigned((value.rem_euclid(DAY_SECONDS) / 60) as u64, time);
            put_unsigned(u64::from(days), date);
            Ok(())
        }
        Kind::DateTime => {
            put_unsigned(date_time(value)? as u64, out);
            Ok(())
        }
        Kind::SmallMoney => {
            put_unsigned(u64::from(i32::try_from(value).map_err(|_| OUTSIDE)? as u32), out);
            Ok(())
        }
        Kind::Money => {
            put_unsigned(value as u64, out);
            Ok(())
        }
        _ => Err("the type is not kept as an integer"),
    }
}

/// Makes a `datetime` of milliseconds since 1970: days since 1900 in the upper half, ticks of 1/300 second in
/// the lower.
#[inline]
pub fn date_time(milliseconds: i64) -> Result<i64, &'static str> {
    let days = milliseconds.div_euclid(DAY_SECONDS * 1000) + DAYS_TO_1970 - DAYS_TO_1900;
    let milliseconds = milliseconds.rem_euclid(DAY_SECONDS * 1000);
    if !DATETIME_DAYS.contains(&days) {
        return Err(OUTSIDE);
    }
    let ticks = (milliseconds * 3 + 5) / 10;
    if tick_milliseconds(ticks) != milliseconds {
        return Err(FINER);
    }
    Ok((days << 32) | ticks)
}

/// Returns the ten-thousandths of a `money` or `smallmoney`.
#[inline]
pub fn money(kind: Kind, value: i128) -> Result<i64, &'static str> {
    let value = i64::try_from(value).map_err(|_| OUTSIDE)?;
    match kind {
        Kind::SmallMoney => i32::try_from(value).map(i64::from).map_err(|_| OUTSIDE),
        _ => Ok(value),
    }
}

/// Returns the days since 1970-01-01 of a date's bytes; None beyond the calendar.
#[inline]
pub fn date(bytes: [u8; 3]) -> Option<i32> {
    let days = days(&bytes)?;
    Some((days - DAYS_TO_1970) as i32)
}

/// Converts a time's bytes to Arrow's units since midnight; None for a day or more.
#[inline]
pub fn time<const WIDTH: usize>(scale: u8, bytes: [u8; WIDTH]) -> Option<i64> {
    let units = unsigned(&bytes) as i64;
    (units < DAY_SECONDS * power_of_ten(scale)).then(|| units * power_of_ten(unit_digits(scale) - scale))
}

/// Returns true if the bytes of a time are less than a day.
#[inline]
pub fn is_time(scale: u8, bytes: &[u8]) -> bool {
    (unsigned(bytes) as i64) < DAY_SECONDS * power_of_ten(scale)
}

/// Returns the number of units of a time of this scale in a day.
pub fn day_units(scale: u8) -> i64 {
    DAY_SECONDS * power_of_ten(scale)
}

/// Returns true if `days` since 0001-01-01 are a day of the calendar.
#[inline]
pub fn is_day(days: u64) -> bool {
    days < CALENDAR_DAYS as u64
}

/// Converts the bytes of a `datetime2` of a scale below 7 to Arrow's units since 1970; None for bytes that
/// are never written.
#[inline]
pub fn datetime2<const WIDTH: usize>(scale: u8, bytes: [u8; WIDTH]) -> Option<i64> {
    let (units, days) = units_and_days(&bytes)?;
    let day = DAY_SECONDS * power_of_ten(scale);
    let factor = power_of_ten(unit_digits(scale).saturating_sub(scale));
    (units < day).then(|| ((days - DAYS_TO_1970) * day + units).checked_mul(factor))?
}

/// Converts the bytes of a `smalldatetime` to seconds since 1970.
#[inline]
pub fn small_datetime([a, b, c, d]: [u8; 4]) -> i64 {
    let days = i64::from(u16::from_le_bytes([c, d])) + DAYS_TO_1900 - DAYS_TO_1970;
    days * DAY_SECONDS + i64::from(u16::from_le_bytes([a, b])) * 60
}

/// Converts the bytes of a `datetime` to milliseconds since 1970.
#[inline]
pub fn datetime([a, b, c, d, e, f, g, h]: [u8; 8]) -> i64 {
    let days = i64::from(i32::from_le_bytes([e, f, g, h])) + DAYS_TO_1900 - DAYS_TO_1970;
    days * DAY_SECONDS * 1000 + tick_milliseconds(u32::from_le_bytes([a, b, c, d]).into())
}

/// Writes a `datetime2(7)` or `datetimeoffset` from the exact form: a big-endian count of 100 ns since
/// 0001-01-01, then for the latter the offset in minutes with its sign bit flipped.
pub fn put_ticks(kind: Kind, value: &[u8], out: &mut [u8]) -> Result<(), &'static str> {
    let count =
        value.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes)).ok_or("the value is too short")?;
    let count = i64::try_from(count).map_err(|_| "the value is outside the range of its type")?;
    let scale = match kind {
        Kind::DateTime2 { scale } | Kind::DateTimeOffset { scale } => scale,
        _ => return Err("the type is not kept as ticks"),
    };
    let units = rescale(count % TICKS_PER_DAY, 7, scale).ok_or("the value is finer than its type")?;
    let (time, rest) = out.split_at_mut(time_bytes(scale).min(out.len()));
    put_unsigned(units as u64, time);
    let (date, offset) = rest.split_at_mut(3.min(rest.len()));
    put_days(count / TICKS_PER_DAY, date)?;
    if let (Kind::DateTimeOffset { .. }, Some([high, low])) = (kind, value.get(8..10)) {
        let minutes = i16::from_be_bytes([high ^ 0x80, *low]);
        if !(-840..=840).contains(&minutes) {
            return Err("the offset is more than 14 hours");
        }
        offset.copy_from_slice(&minutes.to_le_bytes());
    }
    Ok(())
}

/// Reads what [`put_ticks`] has written, without an offset: 100 ns since 0001-01-01, big-endian, of a time
/// and a date. None for bytes that are never written.
#[inline]
pub fn ticks(scale: u8, time_and_date: &[u8]) -> Option<[u8; 8]> {
    let (units, days) = units_and_days(time_and_date)?;
    let count = units.checked_mul(power_of_ten(7_u8.saturating_sub(scale)))?;
    (count < TICKS_PER_DAY).then(|| (days * TICKS_PER_DAY + count).to_be_bytes())
}

/// Reads a moment like [`ticks`](fn@ticks), with the offset in minutes behind the count, its sign bit
/// flipped.
#[inline]
pub fn offset_ticks(scale: u8, bytes: &[u8]) -> Option<[u8; 10]> {
    let (time_and_date, [low, high]) = bytes.split_last_chunk()?;
    let [a, b, c, d, e, f, g, h] = ticks(scale, time_and_date)?;
    Some([a, b, c, d, e, f, g, h, high ^ 0x80, *low])
}

/// Writes sign byte (1: not negative) and magnitude.
pub fn put_decimal(value: i128, out: &mut [u8]) -> Result<(), &'static str> {
    let magnitude = value.unsigned_abs().to_le_bytes();
    let Some((sign, rest)) = out.split_first_mut() else { return Err("no room for the sign") };
    *sign = u8::from(value >= 0);
    let (kept, beyond) = magnitude.split_at(rest.len().min(16));
    if beyond.iter().any(|byte| *byte != 0) {
        return Err("the value has more digits than its type");
    }
    rest.copy_from_slice(kept);
    Ok(())
}

/// Reads a decimal that [`put_decimal`] has written.
#[inline]
pub fn decimal(bytes: &[u8]) -> Option<i128> {
    let (sign, rest) = bytes.split_first()?;
    let mut magnitude = [0; 16];
    magnitude.get_mut(..rest.len())?.copy_from_slice(rest);
    let magnitude = i128::try_from(u128::from_le_bytes(magnitude)).ok()?;
    match sign {
        1 => Some(magnitude),
        0 => Some(-magnitude),
        _ => None,
    }
}

/// Swaps a GUID between the order of its text and the order of its storage; its own reverse.
pub fn guid(bytes: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
    let [i, j, k, l, m, n, o, p] = rest;
    [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
}

/// Appends text to `out` as UTF-16, little-endian.
pub fn utf16(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    if bytes.is_ascii() {
        let start = out.len();
        out.resize(start + 2 * bytes.len(), 0);
        let units = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<2>().0;
        units.iter_mut().zip(bytes).for_each(|(unit, byte)| *unit = [*byte, 0]);
    } else {
        out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
}

/// Appends UTF-16, little-endian, to `out` as UTF-8. None, and anything may have been appended: not UTF-16.
pub fn utf8(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    if units.iter().fold(true, |ascii, [low, high]| ascii & (*high == 0) & (*low < 0x80)) {
        out.extend(units.iter().map(|[low, _]| *low));
        return Some(());
    }
    // A unit takes three bytes at most, a pair of them four.
    out.reserve(units.len() * 3);
    while let Some((unit, after)) = units.split_first() {
        units = after;
        match u16::from_le_bytes(*unit) {
            unit @ 0..0x80 => out.push(unit as u8),
            unit @ 0x80..0x800 => {
                out.extend_from_slice(&[0xC0 | (unit >> 6) as u8, continuation(unit.into())])
            }
            unit @ (0x800..0xD800 | 0xE000..) => out.extend_from_slice(&[
                0xE0 | (unit >> 12) as u8,
                continuation(u32::from(unit) >> 6),
                continuation(unit.into()),
            ]),
            high @ 0xD800..0xDC00 => {
                let (low, after) = units.split_first()?;
                units = after;
                let low = u16::from_le_bytes(*low);
                if !(0xDC00..0xE000).contains(&low) {
                    return None;
                }
                let code = 0x1_0000 + ((u32::from(high) & 0x3FF) << 10 | u32::from(low) & 0x3FF);
                out.extend_from_slice(&[
                    0xF0 | (code >> 18) as u8,
                    continuation(code >> 12),
                    continuation(code >> 6),
                    continuation(code),
                ]);
            }
            0xDC00..0xE000 => return None,
        }
    }
    Some(())
}

/// Makes a byte of UTF-8 behind the first of its character: the lowest six bits.
fn continuation(bits: u32) -> u8 {
    0x80 | (bits & 0x3F) as u8
}

/// Reads a time and, in the last three bytes, a date: units since midnight, and days since 0001-01-01.
#[inline]
fn units_and_days(bytes: &[u8]) -> Option<(i64, i64)> {
    let (time, date) = bytes.split_last_chunk::<3>()?;
    Some((unsigned(time) as i64, days(date)?))
}

fn put_days(days: i64, out: &mut [u8]) -> Result<(), &'static str> {
    if !(0..CALENDAR_DAYS).contains(&days) {
        return Err("the date is outside the calendar");
    }
    put_unsigned(days as u64, out);
    Ok(())
}

#[inline]
fn days(bytes: &[u8]) -> Option<i64> {
    let days = unsigned(bytes) as i64;
    (0..CALENDAR_DAYS).contains(&days).then_some(days)
}

/// Writes a number, little-endian, in as many bytes as there are.
fn put_unsigned(value: u64, out: &mut [u8]) {
    out.iter_mut().zip(value.to_le_bytes()).for_each(|(place, byte)| *place = byte);
}

#[inline]
fn unsigned(bytes: &[u8]) -> u64 {
    let mut value = [0; 8];
    value.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    u64::from_le_bytes(value)
}

/// Converts a 1/300 second tick to milliseconds, rounded as SQL Server shows them: 0, 3, 7.
fn tick_milliseconds(ticks: i64) -> i64 {
    (ticks * 10 + 1) / 3
}

/// Converts units of 10^-from seconds to units of 10^-to; None if that would drop digits.
fn rescale(value: i64, from: u8, to: u8) -> Option<i64> {
    if from <= to {
        return value.checked_mul(power_of_ten(to - from));
    }
    let divisor = power_of_ten(from - to);
    (value % divisor == 0).then_some(value / divisor)
}
