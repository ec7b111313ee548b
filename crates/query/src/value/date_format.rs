//! SET DATEFORMAT: how dates of digits alone are read.

use std::sync::atomic::{AtomicU8, Ordering};

use rows::text::DateOrder;
use rows::text::calendar::MONTH_NAMES;
use rows::text::spelling::{TextSpelling, YEAR_CUTOFF};

use crate::language::Language;

/// The order of month, day and year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateFormat {
    /// mdy.
    #[default]
    Mdy,
    /// dmy.
    Dmy,
    /// ymd.
    Ymd,
    /// ydm.
    Ydm,
    /// myd.
    Myd,
    /// dym.
    Dym,
}

const ALL: [DateFormat; 6] =
    [DateFormat::Mdy, DateFormat::Dmy, DateFormat::Ymd, DateFormat::Ydm, DateFormat::Myd, DateFormat::Dym];

impl DateFormat {
    /// Finds the format with this name, in any case.
    pub fn named(name: &str) -> Option<DateFormat> {
        ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            DateFormat::Mdy => "mdy",
            DateFormat::Dmy => "dmy",
            DateFormat::Ymd => "ymd",
            DateFormat::Ydm => "ydm",
            DateFormat::Myd => "myd",
            DateFormat::Dym => "dym",
        }
    }

    /// Returns true if the day comes before the month. A year of four digits is known in any place.
    pub fn is_day_first(self) -> bool {
        matches!(self, DateFormat::Dmy | DateFormat::Ydm | DateFormat::Dym)
    }

    /// Returns the order of day and month.
    pub fn order(self) -> DateOrder {
        if self.is_day_first() { DateOrder::DayMonthYear } else { DateOrder::MonthDayYear }
    }
}

/// The rule for the order of day and month in dates such as `03/04/2026`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateReading {
    /// A session's SET DATEFORMAT.
    Session(DateFormat),
    /// The spelling that the user of a copy declared for the file. Without an order such a date is refused.
    Copy(TextSpelling),
}

impl Default for DateReading {
    fn default() -> Self {
        DateReading::Session(DateFormat::default())
    }
}

impl DateReading {
    /// Returns the order for a text that is converted with a style of CONVERT; None if nothing says it.
    pub fn order(self, style: i32) -> Option<DateOrder> {
        match (style, self) {
            (3 | 4 | 5 | 103 | 104 | 105 | 13 | 113, _) => Some(DateOrder::DayMonthYear),
            (1 | 10 | 101 | 110, _) => Some(DateOrder::MonthDayYear),
            (_, DateReading::Copy(spelling)) => spelling.date_order,
            (0 | 100, DateReading::Session(format)) => Some(format.order()),
            (_, DateReading::Session(_)) => Some(DateOrder::MonthDayYear),
        }
    }

    /// Returns true if the old types take `2026-04-03` for the fourth of March. A file's dates that begin with the year are ISO 8601.
    pub fn turns_old_types(self, style: i32) -> bool {
        style == 0 && matches!(self, DateReading::Session(format) if format.is_day_first())
    }
}

/// A way to read dates, and their language, that a request's threads share.
#[derive(Debug, Default)]
pub(crate) struct SharedDateReading {
    format: AtomicU8,
    language: AtomicU8,
    /// The spelling of a copy's file, which takes the format's place.
    file: Option<TextSpelling>,
}

impl SharedDateReading {
    /// Holds one.
    pub fn new(reading: DateReading, language: &Language) -> SharedDateReading {
        let file = match reading {
            DateReading::Session(_) => None,
            DateReading::Copy(spelling) => Some(spelling),
        };
        let shared = SharedDateReading { file, ..SharedDateReading::default() };
        shared.set(reading, language);
        shared
    }

    /// Which language it is.
    pub fn language(&self) -> &'static Language {
        match self.language.load(Ordering::Relaxed) {
            0 => Language::ENGLISH,
            id => Language::of_id(id),
        }
    }

    /// Returns the present rule.
    pub fn get(&self) -> DateReading {
        match self.file {
            Some(spelling) => DateReading::Copy(spelling),
            None => {
                let number = usize::from(self.format.load(Ordering::Relaxed));
                DateReading::Session(ALL.get(number).copied().unwrap_or_default())
            }
        }
    }

    /// Changes the format of a session, and the language.
    pub fn set(&self, reading: DateReading, language: &Language) {
        if let DateReading::Session(format) = reading {
            self.format.store(u8::try_from(format as usize).unwrap_or(0), Ordering::Relaxed);
        }
        self.language.store(language.id, Ordering::Relaxed);
    }
}

/// Rewrites a date `2010-12-29` as `2010-29-12`, if the year comes first and the date has only digits and separators.
pub(crate) fn with_day_before_month(text: &str) -> Option<String> {
    let (year, rest) = text.split_at_checked(4)?;
    let separator = rest.chars().next().filter(|separator| matches!(separator, '-' | '/' | '.'))?;
    let (first, rest) = rest.get(1..)?.split_once(separator)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (second, rest) = rest.split_at_checked(end)?;
    let is_part = |part: &str| matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_date = year.bytes().all(|byte| byte.is_ascii_digit()) && is_part(first) && is_part(second);
    // With a T it is ISO 8601, which is read alike everywhere.
    (is_date && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then(|| format!("{year}{separator}{second}{separator}{first}{rest}"))
}

/// Rewrites a date of `1/2/05`, `050102`, `Jan 2 05` or `2 Jan 05`, or, without a day or month, `2005` or `Jan 2005`,
/// as `2005-01-02`. `None` for a text without such a date. The user declares the order of a file's `1/2/05`, but not of
/// `050102`.
pub(crate) fn with_whole_date(text: &str, order: Option<DateFormat>, dates: DateReading) -> Option<String> {
    let (cutoff, number) = match dates {
        DateReading::Session(_) => (YEAR_CUTOFF, numbers_alone(text)),
        DateReading::Copy(spelling) => (spelling.year_cutoff.unwrap_or(YEAR_CUTOFF), None),
    };
    let cutoff = u32::from(cutoff);
    let (date, rest) = number
        .or_else(|| order.and_then(|order| in_digits(text, order, cutoff)))
        .or_else(|| in_words(text, cutoff))?;
    let [year, month, day] = date;
    // Only a time may follow.
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| format!("{year:04}-{month:02}-{day:02}{rest}"))
}

/// Year, month and day, and the text behind them.
type Written<'t> = ([u32; 3], &'t str);

/// Reads `2005` and `050102`.
fn numbers_alone(text: &str) -> Option<Written<'_>> {
    let (digits, rest) = leading(text, |byte| byte.is_ascii_digit());
    let number: u32 = digits.parse().ok()?;
    match digits.len() {
        4 if rest.is_empty() => Some(([number, 1, 1], rest)),
        6 => {
            let year = century(number / 10_000, u32::from(YEAR_CUTOFF));
            Some(([year, number / 100 % 100, number % 100], rest))
        }
        _ => None,
    }
}

/// Reads `1/2/05`, with one of three separators.
fn in_digits(text: &str, order: DateFormat, cutoff: u32) -> Option<Written<'_>> {
    let (first, rest) = short_number(text)?;
    let separator = rest.chars().next().filter(|separator| matches!(separator, '-' | '/' | '.'))?;
    let (second, rest) = short_number(rest.strip_prefix(separator)?)?;
    let (third, rest) = short_number(rest.strip_prefix(separator)?)?;
    let (year, month, day) = match order {
        DateFormat::Mdy => (third, first, second),
        DateFormat::Dmy => (third, second, first),
        DateFormat::Ymd => (first, second, third),
        DateFormat::Ydm => (first, third, second),
        DateFormat::Myd => (second, first, third),
        DateFormat::Dym => (second, third, first),
    };
    Some(([century(year, cutoff), month, day], rest))
}

/// Reads `Jan 2 05`, `2 Jan 05` and `Jan 2005`.
fn in_words(text: &str, cutoff: u32) -> Option<Written<'_>> {
    let begins_with_day = text.starts_with(|letter: char| letter.is_ascii_digit());
    let (first, rest) = if begins_with_day { short_number(text)? } else { (0, text) };
    let (word, rest) = leading(rest.trim_start_matches([' ', '-', '.']), |byte| byte.is_ascii_alphabetic());
    let month = month_of(word)?;
    let rest = rest.trim_start_matches([' ', ',', '-', '.']);
    if begins_with_day {
        let (year, rest) = short_number(rest)?;
        return Some(([century(year, cutoff), month, first], rest));
    }
    let (digits, after) = leading(rest, |byte| byte.is_ascii_digit());
    if digits.len() == 4 && after.is_empty() {
        return Some(([digits.parse().ok()?, month, 1], after));
    }
    let (day, rest) = short_number(rest)?;
    let (year, rest) = short_number(rest.trim_start_matches([' ', ',', '-']))?;
    Some(([century(year, cutoff), month, day], rest))
}

fn month_of(word: &str) -> Option<u32> {
    let is_month = |month: &&str| {
        month.eq_ignore_ascii_case(word)
            || word.len() == 3 && month.get(..3).is_some_and(|short| short.eq_ignore_ascii_case(word))
    };
    u32::try_from(MONTH_NAMES.iter().position(is_month)? + 1).ok()
}

/// Reads a number of one or two digits that ends there.
fn short_number(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = leading(text, |byte| byte.is_ascii_digit());
    matches!(digits.len(), 1 | 2).then(|| Some((digits.parse().ok()?, rest)))?
}

fn leading(text: &str, belongs: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !belongs(byte)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Returns the year of two digits, of the hundred years up to `cutoff`.
fn century(year: u32, cutoff: u32) -> u32 {
    let whole = cutoff / 100 * 100 + year;
    if whole > cutoff { whole.saturating_sub(100) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_get_the_century_that_they_lack() {
        for (text, order, expected) in [
            ("1/2/05", DateFormat::Mdy, Some("2005-01-02")),
            ("1/2/05 10:30", DateFormat::Dmy, Some("2005-02-01 10:30")),
            ("05.1.2", DateFormat::Ymd, Some("2005-01-02")),
            ("49-1-2", DateFormat::Ydm, Some("2049-02-01")),
            ("1-50-2", DateFormat::Myd, Some("1950-01-02")),
            ("1-50-2", DateFormat::Dym, Some("1950-02-01")),
            ("990131", DateFormat::Dmy, Some("1999-01-31")),
            ("2005", DateFormat::Mdy, Some("2005-01-01")),
            ("Jan 2, 05", DateFormat::Mdy, Some("2005-01-02")),
            ("2-jan-75", DateFormat::Mdy, Some("1975-01-02")),
            ("2 January 75 1:00 PM", DateFormat::Mdy, Some("1975-01-02 1:00 PM")),
            ("April 2005", DateFormat::Mdy, Some("2005-04-01")),
            ("1/2/2005", DateFormat::Mdy, None),
            ("2005-01-02", DateFormat::Mdy, None),
            ("20050102", DateFormat::Mdy, None),
            ("Jan 2 2005", DateFormat::Mdy, None),
            ("12:30:15", DateFormat::Mdy, None),
            ("10.30", DateFormat::Mdy, None),
            ("1/2-05", DateFormat::Mdy, None),
            ("12 AM", DateFormat::Mdy, None),
        ] {
            let whole = with_whole_date(text, Some(order), DateReading::default());
            assert_eq!(whole.as_deref(), expected, "{text} {order:?}");
        }
    }

    #[test]
    fn dates_of_a_file_are_in_the_order_that_is_said() {
        let file = DateReading::Copy(TextSpelling::default());
        for (text, order, expected) in [
            ("1/2/05", Some(DateFormat::Dmy), Some("2005-02-01")),
            ("1/2/05", None, None),
            ("050102", Some(DateFormat::Dmy), None),
            ("050102", None, None),
            ("2-jan-75", None, Some("1975-01-02")),
        ] {
            assert_eq!(with_whole_date(text, order, file).as_deref(), expected, "{text} {order:?}");
        }
    }
}
