//! Returns rows that do not have the file's columns instead of ending the reading.

use memchr::memchr;

use super::reader::{Advance, Blocks, CsvReader, line_breaks};
use super::splitter::{Rows, Split, Stop};
use super::text_input::{BadSequence, STAND_IN};
use crate::rejected_rows::{RejectReason, RejectedField, RejectedRow};
use crate::{Encoding, FormatError, Reason};

impl CsvReader {
    /// Hands back the row at which splitting stopped and goes on behind it.
    ///
    /// # Errors
    /// `error` itself, if rejected rows are not collected or the end of this row cannot be found.
    pub(super) fn reject(
        &mut self,
        split: &Split,
        error: FormatError,
        field: Option<usize>,
    ) -> Result<(), FormatError> {
        if self.rejects.is_none() {
            return Err(error);
        }
        let (searched, problem) = match split.stop {
            Stop::Ragged { .. } => (0, error.reason.to_string()),
            Stop::TextAfterQuote { at, .. } if matches!(*error.reason, Reason::TextAfterQuote) => {
                (at - split.next, error.reason.to_string())
            }
            // Lines behind an open quote may be its content or rows. Only the file's last line is certain to be the
            // row.
            Stop::UnterminatedQuote { .. }
                if matches!(*error.reason, Reason::UnterminatedQuote) && self.blocks.is_last_line() =>
            {
                (0, error.reason.to_string())
            }
            _ => return Err(error),
        };
        let byte_offset = self.blocks.start_offset();
        let Some(end) = self.blocks.row_end(searched)? else { return Err(error) };
        self.hand_back(byte_offset, end, field, problem);
        Ok(())
    }

    /// Splits rows before the first that holds bytes that are no text. If that is the next one, it is handed back, and there is
    /// nothing to do with it.
    pub(super) fn split_at_bad_row(&mut self, rows_max: usize, rows: &mut Rows) -> Option<Split> {
        let columns = Some(self.schema.fields().len());
        let split = self.blocks.split(rows_max.min(ROWS_LOOKED_AT), columns, rows);
        let bounds = rows.bounds.as_deref().unwrap_or_default();
        let Some(first) = bounds.iter().position(|bounds| self.blocks.is_bad(*bounds)) else {
            return Some(split);
        };
        rows.clear();
        if first > 0 {
            return Some(self.blocks.split(first, columns, rows));
        }
        let split = self.blocks.split(1, columns, rows);
        // Blank lines before the row are no part of it.
        let first = rows.bounds.as_deref().unwrap_or_default().first();
        let row_start = first.map_or(self.blocks.start, |(start, _)| *start as usize);
        let blank = self.blocks.text.get(self.blocks.start..row_start).unwrap_or_default();
        self.blocks.line += line_breaks(blank);
        self.blocks.start = row_start;
        let byte_offset = self.blocks.start_offset();
        let text = self.blocks.text.get(self.blocks.start..split.next).unwrap_or_default();
        let range = byte_offset..byte_offset + self.blocks.input.source_bytes(text);
        let at = text.iter().position(|byte| *byte == STAND_IN).map_or(0, |at| self.blocks.start + at);
        let field =
            rows.fields.iter().position(|span| (span.start as usize..span.end as usize).contains(&at));
        let bad =
            self.blocks.bad_bytes.as_ref().and_then(|bad_bytes| bad_bytes.all_in(&range).into_iter().next());
        let bytes = bad.map(|bad| bad.bytes).unwrap_or_default();
        let problem = self.blocks.input.malformed(&bytes).to_string();
        self.hand_back(byte_offset, split.next, field, problem);
        if let Some(bad_bytes) = &self.blocks.bad_bytes {
            bad_bytes.forget_before(range.end);
        }
        None
    }

    /// Hands back the row that ends at `end` of the text, and goes on behind it.
    fn hand_back(&mut self, byte_offset: u64, end: usize, field: Option<usize>, problem: String) {
        let (raw, raw_encoding) = self.blocks.stored_row(byte_offset, end);
        let text = String::from_utf8_lossy(&raw).trim_end_matches(['\r', '\n']).to_owned();
        let column = field.and_then(|field| self.schema.fields().get(field));
        let row = RejectedRow {
            row: self.rows_read + self.rejected + 1,
            byte_offset,
            field: field.map_or(0, |field| field + 1),
            column: column.map(|column| column.name().clone()).unwrap_or_default(),
            value: String::new(),
            reason: RejectReason::Row { problem },
            fields: vec![RejectedField::Text(text)],
            columns_missing: 0,
            raw,
            raw_encoding,
        };
        if self.lines.line_of_row(row.row) != Some(self.blocks.line) {
            self.lines.record(row.row, self.blocks.line);
        }
        self.blocks.line += line_breaks(&row.raw);
        self.blocks.start = end;
        self.rejected += 1;
        if let Some(rejects) = &self.rejects {
            rejects.push(row);
        }
    }
}

/// Rows that are split at a time where some of them are handed back.
const ROWS_LOOKED_AT: usize = 64;

impl Blocks {
    /// Returns true if the text that is not split yet may have stand-ins for bytes that are no text.
    pub(super) fn holds_stand_ins(&self) -> bool {
        self.bad_bytes.as_ref().is_some_and(|bad_bytes| !bad_bytes.is_empty())
            && memchr(STAND_IN, self.text.get(self.start..).unwrap_or_default()).is_some()
    }

    /// Returns true if a row, from its first to its last byte in the text, has bytes that are no text.
    fn is_bad(&self, (start, end): (u32, u32)) -> bool {
        let (start, end) = (start as usize, end as usize);
        let text = self.text.get(start..end).unwrap_or_default();
        // The character may also be one of the file's.
        memchr(STAND_IN, text).is_some() && {
            let offset = self.offset_of(start);
            let range = offset..offset + self.input.source_bytes(text);
            self.bad_bytes.as_ref().is_some_and(|bad_bytes| bad_bytes.any_in(&range))
        }
    }

    /// Returns the row at `start` as the file has it, and the encoding from which it is decoded if it is
    /// text. The bytes of a row that are no text are known where text is stored as it is.
    fn stored_row(&self, byte_offset: u64, end: usize) -> (Vec<u8>, Option<Encoding>) {
        let mut raw = self.text.get(self.start..end).unwrap_or_default().to_vec();
        let encoding = self.input.encoding();
        let range = byte_offset..byte_offset + self.input.source_bytes(&raw);
        let bad = self.bad_bytes.as_ref().map(|bad_bytes| bad_bytes.all_in(&range)).unwrap_or_default();
        if bad.is_empty() || encoding != Encoding::Utf8 {
            return (raw, Some(encoding));
        }
        for BadSequence { offset, bytes } in bad {
            let at = usize::try_from(offset - byte_offset).unwrap_or(usize::MAX);
            for (slot, byte) in raw.iter_mut().skip(at).zip(bytes) {
                *slot = byte;
            }
        }
        (raw, None)
    }

    /// Returns true if no row terminator stands behind the start of the row but at the end of the file.
    fn is_last_line(&self) -> bool {
        let rest = self.text.get(self.start..).unwrap_or_default();
        self.input.end().is_some() && self.splitter.terminator_end(rest).is_none_or(|end| end == rest.len())
    }

    /// Finds the end of the row at `start`: as it splits, with any number of fields, or else behind the next
    /// terminator from `searched` bytes on. `None` if it does not end within the longest row.
    fn row_end(&mut self, searched: usize) -> Result<Option<usize>, FormatError> {
        let mut rows = Rows::default();
        let alone = self.split(1, None, &mut rows);
        if alone.next > self.start {
            return Ok(Some(alone.next));
        }
        loop {
            let rest = self.text.get(self.start + searched..).unwrap_or_default();
            let end = self.splitter.terminator_end(rest);
            if end.unwrap_or(rest.len()) > self.splitter.row_bytes_max() {
                return Err(self.too_long());
            }
            if let Some(end) = end {
                return Ok(Some(self.start + searched + end));
            }
            if self.input.end().is_some() {
                return Ok(Some(self.text.len()));
            }
            match self.refill() {
                Ok(Advance::More) => {}
                Ok(Advance::Finished) => return Ok(Some(self.text.len())),
                // The row ends where the text does, and the error comes behind it.
                Err(_) if self.input.end().is_some() => return Ok(Some(self.text.len())),
                Err(error) => return Err(error),
            }
        }
    }
}
