//! Text columns whose values are spelled otherwise than SQL Server spells them.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use rows::text::spelling::{NumberSpelling, TextSpelling, YEAR_CUTOFF};
use rows::text::{DateOrder, ParseOptions, datetime, write};

/// The reading of one column's values, found in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnReading {
    /// The spelling of the values, other than SQL Server's.
    pub values: Option<ValueSpelling>,
    /// Words such as `NULL` and `N/A` stand for NULL.
    pub has_null_words: bool,
}

/// The spelling of a column of numbers or dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSpelling {
    /// Numbers.
    Numbers(NumberSpelling),
    /// Dates, perhaps with times, whose day and month have this order. Years of two digits are of the hundred up to the cutoff.
    Dates(DateOrder, u16),
}

/// A value as SQL Server spells it.
pub(crate) enum Plain<'t> {
    /// The value stands for NULL.
    Null,
    /// The value in SQL Server's spelling.
    Text(Cow<'t, str>),
}

impl ColumnReading {
    /// Returns true if the values stay as they are.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Spells a value as SQL Server does; `None` if it is not spelled like this.
    pub(crate) fn plain<'t>(&self, text: &'t str) -> Option<Plain<'t>> {
        if self.has_null_words && is_null_word(text) {
            return Some(Plain::Null);
        }
        let plain = match self.values {
            None => Cow::Borrowed(text),
            Some(spelling) => spelling.plain(text)?,
        };
        Some(Plain::Text(plain))
    }

    /// Spells the values of a column of text as SQL Server does. A value that is spelled otherwise stays, so that it is refused
    /// where it is converted.
    pub(crate) fn spelled(&self, column: &ArrayRef) -> ArrayRef {
        let Some(texts) = column.as_string_opt::<i32>().filter(|_| !self.is_plain()) else {
            return column.clone();
        };
        let mut plain = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
        for text in texts {
            match text.map(|text| (text, self.plain(text))) {
                None | Some((_, Some(Plain::Null))) => plain.append_null(),
                Some((_, Some(Plain::Text(text)))) => plain.append_value(text),
                Some((text, None)) => plain.append_value(text),
            }
        }
        std::sync::Arc::new(plain.finish())
    }
}

impl ValueSpelling {
    /// Spells a value as SQL Server does; `None` if it is not spelled like this.
    pub(crate) fn plain<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        match self {
            Self::Numbers(numbers) => numbers.plain(text).ok(),
            Self::Dates(order, cutoff) => plain_date(text, Some(*order), Some(*cutoff)).map(Cow::Owned),
        }
    }
}

/// Spells a date, perhaps with a time, as ISO does; `None` for a text without a date, with an offset, or of another order.
pub(crate) fn plain_date(text: &str, order: Option<DateOrder>, cutoff: Option<u16>) -> Option<String> {
    let options = ParseOptions { date_order: order, year_cutoff: cutoff, ..ParseOptions::default() };
    let (days, ticks) = datetime::datetime2(text, 7, &options).ok()?;
    let mut out = Vec::with_capacity(27);
    write::date(&mut out, days);
    let has_time = text.contains(':') || text.trim_end().to_ascii_lowercase().ends_with('m');
    if has_time {
        out.push(b' ');
        write::time(&mut out, ticks, 7);
    }
    String::from_utf8(out).ok()
}

/// Returns true for the words that stand for NULL in exports of other programs.
pub fn is_null_word(text: &str) -> bool {
    const WORDS: [&str; 8] = ["NULL", "null", "Null", "N/A", "n/a", "#N/A", "NA", "\\N"];
    WORDS.contains(&text.trim())
}

/// Returns the spelling that a user declares, for numbers and for dates.
pub(crate) fn declared(spelling: &TextSpelling) -> (Option<ValueSpelling>, Option<ValueSpelling>) {
    let dates = spelling
        .date_order
        .map(|order| ValueSpelling::Dates(order, spelling.year_cutoff.unwrap_or(YEAR_CUTOFF)));
    (spelling.numbers.map(ValueSpelling::Numbers), dates)
}
