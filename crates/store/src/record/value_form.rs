//! The form of values in the caller's bytes.

/// The form of one column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueForm {
    /// Encoding of a value's length.
    pub prefix: LengthPrefix,
    /// The form of its bytes.
    pub content: ValueContent,
    /// Maximum number of bytes of a value, even if its column allows more.
    pub limit_bytes: usize,
    /// NULL is refused, even if the column allows it.
    pub required: bool,
}

/// Encoding of a value's length in front of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthPrefix {
    /// The value has no length: it is never null, and as wide as its column.
    None,
    /// A length of one byte before the value; 0: it is null.
    Byte,
    /// A length of two bytes before the value; FFFF: it is null.
    Short,
}

/// The encoding of a value's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueContent {
    /// The bytes that a record has.
    Stored,
    /// The bytes that a record has, the second half before the first: of `money`, `datetime`, `smalldatetime`.
    SwappedHalves,
    /// Text that is accepted only if it is ASCII; it is padded with blanks for a column of fixed width.
    Ascii,
}
