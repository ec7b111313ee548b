//! Reading protocol fields.

use super::{DecodeError, DecodeErrorKind, decode_utf16};

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

    /// Returns the offset of the next byte from the start of the outermost reader.
    pub fn position(&self) -> usize {
        self.base + self.position
    }

    /// Counts the bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Returns true if no byte is left.
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

    /// Returns a reader over the next `n` bytes, which form a structure of their own; this reader moves
    /// behind them.
    ///
    /// Positions keep counting from the outermost start, and running out of bytes inside is an
    /// [`Overrun`](DecodeErrorKind::Overrun): more input cannot help.
    pub fn sub(&mut self, n: usize, field: &'static str) -> Result<Reader<'a>, DecodeError> {
        let base = self.position();
        Ok(Reader { bytes: self.take(n, field)?, position: 0, base, enclosed: true })
    }

    /// Returns everything that is left, without moving.
    pub fn ahead(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// Returns the next byte, without moving.
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

    /// Reads an unsigned byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    /// Reads a signed byte.
    pub fn i8(&mut self, field: &'static str) -> Result<i8, DecodeError> {
        self.array(field).map(i8::from_le_bytes)
    }

    /// Reads an unsigned number of two bytes, little-endian.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// Reads a signed number of two bytes, little-endian.
    pub fn i16(&mut self, field: &'static str) -> Result<i16, DecodeError> {
        self.array(field).map(i16::from_le_bytes)
    }

    /// Reads an unsigned number of four bytes, little-endian.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// Reads a signed number of four bytes, little-endian.
    pub fn i32(&mut self, field: &'static str) -> Result<i32, DecodeError> {
        self.array(field).map(i32::from_le_bytes)
    }

    /// Reads an unsigned number of eight bytes, little-endian.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// Reads a signed number of eight bytes, little-endian.
    pub fn i64(&mut self, field: &'static str) -> Result<i64, DecodeError> {
        self.array(field).map(i64::from_le_bytes)
    }

    /// Reads an unsigned number of two bytes, big-endian.
    pub fn u16_be(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_be_bytes)
    }

    /// Reads an unsigned number of four bytes, big-endian.
    pub fn u32_be(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// Reads `units` UTF-16LE code units. An unpaired surrogate is an error: it has no form as text.
    pub fn utf16(&mut self, units: usize, field: &'static str) -> Result<String, DecodeError> {
        let offset = self.position();
        let bytes = self.take(units.saturating_mul(2), field)?;
        decode_utf16(bytes)
            .ok_or_else(|| DecodeError::invalid(field, offset, "UTF-16 text has an unpaired surrogate"))
    }

    /// Reads text behind a one-byte count of UTF-16 code units.
    pub fn b_varchar(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let units = self.u8(field)?;
        self.utf16(usize::from(units), field)
    }

    /// Reads text behind a two-byte count of UTF-16 code units.
    pub fn us_varchar(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let units = self.u16(field)?;
        self.utf16(usize::from(units), field)
    }

    /// Reads bytes behind a one-byte count.
    pub fn b_varbyte(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u8(field)?;
        self.take(usize::from(length), field)
    }

    /// Reads bytes behind a two-byte count.
    pub fn us_varbyte(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u16(field)?;
        self.take(usize::from(length), field)
    }

    /// Reads bytes behind a four-byte count.
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
