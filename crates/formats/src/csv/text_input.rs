//! Bytes of a file to UTF-8 text, block by block.

use std::io::Read;

use super::encoding::{Decoded, Decoder, Encoding, Malformed};
use crate::FormatError;

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
}

/// Why no text follows.
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
        })
    }

    /// What the text is decoded from: a byte-order mark counts more than what was asked for.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Offset in the file of the first character.
    pub(super) fn first_byte_offset(&self) -> u64 {
        self.mark_bytes
    }

    /// Length in the file of a piece of the text, in bytes.
    pub(super) fn source_bytes(&self, text: &[u8]) -> u64 {
        self.decoder.source_bytes(text)
    }

    /// Appends up to about `block_bytes` of text; false once there is no more.
    pub(super) fn fill(&mut self, text: &mut Vec<u8>, block_bytes: usize) -> Result<bool, FormatError> {
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

    /// Why the text ended; none while there may be more.
    pub(super) fn end(&self) -> Option<&TextEnd> {
        self.end.as_ref()
    }

    /// Takes out why the text ended.
    pub(super) fn take_end(&mut self) -> Option<TextEnd> {
        self.end.take()
    }

    fn decode_block(&mut self, text: &mut Vec<u8>, block_bytes: usize) -> Result<usize, FormatError> {
        let got = self.input.by_ref().take(block_bytes as u64).read_to_end(&mut self.raw)?;
        match self.decoder.decode(&self.raw, got == 0, text) {
            Decoded::AllBut(rest) => {
                let used = self.raw.len() - rest;
                self.recent.extend_from_slice(&self.raw[used.saturating_sub(RECENT_BYTES)..used]);
                self.recent.drain(..self.recent.len().saturating_sub(RECENT_BYTES));
                self.raw.drain(..used);
                self.raw_offset += used as u64;
            }
            Decoded::Malformed(Malformed { offset, length }) => {
                let seen = [self.recent.as_slice(), self.raw.as_slice()].concat();
                let start = self.recent.len().saturating_add_signed(offset as isize);
                self.end = Some(TextEnd::Malformed {
                    byte_offset: self.raw_offset.saturating_add_signed(offset),
                    bytes: seen.get(start..start + length).unwrap_or_default().to_vec(),
                });
            }
        }
        Ok(got)
    }
}

const MARK_BYTES_MAX: u64 = 3;
const RECENT_BYTES: usize = 8;
