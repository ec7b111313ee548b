//! The facts about a table that are known before a load.

mod encryption;
mod facts;
mod partitioning;
mod queries;

use std::fmt;

use tds::{Column, ColumnFlags, TypeInfo};

use crate::{
    client::Client,
    error::Error,
    table_name::{TableName, quoted},
};
pub(crate) use encryption::CIPHERTEXT;
pub use encryption::{ColumnEncryption, encrypted_columns};
use facts::{CATALOGUE_RESULTS, Facts};
pub use partitioning::Partitioning;

/// A table as a load sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDescription {
    /// The name, with schema.
    pub name: TableName,
    /// Table or view.
    pub is_view: bool,
    /// Columns in table order.
    pub columns: Vec<ColumnDescription>,
    /// The storage of the rows: a heap or an index.
    pub storage: Storage,
    /// All indexes but the heap, the clustered one first.
    pub indexes: Vec<IndexDescription>,
    /// Triggers.
    pub triggers: Vec<TriggerDescription>,
    /// CHECK and FOREIGN KEY constraints.
    pub constraints: Vec<ConstraintDescription>,
    /// Rows, as the catalogue counts them.
    pub rows: u64,
    /// Partitions; 1 for a table that is not partitioned.
    pub partitions: u32,
    /// The division of the rows among partitions. `None` for a table with one partition, and on a server that does
    /// not report it.
    pub partitioning: Option<Partitioning>,
    /// The database.
    pub database: DatabaseDescription,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDescription {
    /// The column as the server sends it in COLMETADATA: name, type, nullability, collation.
    pub column: Column,
    /// Name of the type in the catalogue; an alias type keeps its own.
    pub type_name: String,
    /// Values come from the IDENTITY property unless they are kept.
    pub is_identity: bool,
    /// Computed columns are never loaded.
    pub is_computed: bool,
    /// Rowversion columns are never loaded.
    pub is_rowversion: bool,
    /// The column has a DEFAULT, which replaces NULLs unless they are kept.
    pub has_default: bool,
    /// The catalogue says that it takes no NULL and that nothing fills it, so that a new row needs a value.
    pub is_required: bool,
    /// Collation name of a character column.
    pub collation: Option<String>,
    /// The encryption of the values, for a column of Always Encrypted.
    pub encryption: Option<ColumnEncryption>,
}

/// The structure that holds a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Without order.
    Heap,
    /// In a clustered B-tree.
    Clustered,
    /// In a clustered columnstore.
    Columnstore,
}

/// An index of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDescription {
    /// Name.
    pub name: String,
    /// The kind of index (B-tree, columnstore and so on), as numbered in `sys.indexes.type`.
    pub kind: u8,
    /// Key columns in order, with "descending".
    pub key: Vec<(String, bool)>,
    /// No two rows have the same key.
    pub is_unique: bool,
    /// True for the index of the primary key.
    pub is_primary_key: bool,
    /// Duplicate keys are dropped with a warning instead of an error; row counts then differ from what is sent.
    pub ignores_duplicate_keys: bool,
    /// True if the index is disabled.
    pub is_disabled: bool,
}

/// A trigger of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerDescription {
    /// Name.
    pub name: String,
    /// True if the trigger runs instead of the statement.
    pub is_instead_of: bool,
    /// True if the trigger is disabled.
    pub is_disabled: bool,
}

/// A CHECK or FOREIGN KEY constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstraintDescription {
    /// Name.
    pub name: String,
    /// FOREIGN KEY, or else CHECK.
    pub is_foreign_key: bool,
    /// True if the constraint is disabled.
    pub is_disabled: bool,
    /// The server does not know that all rows obey it.
    pub is_not_trusted: bool,
}

/// The table's database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatabaseDescription {
    /// Name.
    pub name: String,
    /// The recovery model; `None` if the catalogue does not say.
    pub recovery_model: Option<RecoveryModel>,
    /// Collation.
    pub collation: Option<String>,
    /// Compatibility level.
    pub compatibility_level: Option<u8>,
}

/// Recovery model of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryModel {
    /// Everything is logged.
    Full,
    /// Bulk operations may be logged minimally; the log is kept for backups.
    BulkLogged,
    /// Bulk operations may be logged minimally; the log is not kept.
    Simple,
}

impl fmt::Display for RecoveryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "FULL",
            Self::BulkLogged => "BULK_LOGGED",
            Self::Simple => "SIMPLE",
        })
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "heap",
            Self::Clustered => "clustered index",
            Self::Columnstore => "clustered columnstore",
        })
    }
}

impl TableDescription {
    /// Returns the clustered index, if the table has one.
    pub fn clustered_index(&self) -> Option<&IndexDescription> {
        self.indexes.iter().find(|index| index.kind == facts::KIND_CLUSTERED)
    }

    /// Indexes beside the rows themselves.
    pub fn secondary_indexes(&self) -> impl Iterator<Item = &IndexDescription> {
        self.indexes.iter().filter(|index| {
            !matches!(index.kind, facts::KIND_CLUSTERED | facts::KIND_COLUMNSTORE) && !index.is_disabled
        })
    }

    /// Corrects the nullability of result columns by the catalogue, since the server's description of a result is less precise.
    pub fn refined(&self, mut columns: Vec<Column>) -> Vec<Column> {
        for column in &mut columns {
            let known = self.columns.iter().find(|known| known.column.name == column.name);
            if known.is_some_and(|known| !known.column.flags.is_nullable()) {
                forbid_null(column);
            }
        }
        columns
    }

    /// Returns the columns that new rows need a value for, and that are not among `given`. None for a view, whose table
    /// may fill them.
    pub fn lacking(&self, given: &[Column]) -> Vec<&str> {
        let is_given = |name: &str| given.iter().any(|column| column.name == name);
        let columns = self.columns.iter().filter(|column| column.is_required && !self.is_view);
        columns.map(|column| column.column.name.as_str()).filter(|name| !is_given(name)).collect()
    }

    /// Columns that a load may fill: not computed, not rowversion, and identities only if they are kept.
    pub fn loadable_columns(&self, keep_identity: bool) -> Vec<Column> {
        let wanted =
            |c: &&ColumnDescription| !c.is_computed && !c.is_rowversion && (keep_identity || !c.is_identity);
        self.columns.iter().filter(wanted).map(|c| c.column.clone()).collect()
    }
}

impl Client {
    /// Reads a table's columns, indexes, triggers, constraints and database from the catalogue, in one request. The names of
    /// keys of encrypted columns need another one, and so do the boundaries of several partitions.
    ///
    /// # Errors
    /// [`Error::NoTable`] if there is none, and those of the query.
    pub fn describe(&mut self, table: &TableName) -> Result<TableDescription, Error> {
        /// "Invalid object name" (sys.messages).
        const NO_OBJECT: i32 = 208;
        let database = self.database().to_owned();
        let no_table =
            || Error::NoTable { table: table.to_string(), database: database.clone(), nearest: None };
        let described = self.query_values_and_columns(&queries::batch(table));
        let (mut results, columns) = described.map_err(|error| match error.server_message() {
            Some(message) if message.number == NO_OBJECT => no_table(),
            _ => error,
        })?;
        // The last result is there for its columns, if there is a table.
        let is_there = results.len() > CATALOGUE_RESULTS;
        results.truncate(CATALOGUE_RESULTS);
        let facts = Facts::read(&results)?;
        let Some(object) = facts.object else {
            // Servers exist whose catalogue has no temporary tables, and logins that may read a table and not its definition.
            return match is_there {
                true => Ok(described_by_columns(table, columns)),
                false => Err(no_table()),
            };
        };
        let schema = table.schema.clone().or(Some(object.schema)).filter(|_| !table.is_temporary());
        let name = TableName { database: table.database.clone(), schema, name: table.name.clone() };
        let mut columns: Vec<_> =
            columns.into_iter().map(|column| facts::column(column, &facts.columns)).collect();
        encryption::name_keys(
            self,
            table,
            columns.iter_mut().filter_map(|column| column.encryption.as_mut()),
        )?;
        let total = facts.rows.iter().sum();
        let partitions = facts.rows.len().max(1);
        let partitioning = match partitions {
            1 => None,
            _ => match self.query_values(&queries::partitioning(table)) {
                // A server that does not tell.
                Err(error) if error.server_message().is_some() => None,
                results => partitioning::of(&results?, facts.rows)?,
            },
        };
        Ok(TableDescription {
            name,
            is_view: object.is_view,
            columns,
            storage: facts.storage,
            indexes: facts.indexes,
            triggers: facts.triggers,
            constraints: facts.constraints,
            rows: total,
            partitions: u32::try_from(partitions).unwrap_or(u32::MAX),
            partitioning,
            database: facts.database,
        })
    }
}

/// Describes a table from the columns of an empty result, as a heap without indexes or constraints.
fn described_by_columns(table: &TableName, columns: Vec<Column>) -> TableDescription {
    TableDescription {
        name: TableName { database: table.database.clone(), schema: None, name: table.name.clone() },
        is_view: false,
        columns: columns.into_iter().map(|column| facts::column(column, &[])).collect(),
        storage: Storage::Heap,
        indexes: Vec::new(),
        triggers: Vec::new(),
        constraints: Vec::new(),
        rows: 0,
        partitions: 1,
        partitioning: None,
        database: DatabaseDescription::default(),
    }
}

impl ColumnDescription {
    /// Returns true for a `json` column, which a server describes as text to clients that do not ask for the type.
    pub(crate) fn is_json(&self) -> bool {
        self.type_name.eq_ignore_ascii_case("json")
    }

    /// Returns the type with its collation, as CREATE TABLE writes it.
    pub(crate) fn declared_type(&self) -> String {
        if self.is_json() {
            return "json".to_owned();
        }
        let collation = self.collation.as_ref().map(|collation| format!(" COLLATE {collation}"));
        format!("{}{}", self.column.type_info.sql_type, collation.unwrap_or_default())
    }

    /// Returns name, type, collation and NULL as CREATE TABLE writes them, without identity and default.
    pub(crate) fn declaration(&self) -> String {
        format!(
            "{} {} {}",
            quoted(&self.column.name),
            self.declared_type(),
            if self.column.flags.is_nullable() { "NULL" } else { "NOT NULL" },
        )
    }

    /// Marks the column as NOT NULL, whatever the server's description of an empty result says.
    pub(crate) fn forbid_null(&mut self) {
        forbid_null(&mut self.column);
    }
}

fn forbid_null(column: &mut Column) {
    column.flags.0 &= !ColumnFlags::NULLABLE;
    let described = &column.type_info;
    let form = TypeInfo::new(described.sql_type.clone(), false, described.collation).form;
    column.type_info = TypeInfo { form, ..described.clone() };
}
