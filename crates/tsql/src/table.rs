//! Tables as written: CREATE TABLE, its columns and constraints, and the changes of ALTER TABLE.

use tds::SqlType;

use super::expression::Expr;
use super::file_group::{FileGroups, WrittenGroup};
use super::index::{CreateIndex, DataCompression, IndexSettings, Rebuild};
use super::names::ObjectName;
use super::partition::{LockEscalation, SwitchRows, WrittenScheme};

/// CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The table.
    pub name: ObjectName,
    /// The columns of the table, in order.
    pub columns: Vec<ColumnClause>,
    /// Table constraints.
    pub constraints: Vec<ConstraintClause>,
    /// INDEX among the columns, or behind one.
    pub indexes: Vec<CreateIndex>,
    /// WITH (DATA_COMPRESSION = …).
    pub compression: DataCompression,
    /// ON and TEXTIMAGE_ON.
    pub file_groups: FileGroups,
    /// ON, if it names a partition scheme.
    pub scheme: Option<WrittenScheme>,
}

/// A column of CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnClause {
    /// Name.
    pub name: String,
    /// Type; None for a computed column.
    pub sql_type: Option<SqlType>,
    /// The alias type that was written, after it was looked up.
    pub alias: Option<String>,
    /// `AS expression` of a computed column.
    pub computed: Option<SourceText>,
    /// PERSISTED.
    pub persisted: bool,
    /// NULL or NOT NULL, if written.
    pub nullable: Option<bool>,
    /// COLLATE.
    pub collation: Option<String>,
    /// IDENTITY(seed, increment).
    pub identity: Option<(i64, i64)>,
    /// ROWGUIDCOL.
    pub row_guid: bool,
    /// SPARSE.
    pub sparse: bool,
    /// DEFAULT and its constraint's name.
    pub default: Option<(Option<String>, SourceText)>,
    /// WITH VALUES: existing rows get the default too.
    pub with_values: bool,
    /// Column constraints, written beside the column.
    pub constraints: Vec<ConstraintClause>,
}

impl ColumnClause {
    /// Makes a column of a name and nothing else.
    pub fn named(name: String) -> ColumnClause {
        ColumnClause {
            name,
            sql_type: None,
            alias: None,
            computed: None,
            persisted: false,
            nullable: None,
            collation: None,
            identity: None,
            row_guid: false,
            sparse: false,
            default: None,
            with_values: false,
            constraints: Vec::new(),
        }
    }
}

/// A piece of expression and the text it was parsed from (definitions are kept as text in the catalogue).
#[derive(Debug, Clone, PartialEq)]
pub struct SourceText {
    /// As written.
    pub text: String,
    /// As parsed.
    pub expr: Expr,
}

/// A table constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintClause {
    /// Name, if given.
    pub name: Option<String>,
    /// The demand of the constraint.
    pub kind: ConstraintKind,
}

/// The kinds of constraint.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstraintKind {
    /// PRIMARY KEY or UNIQUE.
    Key {
        /// PRIMARY KEY rather than UNIQUE.
        primary: bool,
        /// CLUSTERED or NONCLUSTERED, if written.
        clustered: Option<bool>,
        /// Columns, descending or not; empty when written beside a column.
        columns: Vec<(String, bool)>,
        /// WITH (…).
        settings: IndexSettings,
        /// ON; None: where the table's rows are.
        group: Option<WrittenGroup>,
        /// ON, if it names a partition scheme.
        scheme: Option<WrittenScheme>,
    },
    /// CHECK.
    Check(SourceText),
    /// FOREIGN KEY.
    ForeignKey {
        /// Own columns; empty when written beside a column.
        columns: Vec<String>,
        /// The referenced table.
        table: ObjectName,
        /// The columns of the referenced table; empty for its primary key.
        referenced: Vec<String>,
        /// ON DELETE.
        on_delete: ReferentialAction,
        /// ON UPDATE.
        on_update: ReferentialAction,
    },
    /// DEFAULT … FOR column (ALTER TABLE ADD).
    Default {
        /// The value.
        value: SourceText,
        /// The column.
        column: String,
    },
}

/// The effect on rows whose referenced row is deleted, or gets another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum ReferentialAction {
    /// NO ACTION: the statement is refused.
    #[default]
    NoAction,
    /// CASCADE.
    Cascade,
    /// SET NULL.
    SetNull,
    /// SET DEFAULT.
    SetDefault,
}

impl ReferentialAction {
    /// Returns the spelling of the sys views; INFORMATION_SCHEMA has a blank instead of the underscore.
    pub fn description(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO_ACTION",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET_NULL",
            ReferentialAction::SetDefault => "SET_DEFAULT",
        }
    }

    /// Returns the number of the sys views.
    pub fn number(self) -> i64 {
        match self {
            ReferentialAction::NoAction => 0,
            ReferentialAction::Cascade => 1,
            ReferentialAction::SetNull => 2,
            ReferentialAction::SetDefault => 3,
        }
    }
}

/// An attribute that a column gets or loses without another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnAttribute {
    /// ROWGUIDCOL.
    RowGuid,
    /// SPARSE.
    Sparse,
}

/// A change that ALTER TABLE makes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// ADD columns and constraints.
    Add {
        /// New columns.
        columns: Vec<ColumnClause>,
        /// New constraints.
        constraints: Vec<ConstraintClause>,
    },
    /// DROP COLUMN.
    DropColumns {
        /// Names.
        names: Vec<String>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// DROP CONSTRAINT.
    DropConstraints {
        /// Names.
        names: Vec<String>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER COLUMN.
    AlterColumn(Box<ColumnClause>),
    /// ALTER COLUMN … ADD or DROP of an attribute.
    SwitchAttribute {
        /// The column.
        column: String,
        /// The attribute.
        attribute: ColumnAttribute,
        /// ADD rather than DROP.
        on: bool,
    },
    /// CHECK CONSTRAINT or NOCHECK CONSTRAINT.
    SwitchConstraints {
        /// Names; None for ALL.
        names: Option<Vec<String>>,
        /// CHECK rather than NOCHECK.
        enabled: bool,
    },
    /// Several of them, one after the other.
    Several(Vec<AlterAction>),
    /// REBUILD.
    Rebuild(Rebuild),
    /// ENABLE TRIGGER or DISABLE TRIGGER.
    SwitchTriggers {
        /// Names; None for ALL.
        names: Option<Vec<String>>,
        /// ENABLE rather than DISABLE.
        enabled: bool,
    },
    /// SWITCH [PARTITION n] TO … [PARTITION n].
    SwitchRows(Box<SwitchRows>),
    /// SET (LOCK_ESCALATION = …).
    LockEscalation(LockEscalation),
}
