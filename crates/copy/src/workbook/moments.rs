//! Dates, times and durations of cells.

use calamine::{Data, ExcelDateTime};

use super::Kind;

pub const MILLISECONDS_A_DAY: i64 = 86_400_000;
/// Longest duration of a cell, in days: that of the last date.
const DAYS_MAX: f64 = 2_958_466.0;

/// Reads the time of a cell: a date in milliseconds since 1970, a time of day or a duration in milliseconds. `None`
/// for other cells, and for moments that a sheet cannot mean.
pub fn moment_of(cell: &Data) -> Option<(Kind, i64)> {
    match cell {
        Data::DateTime(moment) => of_number(moment),
        Data::DateTimeIso(text) => of_iso_date(text),
        Data::DurationIso(text) => of_iso_duration(text).map(of_span),
        _ => None,
    }
}

fn of_number(moment: &ExcelDateTime) -> Option<(Kind, i64)> {
    let value = moment.as_f64();
    if moment.is_duration() {
        return (value.abs() < DAYS_MAX).then(|| of_span((value * MILLISECONDS_A_DAY as f64).round() as i64));
    }
    if !(0.0..DAYS_MAX).contains(&value) {
        return None;
    }
    if value < 1.0 {
        let milliseconds = (value * MILLISECONDS_A_DAY as f64).round() as i64;
        return (milliseconds < MILLISECONDS_A_DAY).then_some((Kind::Time, milliseconds));
    }
    let (year, month, day, hour, minute, second, millisecond) = moment.to_ymd_hms_milli();
    let days = days_of(i64::from(year), i64::from(month), i64::from(day));
    let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
    Some(of_date(days * MILLISECONDS_A_DAY + seconds * 1000 + i64::from(millisecond)))
}

fn of_date(at: i64) -> (Kind, i64) {
    (if at % MILLISECONDS_A_DAY == 0 { Kind::Date } else { Kind::DateTime }, at)
}

/// Classifies a span: within a day it is a time of day, as sheets store them.
fn of_span(milliseconds: i64) -> (Kind, i64) {
    let kind = if (0..MILLISECONDS_A_DAY).contains(&milliseconds) { Kind::Time } else { Kind::Duration };
    (kind, milliseconds)
}

/// Parses `2024-01-02`, also with `T11:12:13.456`. A zone or more digits stay text.
fn of_iso_date(text: &str) -> Option<(Kind, i64)> {
    let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
    let mut parts = date.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let days = days_of(year, month, day);
    // A date that does not survive the round trip does not exist.
    if date_text(days) != date {
        return None;
    }
    let milliseconds = match time {
        None => 0,
        Some(time) => {
            let (clock, fraction) = time.split_once('.').map_or((time, "0"), |(clock, rest)| (clock, rest));
            let mut parts = clock.splitn(3, ':').map(number);
            let (hour, minute) = (parts.next()??, parts.next()??);
            let second = parts.next().map_or(Some(0), |second| second)?;
            let is_clock = hour < 24 && minute < 60 && second < 60;
            let fraction = milliseconds_of_fraction(fraction).filter(|_| is_clock)?;
            ((hour * 60 + minute) * 60 + second) * 1000 + fraction
        }
    };
    Some(of_date(days * MILLISECONDS_A_DAY + milliseconds))
}

/// Parses `PT11H12M12S`, `-P1DT2H`: days, hours, minutes and seconds.
fn of_iso_duration(text: &str) -> Option<i64> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let rest = rest.strip_prefix('P')?;
    let (days, clock) = rest.split_once('T').map_or((rest, ""), |(days, clock)| (days, clock));
    let mut milliseconds = 0_i64;
    let mut add = |value: &str, unit: i64| {
        let (whole, fraction) = value.split_once(['.', ',']).unwrap_or((value, "0"));
        let is_second = unit == 1000;
        let fraction = milliseconds_of_fraction(fraction).filter(|part| is_second || *part == 0)?;
        let whole = number(whole)?.checked_mul(unit)?;
        milliseconds = milliseconds.checked_add(whole)?.checked_add(fraction)?;
        Some(())
    };
    if !days.is_empty() {
        add(days.strip_suffix('D')?, MILLISECONDS_A_DAY)?;
    }
    let mut rest = clock;
    for (letter, unit) in [('H', 3_600_000), ('M', 60_000), ('S', 1000)] {
        if let Some((value, more)) = rest.split_once(letter) {
            add(value, unit)?;
            rest = more;
        }
    }
    (rest.is_empty() && (!days.is_empty() || !clock.is_empty())).then_some(sign * milliseconds)
}

/// Reads the milliseconds of the digits behind a point; `None` if there are more digits.
fn milliseconds_of_fraction(digits: &str) -> Option<i64> {
    let (kept, finer) = digits.split_at_checked(3).unwrap_or((digits, ""));
    let is_exact = finer.bytes().all(|digit| digit == b'0');
    let scale = 10_i64.checked_pow(u32::try_from(3_usize.checked_sub(kept.len())?).ok()?)?;
    number(kept).filter(|_| is_exact).map(|value| value * scale)
}

/// Parses a number of digits alone.
fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Days since 1970 of a date of the Gregorian calendar.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Formats a moment as SQL Server reads it; a duration of a day or more as hours, minutes and seconds.
pub fn moment_text(kind: Kind, at: i64) -> String {
    if kind == Kind::Duration {
        let sign = if at < 0 { "-" } else { "" };
        return format!("{sign}{}", clock_text(at.abs()));
    }
    let (days, rest) = (at.div_euclid(MILLISECONDS_A_DAY), at.rem_euclid(MILLISECONDS_A_DAY));
    match kind {
        Kind::Time => clock_text(rest),
        Kind::Date => date_text(days),
        _ => format!("{} {}", date_text(days), clock_text(rest)),
    }
}

fn clock_text(at: i64) -> String {
    let (seconds, milliseconds) = (at / 1000, at % 1000);
    let mut time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if milliseconds > 0 {
        time += &format!(".{milliseconds:03}");
    }
    time
}

pub fn date_text(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use calamine::ExcelDateTimeType;

    use super::*;

    #[test]
    fn days_and_dates_agree() {
        for (date, days) in
            [((1970, 1, 1), 0), ((2000, 2, 29), 11_016), ((1900, 3, 1), -25_508), ((9999, 12, 31), 2_932_896)]
        {
            assert_eq!(days_of(date.0, date.1, date.2), days);
            assert_eq!(date_text(days), format!("{:04}-{:02}-{:02}", date.0, date.1, date.2));
        }
    }

    #[test]
    fn cells_say_moments() {
        let span = |value| Data::DateTime(ExcelDateTime::new(value, ExcelDateTimeType::TimeDelta, false));
        let date = |value| Data::DateTime(ExcelDateTime::new(value, ExcelDateTimeType::DateTime, false));
        let iso = |text: &str| Data::DateTimeIso(text.to_owned());
        let lasting = |text: &str| Data::DurationIso(text.to_owned());
        for (cell, kind, text) in [
            (span(1.25), Kind::Duration, "30:00:00"),
            (span(5.0 / 1440.0), Kind::Time, "00:05:00"),
            (span(-0.5), Kind::Duration, "-12:00:00"),
            (date(0.25), Kind::Time, "06:00:00"),
            (date(45_292.0), Kind::Date, "2024-01-01"),
            (date(45_292.5), Kind::DateTime, "2024-01-01 12:00:00"),
            (iso("2024-02-29"), Kind::Date, "2024-02-29"),
            (iso("2024-02-29T10:11:12.5"), Kind::DateTime, "2024-02-29 10:11:12.500"),
            (lasting("PT11H12M12S"), Kind::Time, "11:12:12"),
            (lasting("PT11H12M12.250000000S"), Kind::Time, "11:12:12.250"),
            (lasting("PT30H00M00S"), Kind::Duration, "30:00:00"),
            (lasting("-P1DT2H"), Kind::Duration, "-26:00:00"),
        ] {
            let (found, at) = moment_of(&cell).unwrap();
            assert_eq!((found, moment_text(found, at).as_str()), (kind, text), "{cell:?}");
        }
        for cell in [
            iso("2024-02-30"),
            iso("2024-02-29T10:11:12.1234"),
            iso("2024-02-29T25:00"),
            iso("2024-02-29T10:00Z"),
            lasting("P1Y"),
            lasting("P"),
            lasting("PT1X"),
            date(-1.0),
        ] {
            assert_eq!(moment_of(&cell), None, "{cell:?}");
        }
    }
}
