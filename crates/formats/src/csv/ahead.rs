//! Reads delimited text ahead with several threads, and hands it out in order as one thread would read it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::record_batch::RecordBatch;

use super::columns::TextColumn;
use super::pieces::{Cutter, Outcome, Part, PieceSplitter};
use super::reader::CsvReader;
use super::splitter::Rows;
use super::text_input::{BadBytes, TextEnd, TextInput};
use crate::crew::Crew;
use crate::encoding::{Decoder, Encoding};
use crate::{FormatError, Reason, RowPositions};

/// Source of a reader's text.
pub(super) enum Input {
    /// Text that is read when the reader asks for it.
    Here(TextInput),
    /// Text that other threads read ahead, in pieces.
    Ahead(Ahead),
}

/// Pieces on their way.
pub(super) struct Ahead {
    crew: Crew<Outcome>,
    encoding: Encoding,
    decoder: Decoder,
    end: Option<TextEnd>,
    misled: Arc<AtomicBool>,
    /// Pieces cut before the cutter could hear that it was misled.
    unheard: usize,
    threads: usize,
}

/// A batch that is ready, and where its rows stand if that is asked for.
pub(super) type Ready = VecDeque<(RecordBatch, Option<RowPositions>)>;

impl Input {
    pub(super) fn encoding(&self) -> Encoding {
        match self {
            Self::Here(input) => input.encoding(),
            Self::Ahead(ahead) => ahead.encoding,
        }
    }

    /// Returns the length in the file of a piece of the text, in bytes.
    pub(super) fn source_bytes(&self, text: &[u8]) -> u64 {
        match self {
            Self::Here(input) => input.source_bytes(text),
            Self::Ahead(ahead) => ahead.decoder.source_bytes(text),
        }
    }

    /// Returns the reason why the text ended; None while there may be more.
    pub(super) fn end(&self) -> Option<&TextEnd> {
        match self {
            Self::Here(input) => input.end(),
            Self::Ahead(ahead) => ahead.end.as_ref(),
        }
    }

    /// Makes the error for malformed text, without a place.
    pub(super) fn malformed(&self, bytes: &[u8]) -> FormatError {
        FormatError::new(Reason::InvalidText { encoding: self.encoding().to_string(), bytes: bytes.to_vec() })
    }

    /// Appends up to about `block_bytes` of text; false once there is no more.
    pub(super) fn fill(&mut self, text: &mut Vec<u8>, block_bytes: usize) -> Result<bool, FormatError> {
        match self {
            Self::Here(input) => input.fill(text, block_bytes),
            Self::Ahead(ahead) => ahead.fill(text, block_bytes),
        }
    }

    /// Returns true if lines at the end of the file are left out.
    pub(super) fn has_footer(&self) -> bool {
        matches!(self, Self::Here(input) if input.has_footer())
    }

    /// Goes on behind bytes that are no text from now on, and notes them.
    pub(super) fn note_bad_bytes(&mut self, bad_bytes: BadBytes) {
        if let Self::Here(input) = self {
            input.note_bad_bytes(bad_bytes);
        }
    }

    /// Takes the CPU time of the threads that read ahead, since the last call.
    pub(super) fn take_cpu(&mut self) -> Duration {
        match self {
            Self::Here(_) => Duration::ZERO,
            Self::Ahead(ahead) => ahead.crew.take_cpu(),
        }
    }
}

impl Ahead {
    /// Takes the next piece; `None` at the end.
    fn next(&mut self) -> Result<Option<Outcome>, FormatError> {
        if self.end.is_some() {
            return Ok(None);
        }
        self.unheard = self.unheard.saturating_sub(1);
        match self.crew.next() {
            Some(Outcome::End(end)) => {
                self.end = Some(end?);
                Ok(None)
            }
            Some(mut outcome) => {
                if let Outcome::Whole { piece, .. } | Outcome::Other(piece) = &mut outcome {
                    self.end = piece.end.take();
                }
                Ok(Some(outcome))
            }
            None => Err(io::Error::other("a thread that read the file has ended").into()),
        }
    }

    /// Appends pieces as text, since the rows before them do not end where they begin.
    fn fill(&mut self, text: &mut Vec<u8>, block_bytes: usize) -> Result<bool, FormatError> {
        let used = text.len();
        if used > 0 && self.unheard == 0 {
            self.misled.store(true, Ordering::Relaxed);
            self.unheard = 2 * self.threads + 2;
        }
        while text.len() - used < block_bytes {
            match self.next()? {
                Some(Outcome::Whole { piece, .. } | Outcome::Other(piece)) => {
                    text.extend_from_slice(&piece.text);
                }
                Some(Outcome::End(_)) | None => break,
            }
        }
        Ok(text.len() > used)
    }
}

impl CsvReader {
    /// Starts threads that read the rest of the file ahead, unless all of it is here.
    pub(super) fn start_ahead(&mut self, threads: usize) -> Result<(), FormatError> {
        let encoding = self.blocks.input.encoding();
        if threads < 2 || self.blocks.input.end().is_some() {
            return Ok(());
        }
        let decoder =
            || Decoder::new(encoding).map_err(|error| FormatError::option("encoding", error.to_string()));
        let nothing = Input::Here(TextInput::new(Box::new(io::empty()), encoding)?);
        let offset = self.blocks.start_offset();
        let Input::Here(input) = std::mem::replace(&mut self.blocks.input, nothing) else { return Ok(()) };
        let misled = Arc::new(AtomicBool::new(false));
        let splitter = &self.blocks.splitter;
        let workers = (0..threads).map(|_| {
            let mut splitter = PieceSplitter {
                splitter: splitter.clone(),
                rules: self.rules.clone(),
                schema: Arc::clone(&self.schema),
                columns: self.schema.fields().iter().map(|_| TextColumn::new()).collect(),
                batch_rows: self.batch_rows,
                positions: self.rejects.as_ref().map(|_| decoder()).transpose()?,
                bad_bytes: self.blocks.bad_bytes.clone(),
                rows: Rows::default(),
            };
            Ok(move |cut| splitter.split(cut))
        });
        let workers = workers.collect::<Result<Vec<_>, FormatError>>()?;
        let cutter = Cutter {
            input,
            open: self.blocks.text.split_off(self.blocks.start),
            offset,
            quote: splitter.quote(),
            terminator: splitter.terminator().to_vec(),
            piece_bytes: self.blocks.block_bytes.min(self.batch_bytes_max),
            in_quotes: false,
            misled: Arc::clone(&misled),
            ended: false,
        };
        self.blocks.begin(Vec::new(), offset);
        self.blocks.input = Input::Ahead(Ahead {
            crew: Crew::start(cutter, workers)?,
            encoding,
            decoder: decoder()?,
            end: None,
            misled,
            unheard: 0,
            threads,
        });
        Ok(())
    }

    /// Takes pieces that hold whole rows. Their batches are ready then; any other piece is the text to be split next.
    pub(super) fn take_pieces(&mut self) -> Result<(), FormatError> {
        while self.ready.is_empty() && self.blocks.is_between_pieces() {
            let Input::Ahead(ahead) = &mut self.blocks.input else { return Ok(()) };
            let next_row = self.rows_read + self.rejected + 1;
            match ahead.next().map_err(|error| error.in_row(next_row))? {
                Some(Outcome::Whole { parts, lines, .. }) => {
                    for part in parts {
                        self.take_part(part);
                    }
                    self.blocks.line += lines;
                }
                Some(Outcome::Other(piece)) => self.blocks.begin(piece.text, piece.offset),
                Some(Outcome::End(_)) | None => return Ok(()),
            }
        }
        Ok(())
    }

    fn take_part(&mut self, part: Part) {
        let Part { batch, positions, lines_before, line_shifts } = part;
        let before = self.rows_read + self.rejected;
        self.record_lines(&line_shifts, self.blocks.line + lines_before);
        let positions = positions.map(|positions| positions.moved(before + 1));
        self.rows_read += batch.num_rows() as u64;
        self.ready.push_back((batch, positions));
    }
}

#[cfg(test)]
mod tests;
