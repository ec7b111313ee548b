//! Finds the rows of a host file, from its first to its last.

use super::cells::SplitRows;
use super::options::HostReadOptions;
use super::row_converter::ChunkPlace;
use super::splitter::{Splitter, Stop};
use super::window::Window;
use crate::deviation::{Deviation, Suffered, Tolerance, tally};
use crate::rejected_rows::RejectReason;
use crate::{FormatError, Place, Reason};

/// A host file on the way from its first row to its last.
pub(super) struct RowFinder {
    splitter: Splitter,
    window: Window,
    /// The fields' names, for errors.
    names: Vec<String>,
    first_row: u64,
    last_row: Option<u64>,
    row_bytes_max: usize,
    tolerance: Tolerance,
    rows_seen: u64,
    /// Accepted deviations of the file since this list was taken last.
    pub(super) suffered: Vec<Suffered>,
    ended: bool,
}

/// A chunk of rows that were found.
pub(super) struct Chunk {
    pub(super) place: ChunkPlace,
    /// The chunk's rows are outside the wanted range.
    pub(super) is_skipped: bool,
    /// Length of its text.
    pub(super) length: usize,
    stop: Stop,
}

impl RowFinder {
    pub(super) fn new(
        splitter: Splitter,
        window: Window,
        names: Vec<String>,
        options: &HostReadOptions,
    ) -> Self {
        Self {
            splitter,
            window,
            names,
            first_row: options.first_row,
            last_row: options.last_row,
            row_bytes_max: options.max_row_bytes,
            tolerance: options.tolerance,
            rows_seen: 0,
            suffered: Vec::new(),
            ended: false,
        }
    }

    /// Counts the rows of the file that were passed so far.
    pub(super) fn rows_seen(&self) -> u64 {
        self.rows_seen
    }

    /// Reads the head of the file, and steps over a byte-order mark or notes it.
    pub(super) fn begin(&mut self, mark: &[u8], strips: bool) -> Result<(), FormatError> {
        while self.window.bytes().len() < mark.len() && !self.window.ended() {
            self.window.fill()?;
        }
        if mark.is_empty() || !self.window.bytes().starts_with(mark) {
            return Ok(());
        }
        if strips {
            self.window.advance(mark.len());
            Ok(())
        } else {
            self.suffer_or_fail(Deviation::LoadedMark, Some(0))
        }
    }

    /// Steps over `lines` lines in front of the first row.
    pub(super) fn skip_lines(&mut self, lines: usize) -> Result<(), FormatError> {
        if lines > 0 && !self.splitter.has_lines() {
            let problem = "the last field of the file has no terminator, so there are no lines to skip";
            return Err(FormatError::option("skip_lines", problem));
        }
        for _ in 0..lines {
            loop {
                let start = self.window.start();
                let length = self.text().len();
                match self.splitter.behind_line(self.text()) {
                    Some(behind) => {
                        self.window.advance(start + behind);
                        break;
                    }
                    None if self.window.ended() => {
                        self.window.advance(start + length);
                        return Ok(());
                    }
                    None if length > self.row_bytes_max => {
                        let limit_bytes = self.row_bytes_max;
                        return Err(self.here(Reason::RowTooLong { limit_bytes }, None));
                    }
                    None => self.window.fill()?,
                }
            }
        }
        Ok(())
    }

    /// Finds the next rows, at most `most`; `None` at the end of the file, or of the wanted rows. There may
    /// be no rows before more of the file is read.
    pub(super) fn find(&mut self, most: usize, rows: &mut SplitRows) -> Option<Chunk> {
        rows.clear();
        let left = self.last_row.map_or(u64::MAX, |last| last.saturating_sub(self.rows_seen));
        if self.ended || left == 0 {
            return None;
        }
        let skipping = self.first_row.saturating_sub(1).saturating_sub(self.rows_seen);
        let wanted = if skipping > 0 { skipping.min(left) } else { left };
        let wanted = usize::try_from(wanted).unwrap_or(most).min(most.max(1));
        let ended = self.window.ended();
        let (length, stop) = self.splitter.split(self.text(), 0, ended, wanted, rows);
        let place =
            ChunkPlace { rows_before: self.rows_seen, offset: self.window.offset_of(self.window.start()) };
        Some(Chunk { place, is_skipped: skipping > 0, length, stop })
    }

    /// Returns the text in which the rows were found.
    pub(super) fn text(&self) -> &[u8] {
        self.window.bytes().get(self.window.start()..).unwrap_or_default()
    }

    /// Steps over a chunk of `rows` rows, and reads on if there are no more in memory.
    pub(super) fn pass(&mut self, chunk: &Chunk, rows: usize) -> Result<(), FormatError> {
        self.rows_seen += rows as u64;
        self.window.advance(self.window.start() + chunk.length);
        self.ended = !matches!(chunk.stop, Stop::Enough | Stop::Window);
        match chunk.stop {
            Stop::Enough | Stop::End => Ok(()),
            Stop::Window => {
                let filled = self.window.fill();
                self.ended = filled.is_err();
                Ok(filled?)
            }
            Stop::DroppedTail => self.suffer_or_fail(Deviation::DroppedTail, None),
            Stop::UnexpectedEnd { field } => Err(self.here(Reason::UnexpectedEnd, Some(field))),
            Stop::TooLong => Err(self.here(Reason::RowTooLong { limit_bytes: self.row_bytes_max }, None)),
            Stop::Length { field, length } => {
                Err(self.here(Reason::ImpossibleLength { length }, Some(field)))
            }
        }
    }

    /// Notes something that concerns the file rather than a row, or fails because of it.
    pub(super) fn suffer_or_fail(
        &mut self,
        deviation: Deviation,
        field: Option<usize>,
    ) -> Result<(), FormatError> {
        if !self.tolerance.suffers(deviation) {
            return Err(self.here(Reason::Refused(RejectReason::Refused(deviation)), field));
        }
        let place = (self.rows_seen + 1, self.window.offset_of(self.window.start()));
        let column = field.and_then(|field| self.names.get(field)).map(String::as_str);
        tally(&mut self.suffered, deviation, place, column, 1);
        Ok(())
    }

    /// Makes an error in the row at the start of the window.
    fn here(&self, reason: Reason, field: Option<usize>) -> FormatError {
        let column = field.and_then(|field| self.names.get(field)).cloned();
        FormatError::new(reason).at(Place {
            row: Some(self.rows_seen + 1),
            byte_offset: Some(self.window.offset_of(self.window.start())),
            column: column.filter(|name| !name.is_empty()),
            ..Place::default()
        })
    }
}
