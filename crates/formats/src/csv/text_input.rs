//! Bytes of a file to UTF-8 text, block by block.

use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::FormatError;
use crate::encoding::{Decoded, Decoder, Encoding, Malformed};

/// Reads a text file: honours a byte-order mark, decodes, and stops at the first bytes that are no text.
pub(super) struct TextInput {
    input: Box<dyn Read + Send>,
    encoding: Encoding,
    decoder: Decoder,
    /// Bytes read and not decoded yet.
    raw: Vec<u8>,
    /// The last few bytes before `raw`: a malformed sequence may begin in them.
    recent: Vec<u8>,
    /// Offset in the file of the first byte of `raw`.
    raw_offset: u64,
    /// Length of the byte-order mark.
    mark_bytes: u64,
    end: Option<TextEnd>,
    /// List of bytes that are no text; None: such bytes end the text with an error.
    bad_bytes: Option<BadBytes>,
    /// Stand-ins of bytes that ended the text before they were to be noted.
    owed: usize,
    footer: Option<Footer>,
}

/// The lines at the end of a file that are left out, and the text that may turn out to be theirs.
struct Footer {
    lines: usize,
    /// Text that is not handed out yet: fewer lines than this may follow.
    held: Vec<u8>,
    /// With more text than this, a line is too long for a row, and is handed out to be refused.
    held_max: usize,
}

/// Bytes of a file that are no text. In the text [`STAND_IN`] stands for them.
#[derive(Clone, Default)]
pub(super) struct BadBytes(Arc<Mutex<VecDeque<BadSequence>>>);

/// A run of bytes that are no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadSequence {
    /// Offset of the bytes in the file.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// A control character that takes one unit in every encoding.
pub(super) const STAND_IN: u8 = 0x1A;

impl BadBytes {
    /// Returns the bytes that are no text in a range of the file.
    pub(super) fn all_in(&self, range: &Range<u64>) -> Vec<BadSequence> {
        self.locked().iter().filter(|bad| range.contains(&bad.offset)).cloned().collect()
    }

    /// Returns true if such bytes begin in a range of the file.
    pub(super) fn any_in(&self, range: &Range<u64>) -> bool {
        self.locked().iter().any(|bad| range.contains(&bad.offset))
    }

    /// Returns true if no such bytes are known and not forgotten.
    pub(super) fn is_empty(&self) -> bool {
        self.locked().is_empty()
    }

    /// Forgets those before an offset.
    pub(super) fn forget_before(&self, offset: u64) {
        let mut known = self.locked();
        while known.front().is_some_and(|bad| bad.offset < offset) {
            known.pop_front();
        }
    }

    fn note(&self, offset: u64, bytes: Vec<u8>) {
        self.locked().push_back(BadSequence { offset, bytes });
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<BadSequence>> {
        // The list is whole between any two calls, also after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reason why no text follows.
pub(super) enum TextEnd {
    /// The file ends.
    File,
    /// Bytes at `byte_offset` are not text.
    Malformed { byte_offset: u64, bytes: Vec<u8> },
}

impl TextInput {
    pub(super) fn new(mut input: Box<dyn Read + Send>, asked: Encoding) -> Result<Self, FormatError> {
        let mut raw = Vec::new();
        input.by_ref().take(MARK_BYTES_MAX).read_to_end(&mut raw)?;
        let (encoding, mark) = Encoding::of_mark(&raw).unwrap_or((asked, 0));
        raw.drain(..mark);
        let decoder =
            Decoder::new(encoding).map_err(|error| FormatError::option("encoding", error.to_string()))?;
        Ok(Self {
            input,
            encoding,
            decoder,
            raw,
            recent: Vec::new(),
            raw_offset: mark as u64,
            mark_bytes: mark as u64,
            end: None,
            bad_bytes: None,
            owed: 0,
            footer: None,
        })
    }

    /// Leaves out the last lines of the file; each is at most `line_bytes_max` long.
    pub(super) fn skip_footer(&mut self, lines: usize, line_bytes_max: usize) {
        let held_max = line_bytes_max.saturating_mul(lines.saturating_add(1));
        self.footer = (lines > 0).then(|| Footer { lines, held: Vec::new(), held_max });
    }

    /// Returns true if lines at the end are left out, so that the text must be read in order.
    pub(super) fn has_footer(&self) -> bool {
        self.footer.is_some()
    }

    /// Returns the encoding of the text: that of a byte-order mark, or else the one that was asked for.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the offset in the file of the first character.
    pub(super) fn first_byte_offset(&self) -> u64 {
        self.mark_bytes
    }

    /// Returns the length in the file of a piece of the text, in bytes.
    pub(super) fn source_bytes(&self, text: &[u8]) -> u64 {
        self.decoder.source_bytes(text)
    }

    /// Appends up to about `block_bytes` of text; false once there is no more.
    pub(super) fn fill(&mut self, text: &mut Vec<u8>, block_bytes: usize) -> Result<bool, FormatError> {
        let Some(mut footer) = self.footer.take() else { return self.fill_all(text, block_bytes) };
        let used = text.len();
        while text.len() == used && self.end.is_none() {
            self.fill_all(&mut footer.held, block_bytes)?;
            footer.hand_out(text, self.end.as_ref());
        }
        self.footer = Some(footer);
        Ok(text.len() > used || self.end.is_none())
    }

    fn fill_all(&mut self, text: &mut Vec<u8>, block_bytes: usize) -> Result<bool, FormatError> {
        if self.end.is_some() {
            return Ok(false);
        }
        let used = text.len();
        let got = self.decode_block(text, block_bytes)?;
        if got == 0 && self.end.is_none() {
            self.end = Some(TextEnd::File);
        }
        Ok(text.len() > used || self.end.is_none())
    }

    /// Returns the reason why the text ended; None while there may be more.
    pub(super) fn end(&self) -> Option<&TextEnd> {
        self.end.as_ref()
    }

    /// Takes out why the text ended.
    pub(super) fn take_end(&mut self) -> Option<TextEnd> {
        self.end.take()
    }

    /// Goes on behind bytes that are no text from now on, and notes them.
    pub(super) fn note_bad_bytes(&mut self, bad_bytes: BadBytes) {
        if let Some(TextEnd::Malformed { byte_offset, bytes }) = &self.end {
            bad_bytes.note(*byte_offset, bytes.clone());
            self.owed = self.stand_ins(bytes.len());
            self.end = None;
        }
        self.bad_bytes = Some(bad_bytes);
    }

    /// Counts the stand-ins that take the place of `bytes` bytes.
    fn stand_ins(&self, bytes: usize) -> usize {
        match self.encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => bytes.div_ceil(2),
            _ => bytes,
        }
    }

    fn decode_block(&mut self, text: &mut Vec<u8>, block_bytes: usize) -> Result<usize, FormatError> {
        text.extend(std::iter::repeat_n(STAND_IN, std::mem::take(&mut self.owed)));
        let got = self.input.by_ref().take(block_bytes as u64).read_to_end(&mut self.raw)?;
        let mut used = 0;
        loop {
            let rest = self.raw.get(used..).unwrap_or_default();
            match self.decoder.decode(rest, got == 0, text) {
                Decoded::AllBut(left) => {
                    used = self.raw.len() - left;
                    break;
                }
                Decoded::Malformed(Malformed { offset, length, next }) => {
                    let start = (self.recent.len() + used).saturating_add_signed(offset as isize);
                    let seen = self.recent.iter().chain(&self.raw).skip(start);
                    let bytes = seen.take(length).copied().collect();
                    let byte_offset = (self.raw_offset + used as u64).saturating_add_signed(offset);
                    used += next;
                    let Some(bad_bytes) = &self.bad_bytes else {
                        self.end = Some(TextEnd::Malformed { byte_offset, bytes });
                        break;
                    };
                    bad_bytes.note(byte_offset, bytes);
                    text.extend(std::iter::repeat_n(STAND_IN, self.stand_ins(length)));
                }
            }
        }
        self.recent.extend_from_slice(&self.raw[used.saturating_sub(RECENT_BYTES)..used]);
        self.recent.drain(..self.recent.len().saturating_sub(RECENT_BYTES));
        self.raw.drain(..used);
        self.raw_offset += used as u64;
        Ok(got)
    }
}

impl Footer {
    /// Appends the text that is in front of the footer for certain.
    fn hand_out(&mut self, text: &mut Vec<u8>, end: Option<&TextEnd>) {
        let ready = match end {
            // The last line may go on.
            None if self.held.len() <= self.held_max => {
                start_of_last(&self.held, self.lines.saturating_add(1))
            }
            Some(TextEnd::File) => {
                let start = start_of_last(&self.held, self.lines);
                self.held.truncate(start);
                start
            }
            None | Some(TextEnd::Malformed { .. }) => self.held.len(),
        };
        text.extend(self.held.drain(..ready));
    }
}

/// Returns the place where the last lines begin. Empty lines do not count; 0 if there are fewer lines.
fn start_of_last(text: &[u8], lines: usize) -> usize {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let mut start = text.len();
    for _ in 0..lines {
        let before = text.get(..start).unwrap_or_default();
        let Some(last) = before.iter().rposition(|byte| !is_end(byte)) else { return 0 };
        let line = before.get(..=last).unwrap_or_default();
        start = line.iter().rposition(is_end).map_or(0, |end| end + 1);
    }
    start
}

const MARK_BYTES_MAX: u64 = 3;
const RECENT_BYTES: usize = 8;
