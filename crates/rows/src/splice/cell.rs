//! The checks of a cell.

use tds::{Column, LengthClass, Reader, SqlType, TypeInfo, ValuePlace, decode_value};

use super::passage::{Passage, Passed};
use crate::decode::RowDecodeErrorReason as Reason;
use crate::decode::plp;
use crate::decode::walk::{Resume, Stop, long_end, word};

/// The length of a cell's NULL, where lengths have two bytes.
const NULL_SHORT: u16 = u16::MAX;
/// The bytes of a byte-order mark of UTF-16LE.
pub(super) const MARK: [u8; 2] = [0xff, 0xfe];

/// A column of the source.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) class: LengthClass,
    /// The one length of values, where there is one.
    pub(super) width: u8,
    /// Most bytes of a value.
    pub(super) limit: usize,
    /// Values have no other length than `limit`.
    is_exact: bool,
    /// The source says that there are no NULLs.
    is_required: bool,
    /// Values are UTF-16.
    pub(super) is_wide: bool,
    is_decimal: bool,
    /// The column goes out in another form than the usual one of its source.
    pub(super) is_rewritten: bool,
    /// A byte-order mark is dropped.
    has_mark: bool,
    /// Names the type in errors.
    expected: &'static str,
}

/// A cell that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Where the next one begins; it may lie beyond the bytes at hand.
    pub(super) end: usize,
    /// It has the form that the load wants.
    pub(super) passes: bool,
    pub(super) is_null: bool,
}

impl Cell {
    /// Makes the checks of a source column, which goes to the targets `passed` alone.
    pub(super) fn new(column: &Column, passed: Option<&Passed>) -> Self {
        let info = &column.type_info;
        let sql_type = &info.sql_type;
        let width = u8::try_from(sql_type.max_length_bytes().unwrap_or_default()).unwrap_or_default();
        let passage = passed.map(|passed| passed.passage);
        Self {
            class: info.length_class(),
            width,
            limit: limit(info),
            is_exact: matches!(sql_type, SqlType::Vector { .. } | SqlType::RowVersion),
            is_required: !column.flags.is_nullable(),
            is_wide: sql_type.is_unicode() || *sql_type == SqlType::Xml,
            is_decimal: sql_type.is_decimal(),
            is_rewritten: match passage {
                None | Some(Passage::Counted(_) | Passage::Pointed) => true,
                Some(Passage::Decimal(to)) => to != width,
                Some(Passage::Same | Passage::Chunked { .. }) => false,
            },
            has_mark: passage == Some(Passage::Chunked { has_mark: true }),
            expected: name(sql_type),
        }
    }

    /// Returns true if a value that has the usual length is all there is to check.
    pub(super) fn is_sized(&self) -> bool {
        matches!(self.class, LengthClass::Fixed(_) | LengthClass::ByteLen)
    }

    /// Checks the cell at `at` of a row that begins at `row`.
    ///
    /// # Errors
    /// Its length is none of the type, or the bytes end inside it.
    pub(super) fn check(
        &self,
        bytes: &[u8],
        row: usize,
        at: usize,
        column: usize,
        resume: &mut Option<Resume>,
    ) -> Result<Found, Stop> {
        let malformed = |reason| Stop::Malformed { column, reason };
        let found = match self.class {
            LengthClass::Fixed(width) => Found { end: at + usize::from(width), passes: true, is_null: false },
            LengthClass::ByteLen => {
                let &length = bytes.get(at).ok_or(Stop::Incomplete)?;
                let passes = length == self.width || length == 0;
                let is_other_decimal = self.is_decimal && matches!(length, 5 | 9 | 13 | 17);
                if !(passes || is_other_decimal) {
                    return Err(malformed(self.wrong_length(usize::from(length))));
                }
                Found { end: at + 1 + usize::from(length), passes, is_null: length == 0 }
            }
            LengthClass::UShortLen => {
                let length = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Stop::Incomplete)?;
                match u16::from_le_bytes(*length) {
                    NULL_SHORT => Found { end: at + 2, passes: true, is_null: true },
                    length => {
                        let length = usize::from(length);
                        self.check_length(length).map_err(malformed)?;
                        Found { end: at + 2 + length, passes: true, is_null: false }
                    }
                }
            }
            LengthClass::Plp => self.check_chunks(bytes, row, at, column, resume)?,
            LengthClass::LongLen | LengthClass::Variant => {
                let end = long_end(bytes, self.class, row, at, column, resume)?;
                let is_long = self.class == LengthClass::LongLen;
                let head = if is_long { 1 } else { 4 };
                let is_null = bytes.get(at..at + head).is_some_and(|head| head.iter().all(|byte| *byte == 0));
                if !is_null && is_long {
                    let pointer = usize::from(bytes.get(at).copied().unwrap_or_default());
                    self.check_length(end - (at + 1 + pointer + 8 + 4)).map_err(malformed)?;
                }
                if !is_null && !is_long {
                    let value = bytes.get(at..end).ok_or(Stop::Incomplete)?;
                    check_variant(value).map_err(malformed)?;
                }
                Found { end, passes: true, is_null }
            }
        };
        if found.is_null && self.is_required {
            return Err(malformed(Reason::UnexpectedNull));
        }
        Ok(Found { passes: found.passes && !self.is_rewritten, ..found })
    }

    /// Checks a NULL of which a bitmap tells.
    ///
    /// # Errors
    /// The column has none.
    pub(super) fn check_null(&self, column: usize) -> Result<(), Stop> {
        match self.is_required {
            true => Err(Stop::Malformed { column, reason: Reason::UnexpectedNull }),
            false => Ok(()),
        }
    }

    fn check_chunks(
        &self,
        bytes: &[u8],
        row: usize,
        at: usize,
        column: usize,
        resume: &mut Option<Resume>,
    ) -> Result<Found, Stop> {
        let end = long_end(bytes, self.class, row, at, column, resume)?;
        let header = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Stop::Incomplete)?;
        let announced = u64::from_le_bytes(*header);
        if announced == plp::NULL {
            return Ok(Found { end, passes: true, is_null: true });
        }
        let first = word(bytes, at + 8)?;
        let is_whole = announced != plp::UNKNOWN && u64::from(first) == announced;
        if is_whole && self.is_wide && !announced.is_multiple_of(2) {
            let length = usize::try_from(announced).unwrap_or(usize::MAX);
            return Err(Stop::Malformed { column, reason: Reason::OddUtf16 { length } });
        }
        let is_marked = self.has_mark && bytes.get(at + 12..at + 14) == Some(&MARK);
        Ok(Found { end, passes: is_whole && !is_marked, is_null: false })
    }

    /// Checks a length that the value announces.
    ///
    /// # Errors
    /// It is none of the type.
    #[inline]
    pub(super) fn check_length(&self, length: usize) -> Result<(), Reason> {
        if length > self.limit {
            return Err(Reason::TooLong { length, limit: self.limit });
        }
        if self.is_wide && !length.is_multiple_of(2) {
            return Err(Reason::OddUtf16 { length });
        }
        if self.is_exact && length != self.limit {
            return Err(self.wrong_length(length));
        }
        Ok(())
    }

    fn wrong_length(&self, length: usize) -> Reason {
        Reason::Length { length, expected: self.expected }
    }
}

/// Reads a variant once, as a load of decoded values does.
fn check_variant(value: &[u8]) -> Result<(), Reason> {
    let info = TypeInfo::new(SqlType::SqlVariant, true, None);
    match decode_value(&mut Reader::new(value), &info, ValuePlace::Row) {
        Ok(_) => Ok(()),
        Err(_) => Err(Reason::Variant { what: "its bytes are no value of its base type" }),
    }
}

fn limit(info: &TypeInfo) -> usize {
    match info.length_class() {
        LengthClass::Plp => usize::MAX,
        _ => usize::try_from(info.max_length).unwrap_or(usize::MAX),
    }
}

fn name(sql_type: &SqlType) -> &'static str {
    match sql_type {
        SqlType::Bit => "bit",
        SqlType::TinyInt => "tinyint",
        SqlType::SmallInt => "smallint",
        SqlType::Int => "int",
        SqlType::BigInt => "bigint",
        SqlType::Real => "real",
        SqlType::Float => "float",
        SqlType::SmallMoney => "smallmoney",
        SqlType::Money => "money",
        SqlType::SmallDateTime => "smalldatetime",
        SqlType::DateTime => "datetime",
        SqlType::Date => "date",
        SqlType::Time { .. } => "time",
        SqlType::DateTime2 { .. } => "datetime2",
        SqlType::DateTimeOffset { .. } => "datetimeoffset",
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => "decimal",
        SqlType::UniqueIdentifier => "uniqueidentifier",
        SqlType::RowVersion => "rowversion",
        SqlType::Vector { .. } => "vector",
        _ => "value of its type",
    }
}
