//! Functions of dates and times.

use rows::text::calendar::{civil_from_days, days_from_civil};
use tds::{Length, SqlType};

use super::super::convert::{Parts, place, type_name};
use super::super::datum::{DAYS_MAX, DAYS_TO_1900, TICKS_PER_DAY, TICKS_PER_SECOND};
use super::super::running;
use super::super::typed::Typed;
use super::super::types::is_numeric;
use super::super::{Datum, Facts};
use super::function::{Call, Function};
use super::kernel::{DateFunction, Kernel, scalar};
use super::{is_convertible, name_type, strict};
use tsql::SqlError;

/// Functions of dates and times whose arguments are values.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("CURRENT_TIMESTAMP", &[], "datetime", |call| now(call, SqlType::DateTime))
        .written("CURRENT_TIMESTAMP")
        .light(),
    scalar("GETDATE", &[], "datetime", |call| now(call, SqlType::DateTime)).light(),
    scalar("GETUTCDATE", &[], "datetime", |call| now(call, SqlType::DateTime)).light(),
    // The server's own zone is that of UTC.
    scalar("CURRENT_TIMEZONE", &[], "varchar(64)", |_| zone("(UTC) Coordinated Universal Time")),
    scalar("CURRENT_TIMEZONE_ID", &[], "varchar(64)", |_| zone("UTC")),
    scalar("SYSDATETIME", &[], "datetime2(7)", |call| now(call, SqlType::DateTime2 { scale: 7 })).light(),
    scalar("SYSUTCDATETIME", &[], "datetime2(7)", |call| now(call, SqlType::DateTime2 { scale: 7 })).light(),
    scalar("SYSDATETIMEOFFSET", &[], "datetimeoffset(7)", |call| {
        now(call, SqlType::DateTimeOffset { scale: 7 })
    })
    .light(),
    scalar("CURRENT_DATE", &[], "date", |call| now(call, SqlType::Date)).written("CURRENT_DATE"),
    scalar("YEAR", &["date"], "int", |call| part_of_date(call, DatePart::Year)).light(),
    scalar("MONTH", &["date"], "int", |call| part_of_date(call, DatePart::Month)).light(),
    scalar("DAY", &["date"], "int", |call| part_of_date(call, DatePart::Day)).light(),
    scalar("EOMONTH", &["date"], "date", end_of_month).optional(&["months"]),
    scalar("DATEFROMPARTS", &["year", "month", "day"], "date", date_from_parts),
    scalar("ISDATE", &["value"], "int", is_date),
    scalar("SWITCHOFFSET", &["value", "offset"], "datetimeoffset", |call| with_offset(call, true)),
    scalar("TODATETIMEOFFSET", &["value", "offset"], "datetimeoffset", |call| with_offset(call, false)),
];

fn zone(name: &str) -> Result<Typed, SqlError> {
    Typed::constant(Datum::Text(name.to_owned()), SqlType::VarChar { length: Length::Units(64) })
}

/// Returns the time at which the statement began.
fn now(call: &Call<'_, dyn Facts>, sql_type: SqlType) -> Result<Typed, SqlError> {
    let value = place(call.facts.now(), 0, &sql_type).unwrap_or(Datum::Null);
    Typed::constant(value, sql_type).map(|typed| Typed { nullable: false, ..typed })
}

fn part_of_date(call: &Call<'_, dyn Facts>, part: DatePart) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    date_part(part, value, call.facts.date_first())
}

fn end_of_month(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let months = call.argument_or(1, Datum::Int(0), SqlType::Int)?;
    strict(call.name, vec![(value, SqlType::Date), (months, SqlType::Int)], SqlType::Date, |values| {
        let (Datum::Date(days), Datum::Int(months)) = (&values[0], &values[1]) else {
            return Ok(Datum::Null);
        };
        let next = add_months(*days, months + 1).ok_or_else(|| overflow("date"))?;
        let (_, _, day) = civil_from_days(next as i32);
        Ok(Datum::Date(next - i64::from(day)))
    })
}

fn date_from_parts(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [year, month, day] = call.take()?;
    let cast = [year, month, day].map(|value| (value, SqlType::Int)).to_vec();
    strict(call.name, cast, SqlType::Date, |values| {
        let parts: Vec<u32> = values
            .iter()
            .map(|value| value.as_int().and_then(|v| u32::try_from(v).ok()).unwrap_or(0))
            .collect();
        match parts.as_slice() {
            [year, month, day] => {
                days_from_civil(*year, *month, *day).map(|days| Datum::Date(i64::from(days)))
            }
            _ => None,
        }
        .ok_or_else(|| {
            SqlError::new(
                289,
                16,
                1,
                "Cannot construct data type date, some of the arguments have values which are not valid.",
            )
        })
    })
}

fn is_date(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    is_convertible(call.name, &value, &SqlType::DateTime)
}

fn with_offset(call: &Call<'_, dyn Facts>, keeps_instant: bool) -> Result<Typed, SqlError> {
    let [value, offset] = call.take()?;
    // As many digits as the value has.
    let scale = match value.sql_type {
        SqlType::DateTimeOffset { scale } | SqlType::DateTime2 { scale } | SqlType::Time { scale } => scale,
        SqlType::DateTime => 3,
        SqlType::SmallDateTime | SqlType::Date => 0,
        _ => 7,
    };
    let result = SqlType::DateTimeOffset { scale };
    let offset_type = if offset.sql_type.is_character() { name_type() } else { SqlType::Int };
    strict(call.name, vec![(value, result.clone()), (offset, offset_type)], result, move |values| {
        let Datum::Instant { ticks, offset_minutes } = values[0] else { return Ok(Datum::Null) };
        let minutes = offset_of(&values[1])?;
        let local = ticks + i64::from(offset_minutes) * 60 * TICKS_PER_SECOND;
        let ticks = if keeps_instant { ticks } else { local - i64::from(minutes) * 60 * TICKS_PER_SECOND };
        // Both the instant and its local time are of the years 1 to 9999.
        let days = 0..(DAYS_MAX + 1) * TICKS_PER_DAY;
        let shown = ticks + i64::from(minutes) * 60 * TICKS_PER_SECOND;
        if !days.contains(&ticks) || !days.contains(&shown) {
            return Err(overflow("datetimeoffset"));
        }
        Ok(Datum::Instant { ticks, offset_minutes: minutes })
    })
}

fn offset_of(value: &Datum) -> Result<i16, SqlError> {
    let invalid = || SqlError::new(9812, 16, 0, "The timezone provided to builtin function is invalid.");
    match value {
        Datum::Int(minutes) => {
            i16::try_from(*minutes).ok().filter(|m| (-840..=840).contains(m)).ok_or_else(invalid)
        }
        Datum::Text(text) => {
            let (sign, rest) = match text.strip_prefix('-') {
                Some(rest) => (-1, rest),
                None => (1, text.strip_prefix('+').unwrap_or(text)),
            };
            let (hours, minutes) = rest.split_once(':').ok_or_else(invalid)?;
            let total = hours.parse::<i16>().map_err(|_| invalid())? * 60
                + minutes.parse::<i16>().map_err(|_| invalid())?;
            Ok(sign * total)
        }
        _ => Err(invalid()),
    }
}

/// Dateparts and their abbreviations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatePart {
    Year,
    Quarter,
    Month,
    DayOfYear,
    Day,
    Week,
    IsoWeek,
    Weekday,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Offset,
}

fn part_of(name: &str) -> Option<DatePart> {
    Some(match name.to_ascii_lowercase().as_str() {
        "year" | "yy" | "yyyy" => DatePart::Year,
        "quarter" | "qq" | "q" => DatePart::Quarter,
        "month" | "mm" | "m" => DatePart::Month,
        "dayofyear" | "dy" | "y" => DatePart::DayOfYear,
        "day" | "dd" | "d" => DatePart::Day,
        "week" | "wk" | "ww" => DatePart::Week,
        "iso_week" | "isowk" | "isoww" => DatePart::IsoWeek,
        "weekday" | "dw" | "w" => DatePart::Weekday,
        "hour" | "hh" => DatePart::Hour,
        "minute" | "mi" | "n" => DatePart::Minute,
        "second" | "ss" | "s" => DatePart::Second,
        "millisecond" | "ms" => DatePart::Millisecond,
        "microsecond" | "mcs" => DatePart::Microsecond,
        "nanosecond" | "ns" => DatePart::Nanosecond,
        "tzoffset" | "tz" => DatePart::Offset,
        _ => return None,
    })
}

/// Binds a call whose first argument is a datepart. Errors: 155 for a word that is not a datepart.
pub fn date_call(
    function: DateFunction,
    name: &str,
    part_name: &str,
    arguments: Vec<Typed>,
    date_first: u8,
) -> Result<Typed, SqlError> {
    let part = part_of(part_name).ok_or_else(|| {
        let text = format!("'{part_name}' is not a recognized {} option.", name.to_lowercase());
        SqlError::new(155, 15, 1, text)
    })?;
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().ok_or_else(|| SqlError::internal("a date function without arguments"));
    match function {
        DateFunction::Add => {
            let (count, value) = (next()?, next()?);
            check_part(part, part_name, name, &temporal_type(&value, SqlType::DateTime))?;
            date_add(part, count, value, date_first)
        }
        DateFunction::Difference => date_difference(part, next()?, next()?, true, date_first),
        DateFunction::BigDifference => date_difference(part, next()?, next()?, false, date_first),
        DateFunction::Part => {
            let value = next()?;
            check_part(part, part_name, name, &value.sql_type)?;
            date_part(part, value, date_first)
        }
        DateFunction::Name => {
            let value = moment_of(next()?, part)?;
            check_part(part, part_name, name, &value.sql_type)?;
            let key = format!("DATENAME_{part:?}_{date_first}");
            let result = SqlType::NVarChar { length: tds::Length::Units(30) };
            strict(&key, vec![(value, wide())], result, move |values| {
                Ok(Datum::Text(part_name_of(part, &values[0], date_first)))
            })
        }
        DateFunction::Truncate => {
            let value = next()?;
            check_part(part, part_name, name, &temporal_type(&value, SqlType::DateTime2 { scale: 7 }))?;
            date_truncate(part, value, date_first)
        }
        DateFunction::Bucket => {
            let (width, value) = (next()?, next()?);
            check_part(part, part_name, name, &temporal_type(&value, SqlType::DateTime2 { scale: 7 }))?;
            date_bucket(part, width, value, next().ok())
        }
    }
}

/// Returns the type in which moments are compared.
fn wide() -> SqlType {
    SqlType::DateTimeOffset { scale: 7 }
}

/// Converts a value to a date or time. A number counts days from 1900-01-01, as datetime does; a text becomes
/// datetime2, or datetimeoffset if its offset is wanted.
fn moment_of(value: Typed, part: DatePart) -> Result<Typed, SqlError> {
    let text_type = if part == DatePart::Offset { wide() } else { SqlType::DateTime2 { scale: 7 } };
    let sql_type = temporal_type(&value, text_type);
    value.cast(&sql_type)
}

/// Converts a value to the type in which moments are compared.
fn compared(value: Typed) -> Result<(Typed, SqlType), SqlError> {
    let sql_type = temporal_type(&value, wide());
    Ok((value.cast(&sql_type)?, wide()))
}

fn temporal_type(value: &Typed, otherwise: SqlType) -> SqlType {
    match &value.sql_type {
        own if own.is_temporal() => own.clone(),
        own if is_numeric(own) && !value.untyped_null || own.is_binary() => SqlType::DateTime,
        _ => otherwise,
    }
}

/// Errors: 9810 for a part that a type does not have, or not as finely.
fn check_part(part: DatePart, written: &str, function: &str, sql_type: &SqlType) -> Result<(), SqlError> {
    let of_day = matches!(
        part,
        DatePart::Hour
            | DatePart::Minute
            | DatePart::Second
            | DatePart::Millisecond
            | DatePart::Microsecond
            | DatePart::Nanosecond
    );
    let truncates = function.eq_ignore_ascii_case("DATETRUNC");
    let digits = match part {
        DatePart::Millisecond => 3,
        DatePart::Microsecond => 6,
        _ => 0,
    };
    let lacks = match sql_type {
        SqlType::Date => of_day,
        SqlType::Time { .. } => !of_day && part != DatePart::Offset,
        _ => false,
    };
    let too_fine = match sql_type {
        SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => {
            digits > *scale
        }
        SqlType::DateTime => digits > 3,
        SqlType::SmallDateTime => digits > 0,
        _ => false,
    };
    let unbucketed = matches!(
        part,
        DatePart::DayOfYear
            | DatePart::Weekday
            | DatePart::IsoWeek
            | DatePart::Microsecond
            | DatePart::Nanosecond
            | DatePart::Offset
    );
    let never = truncates && matches!(part, DatePart::Nanosecond | DatePart::Weekday | DatePart::Offset)
        || function.eq_ignore_ascii_case("DATE_BUCKET") && unbucketed
        || function.eq_ignore_ascii_case("DATEADD") && matches!(part, DatePart::IsoWeek | DatePart::Offset);
    if lacks || never || truncates && too_fine {
        let text = format!(
            "The datepart {written} is not supported by date function {} for data type {}.",
            function.to_lowercase(),
            type_name(sql_type)
        );
        return Err(SqlError::new(9810, 16, 1, text));
    }
    Ok(())
}

fn date_add(part: DatePart, count: Typed, value: Typed, date_first: u8) -> Result<Typed, SqlError> {
    let sql_type = temporal_type(&value, SqlType::DateTime);
    let result = sql_type.clone();
    let key = format!("DATEADD_{part:?}_{date_first}");
    let cast = vec![(count, SqlType::BigInt), (value, sql_type.clone())];
    strict(&key, cast, sql_type, move |values| {
        add(part, values[0].as_int().unwrap_or(0), &values[1], &result)
    })
}

fn date_difference(
    part: DatePart,
    from: Typed,
    to: Typed,
    small: bool,
    date_first: u8,
) -> Result<Typed, SqlError> {
    let (name, result) = match small {
        true => ("DATEDIFF", SqlType::Int),
        false => ("DATEDIFF_BIG", SqlType::BigInt),
    };
    let key = format!("{name}_{part:?}_{date_first}");
    strict(&key, vec![compared(from)?, compared(to)?], result, move |values| {
        let difference = difference(part, &values[0], &values[1]);
        if small && i32::try_from(difference).is_err() {
            return Err(SqlError::new(
                535,
                16,
                0,
                "The datediff function resulted in an overflow. The number of dateparts separating two date/time instances is too large. Try to use datediff with a less precise datepart.",
            ));
        }
        Ok(Datum::Int(difference))
    })
}

fn date_part(part: DatePart, value: Typed, date_first: u8) -> Result<Typed, SqlError> {
    let value = moment_of(value, part)?;
    let key = format!("DATEPART_{part:?}_{date_first}");
    strict(&key, vec![(value, wide())], SqlType::Int, move |values| {
        Ok(Datum::Int(part_value(part, &values[0], date_first)))
    })
}

fn date_truncate(part: DatePart, value: Typed, date_first: u8) -> Result<Typed, SqlError> {
    let sql_type = temporal_type(&value, SqlType::DateTime2 { scale: 7 });
    let result = sql_type.clone();
    let key = format!("DATETRUNC_{part:?}_{date_first}");
    let value = value.cast(&sql_type)?;
    strict(&key, vec![(value, wide())], sql_type, move |values| {
        truncate(part, &values[0], &result, date_first)
    })
}

/// Returns the beginning of the bucket that a value falls into. Buckets are `width` parts long and counted from `origin`, which is
/// 1900-01-01 unless it is given.
///
/// Errors when run: 9834 for a width that is not positive, 517.
fn date_bucket(part: DatePart, width: Typed, value: Typed, origin: Option<Typed>) -> Result<Typed, SqlError> {
    let sql_type = temporal_type(&value, SqlType::DateTime2 { scale: 7 });
    let origin = match origin {
        Some(origin) => origin,
        None => {
            let first = place(DAYS_TO_1900 * TICKS_PER_DAY, 0, &sql_type).unwrap_or(Datum::Null);
            Typed::constant(first, sql_type.clone())?
        }
    };
    let result = sql_type.clone();
    let arguments = vec![(width, SqlType::BigInt), (value, sql_type.clone()), (origin, sql_type.clone())];
    strict(&format!("DATE_BUCKET_{part:?}"), arguments, sql_type, move |values| {
        let width = values[0].as_int().unwrap_or(0);
        if width < 1 {
            let text = "Invalid bucket width value passed to date_bucket function. Only positive values are allowed.";
            return Err(SqlError::new(9834, 16, 1, text));
        }
        let ((ticks, offset), (origin, _)) = (local(&values[1]), local(&values[2]));
        let failed = || overflow(&type_name(&result));
        let begin = bucket_start(part, width, ticks, origin).ok_or_else(failed)?;
        place(begin, offset, &result).ok_or_else(failed)
    })
}

/// Returns where the bucket of a moment begins; None: before or behind every calendar.
fn bucket_start(part: DatePart, width: i64, ticks: i64, origin: i64) -> Option<i64> {
    let unit = match part {
        DatePart::Week => 7 * TICKS_PER_DAY,
        DatePart::Hour => 3600 * TICKS_PER_SECOND,
        DatePart::Minute => 60 * TICKS_PER_SECOND,
        DatePart::Second => TICKS_PER_SECOND,
        DatePart::Millisecond => 10_000,
        DatePart::Month | DatePart::Quarter | DatePart::Year => {
            let months = width.checked_mul(match part {
                DatePart::Year => 12,
                DatePart::Quarter => 3,
                _ => 1,
            })?;
            let month_of = |ticks: i64| {
                let (year, month, _) = civil_from_days(ticks.div_euclid(TICKS_PER_DAY) as i32);
                i64::from(year) * 12 + i64::from(month)
            };
            let begin = |bucket: i64| {
                let days = add_months(origin.div_euclid(TICKS_PER_DAY), bucket.checked_mul(months)?)?;
                Some(days * TICKS_PER_DAY + origin.rem_euclid(TICKS_PER_DAY))
            };
            let bucket = (month_of(ticks) - month_of(origin)).div_euclid(months);
            let start = begin(bucket)?;
            return if start > ticks { begin(bucket - 1) } else { Some(start) };
        }
        _ => TICKS_PER_DAY,
    };
    let span = unit.checked_mul(width)?;
    origin.checked_add((ticks - origin).div_euclid(span).checked_mul(span)?)
}

fn overflow(to: &str) -> SqlError {
    SqlError::new(517, 16, 1, format!("Adding a value to a '{to}' column caused an overflow."))
}

/// Returns local ticks and offset of any temporal value.
fn local(value: &Datum) -> (i64, i16) {
    match value {
        Datum::Date(days) => (days * TICKS_PER_DAY, 0),
        Datum::Time(ticks) => (DAYS_TO_1900 * TICKS_PER_DAY + ticks, 0),
        Datum::Moment(ticks) => (*ticks, 0),
        Datum::Instant { ticks, offset_minutes } => {
            (ticks + i64::from(*offset_minutes) * 60 * TICKS_PER_SECOND, *offset_minutes)
        }
        _ => (0, 0),
    }
}

/// Returns the same day of another month, or its last day.
fn add_months(days: i64, months: i64) -> Option<i64> {
    let (year, month, day) = civil_from_days(days as i32);
    let total = i64::from(year) * 12 + i64::from(month) - 1 + months;
    let (year, month) = (u32::try_from(total.div_euclid(12)).ok()?, total.rem_euclid(12) as u32 + 1);
    (28..=day).rev().chain([day]).find_map(|day| days_from_civil(year, month, day)).map(i64::from)
}

fn add(part: DatePart, count: i64, value: &Datum, sql_type: &SqlType) -> Result<Datum, SqlError> {
    let (ticks, offset) = local(value);
    let failed = || overflow(&super::super::convert::type_name(sql_type));
    let unit = match part {
        DatePart::Day | DatePart::DayOfYear | DatePart::Weekday => TICKS_PER_DAY,
        DatePart::Week => 7 * TICKS_PER_DAY,
        DatePart::Hour => 3600 * TICKS_PER_SECOND,
        DatePart::Minute => 60 * TICKS_PER_SECOND,
        DatePart::Second => TICKS_PER_SECOND,
        DatePart::Millisecond => 10_000,
        DatePart::Microsecond => 10,
        DatePart::Nanosecond => {
            let sum = ticks.checked_add(count / 100).ok_or_else(failed)?;
            return place(sum, offset, sql_type).ok_or_else(failed);
        }
        DatePart::Year | DatePart::Quarter | DatePart::Month => {
            let months = count.checked_mul(match part {
                DatePart::Year => 12,
                DatePart::Quarter => 3,
                _ => 1,
            });
            let days = months
                .filter(|months| months.unsigned_abs() < 200_000)
                .and_then(|months| add_months(ticks.div_euclid(TICKS_PER_DAY), months))
                .ok_or_else(failed)?;
            let sum = days * TICKS_PER_DAY + ticks.rem_euclid(TICKS_PER_DAY);
            return place(sum, offset, sql_type).ok_or_else(failed);
        }
        DatePart::IsoWeek | DatePart::Offset => {
            return Err(SqlError::internal("a part that no date function adds"));
        }
    };
    let sum = count.checked_mul(unit).and_then(|span| ticks.checked_add(span)).ok_or_else(failed)?;
    place(sum, offset, sql_type)
        .filter(|value| !matches!(value, Datum::Date(days) if !(0..=3_652_058).contains(days)))
        .ok_or_else(failed)
}

/// Boundaries crossed between two moments.
fn difference(part: DatePart, from: &Datum, to: &Datum) -> i64 {
    let instant = |value: &Datum| match value {
        Datum::Instant { ticks, .. } => *ticks,
        other => local(other).0,
    };
    let (from, to) = (instant(from), instant(to));
    let months = |ticks: i64| {
        let (year, month, _) = civil_from_days(ticks.div_euclid(TICKS_PER_DAY) as i32);
        i64::from(year) * 12 + i64::from(month) - 1
    };
    let units = |unit: i64| to.div_euclid(unit) - from.div_euclid(unit);
    match part {
        DatePart::Year => months(to).div_euclid(12) - months(from).div_euclid(12),
        DatePart::Quarter => months(to).div_euclid(3) - months(from).div_euclid(3),
        DatePart::Month => months(to) - months(from),
        DatePart::Day | DatePart::DayOfYear | DatePart::Weekday | DatePart::Offset => units(TICKS_PER_DAY),
        // Weeks begin on Sunday; 0001-01-01 was a Monday.
        DatePart::Week | DatePart::IsoWeek => {
            let week = |ticks: i64| (ticks.div_euclid(TICKS_PER_DAY) + 1).div_euclid(7);
            week(to) - week(from)
        }
        DatePart::Hour => units(3600 * TICKS_PER_SECOND),
        DatePart::Minute => units(60 * TICKS_PER_SECOND),
        DatePart::Second => units(TICKS_PER_SECOND),
        DatePart::Millisecond => units(10_000),
        DatePart::Microsecond => units(10),
        DatePart::Nanosecond => (to - from).saturating_mul(100),
    }
}

/// Days since the last beginning of a week; days are counted from a Monday.
fn since_week_began(days: i64, date_first: u8) -> i64 {
    (days + 1 - i64::from(date_first)).rem_euclid(7)
}

fn part_value(part: DatePart, value: &Datum, date_first: u8) -> i64 {
    let (ticks, offset) = local(value);
    let parts = Parts::of(ticks, offset);
    let days = ticks.div_euclid(TICKS_PER_DAY);
    let year_start = days_from_civil(parts.year, 1, 1).map_or(0, i64::from);
    let day_of_year = days - year_start + 1;
    match part {
        DatePart::Year => i64::from(parts.year),
        DatePart::Quarter => i64::from(parts.month + 2) / 3,
        DatePart::Month => i64::from(parts.month),
        DatePart::DayOfYear => day_of_year,
        DatePart::Day => i64::from(parts.day),
        // Week 1 holds January 1.
        DatePart::Week => (day_of_year - 1 + since_week_began(year_start, date_first)) / 7 + 1,
        DatePart::IsoWeek => {
            // The week of this week's Thursday.
            let thursday = days - days.rem_euclid(7) + 3;
            let (year, _, _) = civil_from_days(thursday as i32);
            (thursday - days_from_civil(year, 1, 1).map_or(0, i64::from)) / 7 + 1
        }
        DatePart::Weekday => since_week_began(days, date_first) + 1,
        DatePart::Hour => parts.hour,
        DatePart::Minute => parts.minute,
        DatePart::Second => parts.second,
        DatePart::Millisecond => parts.fraction / 10_000,
        DatePart::Microsecond => parts.fraction / 10,
        DatePart::Nanosecond => parts.fraction * 100,
        DatePart::Offset => i64::from(offset),
    }
}

fn part_name_of(part: DatePart, value: &Datum, date_first: u8) -> String {
    // The list of names begins with Monday.
    let week_begins = if part == DatePart::Weekday { 1 } else { date_first };
    let number = part_value(part, value, week_begins);
    let named = |names: &[&str]| {
        names.get((number - 1).max(0) as usize).map_or_else(String::new, |name| name.to_string())
    };
    match part {
        DatePart::Month => named(&running::language().months),
        DatePart::Weekday => named(&running::language().days),
        DatePart::Offset => {
            format!("{}{:02}:{:02}", if number < 0 { '-' } else { '+' }, number.abs() / 60, number.abs() % 60)
        }
        _ => number.to_string(),
    }
}

fn truncate(part: DatePart, value: &Datum, sql_type: &SqlType, date_first: u8) -> Result<Datum, SqlError> {
    let (ticks, offset) = local(value);
    let parts = Parts::of(ticks, offset);
    let days = ticks.div_euclid(TICKS_PER_DAY);
    let first = |month: u32| days_from_civil(parts.year, month, 1).map_or(0, i64::from) * TICKS_PER_DAY;
    let down = |unit: i64| ticks.div_euclid(unit) * unit;
    let truncated = match part {
        DatePart::Year => first(1),
        DatePart::Quarter => first((parts.month - 1) / 3 * 3 + 1),
        DatePart::Month => first(parts.month),
        DatePart::Week => (days - since_week_began(days, date_first)) * TICKS_PER_DAY,
        DatePart::IsoWeek => (days - days.rem_euclid(7)) * TICKS_PER_DAY,
        DatePart::Hour => down(3600 * TICKS_PER_SECOND),
        DatePart::Minute => down(60 * TICKS_PER_SECOND),
        DatePart::Second => down(TICKS_PER_SECOND),
        DatePart::Millisecond => down(10_000),
        DatePart::Microsecond => down(10),
        _ => down(TICKS_PER_DAY),
    };
    let too_early = || {
        let text = "An invalid date value was encountered: The date value is less than the minimum date value allowed for the data type.";
        SqlError::new(9837, 16, 1, text)
    };
    place(truncated, offset, sql_type)
        .filter(|value| !matches!(value, Datum::Date(days) if *days < 0))
        .ok_or_else(too_early)
}
