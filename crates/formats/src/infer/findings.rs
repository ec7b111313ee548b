//! Columns whose types people would not expect, in words: how values are read, and why others stay text.

use arrow::datatypes::DataType;
use rows::text::DateOrder;
use rows::text::spelling::{DecimalMark, ThousandsMark};

use super::{Evidence, InferredColumn};
use crate::column_reading::ValueSpelling;

/// A decision on a column, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the column.
    pub column: String,
    /// What the column's values are taken for.
    pub decision: String,
    /// The values that decided it.
    pub reason: String,
}

impl InferredColumn {
    /// Says how values are read that SQL Server spells otherwise, which words are NULL, and why values that look like numbers or
    /// dates are text.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found: Vec<(String, String)> = Vec::new();
        if let Some(example) = &self.example {
            let of = grouped(example.values);
            found.push((
                self.reading.values.map_or_else(|| "as declared".to_owned(), |spelling| spelling.to_string()),
                format!("{of} of {of} values, such as {} read as {}", example.value, example.plain),
            ));
        }
        let is_text = *self.field.data_type() == DataType::Utf8;
        if let Some(words) = self.null_words.as_ref().filter(|_| !is_text) {
            found.push((
                format!("{} is NULL", words.word),
                format!(
                    "{} of {} values, and the others are no text",
                    grouped(words.values),
                    grouped(words.of)
                ),
            ));
        }
        if is_text {
            found.extend(self.why_text().map(|reason| ("text".to_owned(), reason)));
        }
        let finding = |(decision, reason)| Finding { column: self.name.clone(), decision, reason };
        found.into_iter().map(finding).collect()
    }

    /// Words the reason why a column of numbers or dates is text.
    fn why_text(&self) -> Option<String> {
        if let Some(doubt) = &self.doubt {
            let [one, other] = &doubt.readings;
            let option = match doubt.is_date {
                true => "--date-order says which",
                false => "--decimal and --thousands say which",
            };
            return Some(format!("{} may be {one} or {other}; {option}", doubt.value));
        }
        if let Some(words) = &self.null_words {
            let (values, of) = (grouped(words.values), grouped(words.of));
            return Some(format!(
                "{} is text in {values} of {of} values; --null-text makes it NULL",
                words.word
            ));
        }
        let Evidence { value, row, file, before } = self.evidence.as_ref()?;
        let why = why_text(value);
        let place = match file {
            0 => format!("row {row}"),
            file => format!("row {row} of file {}", file + 1),
        };
        match before.as_deref().filter(|before| *before != "text") {
            Some(before) => {
                let reason = why.map(|why| format!(" ({why})")).unwrap_or_default();
                Some(format!("{place}: {value:?}{reason}; it was {before} until then"))
            }
            None => why.map(|why| format!("{why} ({place}: {value:?})")),
        }
    }
}

impl std::fmt::Display for ValueSpelling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Dates(DateOrder::DayMonthYear, _) => "dates as day, month, year (--date-order dmy)",
            Self::Dates(DateOrder::MonthDayYear, _) => "dates as month, day, year (--date-order mdy)",
            Self::Dates(DateOrder::YearMonthDay, _) => "dates as year, month, day (--date-order ymd)",
            Self::Numbers(numbers) => {
                let (decimal, option) = match numbers.decimal {
                    DecimalMark::Comma => ("comma", "--decimal ,"),
                    DecimalMark::Point => ("point", "--decimal ."),
                };
                let (groups, mark) = match numbers.thousands {
                    None => return write!(f, "numbers with a decimal {decimal} ({option})"),
                    Some(ThousandsMark::Comma) => ("commas", ","),
                    Some(ThousandsMark::Point) => ("points", "."),
                    Some(ThousandsMark::Blank) => ("blanks", "blank"),
                    Some(ThousandsMark::Apostrophe) => ("apostrophes", "\"'\""),
                };
                return write!(
                    f,
                    "numbers with a decimal {decimal}, {groups} between groups ({option} --thousands {mark})"
                );
            }
        };
        f.write_str(text)
    }
}

/// Says why a value that looks like a number or a date is none.
fn why_text(value: &str) -> Option<&'static str> {
    let trimmed = value.trim();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = trimmed.trim_start_matches(['-', '+']);
    let is_number = |text: &str| text.split(['.', ',']).all(digits);
    if !trimmed.starts_with(|c: char| c.is_ascii_digit() || "-+$€£(.".contains(c)) {
        return None;
    }
    let parts: Vec<&str> = trimmed.split(['/', '.', '-']).collect();
    if let [first, second, year] = parts.as_slice()
        && [first, second, year].iter().all(|part| digits(part))
        && matches!((first.len(), second.len(), year.len()), (1..=2, 1..=2, 2 | 4) | (4, 1..=2, 1..=2))
    {
        return Some("a date of which not all values leave one order; --date-order and --types say it");
    }
    if trimmed != value {
        return Some("blanks around it; --types gives the column a type");
    }
    if digits(unsigned) && unsigned.len() > 1 && unsigned.starts_with('0') {
        return Some("leading zeros; --types gives the column a type");
    }
    if trimmed.starts_with('+') && is_number(unsigned) {
        return Some("a plus sign; --types gives the column a type");
    }
    if trimmed.contains(['$', '€', '£']) && trimmed.contains(|c: char| c.is_ascii_digit()) {
        return Some("a currency sign; --currency leaves it out");
    }
    if trimmed.strip_suffix('%').is_some_and(|rest| is_number(rest.trim().trim_start_matches('-'))) {
        return Some("a percent sign; --percent says what it means");
    }
    if unsigned.starts_with("0x") {
        return Some("hexadecimal digits in small letters, whose case a binary value loses");
    }
    if is_number(unsigned) && unsigned.matches('.').count() == 1 && !unsigned.contains(',') {
        return Some("decimals of several lengths, as versions have; --types gives the column a type");
    }
    (unsigned.contains(',') && is_number(unsigned))
        .then_some("a comma in a number; --decimal and --thousands say what it is")
}

/// Writes a count with a comma between groups of three digits.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
