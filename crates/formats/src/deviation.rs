//! The cases in which the original bcp silently loads something other than what the file says.

use std::fmt;

/// A case in which the original loads something other than what the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deviation {
    /// A field holds the row terminator: fields are missing, and the next row was swallowed.
    SwallowedRow,
    /// A field that is not the last holds the row terminator, and the row has as many fields as described. The terminator is data, or
    /// two rows that lack fields happen to make one.
    RowEndInField,
    /// The last field holds the field terminator: there are more fields than described.
    SurplusFields,
    /// The last row has no terminator.
    MissingLastTerminator,
    /// The file ends inside the first field of a row, or inside a prefix; what is left is dropped.
    DroppedTail,
    /// A byte-order mark was taken for data.
    LoadedMark,
    /// A prefix announces more than the field's length; the value was cut.
    CutByLength,
    /// A native value with fewer bytes than its type; zeros were added.
    FilledUp,
    /// Text longer than the column by so little that the original does not notice; it was cut.
    CutToColumn,
    /// An odd number of bytes of UTF-16; the last byte was dropped.
    OddBytes,
    /// An odd number of hex digits; the last one was dropped.
    OddHexDigits,
    /// A bit that is neither 0 nor 1; it became 1.
    BitBeyondOne,
    /// A field of blanks for a whole number; it became NULL.
    BlankNumber,
    /// A native decimal with more digits behind the point than the column; they were cut.
    CutDecimal,
    /// A native decimal with an impossible precision or sign; it was loaded by its digits.
    OddDecimal,
    /// A float that is no number (NaN or infinity). SQL Server stores it, and then cannot use it.
    NotFinite,
    /// A fraction of a second with fewer digits than three was read as that many milliseconds.
    MisreadFraction,
    /// Bytes that are not text in the field's encoding; each became a replacement character.
    InvalidText,
    /// A character that the column's code page does not have became `?`.
    UnmappableText,
    /// Two fields fill the same column; the later one wins.
    ColumnTwice,
    /// A value that was written holds its field's terminator, and the file cannot be read back.
    EmbeddedTerminator,
}

impl Deviation {
    /// All deviations, in their order.
    pub const ALL: [Self; 21] = [
        Self::SwallowedRow,
        Self::RowEndInField,
        Self::SurplusFields,
        Self::MissingLastTerminator,
        Self::DroppedTail,
        Self::LoadedMark,
        Self::CutByLength,
        Self::FilledUp,
        Self::CutToColumn,
        Self::OddBytes,
        Self::OddHexDigits,
        Self::BitBeyondOne,
        Self::BlankNumber,
        Self::CutDecimal,
        Self::OddDecimal,
        Self::NotFinite,
        Self::MisreadFraction,
        Self::InvalidText,
        Self::UnmappableText,
        Self::ColumnTwice,
        Self::EmbeddedTerminator,
    ];

    /// Describes the deviation for a message, after file, row and column.
    pub fn description(self) -> &'static str {
        match self {
            Self::SwallowedRow => {
                "the field contains the row terminator: fields are missing and rows run together"
            }
            Self::RowEndInField => {
                "the field contains the row terminator as data, or a row lacks fields and swallowed the next: the row has as many fields as described"
            }
            Self::SurplusFields => {
                "the last field contains the field terminator: the row has more fields than described"
            }
            Self::MissingLastTerminator => "the last row has no terminator",
            Self::DroppedTail => {
                "the file ends at the start of a row, inside its first field or a length; the bytes are dropped"
            }
            Self::LoadedMark => "a byte-order mark at the start of the file is taken for data",
            Self::CutByLength => {
                "the length in front of the value exceeds the field's length; the value is cut"
            }
            Self::FilledUp => "a native value has fewer bytes than its type; zeros are added",
            Self::CutToColumn => "the text is a little longer than the column; it is cut",
            Self::OddBytes => "UTF-16 text has an odd number of bytes; the last one is dropped",
            Self::OddHexDigits => "an odd number of hex digits; the last one is dropped",
            Self::BitBeyondOne => "a bit is neither 0 nor 1",
            Self::BlankNumber => "a field of blanks stands for a number; it is NULL",
            Self::CutDecimal => {
                "a native decimal has more digits behind the point than the column; they are cut"
            }
            Self::OddDecimal => "the precision or sign of a native decimal is none",
            Self::NotFinite => "a float is not a finite number",
            Self::MisreadFraction => {
                "fewer than three digits behind the second's point are read as milliseconds"
            }
            Self::InvalidText => "bytes are not text in the field's encoding",
            Self::UnmappableText => "the column's code page lacks a character of the text",
            Self::ColumnTwice => "two fields fill this column; the later one wins",
            Self::EmbeddedTerminator => {
                "the value contains the field's terminator; the file will not read back"
            }
        }
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

/// The deviations that are accepted. A row with another one is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tolerance(u32);

impl Tolerance {
    /// Accepts all deviations, as the original does.
    pub fn vendor() -> Self {
        Self(Deviation::ALL.iter().fold(0, |set, deviation| set | deviation.bit()))
    }

    /// Accepts no deviation (`--strict`).
    pub fn strict() -> Self {
        Self(0)
    }

    /// Accepts `deviation` too.
    #[must_use]
    pub fn suffer(self, deviation: Deviation) -> Self {
        Self(self.0 | deviation.bit())
    }

    /// Accepts `deviation` no longer.
    #[must_use]
    pub fn refuse(self, deviation: Deviation) -> Self {
        Self(self.0 & !deviation.bit())
    }

    /// Returns true if `deviation` is accepted.
    pub fn suffers(self, deviation: Deviation) -> bool {
        self.0 & deviation.bit() != 0
    }
}

impl fmt::Debug for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Deviation::ALL.iter().filter(|deviation| self.suffers(**deviation))).finish()
    }
}

/// Accepted deviations of one kind: their number and the first place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suffered {
    /// Kind of the deviation.
    pub deviation: Deviation,
    /// Number of times that it happened.
    pub count: u64,
    /// Number of the first such row in the file, from 1.
    pub row: u64,
    /// Offset in the (decompressed) file of that row, in bytes.
    pub byte_offset: u64,
    /// Name of the column, if the deviation concerns one.
    pub column: Option<String>,
}

impl fmt::Display for Suffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}, byte {}", self.row, self.byte_offset)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column:?}")?;
        }
        write!(f, ": {}", self.deviation)?;
        if self.count > 1 {
            write!(f, " (and {} more)", self.count - 1)?;
        }
        Ok(())
    }
}

/// Counts a deviation, and keeps the place (row, byte offset) of the first.
pub(crate) fn tally(
    suffered: &mut Vec<Suffered>,
    deviation: Deviation,
    (row, byte_offset): (u64, u64),
    column: Option<&str>,
    count: u64,
) {
    match suffered.iter_mut().find(|known| known.deviation == deviation) {
        Some(known) => known.count += count,
        None => {
            let column = column.filter(|name| !name.is_empty()).map(str::to_owned);
            suffered.push(Suffered { deviation, count, row, byte_offset, column });
        }
    }
}

/// Adds what was found behind what is known already.
pub(crate) fn absorb(suffered: &mut Vec<Suffered>, more: Vec<Suffered>) {
    for Suffered { deviation, count, row, byte_offset, column } in more {
        tally(suffered, deviation, (row, byte_offset), column.as_deref(), count);
    }
}
