//! The delimiter that divides most rows into the same number of fields, and what ends a row.

use super::candidates;

/// A delimiter, and the rows that it makes.
pub(super) struct Guess {
    pub(super) delimiter: String,
    pub(super) quote: Option<u8>,
    pub(super) row_terminator: String,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) odd_rows: usize,
    /// Lines of text above the rows.
    pub(super) titles: usize,
    /// Another delimiter that divides the rows about as well.
    pub(super) rival: Option<String>,
    score: f64,
}

/// The text to guess from.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    /// Text that ends a line: `\n`, `\r\n` or the like.
    pub(super) line_end: &'a str,
    /// The text ends here: nothing was left out.
    pub(super) is_complete: bool,
}

/// Rows that a candidate is tried on.
const ROWS_MAX: usize = 2000;
/// Lines of text above the rows, at most.
const TITLES_MAX: usize = 5;
/// The share of rows that must have the usual number of fields.
const EVENNESS_MIN: f64 = 0.8;
/// Implausibility from which on a candidate is no delimiter.
const IMPLAUSIBLE: f64 = 20.0;
/// A rival whose score is within this of the best is mentioned.
const RIVAL_WITHIN: f64 = 0.7;

/// Returns the delimiter that the first line names (`sep=;`), and the text behind that line.
pub(super) fn separator_line(text: &str, row_terminator: &str) -> Option<(String, String)> {
    let (line, rest) = text.split_once(row_terminator)?;
    let line = line.trim_matches('"');
    let delimiter = line.strip_prefix("sep=").or_else(|| line.strip_prefix("SEP="))?;
    (delimiter.chars().count() == 1).then(|| (delimiter.to_owned(), rest.to_owned()))
}

/// Finds the likeliest delimiter and row terminator; `None` if no candidate divides the rows evenly.
pub(super) fn guess(sample: Text<'_>, named: Option<String>) -> Option<Guess> {
    let mut guesses = of_ending(sample, "", named.as_deref());
    if named.is_none() {
        for mark in candidates::row_marks(sample.text, sample.line_end) {
            guesses.extend(of_ending(sample, &mark, None));
        }
    }
    let best = (0..guesses.len()).reduce(|best, next| {
        let better = guesses.get(next).zip(guesses.get(best)).is_some_and(|(a, b)| a.score > b.score + 0.2);
        if better { next } else { best }
    })?;
    let mut best = guesses.swap_remove(best);
    let related = |other: &str| {
        let is_part = best.delimiter.contains(other) || other.contains(best.delimiter.as_str());
        is_part && candidates::without_marks(other).as_ref() != Some(&best.delimiter)
    };
    if best.rows.len() + best.titles == ROWS_MAX {
        // Types come of all rows that were read.
        let of = |rows| {
            split(sample.text, &best.delimiter, &best.row_terminator, best.quote, sample.is_complete, rows)
        };
        if let Some(Rows { mut rows, .. }) = of(usize::MAX) {
            rows.drain(..best.titles.min(rows.len()));
            let (_, regular) = usual(&rows);
            (best.odd_rows, best.rows) = (rows.len() - regular, rows);
        }
    }
    best.rival = guesses
        .iter()
        .find(|guess| guess.score + RIVAL_WITHIN > best.score && !related(&guess.delimiter))
        .map(|guess| guess.delimiter.clone());
    Some(best)
}

/// Guesses for rows that end with `mark` and a line end.
fn of_ending(sample: Text<'_>, mark: &str, named: Option<&str>) -> Vec<Guess> {
    let row_terminator = format!("{mark}{}", sample.line_end);
    let mut text = sample.text;
    if !sample.is_complete {
        // The last row may be cut off.
        let end = text.rfind(&row_terminator).map_or(text.len(), |at| at + row_terminator.len());
        text = text.get(..end).unwrap_or(text);
    }
    let candidates = match named {
        Some(named) => vec![named.to_owned()],
        None => candidates::delimiters(text, &row_terminator),
    };
    let is_quoted = text.contains('"');
    let mut guesses = Vec::new();
    for delimiter in candidates {
        // `a|b|` ends with an empty field, not with a mark.
        if !mark.is_empty() && mark.replace(delimiter.as_str(), "").is_empty() {
            continue;
        }
        for quote in [Some(b'"'), None] {
            if quote.is_some() && !is_quoted {
                continue;
            }
            let split = split(text, &delimiter, &row_terminator, quote, sample.is_complete, ROWS_MAX);
            let Some(Rows { mut rows, quoted }) = split else {
                continue;
            };
            // Lines of text above the names of the columns.
            let titles = rows.iter().take(TITLES_MAX).take_while(|row| row.len() == 1).count();
            let is_above = rows.get(titles..).is_some_and(|rest| rest.len() > 1 && usual(rest).0 > 1);
            let titles = if is_above { titles } else { 0 };
            rows.drain(..titles);
            // A quote within a field, as in `2" pipe`, quotes nothing.
            if quote.is_some() && quoted == 0 {
                continue;
            }
            let (fields, regular) = usual(&rows);
            let first_is_odd = rows.len() > 2 && rows.first().is_some_and(|row| row.len() != fields);
            let evenness = regular as f64 / (rows.len() - usize::from(first_is_odd)) as f64;
            let against = candidates::implausibility(&delimiter, &rows);
            if fields < 2 || evenness < EVENNESS_MIN || against > IMPLAUSIBLE {
                continue;
            }
            // Evenness comes first; more fields are a better reason, quotes that work out and a mark too.
            let mut score = evenness * 100.0 + (fields as f64).ln();
            score += if quote.is_some() { 1.0 } else { 0.0 };
            score += match (mark.is_empty(), rows.len()) {
                (true, _) => 0.0,
                // If the mark leaves a single row, it is part of a field.
                (false, 1) if text.matches(sample.line_end).count() > 1 => -20.0,
                (false, _) => 2.0,
            };
            // Marks at the ends of rows show that those at the ends of fields divide.
            score -= titles as f64;
            let has_marks = mark.is_empty() && candidates::without_marks(&delimiter).is_some();
            score -= if has_marks { 0.5 } else { 0.0 };
            let splits_marks = !mark.is_empty() && candidates::ends_alike(&rows);
            score -= if splits_marks { 3.0 } else { 0.0 };
            score -= if rows.first().is_some_and(|row| row.len() != fields) { 1.0 } else { 0.0 };
            score -= against;
            let odd_rows = rows.len() - regular;
            let row_terminator = row_terminator.clone();
            guesses.push(Guess {
                delimiter: delimiter.clone(),
                quote,
                row_terminator,
                rows,
                odd_rows,
                titles,
                rival: None,
                score,
            });
        }
    }
    guesses
}

/// Returns the number of fields that most rows have, and the number of those rows.
fn usual(rows: &[Vec<String>]) -> (usize, usize) {
    let mut counts = std::collections::BTreeMap::new();
    for row in rows {
        *counts.entry(row.len()).or_insert(0_usize) += 1;
    }
    counts.into_iter().max_by_key(|(fields, count)| (*count, *fields)).unwrap_or((0, 0))
}

/// Returns true if a delimiter divides all rows into the same number of fields.
pub(super) fn is_even(sample: Text<'_>, delimiter: &str, quote: Option<u8>) -> bool {
    let split = split(sample.text, delimiter, sample.line_end, quote, sample.is_complete, usize::MAX);
    split.is_some_and(|Rows { rows, .. }| usual(&rows).1 == rows.len())
}

/// Rows that are divided into fields.
struct Rows {
    rows: Vec<Vec<String>>,
    /// Fields in quotes.
    quoted: usize,
}

/// Splits rows and fields by RFC 4180; `None` if a quote stands where none may, or is never closed.
fn split(
    text: &str,
    delimiter: &str,
    row_terminator: &str,
    quote: Option<u8>,
    is_complete: bool,
    rows_max: usize,
) -> Option<Rows> {
    let mut rows = Vec::new();
    let mut quoted_fields = 0;
    let mut at = 0;
    let mut row_end = 0;
    'rows: while at < text.len() && rows.len() < rows_max {
        let mut row = Vec::new();
        loop {
            let rest = text.get(at..)?;
            let quoted = quote.map(char::from).filter(|quote| rest.starts_with(*quote));
            let (cell, behind) = match quoted {
                Some(quote) => match closed(rest.get(1..)?, quote) {
                    Some(closed) => closed,
                    // The text ends within the quotes, the file perhaps not.
                    None if !is_complete => break 'rows,
                    None => return None,
                },
                None => {
                    // Each row is searched once. Otherwise a rare delimiter would cost time by the square of
                    // the length.
                    if row.is_empty() || row_end < at {
                        row_end = rest.find(row_terminator).map_or(text.len(), |end| at + end);
                    }
                    let within = text.get(at..row_end)?;
                    let (cell, _) = within.split_at(within.find(delimiter).unwrap_or(within.len()));
                    (cell.to_owned(), rest.get(cell.len()..)?)
                }
            };
            quoted_fields += usize::from(quoted.is_some());
            row.push(cell);
            // The terminator may begin with the delimiter.
            let next = behind.strip_prefix(row_terminator);
            let is_end = next.is_some() || behind.is_empty();
            at = text.len() - next.or_else(|| behind.strip_prefix(delimiter)).map_or(behind.len(), str::len);
            if is_end {
                break;
            }
            if !behind.starts_with(delimiter) {
                return None;
            }
        }
        let is_blank = row.len() == 1 && row.first().is_some_and(String::is_empty);
        if !is_blank {
            rows.push(row);
        }
    }
    (!rows.is_empty()).then_some(Rows { rows, quoted: quoted_fields })
}

/// Splits off the text up to the closing quote, doubled quotes halved.
fn closed(text: &str, quote: char) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let (head, behind) = rest.split_once(quote)?;
        cell.push_str(head);
        match behind.strip_prefix(quote) {
            Some(behind) => {
                cell.push(quote);
                rest = behind;
            }
            None => return Some((cell, behind)),
        }
    }
}
