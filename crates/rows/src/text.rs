//! SQL Server's spellings of values: text in, wire-ready values out, and back again.
//!
//! One file per family. The parsing functions are pure and take one cell; a caller loops over a
//! column. They refuse whatever would lose something (excess digits, a time of day, an offset)
//! unless [`ParseOptions`] names that loss. [`crate::column_text`] is the way back, one call a column.
//!
//! Rules of spelling: CAST and CONVERT of Transact-SQL, and the character mode of `bcp`.

pub mod binary;
pub mod bit;
pub mod calendar;
pub mod clock;
pub mod datetime;
pub mod guid;
mod moment;
pub mod money;
pub mod number;
pub mod spelling;
pub mod write;

#[cfg(test)]
mod tests;

/// Losses that a parsing function may accept, and the order of ambiguous dates. The default accepts no loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// Round half away from zero where the target has fewer fractional digits than the text. Drop a
    /// time of day, or a date, that the target has no room for.
    pub allow_rounding: bool,
    /// Accept an offset (`+01:00`, `Z`) for a target without one and drop it, keeping the local time.
    pub drop_time_zone: bool,
    /// Order of day, month and year in dates such as `01/02/2024`. Without it such a date is refused.
    pub date_order: Option<DateOrder>,
    /// The last year that two digits stand for. Without it a year has four digits.
    pub year_cutoff: Option<u16>,
}

/// The order of day, month and year in an all-digit date that does not begin with a year of four digits
/// (`SET DATEFORMAT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year: `12/31/2024`.
    MonthDayYear,
    /// Day, month, year: `31/12/2024`.
    DayMonthYear,
    /// Year, month, day, where the year has two digits: `24/12/31`.
    YearMonthDay,
}

/// Reason why a text is not a value of the target type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The text has nothing but blanks.
    #[error("the text is empty")]
    Empty,
    /// The text does not have the form of the type.
    #[error("not {expected}")]
    Syntax {
        /// Form that the text should have, with its article: "a whole number".
        expected: &'static str,
    },
    /// The value is beyond the type's range.
    #[error("out of the range of {target}")]
    OutOfRange {
        /// The type's name, as in Transact-SQL.
        target: &'static str,
    },
    /// A day or a month that no year has: `2024-02-30`.
    #[error("there is no such day")]
    NoSuchDay,
    /// More digits before the point than `decimal(precision, scale)` holds.
    #[error("more digits than decimal({precision}, {scale}) holds")]
    PrecisionExceeded {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Non-zero digits after the last place that the target keeps.
    #[error("needs rounding to {scale} digits after the point")]
    NeedsRounding {
        /// Digits after the point that the target keeps.
        scale: u8,
    },
    /// More significant digits than the nearest floating-point value has, or a magnitude that it lacks.
    #[error("has digits that {target} does not keep")]
    NeedsFloatRounding {
        /// The type's name, as in Transact-SQL.
        target: &'static str,
    },
    /// `datetime` keeps 1/300 s: milliseconds that end in 0, 3 or 7.
    #[error("needs rounding to 1/300 s, the unit of datetime")]
    NeedsDateTimeRounding,
    /// `smalldatetime` keeps minutes.
    #[error("needs rounding to a minute, the unit of smalldatetime")]
    NeedsMinuteRounding,
    /// A time of day other than midnight for a `date`.
    #[error("the time of day would be lost")]
    LosesTime,
    /// A date for a `time`.
    #[error("the date would be lost")]
    LosesDate,
    /// An offset for a type that has none.
    #[error("the offset from UTC would be lost")]
    LosesOffset,
    /// `01/02/2024` without [`ParseOptions::date_order`].
    #[error("the order of day and month is not known")]
    AmbiguousDate,
    /// A year of two digits without [`ParseOptions::year_cutoff`], or one of three.
    #[error("the year has fewer than four digits")]
    ShortYear,
    /// Hex text of an odd number of digits.
    #[error("an odd number of hex digits ({digits})")]
    OddHexDigits {
        /// Digits found, without `0x`.
        digits: usize,
    },
}

/// Returns the text without the blanks (spaces and tabs) around it.
pub(crate) fn trim_blanks(text: &str) -> &[u8] {
    let mut bytes = text.as_bytes();
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Splits the sign from the rest.
pub(crate) fn split_sign(bytes: &[u8]) -> (bool, &[u8]) {
    match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    }
}
