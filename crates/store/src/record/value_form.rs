//! What values among the caller's bytes look like.

/// What the values of one column look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueForm {
    /// How a value says its length.
    pub prefix: LengthPrefix,
    /// The form of its bytes.
    pub content: ValueContent,
    /// Most bytes that a value may have, whatever its column allows.
    pub limit_bytes: usize,
    /// A null is not taken, whatever its column allows.
    pub required: bool,
}

/// How a value says its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthPrefix {
    /// Not at all: it is never null, and as wide as its column.
    None,
    /// In one byte before it; 0: it is null.
    Byte,
    /// In two bytes before it; FFFF: it is null.
    Short,
}

/// What the bytes of a value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueContent {
    /// Those that a record has.
    Stored,
    /// The bytes that a record has, the second half before the first: of `money`, `datetime`, `smalldatetime`.
    SwappedHalves,
    /// Text that is taken only if it is ASCII; padded with blanks where a column of fixed width holds its bytes.
    Ascii,
}
