//! The six temporal types, from text to the numbers that travel on the wire (MS-TDS 2.2.5.5.1).

use super::{
    ParseOptions, TextError,
    calendar::{DAYS_MAX, DAYS_TO_1753, DAYS_TO_1900},
    clock::{Clock, ticks_per_day},
    moment::{Moment, moment},
};

const THREE_HUNDREDTHS_PER_DAY: u32 = 86_400 * 300;
const MINUTES_PER_DAY: u16 = 1440;
/// 2079-06-06, the last day of `smalldatetime`, since 1900-01-01.
const SMALL_DATE_TIME_DAYS_MAX: i32 = 65_535;

/// Parses a `date`: days since 0001-01-01. A time of day other than midnight needs `allow_rounding`.
pub fn date(text: &str, options: &ParseOptions) -> Result<i32, TextError> {
    let moment = local(text, options)?;
    let days = moment.days.ok_or(TextError::Syntax { expected: "a date" })?;
    if !options.allow_rounding && moment.clock.is_some_and(|clock| !clock.is_midnight()) {
        return Err(TextError::LosesTime);
    }
    Ok(days)
}

/// Parses a `time(scale)`: ticks of 10^-scale s since midnight. A date before the time needs
/// `allow_rounding`, except for 1900-01-01: SQL Server writes a time so that has become a `datetime`.
pub fn time(text: &str, scale: u8, options: &ParseOptions) -> Result<u64, TextError> {
    let moment = local(text, options)?;
    let clock = moment.clock.ok_or(TextError::Syntax { expected: "a time" })?;
    if !options.allow_rounding && moment.days.is_some_and(|days| days != DAYS_TO_1900) {
        return Err(TextError::LosesDate);
    }
    let ticks = clock.ticks(scale, options.allow_rounding)?;
    if ticks >= ticks_per_day(scale) { Err(TextError::OutOfRange { target: "time" }) } else { Ok(ticks) }
}

/// Parses a `datetime2(scale)`: days since 0001-01-01 and ticks of 10^-scale s since midnight.
pub fn datetime2(text: &str, scale: u8, options: &ParseOptions) -> Result<(i32, u64), TextError> {
    let (days, clock) = dated(local(text, options)?)?;
    whole_days(days, clock.ticks(scale, options.allow_rounding)?, scale, "datetime2")
}

/// Parses a `datetimeoffset(scale)`: days and ticks in UTC, and the offset in minutes. A text without an
/// offset means +00:00, as in SQL Server.
pub fn datetimeoffset(text: &str, scale: u8, options: &ParseOptions) -> Result<(i32, u64, i16), TextError> {
    let moment = moment(text, options)?;
    let (days, clock) = dated(moment)?;
    let offset_minutes = moment.offset_minutes.unwrap_or(0);
    let (days, ticks) =
        whole_days(days, clock.ticks(scale, options.allow_rounding)?, scale, TYPE_WITH_OFFSET)?;
    let beyond = TextError::OutOfRange { target: TYPE_WITH_OFFSET };
    let per_day = i64::try_from(ticks_per_day(scale)).map_err(|_| beyond)?;
    let per_minute = per_day / i64::from(MINUTES_PER_DAY);
    let utc = i64::try_from(ticks).map_err(|_| beyond)? - i64::from(offset_minutes) * per_minute;
    let days = days + i32::try_from(utc.div_euclid(per_day)).map_err(|_| beyond)?;
    if !(0..=DAYS_MAX).contains(&days) {
        return Err(beyond);
    }
    Ok((days, utc.rem_euclid(per_day).unsigned_abs(), offset_minutes))
}

/// Parses a `datetime`: days since 1900-01-01 (negative before) and ticks of 1/300 s since midnight.
///
/// Milliseconds ending in 0, 3 or 7 are the type's own spelling; others need `allow_rounding`.
pub fn datetime(text: &str, options: &ParseOptions) -> Result<(i32, u32), TextError> {
    let (mut days, clock) = dated(local(text, options)?)?;
    let mut ticks = clock.three_hundredths(options.allow_rounding)?;
    if ticks >= THREE_HUNDREDTHS_PER_DAY {
        (days, ticks) = (days + 1, 0);
    }
    if !(DAYS_TO_1753..=DAYS_MAX).contains(&days) {
        return Err(TextError::OutOfRange { target: "datetime (1753-01-01 to 9999-12-31)" });
    }
    Ok((days - DAYS_TO_1900, ticks))
}

/// Parses a `smalldatetime`: days since 1900-01-01 and minutes since midnight. Seconds need `allow_rounding`.
pub fn smalldatetime(text: &str, options: &ParseOptions) -> Result<(u16, u16), TextError> {
    let (mut days, clock) = dated(local(text, options)?)?;
    let mut minutes = clock.minutes(options.allow_rounding)?;
    if minutes >= MINUTES_PER_DAY {
        (days, minutes) = (days + 1, 0);
    }
    let beyond = TextError::OutOfRange { target: "smalldatetime (1900-01-01 to 2079-06-06)" };
    match days - DAYS_TO_1900 {
        since_1900 @ 0..=SMALL_DATE_TIME_DAYS_MAX => {
            Ok((u16::try_from(since_1900).map_err(|_| beyond)?, minutes))
        }
        _ => Err(beyond),
    }
}

const TYPE_WITH_OFFSET: &str = "datetimeoffset";

/// Parses a moment for a type that has no offset.
#[inline]
fn local(text: &str, options: &ParseOptions) -> Result<Moment, TextError> {
    let moment = moment(text, options)?;
    if moment.offset_minutes.is_some() && !options.drop_time_zone {
        return Err(TextError::LosesOffset);
    }
    Ok(moment)
}

/// Splits a moment into a date and its time of day, midnight if none is written.
fn dated(moment: Moment) -> Result<(i32, Clock), TextError> {
    let days = moment.days.ok_or(TextError::Syntax { expected: "a date and time" })?;
    Ok((days, moment.clock.unwrap_or(Clock::MIDNIGHT)))
}

/// Carries a full day of ticks into the date.
fn whole_days(days: i32, ticks: u64, scale: u8, target: &'static str) -> Result<(i32, u64), TextError> {
    if ticks < ticks_per_day(scale) {
        Ok((days, ticks))
    } else if days < DAYS_MAX {
        Ok((days + 1, 0))
    } else {
        Err(TextError::OutOfRange { target })
    }
}
