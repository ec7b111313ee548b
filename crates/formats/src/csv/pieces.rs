//! Delimited text cut into pieces that threads split side by side.
//!
//! Whether a line end is a row's end depends on the quotes in front of it. The cutter guesses by their number: a piece
//! ends behind a row terminator with an even number of quotes before it. A quote within an unquoted field makes the guess
//! wrong. So a piece counts only if it holds whole rows and the rows before it end where it begins; otherwise its text is
//! split again, in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use memchr::{memchr_iter, memmem};

use super::columns::{FieldRules, TextColumn};
use super::splitter::{Rows, Splitter, Stop};
use super::text_input::{BadBytes, TextEnd, TextInput};
use crate::encoding::Decoder;
use crate::{FormatError, RowPositions};

/// Text of the file that is likely to hold whole rows.
pub(super) struct Piece {
    pub(super) text: Vec<u8>,
    /// Offset in the file of the piece's first character.
    pub(super) offset: u64,
    /// Reason why no text follows, if none does.
    pub(super) end: Option<TextEnd>,
}

/// Next item of the file.
pub(super) enum Cut {
    Piece(Piece),
    /// No more text.
    End(Result<TextEnd, FormatError>),
}

/// Cuts text into pieces.
pub(super) struct Cutter {
    pub(super) input: TextInput,
    /// Text that was not handed out, and its offset in the file.
    pub(super) open: Vec<u8>,
    pub(super) offset: u64,
    pub(super) quote: Option<u8>,
    pub(super) terminator: Vec<u8>,
    pub(super) piece_bytes: usize,
    /// The text of `open` begins within quotes, if the number of quotes before it is not misleading.
    pub(super) in_quotes: bool,
    /// Set by the caller when the number of quotes misled.
    pub(super) misled: Arc<AtomicBool>,
    pub(super) ended: bool,
}

impl Iterator for Cutter {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        if self.ended {
            return None;
        }
        while self.open.len() < self.piece_bytes && self.input.end().is_none() {
            if let Err(error) = self.input.fill(&mut self.open, self.piece_bytes) {
                self.ended = true;
                return Some(Cut::End(Err(error)));
            }
        }
        if self.open.is_empty() {
            self.ended = true;
            return self.input.take_end().map(|end| Cut::End(Ok(end)));
        }
        let end = self.input.take_end();
        self.ended = end.is_some();
        let at = if self.ended { self.open.len() } else { self.likely_row_end() };
        let rest = self.open.get(at..).unwrap_or_default().to_vec();
        self.open.truncate(at);
        let text = std::mem::replace(&mut self.open, rest);
        let offset = self.offset;
        self.offset += self.input.source_bytes(&text);
        Some(Cut::Piece(Piece { text, offset, end }))
    }
}

impl Cutter {
    /// Finds the end of the last terminator in the open text that is likely to end a row; the text's end
    /// without any.
    fn likely_row_end(&mut self) -> usize {
        let text = self.open.as_slice();
        let odd = |from: usize, to: usize| {
            let text = text.get(from..to).unwrap_or_default();
            self.quote.is_some_and(|quote| memchr_iter(quote, text).count() % 2 == 1)
        };
        let starts_inside = self.in_quotes ^ self.misled.swap(false, Ordering::Relaxed);
        let (mut inside, mut counted_to) = (starts_inside ^ odd(0, text.len()), text.len());
        self.in_quotes = inside;
        let mut last = None;
        for at in memmem::rfind_iter(text, &self.terminator) {
            let behind = at + self.terminator.len();
            inside ^= odd(behind, counted_to);
            counted_to = behind;
            if !inside {
                self.in_quotes = false;
                return behind;
            }
            last.get_or_insert(behind);
        }
        // A quote within an unquoted field is more likely than a quoted field of this length.
        if last.is_some() {
            self.in_quotes = false;
        }
        last.unwrap_or(text.len())
    }
}

/// Outcome of splitting a piece.
pub(super) enum Outcome {
    /// The piece has whole rows, if it begins with one.
    Whole { piece: Piece, parts: Vec<Part>, lines: u64 },
    /// The piece has something else, such as a row that is wrong.
    Other(Piece),
    /// The text ends here.
    End(Result<TextEnd, FormatError>),
}

/// Rows of a piece, as one batch.
pub(super) struct Part {
    pub(super) batch: RecordBatch,
    /// Places of the part's rows, numbered from 0, if they are asked for.
    pub(super) positions: Option<RowPositions>,
    /// Lines of the piece in front of it.
    pub(super) lines_before: u64,
    /// Shifts of line numbers as in [`Rows::line_shifts`].
    pub(super) line_shifts: Vec<(usize, u64)>,
}

/// Splits pieces, one after the other.
pub(super) struct PieceSplitter {
    pub(super) splitter: Splitter,
    pub(super) rules: FieldRules,
    pub(super) schema: SchemaRef,
    pub(super) columns: Vec<TextColumn>,
    pub(super) batch_rows: usize,
    /// Counts bytes of the file, if positions are asked for.
    pub(super) positions: Option<Decoder>,
    /// Bytes that are no text, whose rows are handed back.
    pub(super) bad_bytes: Option<BadBytes>,
    pub(super) rows: Rows,
}

impl PieceSplitter {
    pub(super) fn split(&mut self, cut: Cut) -> Outcome {
        let piece = match cut {
            Cut::Piece(piece) => piece,
            Cut::End(end) => return Outcome::End(end),
        };
        if self.holds_bad_bytes(&piece) {
            return Outcome::Other(piece);
        }
        match self.parts(&piece) {
            Ok(Some((parts, lines))) => Outcome::Whole { piece, parts, lines },
            Ok(None) => {
                self.columns.iter_mut().for_each(TextColumn::clear);
                Outcome::Other(piece)
            }
            Err(error) => Outcome::End(Err(error)),
        }
    }

    /// Returns true if the caller has to look at each row of the piece.
    fn holds_bad_bytes(&self, piece: &Piece) -> bool {
        let (Some(bad_bytes), Some(decoder)) = (&self.bad_bytes, &self.positions) else { return false };
        !bad_bytes.is_empty()
            && bad_bytes.any_in(&(piece.offset..piece.offset + decoder.source_bytes(&piece.text)))
    }

    /// Splits a piece into rows, and counts its lines. `None` if it does not hold whole rows alone.
    fn parts(&mut self, piece: &Piece) -> Result<Option<(Vec<Part>, u64)>, FormatError> {
        let mut parts = Vec::new();
        let (mut start, mut lines) = (0, 0);
        let mut offset = piece.offset;
        loop {
            let rows = &mut self.rows;
            rows.clear();
            rows.bounds = self.positions.as_ref().map(|_| Vec::new());
            let columns = self.columns.len();
            let split = self.splitter.split(&piece.text, start, false, self.batch_rows, Some(columns), rows);
            let is_last = match split.stop {
                Stop::Enough => false,
                Stop::Text if split.next == piece.text.len() => true,
                _ => return Ok(None),
            };
            if rows.count > 0 {
                for (index, column) in self.columns.iter_mut().enumerate() {
                    column.extend(&piece.text, &rows.fields, index, columns, &self.rules);
                }
                let positions = self.positions.as_ref().zip(rows.bounds.as_ref()).map(|(decoder, bounds)| {
                    let mut positions = RowPositions::keeping(true);
                    let mut counted_to = start;
                    for (row, &(from, to)) in (0..).zip(bounds) {
                        let (from, to) = (from as usize, to as usize);
                        let text = |range: std::ops::Range<usize>| piece.text.get(range).unwrap_or_default();
                        offset += decoder.source_bytes(text(counted_to..from));
                        let length = decoder.source_bytes(text(from..to));
                        positions.push(row, offset, length as u32, text(from..to));
                        (offset, counted_to) = (offset + length, to);
                    }
                    offset +=
                        decoder.source_bytes(piece.text.get(counted_to..split.next).unwrap_or_default());
                    positions
                });
                let arrays = self.rules.finish(&mut self.columns)?;
                parts.push(Part {
                    batch: RecordBatch::try_new(Arc::clone(&self.schema), arrays)?,
                    positions,
                    lines_before: lines,
                    line_shifts: std::mem::take(&mut rows.line_shifts),
                });
            } else if let Some(decoder) = &self.positions {
                offset += decoder.source_bytes(piece.text.get(start..split.next).unwrap_or_default());
            }
            lines += split.lines;
            start = split.next;
            if is_last {
                return Ok(Some((parts, lines)));
            }
        }
    }
}
