//! A little-endian cursor and writer, for the formats of the log, of backups and of definitions.

use std::fmt;

/// A bounds-checked cursor: every short or malformed field is an error that names it.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// Field that a [`Reader`] could not read, with the position inside the bytes it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodecError {
    pub field: &'static str,
    pub position: usize,
    pub reason: String,
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field {} at byte {}: {}", self.field, self.position, self.reason)
    }
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    pub fn take(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], CodecError> {
        let end = self.position.checked_add(length);
        match end.and_then(|end| self.bytes.get(self.position..end)) {
            Some(taken) => {
                self.position += length;
                Ok(taken)
            }
            None => Err(self.invalid(field, format!("{length} bytes needed, {} left", self.remaining()))),
        }
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], CodecError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    pub fn u8(&mut self, field: &'static str) -> Result<u8, CodecError> {
        Ok(u8::from_le_bytes(self.array(field)?))
    }

    pub fn u16(&mut self, field: &'static str) -> Result<u16, CodecError> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    pub fn u32(&mut self, field: &'static str) -> Result<u32, CodecError> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub fn u64(&mut self, field: &'static str) -> Result<u64, CodecError> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// Reads a count of elements of at least `least_bytes` each; refused if the remaining bytes cannot hold
    /// them.
    pub fn count(&mut self, least_bytes: usize, field: &'static str) -> Result<usize, CodecError> {
        let count = self.u32(field)? as usize;
        match count.checked_mul(least_bytes) {
            Some(needed) if needed <= self.remaining() => Ok(count),
            _ => {
                Err(self.invalid(field, format!("count {count} exceeds the {} bytes left", self.remaining())))
            }
        }
    }

    /// Reads bytes after a u32 length.
    pub fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], CodecError> {
        let length = self.count(1, field)?;
        self.take(length, field)
    }

    /// Reads UTF-8 text after a u32 length in bytes.
    pub fn string(&mut self, field: &'static str) -> Result<String, CodecError> {
        let bytes = self.bytes(field)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(self.invalid(field, error.to_string())),
        }
    }

    pub fn finish(self, field: &'static str) -> Result<(), CodecError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.invalid(field, format!("{left} bytes left over"))),
        }
    }

    pub fn invalid(&self, field: &'static str, reason: impl Into<String>) -> CodecError {
        CodecError { field, position: self.position, reason: reason.into() }
    }
}

/// Appends little-endian fields to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates a writer with room for this many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a u32 count or length; saturates, so an oversized record is refused by its own length check.
    pub fn count(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }

    pub fn bytes(&mut self, value: &[u8]) {
        self.count(value.len());
        self.bytes.extend_from_slice(value);
    }

    pub fn string(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
