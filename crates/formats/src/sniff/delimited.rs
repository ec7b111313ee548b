//! The delimiter that divides most rows into the same number of fields.

/// A delimiter, and the rows that it makes.
pub(super) struct Guess {
    pub(super) delimiter: String,
    pub(super) quote: Option<u8>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) odd_rows: usize,
}

/// Delimiters in the order in which they are believed; those of several characters before what they contain.
const CANDIDATES: &[&str] =
    &["|~|", "||", "::", ",", ";", "\t", "|", "\u{1}", "\u{1F}", "~", "^", "¦", "§", ":", "\0"];

/// Rows that a candidate is tried on.
const ROWS_MAX: usize = 2000;

/// The delimiter that the first line names (`sep=;`), and the text behind that line.
pub(super) fn separator_line(text: &str, row_terminator: &str) -> Option<(String, String)> {
    let (line, rest) = text.split_once(row_terminator)?;
    let line = line.trim_matches('"');
    let delimiter = line.strip_prefix("sep=").or_else(|| line.strip_prefix("SEP="))?;
    (delimiter.chars().count() == 1).then(|| (delimiter.to_owned(), rest.to_owned()))
}

/// The likeliest delimiter; `None` if no candidate divides the rows evenly.
pub(super) fn guess(text: &str, row_terminator: &str, named: Option<String>) -> Option<Guess> {
    let is_quoted = text.contains('"');
    let mut best: Option<(f64, Guess)> = None;
    let candidates: Vec<&str> = match &named {
        Some(named) => vec![named.as_str()],
        None => CANDIDATES.to_vec(),
    };
    for delimiter in candidates {
        let is_part = best.as_ref().is_some_and(|(_, known)| known.delimiter.contains(delimiter));
        if is_part || !text.contains(delimiter) {
            continue;
        }
        for quote in [Some(b'"'), None] {
            if quote.is_some() && !is_quoted {
                continue;
            }
            let Some(rows) = split(text, delimiter, row_terminator, quote) else { continue };
            let (fields, regular) = usual(&rows);
            if fields < 2 {
                continue;
            }
            let evenness = regular as f64 / rows.len() as f64;
            // More fields are a better reason, quotes that work out too; evenness comes first.
            let score = evenness * 100.0 + (fields as f64).ln() + if quote.is_some() { 1.0 } else { 0.0 };
            if evenness >= 0.8 && best.as_ref().is_none_or(|(known, _)| score > *known + 0.2) {
                let odd_rows = rows.len() - regular;
                best = Some((score, Guess { delimiter: delimiter.to_owned(), quote, rows, odd_rows }));
            }
        }
    }
    best.map(|(_, guess)| guess)
}

/// The number of fields that most rows have, and how many have it.
fn usual(rows: &[Vec<String>]) -> (usize, usize) {
    let mut counts = std::collections::BTreeMap::new();
    for row in rows {
        *counts.entry(row.len()).or_insert(0_usize) += 1;
    }
    counts.into_iter().max_by_key(|(fields, count)| (*count, *fields)).unwrap_or((0, 0))
}

/// Rows and fields by RFC 4180; `None` if a quote stands where none may, or is never closed.
fn split(text: &str, delimiter: &str, row_terminator: &str, quote: Option<u8>) -> Option<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && rows.len() < ROWS_MAX {
        let mut row = Vec::new();
        loop {
            let quoted = quote.map(char::from).filter(|quote| rest.starts_with(*quote));
            let (cell, behind) = match quoted {
                Some(quote) => closed(rest.get(1..)?, quote)?,
                None => {
                    let end = [delimiter, row_terminator].iter().filter_map(|end| rest.find(end)).min();
                    let (cell, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    (cell.to_owned(), behind)
                }
            };
            row.push(cell);
            if let Some(behind) = behind.strip_prefix(delimiter) {
                rest = behind;
            } else if let Some(behind) = behind.strip_prefix(row_terminator) {
                rest = behind;
                break;
            } else if behind.is_empty() {
                rest = behind;
                break;
            } else {
                return None;
            }
        }
        let is_blank = row.len() == 1 && row.first().is_some_and(String::is_empty);
        if !is_blank {
            rows.push(row);
        }
    }
    (!rows.is_empty()).then_some(rows)
}

/// The text up to the closing quote, doubled quotes halved, and what follows.
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
