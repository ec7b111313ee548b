//! Returns rows that do not have the file's columns instead of ending the reading.

use super::reader::{Advance, Blocks, CsvReader};
use super::splitter::{Rows, Split, Stop};
use crate::bcp::{RejectReason, RejectedField, RejectedRow};
use crate::{FormatError, Reason};

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
        let Some(rejects) = self.rejects.clone() else { return Err(error) };
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
        let start = self.blocks.start;
        let raw = self.blocks.text.get(start..end).unwrap_or_default().to_vec();
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
            raw_encoding: Some(self.blocks.input.encoding()),
        };
        if self.lines.line_of_row(row.row) != Some(self.blocks.line) {
            self.lines.record(row.row, self.blocks.line);
        }
        self.blocks.line += row.raw.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.blocks.start = end;
        self.rejected += 1;
        rejects.push(row);
        Ok(())
    }
}

impl Blocks {
    /// Whether no row terminator stands behind the start of the row but at the end of the file.
    fn is_last_line(&self) -> bool {
        let rest = self.text.get(self.start..).unwrap_or_default();
        self.input.end().is_some() && self.splitter.terminator_end(rest).is_none_or(|end| end == rest.len())
    }

    /// Where the row at `start` ends: as it splits, whatever the number of its fields, or else behind the next terminator
    /// from `searched` bytes on. `None` if it does not end within the longest row.
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
