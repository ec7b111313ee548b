//! Reading the written forms of dates, times and offsets, before any target type is known.
//!
//! Accepted: `2010-12-29`, `2010/12/29`, `2010.12.29`, `20101229`, `29 Dec 2010`, `29-Dec-2010`,
//! `Dec 29, 2010`, `Dec 29 2010`, and with an explicit order `12/29/2010`; then `T` or blanks and
//! `12:30[:15[.1234567]]`, `12:30:15:123`, `12:30 PM`, `12AM`; then an offset `Z`, `+01:00`,
//! `+0100`, `+01`. The escapes `{d '…'}`, `{t '…'}` and `{ts '…'}` may surround any of them.

use super::{
    DateOrder, ParseOptions, TextError,
    calendar::{days_from_civil, month_number},
    clock::Clock,
    trim_blanks,
};

const DATE_OR_TIME: TextError = TextError::Syntax { expected: "a date or time" };
const NO_SUCH_YEAR: TextError = TextError::OutOfRange { target: "the calendar (0001-01-01 to 9999-12-31)" };
const NO_SUCH_TIME: TextError = TextError::OutOfRange { target: "a day's time (00:00:00 to 23:59:59)" };
const NO_SUCH_OFFSET: TextError = TextError::OutOfRange { target: "an offset (-14:00 to +14:00)" };

/// Date, clock and offset that a text names; at least one of date and clock is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Days since 0001-01-01.
    pub days: Option<i32>,
    pub clock: Option<Clock>,
    pub offset_minutes: Option<i16>,
}

pub(super) fn moment(text: &str, options: &ParseOptions) -> Result<Moment, TextError> {
    let bytes = unescaped(trim_blanks(text));
    if bytes.is_empty() {
        return Err(TextError::Empty);
    }
    let mut cursor = Cursor { rest: bytes };
    let days = date(&mut cursor, options)?;
    let separated = match cursor.rest {
        [b'T' | b't', b'0'..=b'9', ..] if days.is_some() => {
            cursor.skip(1);
            true
        }
        [b' ' | b'\t', ..] => {
            cursor.skip_blanks();
            true
        }
        _ => days.is_none(),
    };
    let starts_clock = matches!(cursor.rest, [b'0'..=b'9', ..]);
    let clock = if separated && starts_clock { Some(clock(&mut cursor)?) } else { None };
    let offset_minutes = if clock.is_some() { offset(&mut cursor)? } else { None };
    if !cursor.rest.is_empty() || (days.is_none() && clock.is_none()) {
        return Err(DATE_OR_TIME);
    }
    Ok(Moment { days, clock, offset_minutes })
}

/// Returns the inside of an ODBC escape, or the text itself.
fn unescaped(bytes: &[u8]) -> &[u8] {
    let [b'{', inner @ .., b'}'] = bytes else { return bytes };
    let inner = match inner {
        [b't' | b'T', b's' | b'S', rest @ ..] | [b'd' | b'D' | b't' | b'T', rest @ ..] => rest,
        _ => return bytes,
    };
    match inner.trim_ascii() {
        [b'\'', quoted @ .., b'\''] => quoted,
        _ => bytes,
    }
}

/// Reads a date; `None` (and nothing consumed) when the text begins with a time.
#[inline]
fn date(cursor: &mut Cursor<'_>, options: &ParseOptions) -> Result<Option<i32>, TextError> {
    if let [a, b, c, d, b'-', e, f, b'-', g, h, ..] = *cursor.rest {
        let digits = [a, b, c, d, e, f, g, h].map(|byte| byte.wrapping_sub(b'0'));
        if digits.iter().all(|&digit| digit <= 9) {
            cursor.skip(10);
            let [a, b, c, d, e, f, g, h] = digits.map(u32::from);
            return known_day(a * 1000 + b * 100 + c * 10 + d, e * 10 + f, g * 10 + h).map(Some);
        }
    }
    any_date(cursor, options)
}

fn any_date(cursor: &mut Cursor<'_>, options: &ParseOptions) -> Result<Option<i32>, TextError> {
    let cutoff = options.year_cutoff;
    let start = cursor.rest;
    let word = cursor.letters();
    if !word.is_empty() {
        let month = month_number(word).ok_or(DATE_OR_TIME)?;
        cursor.skip_any(b" .-");
        let (day, _) = cursor.number()?;
        cursor.skip_any(b" ,-");
        return known_day(cursor.year(cutoff)?, month, day).map(Some);
    }
    let (first, length) = cursor.number()?;
    match (length, cursor.rest) {
        (8, [] | [b' ' | b'\t' | b'T' | b't', ..]) => {
            known_day(first / 10_000, first / 100 % 100, first % 100).map(Some)
        }
        (4, [separator @ (b'-' | b'/' | b'.'), ..]) => {
            let month = cursor.after(*separator)?;
            let day = cursor.after(*separator)?;
            known_day(first, month, day).map(Some)
        }
        (1 | 2, [b'-' | b' ', b'A'..=b'Z' | b'a'..=b'z', ..]) => {
            let clock_start = cursor.rest;
            cursor.skip(1);
            let word = cursor.letters();
            let Some(month) = month_number(word) else {
                // `12 AM`: a time.
                return if clock_start.first() == Some(&b' ') {
                    cursor.rest = start;
                    Ok(None)
                } else {
                    Err(DATE_OR_TIME)
                };
            };
            cursor.skip_any(b" ,-");
            known_day(cursor.year(cutoff)?, month, first).map(Some)
        }
        (1 | 2, [separator @ (b'-' | b'/' | b'.'), ..]) => {
            let second = cursor.after(*separator)?;
            let separator = *separator;
            if cursor.rest.first() != Some(&separator) {
                return Err(DATE_OR_TIME);
            }
            cursor.skip(1);
            if options.date_order == Some(DateOrder::YearMonthDay) {
                let year = whole_year(first, length, cutoff)?;
                return match cursor.number()? {
                    (day, 1 | 2) => known_day(year, second, day).map(Some),
                    _ => Err(TextError::AmbiguousDate),
                };
            }
            let (third, length) = cursor.number()?;
            match options.date_order {
                None | Some(DateOrder::YearMonthDay) => {
                    whole_year(third, length, cutoff).and(Err(TextError::AmbiguousDate))
                }
                Some(DateOrder::MonthDayYear) => {
                    known_day(whole_year(third, length, cutoff)?, first, second).map(Some)
                }
                Some(DateOrder::DayMonthYear) => {
                    known_day(whole_year(third, length, cutoff)?, second, first).map(Some)
                }
            }
        }
        (1 | 2, _) => {
            cursor.rest = start;
            Ok(None)
        }
        _ => Err(DATE_OR_TIME),
    }
}

/// Returns the year that so many digits stand for: two of them for one of the hundred years up to the cutoff.
fn whole_year(value: u32, length: usize, cutoff: Option<u16>) -> Result<u32, TextError> {
    match (length, cutoff.map(u32::from)) {
        (4, _) => Ok(value),
        (2, Some(cutoff)) => {
            let year = cutoff / 100 * 100 + value;
            if year > cutoff { year.checked_sub(100).ok_or(TextError::ShortYear) } else { Ok(year) }
        }
        (1..=3, _) => Err(TextError::ShortYear),
        _ => Err(DATE_OR_TIME),
    }
}

fn known_day(year: u32, month: u32, day: u32) -> Result<i32, TextError> {
    let missing = if (1..=9999).contains(&year) { TextError::NoSuchDay } else { NO_SUCH_YEAR };
    days_from_civil(year, month, day).ok_or(missing)
}

#[inline]
fn clock(cursor: &mut Cursor<'_>) -> Result<Clock, TextError> {
    let (hour, minute, second) = match *cursor.rest {
        [a, b, b':', c, d, b':', e, f, ..] if [a, b, c, d, e, f].iter().all(u8::is_ascii_digit) => {
            cursor.skip(8);
            (two(a, b), two(c, d), two(e, f))
        }
        _ => loose_clock(cursor)?,
    };
    let (nanoseconds, finer) = match *cursor.rest {
        [b'.', b'0'..=b'9', ..] => fraction(cursor),
        [b':', b'0'..=b'9', ..] => (milliseconds(cursor)?, false),
        _ => (0, false),
    };
    let hour = half_day(cursor, hour)?;
    if hour > 23 || minute > 59 || second > 59 {
        return Err(NO_SUCH_TIME);
    }
    Ok(Clock { seconds: hour * 3600 + minute * 60 + second, nanoseconds, finer })
}

/// Reads one- or two-digit parts, seconds optional; a bare hour only before AM or PM.
fn loose_clock(cursor: &mut Cursor<'_>) -> Result<(u32, u32, u32), TextError> {
    let hour = cursor.one_or_two_digits()?;
    let minute = match cursor.rest {
        [b':', ..] => {
            cursor.skip(1);
            cursor.one_or_two_digits()?
        }
        _ if cursor.half_day_word().is_some() => return Ok((hour, 0, 0)),
        _ => return Err(DATE_OR_TIME),
    };
    let second = match cursor.rest {
        [b':', ..] => {
            cursor.skip(1);
            cursor.one_or_two_digits()?
        }
        _ => 0,
    };
    Ok((hour, minute, second))
}

/// Parses `.fff…`. Returns the nanoseconds, and true if non-zero digits follow the ninth.
#[inline]
fn fraction(cursor: &mut Cursor<'_>) -> (u32, bool) {
    cursor.skip(1);
    let mut nanoseconds = 0u32;
    let mut place = 100_000_000u32;
    let mut finer = false;
    while let [byte @ b'0'..=b'9', rest @ ..] = cursor.rest {
        nanoseconds += u32::from(byte - b'0') * place;
        finer |= place == 0 && *byte != b'0';
        place /= 10;
        cursor.rest = rest;
    }
    (nanoseconds, finer)
}

/// Reads the three digits of `hh:mm:ss:mmm` (CONVERT styles 9, 13, 109, 113), in nanoseconds.
fn milliseconds(cursor: &mut Cursor<'_>) -> Result<u32, TextError> {
    cursor.skip(1);
    match cursor.number()? {
        (value, 3) => Ok(value * 1_000_000),
        _ => Err(DATE_OR_TIME),
    }
}

/// Returns the hour of 24 after an AM or PM, if there is one.
#[inline]
fn half_day(cursor: &mut Cursor<'_>, hour: u32) -> Result<u32, TextError> {
    if cursor.rest.is_empty() {
        return Ok(hour);
    }
    let Some((afternoon, rest)) = cursor.half_day_word() else { return Ok(hour) };
    cursor.rest = rest;
    if !(1..=12).contains(&hour) {
        return Err(NO_SUCH_TIME);
    }
    Ok(hour % 12 + if afternoon { 12 } else { 0 })
}

fn offset(cursor: &mut Cursor<'_>) -> Result<Option<i16>, TextError> {
    if cursor.rest.is_empty() {
        return Ok(None);
    }
    cursor.skip_blanks();
    let (negative, hours, minutes) = match *cursor.rest {
        [b'Z' | b'z'] => {
            cursor.skip(1);
            return Ok(Some(0));
        }
        [sign @ (b'+' | b'-'), a, b, b':', c, d] | [sign @ (b'+' | b'-'), a, b, c, d]
            if [a, b, c, d].iter().all(u8::is_ascii_digit) =>
        {
            (sign == b'-', two(a, b), two(c, d))
        }
        [sign @ (b'+' | b'-'), a, b] if a.is_ascii_digit() && b.is_ascii_digit() => {
            (sign == b'-', two(a, b), 0)
        }
        _ => return Err(DATE_OR_TIME),
    };
    cursor.rest = &[];
    let total = i16::try_from(hours * 60 + minutes).map_err(|_| NO_SUCH_OFFSET)?;
    if minutes > 59 || total > 14 * 60 {
        return Err(NO_SUCH_OFFSET);
    }
    Ok(Some(if negative { -total } else { total }))
}

#[inline]
fn two(tens: u8, ones: u8) -> u32 {
    u32::from(tens.wrapping_sub(b'0')) * 10 + u32::from(ones.wrapping_sub(b'0'))
}

/// Rest of the text.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or(&[]);
    }

    fn skip_any(&mut self, set: &[u8]) {
        while let [byte, rest @ ..] = self.rest
            && set.contains(byte)
        {
            self.rest = rest;
        }
    }

    fn skip_blanks(&mut self) {
        self.skip_any(b" \t");
    }

    fn run(&mut self, belongs: impl Fn(&u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !belongs(byte)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, &[]));
        self.rest = rest;
        run
    }

    fn letters(&mut self) -> &'a [u8] {
        self.run(u8::is_ascii_alphabetic)
    }

    /// Reads a number of one to eight digits, and counts them.
    fn number(&mut self) -> Result<(u32, usize), TextError> {
        let digits = self.run(u8::is_ascii_digit);
        if digits.is_empty() || digits.len() > 8 {
            return Err(DATE_OR_TIME);
        }
        let value = digits.iter().fold(0u32, |value, digit| value * 10 + u32::from(digit - b'0'));
        Ok((value, digits.len()))
    }

    fn one_or_two_digits(&mut self) -> Result<u32, TextError> {
        match self.number()? {
            (value, 1 | 2) => Ok(value),
            _ => Err(DATE_OR_TIME),
        }
    }

    fn year(&mut self, cutoff: Option<u16>) -> Result<u32, TextError> {
        let (value, length) = self.number()?;
        whole_year(value, length, cutoff)
    }

    /// Reads the one or two digits after a separator.
    fn after(&mut self, separator: u8) -> Result<u32, TextError> {
        if self.rest.first() != Some(&separator) {
            return Err(DATE_OR_TIME);
        }
        self.skip(1);
        self.one_or_two_digits()
    }

    /// Reads AM or PM at the head (after blanks): true for PM, and the text behind it. None if neither comes
    /// next.
    fn half_day_word(&self) -> Option<(bool, &'a [u8])> {
        match self.rest.trim_ascii_start() {
            [b'A' | b'a', b'M' | b'm', rest @ ..] => Some((false, rest)),
            [b'P' | b'p', b'M' | b'm', rest @ ..] => Some((true, rest)),
            _ => None,
        }
    }
}
