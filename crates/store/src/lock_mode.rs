//! Lock modes: which two transactions can hold at a time, and the mode that two of them make together ("Transaction locking and
//! row versioning guide", lock compatibility and conversion).

use std::fmt;

/// The mode of a lock, in the order of SQL Server's table of compatibility.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// Schema stability: no other transaction may change or drop the table.
    SchS,
    /// Intent shared: parts of the table are read.
    IS,
    /// Shared: the table is read.
    S,
    /// Update: rows are read, and changed later. Only one transaction at a time holds it.
    U,
    /// Intent exclusive: parts of the table are changed.
    IX,
    /// Shared with intent exclusive: the table is read, and parts of it are changed.
    SIX,
    /// Exclusive: the table is changed.
    X,
    /// Bulk update: a bulk load with a table lock, shared with other bulk loads.
    BU,
    /// Schema modification: the table itself is changed.
    SchM,
}

impl LockMode {
    /// All modes, in the order of the table of compatibility.
    pub const ALL: [Self; 9] =
        [Self::SchS, Self::IS, Self::S, Self::U, Self::IX, Self::SIX, Self::X, Self::BU, Self::SchM];

    /// Returns the name in `sys.dm_tran_locks.request_mode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SchS => "Sch-S",
            Self::IS => "IS",
            Self::S => "S",
            Self::U => "U",
            Self::IX => "IX",
            Self::SIX => "SIX",
            Self::X => "X",
            Self::BU => "BU",
            Self::SchM => "Sch-M",
        }
    }

    /// Returns the name of the wait for this mode in `sys.dm_os_wait_stats`.
    pub fn wait_name(self) -> &'static str {
        match self {
            Self::SchS => "LCK_M_SCH_S",
            Self::IS => "LCK_M_IS",
            Self::S => "LCK_M_S",
            Self::U => "LCK_M_U",
            Self::IX => "LCK_M_IX",
            Self::SIX => "LCK_M_SIX",
            Self::X => "LCK_M_X",
            Self::BU => "LCK_M_BU",
            Self::SchM => "LCK_M_SCH_M",
        }
    }

    /// Returns true if one transaction can hold this mode while another holds `other`.
    pub fn is_compatible(self, other: Self) -> bool {
        use LockMode::{BU, IS, IX, S, SIX, SchM, SchS, U, X};
        let (low, high) = if self <= other { (self, other) } else { (other, self) };
        match (low, high) {
            (_, SchM) => false,
            (SchS, _) => true,
            (IS, IS | S | U | IX | SIX) | (S, S | U) | (IX, IX) | (BU, BU) => true,
            (IS | S | U | IX | SIX | X | BU, _) | (SchM, _) => false,
        }
    }

    /// Returns the weakest mode that includes both: what a transaction holds after it has been granted both.
    /// S and IX make SIX, as do U and IX (SQL Server's UIX excludes the same modes); BU with anything
    /// stronger than Sch-S makes X.
    pub fn with(self, other: Self) -> Self {
        use LockMode::{BU, IS, IX, S, SIX, SchM, SchS, U, X};
        let (low, high) = if self <= other { (self, other) } else { (other, self) };
        match (low, high) {
            (_, SchM) => SchM,
            (SchS, mode) => mode,
            (mode, same) if mode == same => mode,
            (_, X) | (IS | S | U | IX | SIX | X, BU) => X,
            (IS, mode) => mode,
            (S, U) => U,
            (S | U, IX) => SIX,
            (S | U | IX, SIX) => SIX,
            (_, mode) => mode,
        }
    }

    /// Returns true if this mode includes `other`.
    pub fn covers(self, other: Self) -> bool {
        self.with(other) == self
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
