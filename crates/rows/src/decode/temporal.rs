//! Converts the wire's counts of days and ticks to Arrow's (MS-TDS 2.2.5.5.1.8 and .9).

use arrow::datatypes::TimeUnit;

use super::error::RowDecodeErrorReason as Reason;
use crate::text::calendar::{DAYS_MAX, DAYS_TO_1753, DAYS_TO_1900, DAYS_TO_1970};
use crate::text::clock::ticks_per_day;
use crate::text::write;

/// A date and a time of day, with the scale of the column they come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Days since 0001-01-01.
    pub days: u32,
    /// Units of 10^-scale seconds since midnight.
    pub ticks: u64,
}

/// Conversion of a time in units of 10^-scale s to another unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    scale: u8,
    /// Ticks in a day of the column.
    wire_per_day: u64,
    /// Units in a day of Arrow's.
    per_day: i64,
    factor: u64,
    divisor: u64,
    /// Digits finer than the unit are cut off instead of refused.
    cuts: bool,
}

impl Unit {
    pub fn new(scale: u8, unit: TimeUnit, cuts: bool) -> Self {
        let digits: u32 = match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            TimeUnit::Microsecond => 6,
            TimeUnit::Nanosecond => 9,
        };
        let scale = scale.min(7);
        Self {
            scale,
            wire_per_day: ticks_per_day(scale),
            per_day: 86_400 * 10i64.pow(digits),
            factor: 10u64.pow(digits.saturating_sub(u32::from(scale))),
            divisor: 10u64.pow(u32::from(scale).saturating_sub(digits)),
            cuts,
        }
    }

    /// Converts ticks to units since midnight.
    #[inline]
    pub fn time(&self, ticks: u64) -> Result<i64, Reason> {
        if ticks >= self.wire_per_day {
            return Err(Reason::OutOfRange { sql_type: "time" });
        }
        if !self.cuts && self.divisor > 1 && !ticks.is_multiple_of(self.divisor) {
            return Err(Reason::NeedsRounding { text: self.spelled(None, ticks) });
        }
        // The result is below 86,400 x 10^9 in every unit, so the cast keeps it.
        Ok((ticks / self.divisor * self.factor) as i64)
    }

    /// Converts a moment to units since 1970.
    #[inline]
    pub fn timestamp(&self, moment: Moment, sql_type: &'static str) -> Result<i64, Reason> {
        if moment.days > DAYS_MAX as u32 || moment.ticks >= self.wire_per_day {
            return Err(Reason::OutOfRange { sql_type });
        }
        if !self.cuts && self.divisor > 1 && !moment.ticks.is_multiple_of(self.divisor) {
            return Err(Reason::NeedsRounding { text: self.spelled(Some(moment.days), moment.ticks) });
        }
        let units = (moment.ticks / self.divisor * self.factor) as i64;
        let days = i64::from(moment.days) - i64::from(DAYS_TO_1970);
        // Days and time of day have different signs before 1970; the first day of the range needs both.
        let (days, units) = if days < 0 { (days + 1, units - self.per_day) } else { (days, units) };
        days.checked_mul(self.per_day)
            .and_then(|start| start.checked_add(units))
            .ok_or_else(|| Reason::NanosecondOverflow { text: self.spelled(Some(moment.days), moment.ticks) })
    }

    #[cold]
    fn spelled(&self, days: Option<u32>, ticks: u64) -> String {
        let mut text = Vec::new();
        if let Some(days) = days {
            write::date(&mut text, i32::try_from(days).unwrap_or(i32::MAX));
            text.push(b' ');
        }
        write::time(&mut text, ticks, self.scale);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Reads the little-endian number in `W` (at most 8) bytes.
#[inline]
pub(super) fn number<const W: usize>(data: [u8; W]) -> u64 {
    let mut wide = [0u8; 8];
    for (slot, byte) in wide.iter_mut().zip(data) {
        *slot = byte;
    }
    u64::from_le_bytes(wide)
}

/// Reads a `date`: days since 1970.
#[inline]
pub(super) fn date(data: [u8; 3]) -> Result<i32, Reason> {
    let days = number(data) as i32;
    if days > DAYS_MAX { Err(Reason::OutOfRange { sql_type: "date" }) } else { Ok(days - DAYS_TO_1970) }
}

/// Reads a `datetime2`: `W` is 6, 7 or 8, three of them the date.
#[inline]
pub(super) fn datetime2<const W: usize>(data: [u8; W]) -> Moment {
    let number = number(data);
    let time_bits = 8 * (W as u32 - 3);
    Moment { days: (number >> time_bits) as u32, ticks: number & ((1 << time_bits) - 1) }
}

/// Reads a `datetimeoffset`: the moment in UTC and the offset in minutes; `W` is 8, 9 or 10.
#[inline]
pub(super) fn datetimeoffset<const W: usize>(data: [u8; W]) -> Result<(Moment, i16), Reason> {
    let mut moment = [0u8; 8];
    for (slot, byte) in moment.iter_mut().zip(data.iter().take(W - 2)) {
        *slot = *byte;
    }
    let number = u64::from_le_bytes(moment);
    let time_bits = 8 * (W as u32 - 5);
    let offset = i16::from_le_bytes([data[W - 2], data[W - 1]]);
    if !(-840..=840).contains(&offset) {
        return Err(Reason::OutOfRange { sql_type: "datetimeoffset" });
    }
    Ok((Moment { days: (number >> time_bits) as u32, ticks: number & ((1 << time_bits) - 1) }, offset))
}

/// Reads a `datetime` as milliseconds since 1970: 1/300 s ticks end in 0, 3 and 7 ms.
#[inline]
pub(super) fn datetime(data: [u8; 8]) -> Result<i64, Reason> {
    let [a, b, c, d, e, f, g, h] = data;
    let since_1900 = i32::from_le_bytes([a, b, c, d]);
    let ticks = u32::from_le_bytes([e, f, g, h]);
    let out_of_range = Reason::OutOfRange { sql_type: "datetime" };
    let days = since_1900.checked_add(DAYS_TO_1900).filter(|days| (DAYS_TO_1753..=DAYS_MAX).contains(days));
    match days {
        Some(days) if ticks < 86_400 * 300 => {
            let milliseconds = (u64::from(ticks) * 10 + 1) / 3;
            Ok(i64::from(days - DAYS_TO_1970) * 86_400_000 + milliseconds as i64)
        }
        _ => Err(out_of_range),
    }
}

/// Reads a `smalldatetime` as seconds since 1970.
#[inline]
pub(super) fn smalldatetime([a, b, c, d]: [u8; 4]) -> Result<i64, Reason> {
    let (since_1900, minutes) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    if minutes >= 1440 {
        return Err(Reason::OutOfRange { sql_type: "smalldatetime" });
    }
    let days = i64::from(since_1900) + i64::from(DAYS_TO_1900 - DAYS_TO_1970);
    Ok(days * 86_400 + i64::from(minutes) * 60)
}

/// Makes the exact form of `datetime2(7)`: 100 ns since 0001-01-01, big-endian.
#[inline]
pub(super) fn exact(moment: Moment, scale: u8, sql_type: &'static str) -> Result<[u8; 8], Reason> {
    let per_day = ticks_per_day(scale);
    if moment.days > DAYS_MAX as u32 || moment.ticks >= per_day {
        return Err(Reason::OutOfRange { sql_type });
    }
    let per_tick = ticks_per_day(7) / per_day;
    let ticks = u64::from(moment.days) * ticks_per_day(7) + moment.ticks * per_tick;
    Ok(ticks.to_be_bytes())
}

/// Makes the exact form of `datetimeoffset`: [`exact`] in UTC, then the offset with its sign bit flipped. The
/// local time, which is what is shown, must be within the calendar too.
#[inline]
pub(super) fn exact_offset((moment, offset): (Moment, i16), scale: u8) -> Result<[u8; 10], Reason> {
    let utc = exact(moment, scale, "datetimeoffset")?;
    let local = u64::from_be_bytes(utc).checked_add_signed(i64::from(offset) * TICKS_PER_MINUTE);
    if local.is_none_or(|local| local >= CALENDAR_TICKS) {
        return Err(Reason::OutOfRange { sql_type: "datetimeoffset" });
    }
    let [a, b, c, d, e, f, g, h] = utc;
    let [i, j] = (offset as u16 ^ 0x8000).to_be_bytes();
    Ok([a, b, c, d, e, f, g, h, i, j])
}

/// Units of 100 ns in a minute, and from 0001-01-01 to the end of 9999-12-31.
const TICKS_PER_MINUTE: i64 = 600_000_000;
const CALENDAR_TICKS: u64 = (DAYS_MAX as u64 + 1) * 864_000_000_000;
