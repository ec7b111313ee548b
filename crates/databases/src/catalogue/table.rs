//! A table as declared.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use rows::mapping::{Form, field_for};
use serde::{Deserialize, Serialize};
use tds::{Collation, Length, SqlType};
use tsql::ObjectName;
use tsql::ast::ReferentialAction;
use tsql::file_group::FileGroups;
use tsql::index::DataCompression;
use tsql::partition::LockEscalation;
use tsql::sql_error::{KeyKind, SqlError};

use crate::catalogue::definition_text::definition_text;
use crate::catalogue::extended_property::ExtendedProperty;
use crate::catalogue::index_options::IndexOptions;
use crate::catalogue::names::same_name;
use crate::catalogue::partition::Partitioning;
use crate::catalogue::row_filter::RowFilter;
use crate::catalogue::trigger::Trigger;

pub use tsql::DEFAULT_COLLATION;

/// A table's definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableDefinition {
    /// Id of the table (`sys.objects.object_id`).
    pub object_id: i32,
    /// Database, as its entry spells it.
    pub database: String,
    /// Schema, as its entry spells it.
    pub schema: String,
    /// Name as created.
    pub name: String,
    /// Microseconds since 1970-01-01 at creation.
    pub created_us: i64,
    /// Columns in order.
    pub columns: Vec<ColumnDefinition>,
    /// PRIMARY KEY and UNIQUE constraints.
    #[serde(default)]
    pub keys: Vec<KeyConstraint>,
    /// Indexes made by CREATE INDEX.
    #[serde(default)]
    pub indexes: Vec<Index>,
    /// CHECK constraints of the table.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// FOREIGN KEY constraints.
    #[serde(default)]
    pub foreign_keys: Vec<ForeignKey>,
    /// DATA_COMPRESSION of its rows: of the heap, or of the clustered index.
    #[serde(default)]
    pub compression: DataCompression,
    /// File groups of the table's pages.
    #[serde(default)]
    pub file_groups: FileGroups,
    /// Partitioning of the table's rows; None: not partitioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioning: Option<Partitioning>,
    /// LOCK_ESCALATION, as declared.
    #[serde(default, skip_serializing_if = "LockEscalation::is_default")]
    pub lock_escalation: LockEscalation,
    /// Bulk loads lock the table as with TABLOCK (sp_tableoption).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lock_on_bulk_load: bool,
    /// Extended properties of the table, its columns, constraints and indexes (sp_addextendedproperty).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended_properties: Vec<ExtendedProperty>,
    /// Triggers of the table, in the order in which they fire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
}

/// Definition of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnDefinition {
    /// Id of the column (`sys.columns.column_id`), never used again after a drop.
    pub id: i32,
    /// Name as created.
    pub name: String,
    /// SQL type of the column.
    #[serde(with = "type_as_text")]
    pub sql_type: SqlType,
    /// True if the column may be NULL.
    pub nullable: bool,
    /// Collation name, for character types.
    #[serde(default)]
    pub collation: Option<String>,
    /// IDENTITY of the column; None: it has none.
    #[serde(default)]
    pub identity: Option<Identity>,
    /// True for a ROWGUIDCOL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row_guid: bool,
    /// DEFAULT constraint of the column.
    #[serde(default)]
    pub default: Option<Default>,
    /// Text of a computed column's expression (its values are stored).
    #[serde(default)]
    pub computed: Option<String>,
    /// PERSISTED, as declared.
    #[serde(default)]
    pub persisted: bool,
    /// True if the column was defined with ANSI_PADDING OFF and its type [depends on the
    /// option](has_ansi_padding).
    #[serde(default)]
    pub ansi_padding_off: bool,
    /// The alias type that it was declared as: `schema.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// SPARSE, which changes nothing of how values are stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sparse: bool,
}

/// Returns true if ANSI_PADDING has an effect on a type: never for Unicode and `max` (the page "SET
/// ANSI_PADDING").
pub fn has_ansi_padding(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::VarChar { length } | SqlType::VarBinary { length } => *length != Length::Max,
        SqlType::Char { .. } | SqlType::Binary { .. } => true,
        _ => false,
    }
}

/// Declaration of an identity column: IDENTITY(seed, increment).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// First value of the column.
    pub seed: i64,
    /// Difference of two values.
    pub increment: i64,
    /// The last value that DBCC CHECKIDENT has set.
    #[serde(default)]
    pub reseeded: Option<i64>,
    /// `reseeded` was set before the first row of all, which is to get the value itself.
    #[serde(default)]
    pub reseeded_unused: bool,
}

impl Identity {
    /// Returns true if `next` comes after `last`.
    pub fn is_behind(&self, next: i64, last: i64) -> bool {
        if self.increment > 0 { next > last } else { next < last }
    }

    /// Returns the last value: the furthest of the rows' values and the value that was set.
    pub fn furthest(&self, stored: Option<i64>) -> Option<i64> {
        match (stored, self.reseeded) {
            (Some(stored), Some(set)) if self.is_behind(set, stored) => Some(set),
            (stored, set) => stored.or(set),
        }
    }
}

/// A DEFAULT constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Default {
    /// Constraint name.
    pub name: String,
    /// Id of the constraint (`object_id`).
    pub object_id: i32,
    /// Text of the expression.
    pub text: String,
}

impl Default {
    /// Returns the expression as sys.default_constraints shows it.
    pub fn definition(&self) -> String {
        definition_text(&self.text)
    }
}

/// PRIMARY KEY or UNIQUE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyConstraint {
    /// Constraint name, also its index's.
    pub name: String,
    /// Id of the constraint (`object_id`).
    pub object_id: i32,
    /// Number of the index (`sys.indexes.index_id`).
    pub index_id: i32,
    /// PRIMARY KEY rather than UNIQUE.
    pub primary: bool,
    /// True for a clustered key.
    pub clustered: bool,
    /// Column name and whether it descends.
    pub columns: Vec<(String, bool)>,
    /// Options of its WITH (…).
    #[serde(default)]
    pub options: IndexOptions,
    /// ON, of a nonclustered one; None: where the table's rows are.
    #[serde(default)]
    pub file_group: Option<String>,
    /// Partitioning of a nonclustered key. A clustered one is partitioned as its table is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioning: Option<Partitioning>,
}

/// An index made by CREATE INDEX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Name of the index.
    pub name: String,
    /// Number of the index (`sys.indexes.index_id`).
    pub index_id: i32,
    /// True if keys are unique.
    pub unique: bool,
    /// True for a clustered index.
    pub clustered: bool,
    /// True for a columnstore index.
    pub columnstore: bool,
    /// Column name and whether it descends.
    pub columns: Vec<(String, bool)>,
    /// INCLUDE columns of the index.
    pub include: Vec<String>,
    /// Text of the filter's condition.
    pub filter: Option<String>,
    /// Options of its WITH (…).
    #[serde(default)]
    pub options: IndexOptions,
    /// ON, of a nonclustered one; None: where the table's rows are.
    #[serde(default)]
    pub file_group: Option<String>,
    /// Partitioning of a nonclustered index. A clustered one is partitioned as its table is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioning: Option<Partitioning>,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Constraint name.
    pub name: String,
    /// Id of the constraint (`object_id`).
    pub object_id: i32,
    /// Text of the condition.
    pub text: String,
    /// Column whose declaration has the constraint; None: a constraint of the table.
    pub column: Option<String>,
    /// True if all rows are known to satisfy the constraint; a bulk load without CHECK_CONSTRAINTS ends that.
    pub trusted: bool,
    /// NOCHECK CONSTRAINT: not enforced.
    #[serde(default)]
    pub disabled: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Constraint name.
    pub name: String,
    /// Id of the constraint (`object_id`).
    pub object_id: i32,
    /// Columns of the table that refer.
    pub columns: Vec<String>,
    /// Referenced schema.
    pub schema: String,
    /// Referenced table.
    pub table: String,
    /// Referenced columns.
    pub referenced: Vec<String>,
    /// Action of ON DELETE.
    #[serde(default)]
    pub on_delete: ReferentialAction,
    /// Action of ON UPDATE.
    #[serde(default)]
    pub on_update: ReferentialAction,
    /// True if all rows are known to satisfy the constraint.
    #[serde(default = "yes")]
    pub trusted: bool,
    /// NOCHECK CONSTRAINT: not enforced.
    #[serde(default)]
    pub disabled: bool,
}

fn yes() -> bool {
    true
}

/// A unique key to enforce: a constraint's or an index's.
#[derive(Debug, Clone, PartialEq)]
pub struct UniqueKey {
    /// The error of a duplicate.
    pub kind: KeyKind,
    /// Constraint or index name.
    pub name: String,
    /// Positions of its columns in the table.
    pub columns: Vec<usize>,
    /// True for the clustered key.
    pub clustered: bool,
    /// IGNORE_DUP_KEY: INSERT leaves duplicates out.
    pub ignores_duplicates: bool,
    /// The rows to which the key applies; None: all.
    pub filter: Option<RowFilter>,
}

impl UniqueKey {
    /// Lists the positions of the columns that decide whether a row is a duplicate.
    pub fn uses(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().copied().chain(self.filter.iter().flat_map(RowFilter::columns))
    }
}

impl Index {
    /// Parses the index's filter.
    ///
    /// # Errors
    /// The errors of [`RowFilter::new`].
    pub fn row_filter(&self, table: &TableDefinition) -> Result<Option<RowFilter>, SqlError> {
        self.filter.as_ref().map(|text| RowFilter::new(text, &self.name, table)).transpose()
    }
}

impl TableDefinition {
    /// Returns the name as `schema.name`, which messages show.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Returns the name as `database.schema.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}.{}", self.database, self.schema, self.name)
    }

    /// Returns the table's name of three parts.
    pub fn object_name(&self) -> ObjectName {
        ObjectName {
            database: Some(self.database.clone()),
            schema: Some(self.schema.clone()),
            name: self.name.clone(),
        }
    }

    /// Returns the position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|candidate| same_name(&candidate.name, column))
    }

    /// Returns the identity column.
    pub fn identity(&self) -> Option<(usize, Identity)> {
        self.columns.iter().enumerate().find_map(|(position, column)| Some((position, column.identity?)))
    }

    /// Returns the Arrow schema of the stored rows: `rows::mapping`'s Exact form, with its metadata.
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(
            self.columns.iter().map(|column| field_for(&column.stored(), &Form::Exact)).collect::<Vec<_>>(),
        ))
    }

    /// Returns true if a FOREIGN KEY is this table's reference to the table `parent` of the same database.
    pub fn refers_to(&self, key: &ForeignKey, parent: &TableDefinition) -> bool {
        same_name(&self.database, &parent.database)
            && same_name(&key.schema, &parent.schema)
            && same_name(&key.table, &parent.name)
    }

    /// Returns the positions of columns by their names.
    pub fn positions(&self, columns: &[String]) -> Vec<usize> {
        columns.iter().filter_map(|column| self.position(column)).collect()
    }

    /// Returns the next free `column_id`.
    pub fn next_column_id(&self) -> i32 {
        self.columns.iter().map(|column| column.id).max().unwrap_or(0) + 1
    }

    /// Returns the PRIMARY KEY or UNIQUE constraint that a FOREIGN KEY is bound to: of those of its columns the one that was there when
    /// it was made. None if that is an index.
    pub fn key_of_reference(&self, reference: &ForeignKey) -> Option<&KeyConstraint> {
        let of_columns = |columns: &[(String, bool)]| {
            columns.len() == reference.referenced.len()
                && columns.iter().all(|(name, _)| reference.referenced.iter().any(|own| same_name(own, name)))
        };
        let keys = || self.keys.iter().filter(|key| of_columns(&key.columns));
        let before = keys().filter(|key| key.object_id < reference.object_id).min_by_key(|key| key.object_id);
        let by_index = || self.indexes.iter().any(|index| index.unique && of_columns(&index.columns));
        before.or_else(|| if by_index() { None } else { keys().next() })
    }

    /// Returns the next free `index_id`; 1 is the clustered index's.
    pub fn next_index_id(&self) -> i32 {
        let used =
            self.keys.iter().map(|key| key.index_id).chain(self.indexes.iter().map(|index| index.index_id));
        used.max().unwrap_or(1).max(1) + 1
    }

    /// Returns the largest `object_id` of the table and its constraints.
    pub fn last_object_id(&self) -> i32 {
        let keys = self.keys.iter().map(|key| key.object_id);
        let checks = self.checks.iter().map(|check| check.object_id);
        let foreign = self.foreign_keys.iter().map(|key| key.object_id);
        let defaults = self.columns.iter().filter_map(|column| Some(column.default.as_ref()?.object_id));
        keys.chain(checks).chain(foreign).chain(defaults).max().unwrap_or(0).max(self.object_id)
    }

    /// Returns true if a clustered index exists (else the table is a heap).
    pub fn is_clustered(&self) -> bool {
        self.keys.iter().any(|key| key.clustered) || self.indexes.iter().any(|index| index.clustered)
    }

    /// Lists all keys that writes must keep unique. Disabled ones are left out.
    pub fn unique_keys(&self) -> Vec<UniqueKey> {
        let positions =
            |columns: &[(String, bool)]| columns.iter().filter_map(|(name, _)| self.position(name)).collect();
        let keys = self.keys.iter().filter(|key| !key.options.disabled).map(|key| UniqueKey {
            kind: if key.primary { KeyKind::PrimaryKey } else { KeyKind::UniqueConstraint },
            name: key.name.clone(),
            columns: positions(&key.columns),
            clustered: key.clustered,
            ignores_duplicates: key.options.ignore_dup_key,
            filter: None,
        });
        let enforced = |index: &&Index| index.unique && !index.options.disabled;
        let indexes = self.indexes.iter().filter(enforced).filter_map(|index| {
            Some(UniqueKey {
                kind: KeyKind::UniqueIndex,
                name: index.name.clone(),
                columns: positions(&index.columns),
                clustered: index.clustered,
                ignores_duplicates: index.options.ignore_dup_key,
                // Checked when the definition was read.
                filter: index.row_filter(self).ok()?,
            })
        });
        keys.chain(indexes).collect()
    }

    /// Finds the key or index of this name, with the error of a duplicate in it and its columns.
    pub fn unique_key(&self, name: &str) -> Option<UniqueKey> {
        self.unique_keys().into_iter().find(|key| key.name == name)
    }

    /// Returns the positions of the columns of the clustered key; none if the table is a heap.
    pub fn clustered_key(&self) -> Vec<usize> {
        let keys = self.keys.iter().filter(|key| key.clustered).map(|key| &key.columns);
        let indexes = self.indexes.iter().filter(|index| index.clustered && !index.columnstore);
        let columns = keys.chain(indexes.map(|index| &index.columns)).next();
        columns.into_iter().flatten().filter_map(|(name, _)| self.position(name)).collect()
    }

    /// Returns true if the table has a key or an index of any kind, so that its rows are in or behind trees
    /// where the store has them.
    pub fn has_indexes(&self) -> bool {
        !(self.keys.is_empty() && self.indexes.is_empty())
    }
}

impl ColumnDefinition {
    /// Returns the column as COLMETADATA describes it.
    pub fn wire(&self) -> tds::Column {
        let collation = self.collation();
        let mut column = tds::Column::new(self.name.clone(), self.sql_type.clone(), self.nullable, collation);
        // Real servers: base columns 0008, identity 0010, computed 0020, each with the nullable bit.
        let nullable = u16::from(self.nullable) * tds::ColumnFlags::NULLABLE;
        if self.identity.is_some() {
            column.flags = tds::ColumnFlags(tds::ColumnFlags::IDENTITY | nullable);
        } else if self.computed.is_some() {
            column.flags = tds::ColumnFlags(tds::ColumnFlags::COMPUTED | nullable);
        }
        column
    }

    /// Returns true if blanks and zeros at the end of values are not kept: with ANSI_PADDING OFF, unless the
    /// length is fixed and NULL no value.
    pub fn trims_padding(&self) -> bool {
        let fixed = matches!(self.sql_type, SqlType::Char { .. } | SqlType::Binary { .. });
        self.ansi_padding_off && (self.nullable || !fixed)
    }

    /// Returns the column as it is stored: [`wire`](Self::wire), but for fixed length without padding, which
    /// varies.
    pub fn stored(&self) -> tds::Column {
        let sql_type = match self.sql_type {
            SqlType::Char { length } if self.trims_padding() => {
                SqlType::VarChar { length: Length::Units(length) }
            }
            SqlType::Binary { length } if self.trims_padding() => {
                SqlType::VarBinary { length: Length::Units(length) }
            }
            _ => return self.wire(),
        };
        tds::Column::new(self.name.clone(), sql_type, self.nullable, self.collation())
    }

    /// Returns the collation of a character column.
    pub fn collation(&self) -> Option<Collation> {
        if !self.sql_type.is_character() {
            return None;
        }
        let named = self.collation.as_deref().and_then(Collation::from_name);
        Some(named.unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS))
    }
}

/// Types are kept in T-SQL's spelling.
mod type_as_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use tds::SqlType;

    pub fn serialize<S: Serializer>(sql_type: &SqlType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&sql_type.to_string())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SqlType, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("{text:?} is no type")))
    }
}
