//! Splits text into rows and fields. Pushed a block at a time, it never reads and never copies.

use super::options::{CsvOptions, RowTerminator};
use crate::scanner::Scanner;

/// A dialect made ready for splitting.
#[derive(Clone)]
pub(super) struct Splitter {
    delimiter: Vec<u8>,
    terminator: Vec<u8>,
    /// `\r` in front of the terminator belongs to it.
    trim_return: bool,
    quote: Option<u8>,
    escape: Option<u8>,
    /// Blanks in front of a field are left out.
    skips_blanks: bool,
    /// A row without line breaks inside quotes is exactly one line. Rows that no line break ends are counted
    /// as lines too.
    row_is_line: bool,
    row_bytes_max: usize,
}

/// Place of a field's text, quotes excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) form: FieldForm,
}

/// Form of a field in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldForm {
    Bare,
    Quoted,
    /// The field is quoted, and holds quotes that are doubled.
    QuotedDoubled,
}

/// The rows of one block.
#[derive(Default)]
pub(super) struct Rows {
    /// Fields of all rows, row by row.
    pub(super) fields: Vec<Span>,
    /// Number of rows.
    pub(super) count: usize,
    /// `(row, lines)`: from this row on, rows are `lines` further down than one line a row would put them.
    pub(super) line_shifts: Vec<(usize, u64)>,
    /// Start and end of each row, its terminator included, if they are asked for.
    pub(super) bounds: Option<Vec<(u32, u32)>>,
}

impl Rows {
    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.line_shifts.clear();
        self.count = 0;
        self.bounds.iter_mut().for_each(Vec::clear);
    }
}

/// Point at which splitting stopped, and the reason.
pub(super) struct Split {
    /// First byte behind the last whole row.
    pub(super) next: usize,
    /// Lines passed from the start to `next`.
    pub(super) lines: u64,
    pub(super) stop: Stop,
}

/// Reason why splitting stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The wanted number of rows was found.
    Enough,
    /// The text ends, perhaps within a row.
    Text,
    /// The row at [`Split::next`] has the wrong number of fields.
    Ragged { expected: usize, found: usize },
    /// The row at [`Split::next`] has text behind a closing quote, at byte `at`. `told_at` is the first byte, or the end of the
    /// text, that excludes a delimiter and a terminator at this place.
    TextAfterQuote { at: usize, told_at: usize, field: usize },
    /// The row at [`Split::next`] is longer than allowed.
    TooLong,
    /// The last row ends inside quotes.
    UnterminatedQuote { field: usize },
}

/// Mark behind a field.
enum Behind {
    Delimiter,
    Terminator,
    /// Text that is neither delimiter nor terminator.
    Other,
    /// More text is needed to decide.
    Unknown,
}

impl Splitter {
    pub(super) fn new(options: &CsvOptions) -> Self {
        let terminator = options.terminator().as_bytes().to_vec();
        Self {
            delimiter: options.delimiter.as_bytes().to_vec(),
            trim_return: options.row_terminator == RowTerminator::Auto,
            quote: options.quote,
            escape: options.escape,
            skips_blanks: options.skip_initial_space,
            row_is_line: terminator == b"\n" || !terminator.contains(&b'\n'),
            row_bytes_max: options.max_row_bytes,
            terminator,
        }
    }

    /// Finds the end of the first row terminator in `text`.
    pub(super) fn terminator_end(&self, text: &[u8]) -> Option<usize> {
        memchr::memmem::find(text, &self.terminator).map(|at| at + self.terminator.len())
    }

    /// Returns the text that ends a row.
    pub(super) fn terminator(&self) -> &[u8] {
        &self.terminator
    }

    /// Returns the quote character, if there is one.
    pub(super) fn quote(&self) -> Option<u8> {
        self.quote
    }

    /// Returns the longest row accepted, in bytes.
    pub(super) fn row_bytes_max(&self) -> usize {
        self.row_bytes_max
    }

    /// Appends the whole rows of `text[start..]` to `rows`, at most `rows_max`. `expected` is the number of columns;
    /// without it the first row decides. `last` says that no text follows, so the last row needs no terminator.
    pub(super) fn split(
        &self,
        text: &[u8],
        start: usize,
        last: bool,
        rows_max: usize,
        expected: Option<usize>,
        rows: &mut Rows,
    ) -> Split {
        // One-byte delimiters and terminators never need to look beyond the match.
        if self.delimiter.len() == 1 && self.terminator.len() == 1 {
            self.split_rows::<true>(text, start, last, rows_max, expected, rows)
        } else {
            self.split_rows::<false>(text, start, last, rows_max, expected, rows)
        }
    }

    fn split_rows<const SINGLE: bool>(
        &self,
        text: &[u8],
        start: usize,
        last: bool,
        rows_max: usize,
        mut expected: Option<usize>,
        rows: &mut Rows,
    ) -> Split {
        let delimiter_first = self.delimiter[0];
        let terminator_first = self.terminator[0];
        let needles = [delimiter_first, terminator_first, self.quote.unwrap_or(terminator_first)];
        let mut scanner = Scanner::new(text, start, needles);
        let mut row_start = start;
        let mut first_field = rows.fields.len();
        let mut lines = 0u64;
        let mut shift = 0u64;

        while rows.count < rows_max {
            let mut quoted_breaks = 0;
            let mut field_start = row_start;
            let mut field = 0;
            // A row of nothing but delimiters must not cost twelve times its size: surplus fields are only counted.
            let fields_max = expected.unwrap_or(COLUMNS_MAX);
            let row_end = loop {
                if self.skips_blanks {
                    let rest = text.get(field_start..).unwrap_or_default();
                    field_start += rest.iter().take_while(|byte| **byte == b' ').count();
                }
                let mut span = Span { start: field_start as u32, end: 0, form: FieldForm::Bare };
                let behind;
                let end;
                if self.quote.is_some_and(|quote| text.get(field_start) == Some(&quote)) {
                    match self.closing_quote(
                        text,
                        field_start,
                        &mut scanner,
                        &mut span.form,
                        &mut quoted_breaks,
                    ) {
                        Some(close) => end = close,
                        None if last => {
                            rows.fields.truncate(first_field);
                            return Split { next: row_start, lines, stop: Stop::UnterminatedQuote { field } };
                        }
                        None => break None,
                    }
                    span.start += 1;
                    span.end = end as u32;
                    let mut after = end + 1;
                    if self.trim_return && text.get(after) == Some(&b'\r') {
                        match text.get(after + 1) {
                            Some(b'\n') => after += 1,
                            None if last => after += 1,
                            None => break None,
                            Some(_) => {}
                        }
                    }
                    behind = self.behind::<SINGLE>(text, after, last);
                    field_start = after;
                    if matches!(behind, Behind::Other) {
                        rows.fields.truncate(first_field);
                        return Split {
                            next: row_start,
                            lines,
                            stop: Stop::TextAfterQuote {
                                at: after,
                                told_at: self.told_at(text, after),
                                field,
                            },
                        };
                    }
                } else {
                    (end, behind) = self.bare_end::<SINGLE>(text, field_start, last, &mut scanner);
                    span.end = end as u32;
                    field_start = end;
                    let at_row_end = matches!(behind, Behind::Terminator);
                    if self.trim_return && at_row_end && span.end > span.start && text[end - 1] == b'\r' {
                        span.end -= 1;
                    }
                }
                if matches!(behind, Behind::Other | Behind::Unknown) {
                    break None;
                }
                if field < fields_max {
                    rows.fields.push(span);
                }
                field += 1;
                match behind {
                    Behind::Delimiter => {
                        field_start += if SINGLE { 1 } else { self.delimiter.len() };
                    }
                    // The end of the text stands in for the last terminator.
                    _ => break Some((field_start + self.terminator.len()).min(text.len())),
                }
            };
            let found = field;
            let Some(row_end) = row_end else {
                rows.fields.truncate(first_field);
                return Split { next: row_start, lines, stop: Stop::Text };
            };
            if last && row_start >= text.len() {
                // Behind the last terminator there is no row.
                rows.fields.truncate(first_field);
                break;
            }
            if row_end - row_start > self.row_bytes_max {
                rows.fields.truncate(first_field);
                return Split { next: row_start, lines, stop: Stop::TooLong };
            }
            let row_lines =
                if self.row_is_line { 1 + quoted_breaks } else { line_breaks(&text[row_start..row_end]) };
            let blank = found == 1
                && rows
                    .fields
                    .last()
                    .is_some_and(|span| span.form == FieldForm::Bare && span.start == span.end);
            if blank && expected != Some(1) {
                rows.fields.truncate(first_field);
            } else if expected.is_some_and(|expected| expected != found) || found > COLUMNS_MAX {
                rows.fields.truncate(first_field);
                let expected = expected.unwrap_or(COLUMNS_MAX);
                return Split { next: row_start, lines, stop: Stop::Ragged { expected, found } };
            } else {
                expected = Some(found);
                if lines != shift.wrapping_add(rows.count as u64) {
                    shift = lines.wrapping_sub(rows.count as u64);
                    rows.line_shifts.push((rows.count, shift));
                }
                rows.count += 1;
                first_field = rows.fields.len();
                if let Some(bounds) = &mut rows.bounds {
                    bounds.push((row_start as u32, row_end as u32));
                }
            }
            lines += row_lines;
            row_start = row_end;
        }
        let stop = if rows.count < rows_max { Stop::Text } else { Stop::Enough };
        Split { next: row_start, lines, stop }
    }

    /// Finds the end of an unquoted field and the mark behind it.
    #[inline(always)]
    fn bare_end<const SINGLE: bool>(
        &self,
        text: &[u8],
        field_start: usize,
        last: bool,
        scanner: &mut Scanner<'_>,
    ) -> (usize, Behind) {
        while let Some(position) = scanner.next() {
            // Within a delimiter of several bytes, or data.
            if position < field_start || self.is_escaped(text, field_start, position) {
                continue;
            }
            if SINGLE {
                // The scanner finds nothing else, so what is no delimiter and no quote is the terminator.
                let byte = text[position];
                if byte == self.delimiter[0] {
                    return (position, Behind::Delimiter);
                }
                if byte == self.terminator[0] {
                    return (position, Behind::Terminator);
                }
            } else {
                match self.behind::<SINGLE>(text, position, last) {
                    Behind::Other => {}
                    behind => return (position, behind),
                }
            }
        }
        (text.len(), if last { Behind::Terminator } else { Behind::Unknown })
    }

    /// Returns true if the byte at `position` is data because of an escape in front of it, which is none itself.
    #[inline(always)]
    fn is_escaped(&self, text: &[u8], field_start: usize, position: usize) -> bool {
        let Some(escape) = self.escape else { return false };
        let before = text.get(field_start..position).unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == escape).count() % 2 == 1
    }

    /// Finds the position of the quote that closes the field that opens at `field_start`.
    fn closing_quote(
        &self,
        text: &[u8],
        field_start: usize,
        scanner: &mut Scanner<'_>,
        form: &mut FieldForm,
        breaks: &mut u64,
    ) -> Option<usize> {
        let quote = self.quote?;
        *form = FieldForm::Quoted;
        let mut doubled_until = field_start + 1;
        while let Some(position) = scanner.next() {
            if position < doubled_until {
                continue;
            }
            let byte = text[position];
            if byte == quote && self.is_escaped(text, field_start + 1, position) {
                continue;
            }
            if byte == quote {
                if text.get(position + 1) != Some(&quote) {
                    // At the end of the text the next block may bring the second quote; the caller cannot tell
                    // what stands behind either, so the row is split again then.
                    return Some(position);
                }
                *form = FieldForm::QuotedDoubled;
                doubled_until = position + 2;
            } else if byte == b'\n' {
                *breaks += 1;
            }
        }
        None
    }

    /// Returns the end of the text that must be known to see that neither a delimiter nor a terminator stands
    /// at `position`.
    fn told_at(&self, text: &[u8], position: usize) -> usize {
        let rest = text.get(position..).unwrap_or_default();
        let alike = |wanted: &[u8]| rest.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        let of_return = if self.trim_return { alike(b"\r\n") } else { 0 };
        position + alike(&self.delimiter).max(alike(&self.terminator)).max(of_return)
    }

    /// Identifies the mark at `position`.
    #[inline(always)]
    fn behind<const SINGLE: bool>(&self, text: &[u8], position: usize, last: bool) -> Behind {
        let rest = text.get(position..).unwrap_or_default();
        if rest.is_empty() {
            return if last { Behind::Terminator } else { Behind::Unknown };
        }
        // The terminator first: it may begin with the delimiter, never the other way round.
        if rest.starts_with(&self.terminator) {
            return Behind::Terminator;
        }
        if !SINGLE && !last && self.terminator.starts_with(rest) {
            return Behind::Unknown;
        }
        if rest.starts_with(&self.delimiter) {
            return Behind::Delimiter;
        }
        if !SINGLE && !last && self.delimiter.starts_with(rest) {
            return Behind::Unknown;
        }
        Behind::Other
    }
}

/// Maximum number of columns accepted in a file, more than the 30,000 of a wide table.
const COLUMNS_MAX: usize = 1 << 16;

fn line_breaks(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}
