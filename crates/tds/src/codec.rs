//! The bounds-checked [`Reader`] and the back-patching [`Writer`] that every codec of this crate is built on.
//!
//! Integers are little-endian unless a method ends in `_be`. The counted forms carry the names of MS-TDS section
//! 2.2.5.1: `B_` is a one-byte count, `US_` two bytes, `L_` four; `VARCHAR` counts UTF-16 code units, `VARBYTE` bytes.

use std::borrow::Cow;
use std::ops::Range;

/// What was wrong with bytes that came from the other side, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} at byte {offset}: {kind}")]
pub struct DecodeError {
    /// The protocol field that was being read.
    pub field: &'static str,
    /// Where that field starts, in bytes from the start of the outermost [`Reader`].
    pub offset: usize,
    /// What was wrong with it.
    pub kind: DecodeErrorKind,
}

/// The ways in which bytes can fail to be a TDS structure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// The input ends inside the field. An incremental parser takes this as "more bytes are needed".
    #[error("{needed} bytes needed, {available} available")]
    Truncated {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that were left.
        available: usize,
    },
    /// The field runs past the end of the structure that contains it; no further input can make it right.
    #[error("{needed} bytes needed, but the enclosing structure has {available} left")]
    Overrun {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that were left in the enclosing structure.
        available: usize,
    },
    /// The field has a value that the protocol does not allow.
    #[error("{what}")]
    Invalid {
        /// The offending value and the rule it breaks.
        what: Cow<'static, str>,
    },
    /// The structure ended before its bytes did.
    #[error("{bytes} bytes left over")]
    LeftOver {
        /// Number of bytes that nothing accounts for.
        bytes: usize,
    },
    /// A length exceeds what the protocol or a configured limit allows.
    #[error("length {length} exceeds the limit of {limit}")]
    TooLong {
        /// The length that was asked for.
        length: usize,
        /// The largest length allowed.
        limit: usize,
    },
}

impl DecodeError {
    /// An [`Invalid`](DecodeErrorKind::Invalid) error for `field` at `offset`.
    pub fn invalid(field: &'static str, offset: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Self { field, offset, kind: DecodeErrorKind::Invalid { what: what.into() } }
    }

    /// A [`TooLong`](DecodeErrorKind::TooLong) error for `field` at `offset`.
    pub fn too_long(field: &'static str, offset: usize, length: usize, limit: usize) -> Self {
        Self { field, offset, kind: DecodeErrorKind::TooLong { length, limit } }
    }

    /// True if more input could complete the field: the signal for "need more bytes".
    pub fn is_truncated(&self) -> bool {
        matches!(self.kind, DecodeErrorKind::Truncated { .. })
    }
}

/// What could not be expressed on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {kind}")]
pub struct EncodeError {
    /// The protocol field that was being written.
    pub field: &'static str,
    /// What was wrong with it.
    pub kind: EncodeErrorKind,
}

/// The ways in which a structure can fail to be expressible in TDS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeErrorKind {
    /// The content is longer than the field's length prefix, or the protocol, can say.
    #[error("length {length} exceeds the limit of {limit}")]
    TooLong {
        /// Length of the content in the units of the prefix.
        length: usize,
        /// Largest length that can be sent.
        limit: usize,
    },
    /// The value cannot be sent, for example because the negotiated version has no form for it.
    #[error("{what}")]
    Invalid {
        /// The offending value and the rule it breaks.
        what: Cow<'static, str>,
    },
}

/// A bounds-checked cursor over bytes from the wire.
///
/// Every read names its field, so that an error says what was missing and where. No read allocates more than the
/// bytes that are present can justify.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Offset of `bytes[0]` from the start of the outermost reader.
    base: usize,
    /// True for the content of a length-delimited structure, where running out of bytes is an error of that structure.
    enclosed: bool,
}

impl<'a> Reader<'a> {
    /// Starts reading at the head of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, base: 0, enclosed: false }
    }

    /// Starts reading a structure that is known to be complete: running out of bytes is reported as
    /// [`DecodeErrorKind::Overrun`], never as [`DecodeErrorKind::Truncated`].
    pub fn new_complete(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, base: 0, enclosed: true }
    }

    /// Offset of the next byte from the start of the outermost reader.
    pub fn position(&self) -> usize {
        self.base + self.position
    }

    /// Number of bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// True if no byte is left.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Takes the next `n` bytes.
    pub fn take(&mut self, n: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        match self.bytes.get(self.position..).and_then(|rest| rest.get(..n)) {
            Some(taken) => {
                self.position += n;
                Ok(taken)
            }
            None => Err(self.short(n, field)),
        }
    }

    /// Takes the next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        match self.bytes.get(self.position..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(taken) => {
                self.position += N;
                Ok(*taken)
            }
            None => Err(self.short(N, field)),
        }
    }

    /// Takes everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        self.position = self.bytes.len();
        rest
    }

    /// A reader over the next `n` bytes, which form a structure of their own; this reader moves behind them.
    ///
    /// Positions keep counting from the outermost start, and running out of bytes inside is an
    /// [`Overrun`](DecodeErrorKind::Overrun): more input cannot help.
    pub fn sub(&mut self, n: usize, field: &'static str) -> Result<Reader<'a>, DecodeError> {
        let base = self.position();
        Ok(Reader { bytes: self.take(n, field)?, position: 0, base, enclosed: true })
    }

    /// The next byte, without moving.
    pub fn peek_u8(&self, field: &'static str) -> Result<u8, DecodeError> {
        self.bytes.get(self.position).copied().ok_or_else(|| self.short(1, field))
    }

    /// Refuses a `count` of elements that cannot fit the bytes left, each taking at least `element_bytes_min`.
    /// Call it before allocating for `count` elements.
    pub fn check_count(
        &self,
        count: usize,
        element_bytes_min: usize,
        field: &'static str,
    ) -> Result<(), DecodeError> {
        match count.checked_mul(element_bytes_min) {
            Some(needed) if needed <= self.remaining() => Ok(()),
            needed => Err(self.short(needed.unwrap_or(usize::MAX), field)),
        }
    }

    /// Ends the structure: an error if bytes are left over.
    pub fn finish(self, field: &'static str) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            bytes => {
                Err(DecodeError { field, offset: self.position(), kind: DecodeErrorKind::LeftOver { bytes } })
            }
        }
    }

    /// One unsigned byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    /// One signed byte.
    pub fn i8(&mut self, field: &'static str) -> Result<i8, DecodeError> {
        self.array(field).map(i8::from_le_bytes)
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// Two bytes, little-endian, signed.
    pub fn i16(&mut self, field: &'static str) -> Result<i16, DecodeError> {
        self.array(field).map(i16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// Four bytes, little-endian, signed.
    pub fn i32(&mut self, field: &'static str) -> Result<i32, DecodeError> {
        self.array(field).map(i32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Eight bytes, little-endian, signed.
    pub fn i64(&mut self, field: &'static str) -> Result<i64, DecodeError> {
        self.array(field).map(i64::from_le_bytes)
    }

    /// Two bytes, big-endian.
    pub fn u16_be(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_be_bytes)
    }

    /// Four bytes, big-endian.
    pub fn u32_be(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// `units` UTF-16LE code units. An unpaired surrogate is an error: it has no form as text.
    pub fn utf16(&mut self, units: usize, field: &'static str) -> Result<String, DecodeError> {
        let offset = self.position();
        let bytes = self.take(units.saturating_mul(2), field)?;
        decode_utf16(bytes)
            .ok_or_else(|| DecodeError::invalid(field, offset, "UTF-16 text has an unpaired surrogate"))
    }

    /// Text behind a one-byte count of UTF-16 code units.
    pub fn b_varchar(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let units = self.u8(field)?;
        self.utf16(usize::from(units), field)
    }

    /// Text behind a two-byte count of UTF-16 code units.
    pub fn us_varchar(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let units = self.u16(field)?;
        self.utf16(usize::from(units), field)
    }

    /// Bytes behind a one-byte count.
    pub fn b_varbyte(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u8(field)?;
        self.take(usize::from(length), field)
    }

    /// Bytes behind a two-byte count.
    pub fn us_varbyte(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u16(field)?;
        self.take(usize::from(length), field)
    }

    /// Bytes behind a four-byte count.
    pub fn l_varbyte(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u32(field)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX), field)
    }

    fn short(&self, needed: usize, field: &'static str) -> DecodeError {
        let available = self.remaining();
        let kind = if self.enclosed {
            DecodeErrorKind::Overrun { needed, available }
        } else {
            DecodeErrorKind::Truncated { needed, available }
        };
        DecodeError { field, offset: self.position(), kind }
    }
}

/// UTF-16LE bytes as text; `None` for an odd length or an unpaired surrogate.
pub fn decode_utf16(bytes: &[u8]) -> Option<String> {
    let (units, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let mut text = String::with_capacity(units.len());
    for decoded in char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit))) {
        text.push(decoded.ok()?);
    }
    Some(text)
}

/// Number of UTF-16 code units that `text` takes.
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// Appends protocol fields to a byte buffer; lengths that are known only afterwards are patched in.
///
/// Writing never fails half way: the first content that does not fit its length prefix is remembered, later writes go
/// on harmlessly, and [`finish`](Writer::finish) returns the error instead of the bytes. Encoders stay straight lines
/// and nothing truncated can leave.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
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
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer that appends to `bytes`.
    pub fn append_to(bytes: Vec<u8>) -> Self {
        Self { bytes, error: None }
    }

    /// The bytes written, or the first thing that could not be expressed.
    pub fn finish(self) -> Result<Vec<u8>, EncodeError> {
        match self.error {
            None => Ok(self.bytes),
            Some(error) => Err(error),
        }
    }

    /// Bytes in the buffer so far, including those it was created with.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Records that `field` cannot be expressed; [`finish`](Writer::finish) will return the first such error.
    pub fn fail(&mut self, field: &'static str, kind: EncodeErrorKind) {
        if self.error.is_none() {
            self.error = Some(EncodeError { field, kind });
        }
    }

    /// [`fail`](Writer::fail) with an [`Invalid`](EncodeErrorKind::Invalid) reason.
    pub fn invalid(&mut self, field: &'static str, what: impl Into<Cow<'static, str>>) {
        self.fail(field, EncodeErrorKind::Invalid { what: what.into() });
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// One unsigned byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// One signed byte.
    pub fn i8(&mut self, value: i8) {
        self.bytes(&value.to_le_bytes());
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Two bytes, little-endian, signed.
    pub fn i16(&mut self, value: i16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Four bytes, little-endian, signed.
    pub fn i32(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Eight bytes, little-endian, signed.
    pub fn i64(&mut self, value: i64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Two bytes, big-endian.
    pub fn u16_be(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// Four bytes, big-endian.
    pub fn u32_be(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// `text` as UTF-16LE, without a count.
    pub fn utf16(&mut self, text: &str) {
        self.bytes.reserve(text.len().saturating_mul(2));
        if text.is_ascii() {
            self.bytes.extend(text.bytes().flat_map(|byte| [byte, 0]));
        } else {
            self.bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        }
    }

    /// Text behind a one-byte count of UTF-16 code units.
    pub fn b_varchar(&mut self, text: &str, field: &'static str) {
        let units = self.length_u8(utf16_len(text), field);
        self.u8(units);
        self.utf16(text);
    }

    /// Text behind a two-byte count of UTF-16 code units.
    pub fn us_varchar(&mut self, text: &str, field: &'static str) {
        let units = self.length_u16(utf16_len(text), field);
        self.u16(units);
        self.utf16(text);
    }

    /// Bytes behind a one-byte count.
    pub fn b_varbyte(&mut self, bytes: &[u8], field: &'static str) {
        let length = self.length_u8(bytes.len(), field);
        self.u8(length);
        self.bytes(bytes);
    }

    /// Bytes behind a two-byte count.
    pub fn us_varbyte(&mut self, bytes: &[u8], field: &'static str) {
        let length = self.length_u16(bytes.len(), field);
        self.u16(length);
        self.bytes(bytes);
    }

    /// Bytes behind a four-byte count.
    pub fn l_varbyte(&mut self, bytes: &[u8], field: &'static str) {
        let length = self.length_u32(bytes.len(), field);
        self.u32(length);
        self.bytes(bytes);
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

    /// `length` as a byte; recorded as an error if it does not fit.
    pub fn length_u8(&mut self, length: usize, field: &'static str) -> u8 {
        u8::try_from(length).unwrap_or_else(|_| {
            self.fail(field, EncodeErrorKind::TooLong { length, limit: usize::from(u8::MAX) });
            0
        })
    }

    /// `length` as two bytes; recorded as an error if it does not fit.
    pub fn length_u16(&mut self, length: usize, field: &'static str) -> u16 {
        u16::try_from(length).unwrap_or_else(|_| {
            self.fail(field, EncodeErrorKind::TooLong { length, limit: usize::from(u16::MAX) });
            0
        })
    }

    /// `length` as four bytes; recorded as an error if it does not fit.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn reads_what_was_written() {
        let mut w = Writer::new();
        w.u8(0xFE);
        w.i8(-2);
        w.u16(0x1234);
        w.i16(-3);
        w.u32(0x1234_5678);
        w.i32(-4);
        w.u64(0x0102_0304_0506_0708);
        w.i64(-5);
        w.u16_be(0x1234);
        w.u32_be(0x1234_5678);
        w.b_varchar("é😀", "b");
        w.us_varchar("name", "us");
        w.b_varbyte(&[1], "b");
        w.us_varbyte(&[2, 3], "us");
        w.l_varbyte(&[4], "l");
        let bytes = w.finish().unwrap();
        let mut r = Reader::new(&bytes);
        assert_eq!(r.u8("f"), Ok(0xFE));
        assert_eq!(r.i8("f"), Ok(-2));
        assert_eq!(r.u16("f"), Ok(0x1234));
        assert_eq!(r.i16("f"), Ok(-3));
        assert_eq!(r.u32("f"), Ok(0x1234_5678));
        assert_eq!(r.i32("f"), Ok(-4));
        assert_eq!(r.u64("f"), Ok(0x0102_0304_0506_0708));
        assert_eq!(r.i64("f"), Ok(-5));
        assert_eq!(r.u16_be("f"), Ok(0x1234));
        assert_eq!(r.u32_be("f"), Ok(0x1234_5678));
        assert_eq!(r.b_varchar("f").unwrap(), "é😀");
        assert_eq!(r.us_varchar("f").unwrap(), "name");
        assert_eq!(r.b_varbyte("f").unwrap(), [1]);
        assert_eq!(r.us_varbyte("f").unwrap(), [2, 3]);
        assert_eq!(r.l_varbyte("f").unwrap(), [4]);
        assert_eq!(r.finish("f"), Ok(()));
    }

    #[test]
    fn lengths_are_patched() {
        let mut w = Writer::append_to(vec![9]);
        let (outer, inclusive) = (w.begin_u16(), w.begin_u32());
        let inner = w.begin_u8();
        w.bytes(b"abc");
        w.end_u8(inner, "inner");
        w.end_u32_inclusive(inclusive, "inclusive");
        w.end_u16(outer, "outer");
        assert_eq!(w.finish().unwrap(), b"\x09\x08\x00\x08\x00\x00\x00\x03abc");
    }

    #[test]
    fn what_does_not_fit_its_prefix_never_leaves() {
        let mut w = Writer::new();
        w.b_varchar(&"x".repeat(256), "name");
        w.b_varbyte(&[0; 300], "second");
        let kind = EncodeErrorKind::TooLong { length: 256, limit: 255 };
        assert_eq!(w.finish(), Err(EncodeError { field: "name", kind }));
    }

    #[test]
    fn errors_name_field_and_place() {
        let mut r = Reader::new(&[1, 2, 3]);
        r.u16("first").unwrap();
        let error = r.u32("second").unwrap_err();
        assert!(error.is_truncated());
        assert_eq!(error.to_string(), "second at byte 2: 4 bytes needed, 1 available");

        let mut r = Reader::new(&[0, 2, 1, 5, 7]);
        r.u8("skip").unwrap();
        let length = r.u8("length").unwrap();
        let mut inner = r.sub(usize::from(length), "inner").unwrap();
        inner.u8("a").unwrap();
        let error = inner.clone().u32("b").unwrap_err();
        assert!(!error.is_truncated(), "an enclosed structure cannot be completed by more input");
        assert_eq!((error.field, error.offset), ("b", 3));
        assert_eq!(inner.finish("inner").unwrap_err().kind, DecodeErrorKind::LeftOver { bytes: 1 });
        assert_eq!(r.rest(), [7]);
    }

    #[test]
    fn counts_are_checked_before_anything_is_allocated() {
        let mut r = Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF, 1, 2]);
        assert!(r.clone().l_varbyte("data").unwrap_err().is_truncated());
        let count = r.u32("count").unwrap() as usize;
        assert!(r.check_count(count, 6, "count").is_err());
        assert!(r.check_count(usize::MAX, 6, "count").is_err());
        assert!(r.check_count(2, 1, "count").is_ok());
    }

    #[test]
    fn unpaired_surrogates_are_refused() {
        let mut r = Reader::new(&[0x00, 0xD8, 0x41, 0x00]);
        let error = r.utf16(2, "text").unwrap_err();
        assert!(matches!(error.kind, DecodeErrorKind::Invalid { .. }));
        assert_eq!(decode_utf16(&[0x41]), None);
    }
}
