//! Dates and times written as text.
//!
//! The original has two grammars. `date`, `time` and `datetimeoffset` take `yyyy-mm-dd` and `hh:mm:ss.fffffff`, also
//! as ODBC escapes (`{ts '…'}`). `datetime`, `smalldatetime` and `datetime2` take the same without escapes. Text that
//! does not begin like an ISO date may be month, day and year in figures or words, and hours with AM or PM.

use rows::text::calendar::{DAYS_TO_1900, days_from_civil};
use rows::text::spelling::TextSpelling;
use rows::text::{DateOrder, ParseOptions, TextError, datetime};
use tds::SqlType;

use super::super::Deviation;
use super::instant::{Instant, TICKS_PER_DAY, TICKS_PER_MINUTE, TICKS_PER_SECOND};
use super::{Fault, Remark, number_text};

/// Date, time and offset that a text names.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    days: Option<i32>,
    /// 100 ns since midnight, and whether there were further digits.
    time: Option<(u64, bool)>,
    offset_minutes: Option<i16>,
}

/// Parses a `date`; a time of day behind it is ignored.
#[inline]
pub(in super::super) fn date(text: &[u8]) -> Result<Instant, Fault> {
    let days = strict(text)?.days.ok_or(Fault::Syntax)?;
    Ok(Instant { days, ..Instant::default() })
}

/// Parses a `time`; a date in front of it and an offset behind it are ignored.
#[inline]
pub(in super::super) fn time(text: &[u8]) -> Result<Instant, Fault> {
    let (ticks, finer) = strict(text)?.time.ok_or(Fault::Syntax)?;
    Ok(Instant { ticks, finer, ..Instant::default() })
}

/// Parses a `datetimeoffset`: without a date it is 1900-01-01, without an offset +00:00.
#[inline]
pub(in super::super) fn datetimeoffset(text: &[u8]) -> Result<Instant, Fault> {
    Ok(instant(strict(text)?))
}

/// Parses a `datetime`, `smalldatetime` or `datetime2`; an offset is ignored. `meridiem`: AM and PM are
/// taken, as they are not in UTF-16.
#[inline]
pub(in super::super) fn datetime2(text: &[u8], meridiem: bool) -> Result<(Instant, Remark), Fault> {
    let parts = match text {
        [b' ' | b'{', ..] => return Err(Fault::Date),
        _ => strict(text),
    };
    match parts {
        Ok(parts) => Ok((Instant { offset_minutes: 0, ..instant(parts) }, None)),
        Err(_) if text.len() == 7 && begins_like_iso(text) => Err(Fault::Date),
        Err(fault) if begins_like_iso(text) => Err(fault),
        Err(_) => loose(text, meridiem),
    }
}

/// Parses a date or a time by the rules of a load. A text of the original's strict grammar has one meaning
/// only, and is taken too.
pub(in super::super) fn by_load_rules(
    text: &[u8],
    sql_type: &SqlType,
    spelling: TextSpelling,
) -> Result<Instant, Fault> {
    let strict = match sql_type {
        SqlType::Date => date(text),
        SqlType::Time { .. } => time(text),
        SqlType::DateTimeOffset { .. } => datetimeoffset(text),
        _ => strict(text).map(|parts| Instant { offset_minutes: 0, ..instant(parts) }),
    };
    let Err(fault) = strict else { return strict };
    let text = std::str::from_utf8(text).map_err(|_| fault)?;
    let options = ParseOptions {
        date_order: spelling.date_order,
        year_cutoff: spelling.year_cutoff,
        ..ParseOptions::default()
    };
    let found = match sql_type {
        SqlType::Date => datetime::date(text, &options).map(|days| Instant { days, ..Instant::default() }),
        SqlType::Time { .. } => {
            datetime::time(text, 7, &options).map(|ticks| Instant { ticks, ..Instant::default() })
        }
        SqlType::DateTimeOffset { .. } => {
            datetime::datetimeoffset(text, 7, &options).map(|(days, ticks, offset_minutes)| {
                let utc = i64::from(days) * TICKS_PER_DAY as i64 + ticks as i64;
                let local = utc + i64::from(offset_minutes) * TICKS_PER_MINUTE;
                let (days, ticks) =
                    (local.div_euclid(TICKS_PER_DAY as i64), local.rem_euclid(TICKS_PER_DAY as i64));
                // Within the calendar, so the casts keep them.
                Instant { days: days as i32, ticks: ticks as u64, finer: false, offset_minutes }
            })
        }
        _ => datetime::datetime2(text, 7, &options).map(|(days, ticks)| Instant {
            days,
            ticks,
            ..Instant::default()
        }),
    };
    found.map_err(|error| match error {
        TextError::AmbiguousDate => Fault::AmbiguousDate,
        TextError::NeedsRounding { .. } => Fault::DateOverflow,
        _ => fault,
    })
}

fn instant(parts: Parts) -> Instant {
    let (ticks, finer) = parts.time.unwrap_or_default();
    Instant {
        days: parts.days.unwrap_or(DAYS_TO_1900),
        ticks,
        finer,
        offset_minutes: parts.offset_minutes.unwrap_or(0),
    }
}

/// Parses ISO date, blank, time, offset, each optional but not all absent.
fn strict(text: &[u8]) -> Result<Parts, Fault> {
    let text = number_text::trimmed(text);
    let mut rest = match text {
        [b'{', ..] => escape(text).ok_or(Fault::Syntax)?,
        _ => text,
    };
    let mut parts = Parts::default();
    if let [y1, y2, y3, y4, separator @ (b'-' | b'/'), m1, m2, second, d1, d2, behind @ ..] = rest {
        if second != separator {
            return Err(Fault::Syntax);
        }
        let year = pair(*y1, *y2)? * 100 + pair(*y3, *y4)?;
        let days = days_from_civil(year, pair(*m1, *m2)?, pair(*d1, *d2)?).ok_or(Fault::Syntax)?;
        parts.days = Some(days);
        rest = match behind {
            [] => return Ok(parts),
            [b' ', behind @ ..] => behind,
            _ => return Err(Fault::Syntax),
        };
    }
    let [h1, h2, b':', m1, m2, b':', s1, s2, behind @ ..] = rest else { return Err(Fault::Syntax) };
    let (hours, minutes, seconds) = (pair(*h1, *h2)?, pair(*m1, *m2)?, pair(*s1, *s2)?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return Err(Fault::Syntax);
    }
    rest = behind;
    let mut fraction = (0, false);
    if let [b'.', behind @ ..] = rest {
        let end = behind.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(behind.len());
        let (digits, behind) = behind.split_at(end);
        fraction = ticks_of(digits);
        rest = behind;
    }
    let ticks = u64::from(hours * 3600 + minutes * 60 + seconds) * TICKS_PER_SECOND + fraction.0;
    parts.time = Some((ticks, fraction.1));
    if !rest.is_empty() {
        parts.offset_minutes = Some(offset(rest).ok_or(Fault::Syntax)?);
    }
    Ok(parts)
}

/// Returns the text inside `{d '…'}`, `{t '…'}` or `{ts '…'}`.
fn escape(text: &[u8]) -> Option<&[u8]> {
    let inside = text.strip_prefix(b"{ts '").or(text.strip_prefix(b"{d '")).or(text.strip_prefix(b"{t '"))?;
    inside.strip_suffix(b"'}")
}

/// Reads the digits behind the second's point as ticks of 100 ns, and notes further digits.
fn ticks_of(digits: &[u8]) -> (u64, bool) {
    let (kept, rest) = digits.split_at(digits.len().min(7));
    let ticks = kept.iter().fold(0, |ticks, digit| ticks * 10 + u64::from(digit - b'0'));
    (ticks * 10_u64.pow(7 - kept.len() as u32), rest.iter().any(|digit| *digit != b'0'))
}

fn offset(text: &[u8]) -> Option<i16> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = text else { return None };
    let (hours, minutes) = (pair(*h1, *h2).ok()?, pair(*m1, *m2).ok()?);
    let total = i16::try_from(hours * 60 + minutes).ok().filter(|total| minutes < 60 && *total <= 840)?;
    Some(if *sign == b'-' { -total } else { total })
}

fn pair(tens: u8, ones: u8) -> Result<u32, Fault> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    if tens > 9 || ones > 9 { Err(Fault::Syntax) } else { Ok(u32::from(tens) * 10 + u32::from(ones)) }
}

fn begins_like_iso(text: &[u8]) -> bool {
    matches!(text, [a, b, c, d, b'-', ..] if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()))
        || matches!(text, [b'-', ..])
}

/// Parses a date as people write it in the United States, a time of day, or one behind the other.
fn loose(text: &[u8], meridiem: bool) -> Result<(Instant, Remark), Fault> {
    let text = std::str::from_utf8(text).map_err(|_| Fault::Syntax)?.trim_end_matches(' ');
    let (date, time) = match text.find(':') {
        Some(colon) => {
            let start = text.get(..colon).and_then(|head| head.rfind(' ')).map_or(0, |blank| blank + 1);
            (text.get(..start).unwrap_or_default().trim(), text.get(start..))
        }
        None => (text, None),
    };
    let mut instant = Instant { days: DAYS_TO_1900, ..Instant::default() };
    let mut remark = None;
    if let Some(time) = time {
        (instant.ticks, remark) = loose_time(time, meridiem)?;
        if instant.ticks >= TICKS_PER_DAY {
            return Err(Fault::Syntax);
        }
    }
    if !date.is_empty() {
        let plain = date.bytes().all(|byte| byte.is_ascii_digit());
        if plain && date.len() != 8 {
            return Err(Fault::Syntax);
        }
        let options = ParseOptions { date_order: Some(DateOrder::MonthDayYear), ..ParseOptions::default() };
        instant.days = datetime::date(date, &options).map_err(|_| Fault::Date)?;
    } else if time.is_none() {
        return Err(Fault::Syntax);
    }
    Ok((instant, remark))
}

/// Parses `h:mm`, `h:mm:ss`, `h:mm:ss.fff`, with AM or PM behind it.
fn loose_time(text: &str, meridiem: bool) -> Result<(u64, Remark), Fault> {
    let text = text.trim();
    let letters = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (clock, half) = text.split_at(letters);
    let mut fields = clock.trim_end().split(':');
    let number = |text: Option<&str>, limit: u64| -> Result<u64, Fault> {
        let text = text.ok_or(Fault::Syntax)?;
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = text.parse().ok().filter(|_| plain).ok_or(Fault::Syntax)?;
        if value > limit { Err(Fault::Syntax) } else { Ok(value) }
    };
    let mut hours = number(fields.next(), 23)?;
    let minutes = number(fields.next(), 59)?;
    let mut ticks = 0;
    let mut remark = None;
    if let Some(seconds) = fields.next() {
        let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        ticks = number(Some(whole), 59)? * TICKS_PER_SECOND;
        if !fraction.is_empty() {
            if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(Fault::DateOverflow);
            }
            // One or two digits are a count of milliseconds.
            let milliseconds: u64 = fraction.parse().map_err(|_| Fault::Syntax)?;
            ticks += milliseconds * 10_000;
            remark = (fraction.len() < 3 && milliseconds > 0).then_some(Deviation::MisreadFraction);
        }
    }
    if fields.next().is_some() {
        return Err(Fault::Syntax);
    }
    if !half.is_empty() {
        if !meridiem {
            return Err(Fault::Date);
        }
        let after_noon = match half.trim() {
            half if half.eq_ignore_ascii_case("am") => false,
            half if half.eq_ignore_ascii_case("pm") => true,
            _ => return Err(Fault::Syntax),
        };
        if !(1..=12).contains(&hours) {
            return Err(Fault::Syntax);
        }
        hours = hours % 12 + if after_noon { 12 } else { 0 };
    }
    Ok((hours * 3600 * TICKS_PER_SECOND + minutes * 60 * TICKS_PER_SECOND + ticks, remark))
}
