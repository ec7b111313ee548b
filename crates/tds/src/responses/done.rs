//! DONE, DONEPROC and DONEINPROC (MS-TDS 2.2.7.6 to 2.2.7.8): the end of a statement, procedure or response.

use std::fmt;
use std::ops::BitOr;

use crate::codec::{DecodeError, Reader, Writer};
use crate::version::TdsVersion;

/// Numbers of commands in [`Done::command`].
pub mod command {
    /// SELECT.
    pub const SELECT: u16 = 0xC1;
    /// SELECT INTO.
    pub const SELECT_INTO: u16 = 0xC2;
    /// INSERT.
    pub const INSERT: u16 = 0xC3;
    /// DELETE.
    pub const DELETE: u16 = 0xC4;
    /// UPDATE.
    pub const UPDATE: u16 = 0xC5;
    /// MERGE.
    pub const MERGE: u16 = 0x117;
    /// IF.
    pub const IF: u16 = 0xC0;
    /// ROLLBACK.
    pub const ABORT: u16 = 0xD2;
    /// BEGIN TRANSACTION.
    pub const BEGIN_TRANSACTION: u16 = 0xD4;
    /// COMMIT.
    pub const END_TRANSACTION: u16 = 0xD5;
    /// EXECUTE.
    pub const EXECUTE: u16 = 0xE0;
    /// A bulk load.
    pub const BULK_INSERT: u16 = 0xF0;
}

/// The content of the three DONE tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// Status bits: more results, error, count and others.
    pub status: DoneStatus,
    /// The statement that ended; see [`command`].
    pub command: u16,
    /// Rows that the statement produced or changed; meaningless unless the status has `COUNT`.
    pub row_count: u64,
}

/// Status bits of a DONE token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DoneStatus(pub u16);

impl DoneStatus {
    /// The last DONE of the response.
    pub const FINAL: Self = Self(0x0000);
    /// More results follow.
    pub const MORE: Self = Self(0x0001);
    /// The statement failed; an ERROR token came before.
    pub const ERROR: Self = Self(0x0002);
    /// A transaction is open.
    pub const IN_TRANSACTION: Self = Self(0x0004);
    /// The row count is valid.
    pub const COUNT: Self = Self(0x0010);
    /// Acknowledges an attention.
    pub const ATTENTION: Self = Self(0x0020);
    /// The statement failed so severely that its result is to be discarded.
    pub const SERVER_ERROR: Self = Self(0x0100);

    /// Returns true if all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the statement failed.
    pub fn has_failed(self) -> bool {
        self.contains(Self::ERROR) || self.contains(Self::SERVER_ERROR)
    }
}

impl BitOr for DoneStatus {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for DoneStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DoneStatus({:#06x})", self.0)
    }
}

impl Done {
    /// Returns the bytes after the token byte.
    pub fn len_bytes(version: TdsVersion) -> usize {
        if version.has_wide_fields() { 12 } else { 8 }
    }

    /// Returns true if this is the last DONE of the response.
    pub fn is_final(&self) -> bool {
        !self.status.contains(DoneStatus::MORE)
    }

    /// Returns the row count, if the status says that it is one.
    pub fn rows(&self) -> Option<u64> {
        self.status.contains(DoneStatus::COUNT).then_some(self.row_count)
    }

    pub(crate) fn decode(r: &mut Reader<'_>, version: TdsVersion) -> Result<Self, DecodeError> {
        let status = DoneStatus(r.u16("DONE status")?);
        let command = r.u16("DONE command")?;
        let row_count = match version.has_wide_fields() {
            true => r.u64("DONE row count")?,
            false => u64::from(r.u32("DONE row count")?),
        };
        Ok(Self { status, command, row_count })
    }

    pub(crate) fn encode(&self, w: &mut Writer, version: TdsVersion) {
        w.u16(self.status.0);
        w.u16(self.command);
        if version.has_wide_fields() {
            w.u64(self.row_count);
        } else {
            // The old layout cannot say more; a count that does not fit is sent as the largest, as servers do.
            w.u32(u32::try_from(self.row_count).unwrap_or(u32::MAX));
        }
    }
}
