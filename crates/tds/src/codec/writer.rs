//! Writing protocol fields.

use std::borrow::Cow;
use std::ops::Range;

use super::{EncodeError, EncodeErrorKind, PlpChunk, utf16_len};

/// Appends protocol fields to a byte buffer; lengths that are known only afterwards are patched in.
///
/// Writing never fails half way. The writer remembers the first content that does not fit its length prefix, and accepts later
/// writes. [`finish`](Writer::finish) then returns the error instead of the bytes. So encoders need no error handling, and
/// nothing truncated is sent.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    chunks: Vec<PlpChunk>,
    error: Option<EncodeError>,
}

/// The place of a one-byte length that [`Writer::end_u8`] fills in.
#[derive(Debug)]
#[must_use = "the length is only written by end_u8"]
pub struct MarkU8(usize);

/// The place of a two-byte length that [`Writer::end_u16`] fills in.
#[derive(Debug)]
#[must_use = "the length is only written by end_u16"]
pub struct MarkU16(usize);

/// The place of a four-byte length that [`Writer::end_u32`] fills in.
#[derive(Debug)]
#[must_use = "the length is only written by end_u32"]
pub struct MarkU32(usize);

impl Writer {
    /// Creates an empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a writer that appends to `bytes`.
    pub fn append_to(bytes: Vec<u8>) -> Self {
        Self { bytes, chunks: Vec::new(), error: None }
    }

    /// Returns the bytes written, or the first thing that could not be expressed.
    pub fn finish(self) -> Result<Vec<u8>, EncodeError> {
        match self.error {
            None => Ok(self.bytes),
            Some(error) => Err(error),
        }
    }

    /// Takes the chunks of values that have been written, in their order, and collects no more of them
    /// hereafter.
    pub fn take_chunks(&mut self) -> Vec<PlpChunk> {
        std::mem::take(&mut self.chunks)
    }

    /// Runs `write`. If something cannot be expressed, its bytes are removed and the error is returned. The writer can still be
    /// used, for an error message for example.
    pub fn attempt(&mut self, write: impl FnOnce(&mut Self)) -> Result<(), EncodeError> {
        let (length, chunks, earlier) = (self.bytes.len(), self.chunks.len(), self.error.take());
        write(self);
        let failed = std::mem::replace(&mut self.error, earlier);
        match failed {
            None => Ok(()),
            Some(error) => {
                self.bytes.truncate(length);
                self.chunks.truncate(chunks);
                Err(error)
            }
        }
    }

    /// Counts the bytes in the buffer so far, including those it was created with.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Records that `field` cannot be expressed; [`finish`](Writer::finish) will return the first such error.
    pub fn fail(&mut self, field: &'static str, kind: EncodeErrorKind) {
        if self.error.is_none() {
            self.error = Some(EncodeError { field, kind });
        }
    }

    /// Records an error as [`fail`](Writer::fail) does, with an [`Invalid`](EncodeErrorKind::Invalid) reason.
    pub fn invalid(&mut self, field: &'static str, what: impl Into<Cow<'static, str>>) {
        self.fail(field, EncodeErrorKind::Invalid { what: what.into() });
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends an unsigned byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends a signed byte.
    pub fn i8(&mut self, value: i8) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends an unsigned number of two bytes, little-endian.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a signed number of two bytes, little-endian.
    pub fn i16(&mut self, value: i16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends an unsigned number of four bytes, little-endian.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a signed number of four bytes, little-endian.
    pub fn i32(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends an unsigned number of eight bytes, little-endian.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a signed number of eight bytes, little-endian.
    pub fn i64(&mut self, value: i64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends an unsigned number of two bytes, big-endian.
    pub fn u16_be(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// Appends an unsigned number of four bytes, big-endian.
    pub fn u32_be(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// Appends `text` as UTF-16LE, without a count.
    pub fn utf16(&mut self, text: &str) {
        self.bytes.reserve(text.len().saturating_mul(2));
        if text.is_ascii() {
            self.bytes.extend(text.bytes().flat_map(|byte| [byte, 0]));
        } else {
            self.bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        }
    }

    /// Appends text behind a one-byte count of UTF-16 code units.
    pub fn b_varchar(&mut self, text: &str, field: &'static str) {
        let units = self.length_u8(utf16_len(text), field);
        self.u8(units);
        self.utf16(text);
    }

    /// Appends text behind a two-byte count of UTF-16 code units.
    pub fn us_varchar(&mut self, text: &str, field: &'static str) {
        let units = self.length_u16(utf16_len(text), field);
        self.u16(units);
        self.utf16(text);
    }

    /// Appends bytes behind a one-byte count.
    pub fn b_varbyte(&mut self, bytes: &[u8], field: &'static str) {
        let length = self.length_u8(bytes.len(), field);
        self.u8(length);
        self.bytes(bytes);
    }

    /// Appends bytes behind a two-byte count.
    pub fn us_varbyte(&mut self, bytes: &[u8], field: &'static str) {
        let length = self.length_u16(bytes.len(), field);
        self.u16(length);
        self.bytes(bytes);
    }

    /// Appends bytes behind a four-byte count.
    pub fn l_varbyte(&mut self, bytes: &[u8], field: &'static str) {
        let length = self.length_u32(bytes.len(), field);
        self.u32(length);
        self.bytes(bytes);
    }

    /// Appends bytes as a partially length-prefixed value of one chunk.
    pub fn plp(&mut self, bytes: &[u8], field: &'static str) {
        self.chunks.push(PlpChunk::of_value(self.bytes.len(), bytes.len()));
        self.u64(bytes.len() as u64);
        if !bytes.is_empty() {
            self.l_varbyte(bytes, field);
        }
        self.u32(0);
    }

    /// Leaves room for a one-byte length of what follows.
    pub fn begin_u8(&mut self) -> MarkU8 {
        let mark = MarkU8(self.bytes.len());
        self.u8(0);
        mark
    }

    /// Fills in the number of bytes written since `mark`.
    pub fn end_u8(&mut self, mark: MarkU8, field: &'static str) {
        let length = self.length_u8(self.written_since(mark.0, 1), field);
        self.patch(mark.0..mark.0 + 1, &[length]);
    }

    /// Leaves room for a two-byte length of what follows.
    pub fn begin_u16(&mut self) -> MarkU16 {
        let mark = MarkU16(self.bytes.len());
        self.u16(0);
        mark
    }

    /// Fills in the number of bytes written since `mark`.
    pub fn end_u16(&mut self, mark: MarkU16, field: &'static str) {
        let length = self.length_u16(self.written_since(mark.0, 2), field);
        self.patch(mark.0..mark.0 + 2, &length.to_le_bytes());
    }

    /// Leaves room for a four-byte length of what follows.
    pub fn begin_u32(&mut self) -> MarkU32 {
        let mark = MarkU32(self.bytes.len());
        self.u32(0);
        mark
    }

    /// Fills in the number of bytes written since `mark`, not counting the length itself.
    pub fn end_u32(&mut self, mark: MarkU32, field: &'static str) {
        let length = self.length_u32(self.written_since(mark.0, 4), field);
        self.patch(mark.0..mark.0 + 4, &length.to_le_bytes());
    }

    /// Fills in the number of bytes since `mark` including the four bytes of the length itself, as LOGIN7 and
    /// ALL_HEADERS count.
    pub fn end_u32_inclusive(&mut self, mark: MarkU32, field: &'static str) {
        let length = self.length_u32(self.written_since(mark.0, 0), field);
        self.patch(mark.0..mark.0 + 4, &length.to_le_bytes());
    }

    /// Returns `length` as a byte; recorded as an error if it does not fit.
    pub fn length_u8(&mut self, length: usize, field: &'static str) -> u8 {
        u8::try_from(length).unwrap_or_else(|_| {
            self.fail(field, EncodeErrorKind::TooLong { length, limit: usize::from(u8::MAX) });
            0
        })
    }

    /// Returns `length` as two bytes; recorded as an error if it does not fit.
    pub fn length_u16(&mut self, length: usize, field: &'static str) -> u16 {
        u16::try_from(length).unwrap_or_else(|_| {
            self.fail(field, EncodeErrorKind::TooLong { length, limit: usize::from(u16::MAX) });
            0
        })
    }

    /// Returns `length` as four bytes; recorded as an error if it does not fit.
    pub fn length_u32(&mut self, length: usize, field: &'static str) -> u32 {
        u32::try_from(length).unwrap_or_else(|_| {
            self.fail(field, EncodeErrorKind::TooLong { length, limit: u32::MAX as usize });
            0
        })
    }

    fn written_since(&self, mark: usize, prefix_bytes: usize) -> usize {
        self.bytes.len().saturating_sub(mark + prefix_bytes)
    }

    fn patch(&mut self, place: Range<usize>, with: &[u8]) {
        if let Some(slot) = self.bytes.get_mut(place) {
            slot.copy_from_slice(with);
        }
    }
}
