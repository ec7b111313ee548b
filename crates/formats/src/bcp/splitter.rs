//! Finds rows and fields in the bytes of a host file, by the rules of the original: every field looks for its own end.

use memchr::memmem::Finder;

use super::Deviation;
use super::cells::{Span, SplitRows};
use super::format_file::HostField;
use super::lined::Lined;
use super::options::HostReadOptions;
use crate::scanner::Scanner;

/// A host file's description, prepared for the search.
pub(super) struct Splitter {
    fields: Vec<Shape>,
    /// Field and row terminator, if every field ends at one byte and only the last at another.
    bytes: Option<(u8, u8)>,
    /// The last field's terminator, and the only one that the others have: what finds rows run together.
    row_end: Option<Terminator>,
    field_end: Option<Terminator>,
    /// The rows are lines, and their fields have places.
    lined: Option<Lined>,
    /// Terminator of the last field, and thereby of the line.
    line_end: Option<Terminator>,
    row_bytes_max: usize,
}

/// Rule for finding a field's end.
enum Shape {
    /// A field up to its terminator.
    Terminated(Box<Terminator>),
    /// A field with its length in front of it; a following terminator is skipped.
    Prefixed { width: usize, length_max: usize, behind: usize, empty_is_null: bool },
    /// A field of fixed length; a following terminator is skipped.
    Fixed { length: usize, behind: usize, blank: Blank },
}

/// Treatment of blanks that fill up a field of fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    /// Blanks are data.
    Kept,
    /// Blanks are removed; in UTF-8 and code pages.
    Byte,
    /// Blanks are removed; in UTF-16.
    Unit,
}

/// Bytes that end a field.
pub(super) struct Terminator {
    finder: Finder<'static>,
    /// The terminator only counts at an even distance from the field's start (UTF-16).
    wide: bool,
}

/// Reason why splitting stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The wanted number of rows was found.
    Enough,
    /// The window ends, perhaps within a row.
    Window,
    /// The file ends behind a row.
    End,
    /// The file ends inside a prefix, or inside a first field of fixed size. The original does not report this.
    DroppedTail,
    /// The file ends inside this field (from 0) of the row that begins where splitting stopped.
    UnexpectedEnd { field: usize },
    /// The row is longer than allowed.
    TooLong,
    /// A length in front of a value is not possible: this field (from 0), this length.
    Length { field: usize, length: u64 },
}

/// Outcome of the search for one field's end.
enum Found {
    /// The field, and where the next one begins.
    Field(Span, usize),
    /// More bytes are needed.
    More,
    Stop(Stop),
}

const NULL_UNKNOWN_LENGTH: u64 = u64::MAX - 1;

impl Splitter {
    /// Prepares the search. `cuts` has for each field the bytes that are kept of a value with a length in
    /// front of it.
    pub(super) fn new(fields: &[HostField], cuts: &[usize], options: &HostReadOptions) -> Self {
        let (blank_is_null, row_bytes_max) = (options.blank_is_null, options.max_row_bytes);
        let shapes: Vec<Shape> =
            fields.iter().zip(cuts).map(|(field, cut)| Shape::new(field, *cut, blank_is_null)).collect();
        let ends = |range: &[HostField]| {
            let mut ends = range.iter().map(|field| (&field.terminator, field.host_type.is_text()));
            let first = ends.next()?;
            (first.1 && !first.0.is_empty() && ends.all(|end| end == first)).then(|| first.0.clone())
        };
        let all_terminated = shapes.iter().all(|shape| matches!(shape, Shape::Terminated(_)));
        let (last, others) = match fields.split_last() {
            Some((last, others)) => (std::slice::from_ref(last), others),
            None => (fields, fields),
        };
        let terminator = |bytes: Option<Vec<u8>>, wide| bytes.map(|bytes| Terminator::new(&bytes, wide));
        // A single field has no field terminator; one that was asked for shows that the rows have more fields.
        let asked = || options.field_terminator.clone().filter(|end| others.is_empty() && !end.is_empty());
        let (row_end, field_end) = (ends(last), ends(others).or_else(asked));
        let bytes = match (row_end.as_deref(), field_end.as_deref()) {
            (Some([row]), Some([field])) if all_terminated && row != field => Some((*field, *row)),
            // A single field ends like any other.
            (Some([row]), None) if all_terminated && others.is_empty() => Some((*row, *row)),
            _ => None,
        };
        let same = row_end == field_end;
        let wide = |field: &[HostField]| {
            field.first().is_some_and(|field| field.host_type == super::HostType::NChar)
        };
        Self {
            bytes: bytes.filter(|_| !wide(last) && !wide(others)),
            row_end: terminator(row_end.filter(|_| !same && all_terminated), wide(last)),
            field_end: terminator(
                field_end.filter(|_| !same && all_terminated),
                wide(others) || (others.is_empty() && wide(last)),
            ),
            lined: Lined::of(fields, blank_is_null),
            line_end: fields
                .last()
                .filter(|field| !field.terminator.is_empty() && field.host_type.is_text())
                .map(|field| Terminator::new(&field.terminator, field.host_type == super::HostType::NChar)),
            fields: shapes,
            row_bytes_max,
        }
    }

    /// Returns the end of the line that begins with `text`, its terminator included. `None` if more text is
    /// needed.
    pub(super) fn behind_line(&self, text: &[u8]) -> Option<usize> {
        let end = self.line_end.as_ref()?;
        end.position(text).map(|at| at + end.len())
    }

    /// Returns true if the last field has a terminator, so that there are lines.
    pub(super) fn has_lines(&self) -> bool {
        self.line_end.is_some()
    }

    /// Appends the whole rows of `window[start..]` to `rows`, at most `rows_max`. `last` says that nothing follows the
    /// window. Returns where the first row that was not appended begins, and why it was not.
    pub(super) fn split(
        &self,
        window: &[u8],
        start: usize,
        last: bool,
        rows_max: usize,
        rows: &mut SplitRows,
    ) -> (usize, Stop) {
        let (next, stop) = match (&self.lined, self.bytes) {
            (Some(lined), _) => lined.split(window, start, last, rows_max, rows),
            (None, Some(ends)) => self.split_bytes(window, start, last, rows_max, rows, ends),
            (None, None) => self.split_shapes(window, start, last, rows_max, rows),
        };
        let too_long = stop == Stop::Window && window.len() - next > self.row_bytes_max;
        (next, if too_long { Stop::TooLong } else { stop })
    }

    /// Splits rows in one pass over the bytes, looking for both terminators at once.
    fn split_bytes(
        &self,
        window: &[u8],
        start: usize,
        last: bool,
        rows_max: usize,
        rows: &mut SplitRows,
        (field_end, row_end): (u8, u8),
    ) -> (usize, Stop) {
        let fields = self.fields.len();
        let mut scanner = Scanner::new(window, start, [field_end, row_end, row_end]);
        let mut row_start = start;
        let mut span_count = rows.spans.len();
        for _ in 0..rows_max {
            if last && row_start >= window.len() {
                return (row_start, Stop::End);
            }
            let notes = rows.notes.len();
            let row = rows.bounds.len() as u32;
            let mut field_start = row_start;
            let mut field = 0;
            let (mut swallowed, mut surplus) = (false, false);
            while field < fields {
                let wanted = if field + 1 == fields { row_end } else { field_end };
                let end = loop {
                    let Some(position) = scanner.next() else { break None };
                    // The scanner stops at the two terminators only.
                    if window.get(position) == Some(&wanted) {
                        break Some(position);
                    }
                    let (seen, deviation) = if wanted == field_end {
                        (&mut swallowed, Deviation::SwallowedRow)
                    } else {
                        (&mut surplus, Deviation::SurplusFields)
                    };
                    if !std::mem::replace(seen, true) {
                        rows.notes.push((row, field as u16, deviation));
                    }
                };
                let end = match end {
                    Some(end) => end,
                    None if last && field + 1 == fields => {
                        rows.notes.push((row, field as u16, Deviation::MissingLastTerminator));
                        window.len()
                    }
                    None => {
                        rows.spans.truncate(span_count);
                        rows.notes.truncate(notes);
                        let stop = if last { Stop::UnexpectedEnd { field } } else { Stop::Window };
                        return (row_start, stop);
                    }
                };
                rows.spans.push(terminated(window, field_start, end, false));
                field_start = end + 1;
                field += 1;
            }
            let row_end = field_start.min(window.len());
            rows.bounds.push((row_start as u32, row_end as u32));
            row_start = row_end;
            span_count = rows.spans.len();
        }
        (row_start, Stop::Enough)
    }

    /// Splits rows field by field, for fields of any kinds.
    fn split_shapes(
        &self,
        window: &[u8],
        start: usize,
        last: bool,
        rows_max: usize,
        rows: &mut SplitRows,
    ) -> (usize, Stop) {
        let mut row_start = start;
        for _ in 0..rows_max {
            if row_start >= window.len() {
                return (row_start, if last { Stop::End } else { Stop::Window });
            }
            let (spans, notes, gathered) = (rows.spans.len(), rows.notes.len(), rows.gathered.len());
            let mut position = row_start;
            let mut stop = None;
            for index in 0..self.fields.len() {
                match self.field(index, window, position, last, rows) {
                    Found::Field(span, next) => {
                        rows.spans.push(span);
                        position = next;
                    }
                    Found::More => stop = Some(Stop::Window),
                    Found::Stop(why) => stop = Some(why),
                }
                if stop.is_some() {
                    break;
                }
            }
            if let Some(stop) = stop {
                rows.spans.truncate(spans);
                rows.notes.truncate(notes);
                rows.gathered.truncate(gathered);
                return (row_start, stop);
            }
            if position == row_start {
                // Fields of no length at all: the file would never end.
                rows.spans.truncate(spans);
                return (row_start, Stop::UnexpectedEnd { field: 0 });
            }
            rows.bounds.push((row_start as u32, position as u32));
            self.note_run_together(window, rows);
            row_start = position;
        }
        (row_start, Stop::Enough)
    }

    /// Notes terminators that stand where they should not in the row last appended.
    fn note_run_together(&self, window: &[u8], rows: &mut SplitRows) {
        let (Some(row_end), Some(field_end)) = (&self.row_end, &self.field_end) else { return };
        let row = rows.bounds.len() - 1;
        let fields = self.fields.len();
        let field = |index: usize| {
            let span = rows.spans.get(row * fields + index)?;
            let (start, end) = span.in_window()?;
            window.get(start..end)
        };
        let swallowing = (0..fields - 1)
            .find(|&index| field(index).is_some_and(|bytes| row_end.position(bytes).is_some()))
            .map(|index| (index, Deviation::SwallowedRow));
        let surplus = field(fields - 1)
            .is_some_and(|bytes| field_end.position(bytes).is_some())
            .then_some((fields - 1, Deviation::SurplusFields));
        rows.notes.extend(
            swallowing.into_iter().chain(surplus).map(|(index, what)| (row as u32, index as u16, what)),
        );
    }

    fn field(&self, index: usize, window: &[u8], start: usize, last: bool, rows: &mut SplitRows) -> Found {
        let is_last_field = index + 1 == self.fields.len();
        let row = rows.bounds.len() as u32;
        let unexpected = Found::Stop(Stop::UnexpectedEnd { field: index });
        let rest = window.get(start..).unwrap_or_default();
        let Some(shape) = self.fields.get(index) else { return unexpected };
        match shape {
            Shape::Terminated(terminator) => match terminator.position(rest) {
                Some(at) => {
                    let end = start + at;
                    Found::Field(terminated(window, start, end, terminator.wide), end + terminator.len())
                }
                None if !last => Found::More,
                None if is_last_field => {
                    rows.notes.push((row, index as u16, Deviation::MissingLastTerminator));
                    Found::Field(terminated(window, start, window.len(), terminator.wide), window.len())
                }
                None => unexpected,
            },
            Shape::Fixed { length, behind, blank } => {
                let end = start + length;
                if window.len() < end {
                    return match (last, index) {
                        (false, _) => Found::More,
                        (true, 0) => Found::Stop(Stop::DroppedTail),
                        (true, _) => unexpected,
                    };
                }
                let span = blank.trimmed(start, window.get(start..end).unwrap_or_default());
                step_over(span, end, *behind, window, last)
            }
            Shape::Prefixed { width, length_max, behind, empty_is_null } => {
                let Some(prefix) = rest.get(..*width) else {
                    return if last { Found::Stop(Stop::DroppedTail) } else { Found::More };
                };
                let length = little_endian(prefix);
                let start = start + width;
                if length == u64::MAX >> (64 - 8 * width) || (*empty_is_null && length == 0) {
                    return step_over(Span::NULL, start, *behind, window, last);
                }
                if *width == 8 && length == NULL_UNKNOWN_LENGTH {
                    return match gather(window, start, &mut rows.gathered) {
                        Some((span, next)) => step_over(span, next, *behind, window, last),
                        None if last => unexpected,
                        None => Found::More,
                    };
                }
                let Some(end) = usize::try_from(length).ok().and_then(|length| start.checked_add(length))
                else {
                    return Found::Stop(Stop::Length { field: index, length });
                };
                if length > self.row_bytes_max as u64 {
                    return Found::Stop(Stop::Length { field: index, length });
                }
                if window.len() < end {
                    return if last { unexpected } else { Found::More };
                }
                let mut kept = end;
                if end - start > *length_max {
                    kept = start + length_max;
                    rows.notes.push((row, index as u16, Deviation::CutByLength));
                }
                step_over(Span::new(start, kept), end, *behind, window, last)
            }
        }
    }
}

impl Shape {
    fn new(field: &HostField, length_max: usize, blank_is_null: bool) -> Self {
        let behind = field.terminator.len();
        let natural = field.host_type.size_bytes();
        if field.prefix_length > 0 {
            let width = usize::from(field.prefix_length);
            // Types of one size are cut, or filled up, to it where they are decoded. Length 0 is NULL of a sql_variant, and in
            // a delimited field.
            let empty_is_null = field.host_type == super::HostType::Variant || behind > 0;
            return Self::Prefixed { width, length_max, behind, empty_is_null };
        }
        match natural {
            Some(length) => Self::Fixed { length, behind, blank: Blank::Kept },
            None if behind > 0 => Self::Terminated(Box::new(Terminator::new(
                &field.terminator,
                field.host_type == super::HostType::NChar,
            ))),
            None => {
                let blank = Blank::of(field.host_type, blank_is_null);
                Self::Fixed { length: field.length as usize, behind, blank }
            }
        }
    }
}

impl Blank {
    /// Returns the treatment of blanks in a field of this type.
    pub(super) fn of(host_type: super::HostType, blank_is_null: bool) -> Self {
        match host_type {
            super::HostType::Char if blank_is_null => Self::Byte,
            super::HostType::NChar if blank_is_null => Self::Unit,
            _ => Self::Kept,
        }
    }

    /// Takes away blanks at the end of a field; NULL if there is nothing else.
    pub(super) fn trimmed(self, start: usize, bytes: &[u8]) -> Span {
        let kept = match self {
            Self::Kept => return Span::new(start, start + bytes.len()),
            Self::Byte => bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1),
            Self::Unit => {
                let units = bytes.as_chunks::<2>().0;
                units.iter().rposition(|unit| *unit != [b' ', 0]).map_or(0, |last| 2 * (last + 1))
            }
        };
        if kept == 0 { Span::NULL } else { Span::new(start, start + kept) }
    }
}

impl Terminator {
    pub(super) fn new(bytes: &[u8], wide: bool) -> Self {
        Self { finder: Finder::new(bytes).into_owned(), wide }
    }

    pub(super) fn len(&self) -> usize {
        self.finder.needle().len()
    }

    pub(super) fn position(&self, text: &[u8]) -> Option<usize> {
        if !self.wide {
            return self.finder.find(text);
        }
        let mut from = 0;
        loop {
            let at = from + self.finder.find(text.get(from..)?)?;
            if at % 2 == 0 {
                return Some(at);
            }
            from = at + 1;
        }
    }
}

/// Makes the span of a field that ends at a terminator: nothing between terminators is NULL, one NUL the
/// empty string.
#[inline]
fn terminated(window: &[u8], start: usize, end: usize, wide: bool) -> Span {
    let empty: &[u8] = if wide { &[0, 0] } else { &[0] };
    match end - start {
        0 => Span::NULL,
        1..=2 if window.get(start..end) == Some(empty) => Span::new(start, start),
        _ => Span::new(start, end),
    }
}

/// Steps over the terminator behind a field whose length is known. The original does not look at it.
fn step_over(span: Span, end: usize, behind: usize, window: &[u8], last: bool) -> Found {
    match end + behind {
        next if next <= window.len() => Found::Field(span, next),
        _ if last => Found::Field(span, window.len()),
        _ => Found::More,
    }
}

/// Joins the chunks of a value of unknown length: a four-byte length before each, zero at the end.
fn gather(window: &[u8], mut position: usize, gathered: &mut Vec<u8>) -> Option<(Span, usize)> {
    let first = gathered.len();
    loop {
        let length = little_endian(window.get(position..position + 4)?) as usize;
        position += 4;
        if length == 0 {
            return Some((Span::gathered(first, gathered.len()), position));
        }
        gathered.extend_from_slice(window.get(position..position.checked_add(length)?)?);
        position += length;
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
