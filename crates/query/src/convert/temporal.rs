//! To the date and time types.

use rows::text::{DateOrder, ParseOptions, TextError, datetime};
use tds::SqlType;

use super::super::datum::{DAYS_MAX, DAYS_TO_1900, Datum, TICKS_PER_DAY, TICKS_PER_SECOND};
use super::{bytes, refused, type_name};
use crate::date_format::{DateFormat, DateReading, with_day_before_month, with_whole_date};
use crate::language::Language;
use crate::running;
use tsql::SqlError;
use tsql::errors;

/// Converts a value that is not NULL.
pub(super) fn to_temporal(value: Datum, from: &SqlType, to: &SqlType, style: i32) -> Result<Datum, SqlError> {
    let value = match value {
        Datum::Text(text) => return from_text(&text, from, to, style),
        // datetime and smalldatetime take numbers as days since 1900-01-01.
        Datum::Int(_) | Datum::Bit(_) | Datum::Float(_) | Datum::Real(_) | Datum::Decimal(_)
            if matches!(to, SqlType::DateTime | SqlType::SmallDateTime) =>
        {
            let days = super::convert(value, from, &SqlType::Float, 0)?;
            let Datum::Float(days) = days else { return Err(refused(from, to)) };
            Datum::Moment((DAYS_TO_1900 * TICKS_PER_DAY).saturating_add((days * TICKS_PER_DAY as f64) as i64))
        }
        Datum::Binary(bytes) => {
            let (local, offset_minutes) = bytes::moment_of(&bytes, to)?;
            return place(local, offset_minutes, to).ok_or_else(|| out_of_range(from, to));
        }
        Datum::RowVersion(version) if matches!(to, SqlType::DateTime | SqlType::SmallDateTime) => {
            return to_temporal(Datum::Binary(version.to_be_bytes().to_vec()), from, to, style);
        }
        other => other,
    };
    // Everything has a date part and a time part; the target keeps what it has room for.
    let (local, offset_minutes) = match value {
        Datum::Date(days) => (days * TICKS_PER_DAY, 0),
        Datum::Time(ticks) if *to == SqlType::Date => {
            let _ = ticks;
            return Err(refused(from, to));
        }
        Datum::Time(ticks) => (DAYS_TO_1900 * TICKS_PER_DAY + ticks, 0),
        Datum::Moment(ticks) => (ticks, 0),
        Datum::Instant { ticks, offset_minutes } => {
            (ticks + i64::from(offset_minutes) * 60 * TICKS_PER_SECOND, offset_minutes)
        }
        _ => return Err(refused(from, to)),
    };
    place(local, offset_minutes, to).ok_or_else(|| out_of_range(from, to))
}

/// Rounds local ticks to the target. None if they leave its range.
pub fn place(local: i64, offset_minutes: i16, to: &SqlType) -> Option<Datum> {
    // Far outside the calendar nothing below could overflow.
    let beyond = (DAYS_MAX + 2) * TICKS_PER_DAY;
    if !(-TICKS_PER_DAY..beyond).contains(&local) {
        return None;
    }
    let in_calendar = |ticks: i64| (0..(DAYS_MAX + 1) * TICKS_PER_DAY).contains(&ticks).then_some(ticks);
    match to {
        SqlType::Date => Some(Datum::Date(local.div_euclid(TICKS_PER_DAY))),
        SqlType::Time { scale } => {
            // Rounding past midnight wraps, as in SQL Server.
            Some(Datum::Time(round_to(local.rem_euclid(TICKS_PER_DAY), *scale) % TICKS_PER_DAY))
        }
        SqlType::DateTime2 { scale } => in_calendar(round_to(local, *scale)).map(Datum::Moment),
        SqlType::DateTime => {
            let (days, ticks) = (local.div_euclid(TICKS_PER_DAY), local.rem_euclid(TICKS_PER_DAY));
            // 1/300 s, kept as the millisecond that SQL Server shows for it.
            let units = (ticks * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
            let milliseconds = (units * 10 + 1) / 3;
            let moment = in_calendar(days * TICKS_PER_DAY + milliseconds * 10_000)?;
            (moment >= 639_905 * TICKS_PER_DAY).then_some(Datum::Moment(moment))
        }
        SqlType::SmallDateTime => {
            let minute = 60 * TICKS_PER_SECOND;
            let moment = (local + minute / 2).div_euclid(minute) * minute;
            let days = moment.div_euclid(TICKS_PER_DAY) - DAYS_TO_1900;
            (0..=65_535).contains(&days).then_some(Datum::Moment(moment))
        }
        SqlType::DateTimeOffset { scale } => {
            let local = round_to(local, *scale);
            let ticks = in_calendar(local - i64::from(offset_minutes) * 60 * TICKS_PER_SECOND)?;
            Some(Datum::Instant { ticks, offset_minutes })
        }
        _ => None,
    }
}

/// Ticks rounded half up to `scale` digits of a second.
pub fn round_to(ticks: i64, scale: u8) -> i64 {
    let unit = 10_i64.pow(u32::from(7 - scale.min(7)));
    ticks.saturating_add(unit / 2).div_euclid(unit).saturating_mul(unit)
}

pub(super) fn from_text(text: &str, from: &SqlType, to: &SqlType, style: i32) -> Result<Datum, SqlError> {
    let dates = running::date_reading();
    let options = ParseOptions {
        allow_rounding: true,
        drop_time_zone: true,
        date_order: dates.order(style),
        ..ParseOptions::default()
    };
    let trimmed = text.trim_matches(' ');
    // The two old types read a date after the year as it stands elsewhere; the others do not.
    let is_old = matches!(to, SqlType::DateTime | SqlType::SmallDateTime);
    let turned = (is_old && dates.turns_old_types(style)).then(|| with_day_before_month(trimmed)).flatten();
    let trimmed = turned.as_deref().unwrap_or(trimmed);
    let language = running::language();
    let translated = match language == Language::ENGLISH {
        true => None,
        false => language.with_english_month(trimmed).map_err(|_| unreadable(to))?,
    };
    let trimmed = translated.as_deref().unwrap_or(trimmed);
    let whole = with_whole_date(trimmed, written_order(style, dates), dates);
    let trimmed = whole.as_deref().unwrap_or(trimmed);
    let offset = with_whole_offset(trimmed);
    let trimmed = offset.as_deref().unwrap_or(trimmed);
    if trimmed.is_empty() {
        // An empty text is 1900-01-01 00:00.
        return place(DAYS_TO_1900 * TICKS_PER_DAY, 0, to).ok_or_else(|| out_of_range(from, to));
    }
    let failed = |error: TextError| match error {
        // Only the two old types tell a wrong day from a text that is no date.
        TextError::OutOfRange { .. } | TextError::NoSuchDay
            if matches!(to, SqlType::DateTime | SqlType::SmallDateTime) =>
        {
            out_of_range(from, to)
        }
        TextError::AmbiguousDate => {
            let mut error = unreadable(to);
            error.message += " The order of day and month is not known: say --date-order, or CONVERT with style 101 or 103.";
            error
        }
        _ => unreadable(to),
    };
    // The two old types read milliseconds and no more.
    if is_old && fraction_digits(trimmed) > 3 {
        return Err(unreadable(to));
    }
    if let SqlType::Date = to {
        return datetime::date(trimmed, &options).map(|days| Datum::Date(i64::from(days))).map_err(failed);
    }
    if let SqlType::Time { scale } = to {
        // A date alone is midnight. What would be rounded to the next midnight is cut instead.
        return match datetime::time(with_ticks(trimmed), 7, &options) {
            Ok(ticks) => {
                let unit = 10_i64.pow(u32::from(7 - (*scale).min(7)));
                Ok(Datum::Time(round_to(ticks as i64, *scale).min(TICKS_PER_DAY - unit)))
            }
            Err(error) => match datetime::date(trimmed, &options) {
                Ok(_) => Ok(Datum::Time(0)),
                Err(_) => Err(failed(error)),
            },
        };
    }
    // A time alone is on 1900-01-01.
    let (ticks, offset_minutes) = match datetime::datetimeoffset(trimmed, 7, &options) {
        Ok((days, ticks, offset)) => {
            let utc = i64::from(days) * TICKS_PER_DAY + ticks as i64;
            (utc + i64::from(offset) * 60 * TICKS_PER_SECOND, offset)
        }
        Err(error) => match datetime::time(trimmed, 7, &options) {
            Ok(ticks) => (DAYS_TO_1900 * TICKS_PER_DAY + ticks as i64, 0),
            Err(_) => return Err(failed(error)),
        },
    };
    place(ticks, offset_minutes, to).ok_or_else(|| out_of_range(from, to))
}

/// Writes the hours of an offset at the end of a text in two digits; `None` if they are, or there is no offset.
fn with_whole_offset(text: &str) -> Option<String> {
    let at = text.len().checked_sub("+h:mm".len())?;
    let offset = text.as_bytes().get(at..)?;
    let [sign, hour, b':', minutes @ ..] = offset else { return None };
    let is_offset =
        matches!(sign, b'+' | b'-') && hour.is_ascii_digit() && minutes.iter().all(u8::is_ascii_digit);
    let (before, hours) = (text.get(..=at)?, text.get(at + 1..)?);
    is_offset.then(|| format!("{before}0{hours}"))
}

/// Returns the order of a date without a whole year: that of CONVERT's style, else the session's or the file's. `None`
/// if the file's is not declared.
fn written_order(style: i32, dates: DateReading) -> Option<DateFormat> {
    match (style, dates) {
        (1 | 10 | 101 | 110, _) => Some(DateFormat::Mdy),
        (2 | 11 | 102 | 111, _) => Some(DateFormat::Ymd),
        (3 | 4 | 5 | 103 | 104 | 105, _) => Some(DateFormat::Dmy),
        (_, DateReading::Session(format)) => Some(format),
        (_, DateReading::Copy(spelling)) => spelling.date_order.map(|order| match order {
            DateOrder::DayMonthYear => DateFormat::Dmy,
            DateOrder::MonthDayYear => DateFormat::Mdy,
            DateOrder::YearMonthDay => DateFormat::Ymd,
        }),
    }
}

/// Makes the error for a text that is no date or time.
fn unreadable(to: &SqlType) -> SqlError {
    match to {
        SqlType::SmallDateTime => {
            let text = "Conversion failed when converting character string to smalldatetime data type.";
            SqlError::new(295, 16, 3, text)
        }
        _ => errors::DATE_CONVERSION_FAILED.error(),
    }
}

/// Digits behind the point of a second.
fn fraction_digits(text: &str) -> usize {
    let Some((time, digits)) = text.rsplit_once('.') else { return 0 };
    match time.contains(':') {
        true => digits.bytes().take_while(u8::is_ascii_digit).count(),
        false => 0,
    }
}

/// Cuts a time to the seven digits of a second that types have.
fn with_ticks(text: &str) -> &str {
    match text.rsplit_once('.') {
        Some((whole, digits)) if digits.len() > 7 && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            text.get(..whole.len() + 8).unwrap_or(text)
        }
        _ => text,
    }
}

fn out_of_range(from: &SqlType, to: &SqlType) -> SqlError {
    let (from, to) = (type_name(from), type_name(to));
    SqlError::new(
        242,
        16,
        3,
        format!(
            "The conversion of a {from} data type to a {to} data type resulted in an out-of-range value."
        ),
    )
}
