//! Tables as a file defines them.

use tds::{Collation, SqlType};

/// A table and what is defined on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Columns in order. Computed ones have no values in the file.
    pub columns: Vec<Column>,
    /// Rows that the file counts; a hint.
    pub rows: Option<u64>,
    /// Bytes that hold them, if that is known; a hint.
    pub bytes: Option<u64>,
    /// The clustered index or the heap, then the others.
    pub indexes: Vec<Index>,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKey>,
    /// Parts of the definition that are missing here, as short phrases.
    pub left_out: Vec<String>,
    /// The reason why the rows cannot be read.
    pub unreadable: Option<String>,
}

impl Table {
    /// Returns `schema.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Returns the columns that have values in the file.
    pub fn stored_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.computed.is_none())
    }

    /// Returns the index that orders the rows; None for a heap.
    pub fn clustered(&self) -> Option<&Index> {
        self.indexes.iter().find(|index| index.is_clustered)
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type; that of an alias type is its base.
    pub sql_type: SqlType,
    /// True if NULL is allowed.
    pub is_nullable: bool,
    /// Collation of text.
    pub collation: Option<Collation>,
    /// IDENTITY.
    pub identity: Option<Identity>,
    /// The expression of a computed column.
    pub computed: Option<Computed>,
    /// DEFAULT.
    pub default: Option<Default>,
    /// ROWGUIDCOL.
    pub is_rowguidcol: bool,
    /// SPARSE.
    pub is_sparse: bool,
}

/// IDENTITY(seed, increment).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// First value.
    pub seed: String,
    /// Step.
    pub increment: String,
}

/// A computed column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Computed {
    /// The expression, in parentheses; empty if the file does not give it.
    pub definition: String,
    /// PERSISTED.
    pub is_persisted: bool,
}

/// A DEFAULT constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Default {
    /// Name; None if the server made it up.
    pub name: Option<String>,
    /// The expression.
    pub definition: String,
}

/// An index, or the index of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Name; None if the server made it up.
    pub name: Option<String>,
    /// True for the index that orders the rows.
    pub is_clustered: bool,
    /// True if no two rows have the same key.
    pub is_unique: bool,
    /// The constraint that the index enforces.
    pub key_kind: Option<KeyKind>,
    /// Columns in order, with "descending".
    pub key: Vec<(String, bool)>,
    /// INCLUDE.
    pub included: Vec<String>,
    /// WHERE.
    pub filter: Option<String>,
    /// FILLFACTOR; 0 is the server's own.
    pub fill_factor: u8,
}

/// The constraint of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Name; None if the server made it up.
    pub name: Option<String>,
    /// The condition.
    pub definition: String,
    /// True if rows may not obey it.
    pub is_not_trusted: bool,
    /// True if it is out of use.
    pub is_disabled: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// Name; None if the server made it up.
    pub name: Option<String>,
    /// The columns.
    pub columns: Vec<String>,
    /// Schema of the table that they refer to.
    pub to_schema: String,
    /// Name of that table.
    pub to_table: String,
    /// The columns there.
    pub to_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: Action,
    /// ON UPDATE.
    pub on_update: Action,
    /// True if rows may not obey it.
    pub is_not_trusted: bool,
    /// True if it is out of use.
    pub is_disabled: bool,
}

/// The action of a foreign key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, std::default::Default)]
pub enum Action {
    /// NO ACTION.
    #[default]
    None,
    /// CASCADE.
    Cascade,
    /// SET NULL.
    SetNull,
    /// SET DEFAULT.
    SetDefault,
}

/// A view, a procedure, a function or a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Kind, as the model calls it: `SqlView`, `SqlProcedure`, …
    pub kind: String,
    /// Name in brackets.
    pub name: String,
    /// The whole statement; empty if its text is encrypted.
    pub script: String,
}
