//! Table hints: about locks, plans and files.

use crate::sql_error::SqlError;

/// A hint of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum TableHint {
    /// NOLOCK, READUNCOMMITTED.
    ReadUncommitted = 1,
    /// READCOMMITTED.
    ReadCommitted = 1 << 1,
    /// READCOMMITTEDLOCK.
    ReadCommittedLock = 1 << 2,
    /// REPEATABLEREAD.
    RepeatableRead = 1 << 3,
    /// HOLDLOCK, SERIALIZABLE.
    Serializable = 1 << 4,
    /// UPDLOCK.
    Update = 1 << 5,
    /// XLOCK.
    Exclusive = 1 << 6,
    /// READPAST.
    ReadPast = 1 << 7,
    /// NOWAIT.
    NoWait = 1 << 8,
    /// ROWLOCK.
    Row = 1 << 9,
    /// PAGLOCK.
    Page = 1 << 10,
    /// TABLOCK.
    Table = 1 << 11,
    /// TABLOCKX.
    TableExclusive = 1 << 12,
}

/// The hints of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableHints(u16);

/// Words of hints about locks.
const WORDS: &[(&str, TableHint)] = &[
    ("HOLDLOCK", TableHint::Serializable),
    ("NOLOCK", TableHint::ReadUncommitted),
    ("NOWAIT", TableHint::NoWait),
    ("PAGLOCK", TableHint::Page),
    ("READCOMMITTED", TableHint::ReadCommitted),
    ("READCOMMITTEDLOCK", TableHint::ReadCommittedLock),
    ("READPAST", TableHint::ReadPast),
    ("READUNCOMMITTED", TableHint::ReadUncommitted),
    ("REPEATABLEREAD", TableHint::RepeatableRead),
    ("ROWLOCK", TableHint::Row),
    ("SERIALIZABLE", TableHint::Serializable),
    ("TABLOCK", TableHint::Table),
    ("TABLOCKX", TableHint::TableExclusive),
    ("UPDLOCK", TableHint::Update),
    ("XLOCK", TableHint::Exclusive),
];

/// Hints that say how a query is planned. Whatever they say, the rows are the same.
const OF_PLANS: &[&str] =
    &["FASTFIRSTROW", "FORCESCAN", "FORCESEEK", "INDEX", "NOEXPAND", "SPATIAL_WINDOW_MAX_CELLS"];

impl TableHint {
    /// Finds the locking hint that a word names.
    pub fn of(word: &str) -> Option<TableHint> {
        let known = WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        known.map(|(_, hint)| *hint)
    }

    /// Returns true if a word is a hint of any kind.
    pub fn is_hint(word: &str) -> bool {
        Self::of(word).is_some() || Self::is_of_plan(word)
    }

    /// Returns true if a word is a hint about plans.
    pub fn is_of_plan(word: &str) -> bool {
        OF_PLANS.iter().any(|name| name.eq_ignore_ascii_case(word))
    }
}

impl TableHints {
    /// Adds a hint.
    pub fn add(&mut self, hint: TableHint) {
        self.0 |= hint as u16;
    }

    /// Returns the union of two sets of hints.
    pub fn with(self, other: TableHints) -> TableHints {
        TableHints(self.0 | other.0)
    }

    /// Returns true if a hint is given.
    pub fn has(self, hint: TableHint) -> bool {
        self.0 & hint as u16 != 0
    }

    /// Returns true if at least one of several hints is given.
    pub fn has_any(self, hints: &[TableHint]) -> bool {
        hints.iter().any(|hint| self.has(*hint))
    }

    /// Returns true if reading a table with these hints may wait, or skips rows.
    pub fn changes_reading(self) -> bool {
        use TableHint::{NoWait, Page, ReadCommitted, ReadUncommitted, Row};
        let [a, b, c, d, e] = [NoWait, Page, ReadCommitted, ReadUncommitted, Row].map(|hint| hint as u16);
        self.0 & !(a | b | c | d | e) != 0
    }

    /// Returns true if a change of rows with these hints locks the table as a whole.
    pub fn locks_target(self) -> bool {
        use TableHint::{RepeatableRead, Serializable, Table, TableExclusive};
        self.has_any(&[RepeatableRead, Serializable, Table, TableExclusive])
    }

    /// Refuses hints that contradict each other. Errors: 1047.
    pub fn check(self) -> Result<(), SqlError> {
        use TableHint::*;
        let count = |hints: &[TableHint]| hints.iter().filter(|hint| self.has(**hint)).count();
        let levels =
            count(&[ReadUncommitted, ReadCommitted, ReadCommittedLock, RepeatableRead, Serializable]);
        let sizes = count(&[ReadUncommitted, Row, Page, Table, TableExclusive]);
        let dirty = self.has(ReadUncommitted) && self.has_any(&[Update, Exclusive, ReadPast]);
        match levels > 1 || sizes > 1 || dirty {
            true => Err(SqlError::new(1047, 15, 1, "Conflicting locking hints specified.")),
            false => Ok(()),
        }
    }

    /// Checks the hints for the target of a change. Errors: 1065.
    pub fn check_target(self) -> Result<(), SqlError> {
        match self.has(TableHint::ReadUncommitted) {
            true => Err(SqlError::new(
                1065,
                15,
                1,
                "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or MERGE statements.",
            )),
            false => Ok(()),
        }
    }
}
