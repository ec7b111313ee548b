//! Partition functions and schemes as written, and the partitions that statements name.

use tds::SqlType;

use super::expression::Expr;
use super::file_group::WrittenGroup;
use super::names::ObjectName;

/// CREATE, ALTER and DROP of a partition function or a partition scheme.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionStatement {
    /// CREATE PARTITION FUNCTION.
    CreateFunction(CreatePartitionFunction),
    /// ALTER PARTITION FUNCTION … SPLIT RANGE.
    Split {
        /// The function.
        function: String,
        /// The new boundary; None if the parentheses are empty.
        value: Option<Expr>,
    },
    /// ALTER PARTITION FUNCTION … MERGE RANGE.
    Merge {
        /// The function.
        function: String,
        /// The boundary that goes; None if the parentheses are empty.
        value: Option<Expr>,
    },
    /// DROP PARTITION FUNCTION.
    DropFunction(String),
    /// CREATE PARTITION SCHEME.
    CreateScheme {
        /// The scheme.
        name: String,
        /// The partition function of the scheme.
        function: String,
        /// ALL.
        all: bool,
        /// The file groups in order; None stands for the default one.
        groups: Vec<WrittenGroup>,
    },
    /// ALTER PARTITION SCHEME … NEXT USED.
    NextUsed {
        /// The scheme.
        scheme: String,
        /// The file group, if one is written.
        group: Option<WrittenGroup>,
    },
    /// DROP PARTITION SCHEME.
    DropScheme(String),
}

/// CREATE PARTITION FUNCTION.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatePartitionFunction {
    /// The function.
    pub name: String,
    /// The types of its parameters; a function of ranges has one.
    pub parameters: Vec<SqlType>,
    /// COLLATE of the first parameter.
    pub collation: Option<String>,
    /// RANGE RIGHT rather than LEFT.
    pub right: bool,
    /// The boundaries as written.
    pub values: Vec<Expr>,
}

/// A partition scheme and the columns that a table or an index is partitioned by, as `ON` names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenScheme {
    /// The scheme.
    pub name: String,
    /// The columns in its parentheses.
    pub columns: Vec<String>,
}

/// ALTER TABLE … SWITCH.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchRows {
    /// The partition whose rows go.
    pub from: Option<Expr>,
    /// The table that gets the rows.
    pub target: ObjectName,
    /// The partition that gets them.
    pub to: Option<Expr>,
}

/// `n` or `n TO m` in a list of partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionSpan {
    /// The first one.
    pub from: Expr,
    /// The last one, after TO.
    pub to: Option<Expr>,
}

/// LOCK_ESCALATION of a table, without DISABLE, which is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum LockEscalation {
    /// TABLE.
    #[default]
    Table = 0,
    /// AUTO.
    Auto = 2,
}

impl LockEscalation {
    /// Returns the number in `sys.tables.lock_escalation`.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns the spelling in `sys.tables.lock_escalation_desc`.
    pub fn description(self) -> &'static str {
        match self {
            LockEscalation::Table => "TABLE",
            LockEscalation::Auto => "AUTO",
        }
    }

    /// Returns true for TABLE.
    pub fn is_default(&self) -> bool {
        *self == LockEscalation::Table
    }
}
