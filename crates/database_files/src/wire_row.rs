//! Rows in the form in which a server sends them, made of the bytes of a file. The decoder of answers then makes columns of them.

use tds::LengthClass;

/// The token of a row.
const ROW: u8 = 0xd1;

/// Rows one after another.
#[derive(Debug, Default)]
pub(crate) struct WireRows {
    bytes: Vec<u8>,
}

/// A value is longer than its type allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl WireRows {
    /// Returns the rows so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Counts the bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets the first bytes, which have been decoded.
    pub(crate) fn drain(&mut self, count: usize) {
        self.bytes.drain(..count.min(self.bytes.len()));
    }

    /// Forgets what follows the first `length` bytes: a row that failed.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// Begins a row.
    pub(crate) fn begin(&mut self) {
        self.bytes.push(ROW);
    }

    /// Appends NULL.
    pub(crate) fn null(&mut self, class: LengthClass) {
        match class {
            // A column that is NOT NULL has no form for NULL: the caller has refused it.
            LengthClass::Fixed(width) => self.bytes.extend(std::iter::repeat_n(0, usize::from(width))),
            LengthClass::ByteLen | LengthClass::LongLen => self.bytes.push(0),
            LengthClass::UShortLen => self.bytes.extend(u16::MAX.to_le_bytes()),
            LengthClass::Plp => self.bytes.extend(u64::MAX.to_le_bytes()),
            LengthClass::Variant => self.bytes.extend(0_u32.to_le_bytes()),
        }
    }

    /// Appends a value of the wire's bytes.
    ///
    /// # Errors
    /// The length does not fit its prefix, or is not that of the type.
    pub(crate) fn value(&mut self, class: LengthClass, value: &[u8]) -> Result<(), TooLong> {
        match class {
            LengthClass::Fixed(width) if usize::from(width) != value.len() => return Err(TooLong),
            LengthClass::Fixed(_) => {}
            LengthClass::ByteLen => self.bytes.push(u8::try_from(value.len()).map_err(|_| TooLong)?),
            LengthClass::UShortLen => {
                let length = u16::try_from(value.len()).ok().filter(|length| *length < u16::MAX);
                self.bytes.extend(length.ok_or(TooLong)?.to_le_bytes());
            }
            LengthClass::Plp => {
                let length = u32::try_from(value.len()).map_err(|_| TooLong)?;
                self.bytes.extend(u64::from(length).to_le_bytes());
                if length > 0 {
                    self.bytes.extend(length.to_le_bytes());
                    self.bytes.extend(value);
                }
                self.bytes.extend(0_u32.to_le_bytes());
                return Ok(());
            }
            LengthClass::LongLen => {
                let length = i32::try_from(value.len()).map_err(|_| TooLong)?;
                // Pointer and timestamp are not looked at.
                self.bytes.push(16);
                self.bytes.extend([0; 24]);
                self.bytes.extend(length.to_le_bytes());
            }
            LengthClass::Variant => {
                let length = u32::try_from(value.len()).map_err(|_| TooLong)?;
                self.bytes.extend(length.to_le_bytes());
            }
        }
        self.bytes.extend(value);
        Ok(())
    }
}
