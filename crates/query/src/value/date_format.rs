//! SET DATEFORMAT: how dates of digits alone are read.

use std::sync::atomic::{AtomicU8, Ordering};

use rows::text::DateOrder;

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
    /// The format with this name, in any case.
    pub fn named(name: &str) -> Option<DateFormat> {
        ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }

    /// Its name.
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

    /// Whether the day comes before the month. A year of four digits is known wherever it stands.
    pub fn is_day_first(self) -> bool {
        matches!(self, DateFormat::Dmy | DateFormat::Ydm | DateFormat::Dym)
    }

    /// The order of day and month.
    pub fn order(self) -> DateOrder {
        if self.is_day_first() { DateOrder::DayMonthYear } else { DateOrder::MonthDayYear }
    }
}

/// A date format that a request's threads share.
#[derive(Debug, Default)]
pub(crate) struct SharedDateFormat(AtomicU8);

impl SharedDateFormat {
    /// Holds one.
    pub fn new(format: DateFormat) -> SharedDateFormat {
        SharedDateFormat(AtomicU8::new(format as u8))
    }

    /// Which one it is.
    pub fn get(&self) -> DateFormat {
        let number = self.0.load(Ordering::Relaxed);
        ALL.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// Changes it.
    pub fn set(&self, format: DateFormat) {
        self.0.store(format as u8, Ordering::Relaxed);
    }
}

/// `2010-29-12` of a text whose date says `2010-12-29`, if the year comes first and digits and separators are all there is of the date.
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
