//! Upserts, and inserts of new keys: the statements that take rows by key from a stage.

use arrow::datatypes::Schema;
use rows::Plan;
use tds::{Column, ColumnFlags, Length, SqlType, Value};

use super::{action::ACTION_COLUMN, directed};
use crate::{
    client::Client,
    describe::{ColumnDescription, TableDescription},
    error::Error,
    options::LoadOptions,
    table_name::{TableName, quoted},
};

/// Moves rows from a stage into a table by key.
#[derive(Debug, Clone)]
pub struct Merge {
    target: TableName,
    keys: Vec<String>,
    columns: Vec<MergeColumn>,
    kind: MergeKind,
    /// The identity column whose values the source has and keeps.
    keeps_identity: bool,
}

/// The effect of a stage's rows on the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeKind {
    /// Rows with a known key update it, the others are inserted.
    Upsert,
    /// Rows with a known key do nothing, the others are inserted.
    InsertNew,
    /// Each row names its own [action](super::RowAction).
    ByAction,
}

#[derive(Debug, Clone)]
struct MergeColumn {
    name: String,
    definition: String,
    is_key: bool,
    is_identity: bool,
    comparison: Comparison,
    /// The binary type that holds every value.
    binary: &'static str,
}

/// The comparison that detects a changed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// The type's own equality.
    Value,
    /// Byte by byte: equal text may differ in case and trailing blanks, and equal times in their offset.
    Bytes,
    /// The type has no equality, so every value counts as different.
    Never,
}

/// Counts of a stage's rows by what happened to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    /// Rows that were inserted.
    pub inserted: u64,
    /// Rows of the table that were updated.
    pub updated: u64,
    /// Rows that the table already had with equal values, or, without updates, with an equal key.
    pub unchanged: u64,
    /// Rows of the table that were deleted.
    pub deleted: u64,
    /// Rows that were to update or delete a row, and the table has none with their key.
    pub missing: u64,
}

impl Merge {
    /// Makes the merge of a source into a table.
    ///
    /// # Errors
    /// [`Error::UpsertKey`] for a key that is no column of both sides, [`Error::Identity`] for the values of an identity
    /// that is neither kept nor the key.
    pub fn new(
        target: &TableDescription,
        schema: &Schema,
        keys: &[String],
        kind: MergeKind,
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        let described = |name: &str| target.columns.iter().find(|c| c.column.name.eq_ignore_ascii_case(name));
        // An identity can be a key without its values being inserted; it can never be updated.
        let mut loadable = target.loadable_columns(true);
        if kind == MergeKind::ByAction {
            loadable.push(action_column());
        }
        let loaded = Plan::new(schema, &loadable, &options.mapping, options.cast.clone());
        let is_loaded = |column: &Column| match &loaded {
            Ok(plan) => plan.declared_columns().iter().any(|declared| declared.name == column.name),
            Err(_) => schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(&column.name)),
        };
        if keys.is_empty() {
            return Err(key_error("", "at least one key column is needed"));
        }
        for key in keys {
            let column = loadable.iter().find(|column| column.name.eq_ignore_ascii_case(key));
            match column {
                None if !schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(key)) => {
                    return Err(key_error(key, "it is not in the source"));
                }
                None => return Err(key_error(key, "it is no column of the table that can be loaded")),
                Some(column) if !is_loaded(column) => return Err(key_error(key, "it is not in the source")),
                Some(column)
                    if !has_equality(column.sql_type())
                        || described(&column.name).is_some_and(ColumnDescription::is_json) =>
                {
                    return Err(key_error(key, "its type has no equality"));
                }
                Some(_) => {}
            }
        }
        if let Err(error) = loaded {
            return Err(error.into());
        }
        let is_key = |name: &str| keys.iter().any(|key| key.eq_ignore_ascii_case(name));
        let columns: Vec<MergeColumn> = loadable
            .iter()
            .filter(|column| is_loaded(column) && column.name != ACTION_COLUMN)
            .map(|column| {
                // A row that deletes needs its key alone.
                let takes_null = kind == MergeKind::ByAction && !is_key(&column.name);
                merge_column(column, described(&column.name), is_key(&column.name), takes_null)
            })
            .collect();
        let identity = columns.iter().find(|column| column.is_identity);
        if let Some(identity) = identity.filter(|identity| !options.keep_identity && !identity.is_key) {
            return Err(Error::Identity { column: identity.name.clone() });
        }
        let keeps_identity = identity.is_some() && options.keep_identity;
        let keys = columns.iter().filter(|column| column.is_key).map(|column| column.name.clone()).collect();
        Ok(Self { target: target.name.clone(), keys, columns, kind, keeps_identity })
    }

    /// Returns the key's columns, as the table spells them.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Returns the columns of the stage.
    pub(crate) fn column_names(&self) -> impl Iterator<Item = &str> {
        let action = self.is_directed().then_some(ACTION_COLUMN);
        self.columns.iter().map(|column| column.name.as_str()).chain(action)
    }

    pub(super) fn has_column(&self, name: &str) -> bool {
        self.column_names().any(|own| own == name)
    }

    /// Writes CREATE TABLE of a stage: the columns of the source, and a key that takes no NULL.
    pub(crate) fn create(&self, stage: &TableName) -> String {
        let mut definitions: Vec<String> =
            self.columns.iter().map(|column| column.definition.clone()).collect();
        if self.is_directed() {
            definitions.push(format!("{} tinyint NOT NULL", quoted(ACTION_COLUMN)));
        }
        format!("CREATE TABLE {stage} ({})", definitions.join(", "))
    }

    /// Makes the columns of a described target those of the stage, before there is one.
    pub(super) fn foresee(&self, stage: &mut TableDescription) {
        stage.columns.retain(|column| self.has_column(&column.column.name));
        for column in &mut stage.columns {
            (column.is_identity, column.has_default, column.is_required) = (false, false, false);
            if self.is_directed() {
                column.column.flags.0 |= ColumnFlags::NULLABLE;
            }
        }
        if self.is_directed() {
            stage.columns.push(ColumnDescription {
                column: action_column(),
                type_name: "tinyint".to_owned(),
                is_identity: false,
                is_computed: false,
                is_rowversion: false,
                has_default: false,
                is_required: false,
                collation: None,
                encryption: None,
            });
        }
        self.forbid_null_keys(stage);
    }

    /// Forbids NULL in the key of a described stage, whatever the server's catalogue has of it.
    pub(crate) fn forbid_null_keys(&self, stage: &mut TableDescription) {
        for column in &mut stage.columns {
            if self.keys.iter().any(|key| key.eq_ignore_ascii_case(&column.column.name)) {
                column.forbid_null();
            }
        }
    }

    /// Looks for rows of the stage that share a key: [`Error::DuplicateKey`].
    pub(crate) fn refuse_duplicates(&self, client: &mut Client, stage: &TableName) -> Result<(), Error> {
        let found = client.query_values(&self.duplicates(stage))?;
        let Some(row) = found.first().and_then(|table| table.rows.first()) else { return Ok(()) };
        let (count, key) =
            row.split_last().ok_or(Error::unexpected("looking for duplicates", "an empty row"))?;
        let key = key.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Err(Error::DuplicateKey { key, count: count.to_string() })
    }

    /// Takes the rows from the stage, within a transaction.
    pub(crate) fn apply(&self, client: &mut Client, stage: &TableName) -> Result<Merged, Error> {
        self.refuse_duplicates(client, stage)?;
        if self.is_directed() {
            return directed::apply(self, client, stage);
        }
        let results = client.query_values(&self.batch(stage))?;
        // Triggers may have results of their own, before the last.
        let row = results.last().and_then(|table| table.rows.first());
        let count = |index: usize| match row.and_then(|row| row.get(index)) {
            Some(Value::BigInt(count)) => {
                u64::try_from(*count).map_err(|_| Error::unexpected("merging", "a negative count"))
            }
            _ => Err(Error::unexpected("merging", "no counts")),
        };
        let (staged, updated, inserted) = (count(0)?, count(1)?, count(2)?);
        let unchanged = staged.saturating_sub(inserted).saturating_sub(updated);
        Ok(Merged { inserted, updated, unchanged, ..Merged::default() })
    }

    /// Names with a prefix, for a list.
    fn names<'a>(&self, columns: impl Iterator<Item = &'a MergeColumn>, prefix: &str) -> String {
        columns.map(|column| format!("{prefix}{}", quoted(&column.name))).collect::<Vec<_>>().join(", ")
    }

    /// Returns the key's columns with a prefix.
    pub(super) fn key_names(&self, prefix: &str) -> String {
        self.names(self.key_columns(), prefix)
    }

    /// Returns true if each row names its own action.
    pub(super) fn is_directed(&self) -> bool {
        self.kind == MergeKind::ByAction
    }

    /// Returns the table that takes the rows.
    pub(super) fn target(&self) -> &TableName {
        &self.target
    }

    fn key_columns(&self) -> impl Iterator<Item = &MergeColumn> {
        self.columns.iter().filter(|column| column.is_key)
    }

    fn duplicates(&self, stage: &TableName) -> String {
        let keys = self.key_names("");
        format!(
            "SELECT TOP (1) {keys}, COUNT_BIG(*) FROM {stage} GROUP BY {keys} HAVING COUNT_BIG(*) > 1 ORDER BY {keys}"
        )
    }

    /// Writes both statements and their counts. Counts of the statements themselves would include those of triggers.
    fn batch(&self, stage: &TableName) -> String {
        format!(
            "DECLARE @updated bigint = 0, @inserted bigint = 0;\n{}{}\n\
             SELECT (SELECT COUNT_BIG(*) FROM {stage}) AS staged, @updated AS updated, @inserted AS inserted",
            self.update(stage, "")
                .map(|update| format!("{update};\nSET @updated = ROWCOUNT_BIG();\n"))
                .unwrap_or_default(),
            self.insert(stage, ""),
        )
    }

    /// Writes the condition that a row of the table and a row of the stage have the same key.
    pub(super) fn matches(&self) -> String {
        self.key_columns()
            .map(|column| format!("t.{0} = s.{0}", quoted(&column.name)))
            .collect::<Vec<_>>()
            .join(" AND ")
    }

    /// Writes UPDATE of the rows that differ. It locks the keys of the others too, known or not, against other writers.
    /// `condition` chooses rows of the stage.
    pub(super) fn update(&self, stage: &TableName, condition: &str) -> Option<String> {
        let changing: Vec<&MergeColumn> =
            self.columns.iter().filter(|column| !column.is_key && !column.is_identity).collect();
        if self.kind == MergeKind::InsertNew || changing.is_empty() {
            return None;
        }
        let assignments: Vec<String> =
            changing.iter().map(|column| format!("{0} = s.{0}", quoted(&column.name))).collect();
        let differ = match changing.iter().any(|column| column.comparison == Comparison::Never) {
            true => String::new(),
            false => {
                // EXCEPT takes two NULLs for the same.
                let side = |side: &str| {
                    let values = changing.iter().map(|column| column.compared(side));
                    values.collect::<Vec<_>>().join(", ")
                };
                format!(" WHERE EXISTS (SELECT {} EXCEPT SELECT {})", side("s"), side("t"))
            }
        };
        Some(format!(
            "UPDATE t SET {} FROM {} AS t WITH (UPDLOCK, SERIALIZABLE) JOIN {stage} AS s ON {}{condition}{differ}",
            assignments.join(", "),
            self.target,
            self.matches(),
        ))
    }

    /// Writes INSERT of the rows whose key is new, with their count. `condition` chooses rows of the stage.
    pub(super) fn insert(&self, stage: &TableName, condition: &str) -> String {
        let table = &self.target;
        let kept = || self.columns.iter().filter(|column| self.keeps_identity || !column.is_identity);
        let insert = format!(
            "INSERT INTO {table} ({}) SELECT {} FROM {stage} AS s WHERE NOT EXISTS \
             (SELECT 1 FROM {table} AS t WITH (UPDLOCK, SERIALIZABLE) WHERE {}){condition};\nSET @inserted = ROWCOUNT_BIG();",
            self.names(kept(), ""),
            self.names(kept(), "s."),
            self.matches(),
        );
        match self.keeps_identity {
            // The setting is the session's, and must not outlive an error.
            true => format!(
                "SET IDENTITY_INSERT {table} ON;\nBEGIN TRY\n{insert}\nEND TRY\nBEGIN CATCH\n\
                 SET IDENTITY_INSERT {table} OFF;\nTHROW;\nEND CATCH;\nSET IDENTITY_INSERT {table} OFF;"
            ),
            false => insert,
        }
    }
}

impl MergeColumn {
    fn compared(&self, side: &str) -> String {
        let name = quoted(&self.name);
        match self.comparison {
            // Bytes that differ in trailing zeros alone are equal to the server.
            Comparison::Bytes => {
                format!("DATALENGTH({side}.{name}), CONVERT({}, {side}.{name})", self.binary)
            }
            Comparison::Value | Comparison::Never => format!("{side}.{name}"),
        }
    }
}

/// Returns the column with a row's action.
fn action_column() -> Column {
    Column::new(ACTION_COLUMN, SqlType::TinyInt, false, None)
}

fn key_error(column: &str, reason: &'static str) -> Error {
    Error::UpsertKey { column: column.to_owned(), reason }
}

fn merge_column(
    column: &Column,
    described: Option<&ColumnDescription>,
    is_key: bool,
    takes_null: bool,
) -> MergeColumn {
    let name = quoted(&column.name);
    let declared =
        described.map_or_else(|| column.type_info.sql_type.to_string(), |known| known.declared_type());
    let is_json = described.is_some_and(ColumnDescription::is_json);
    let null = if is_key || !(takes_null || column.flags.is_nullable()) { "NOT NULL" } else { "NULL" };
    MergeColumn {
        definition: format!("{name} {declared} {null}"),
        name: column.name.clone(),
        is_key,
        is_identity: described.is_some_and(|described| described.is_identity),
        comparison: if is_json { Comparison::Never } else { comparison(column.sql_type()) },
        binary: match column.sql_type() {
            SqlType::VarChar { length: Length::Max }
            | SqlType::NVarChar { length: Length::Max }
            | SqlType::VarBinary { length: Length::Max } => "varbinary(max)",
            _ => "varbinary(8000)",
        },
    }
}

fn has_equality(sql_type: &SqlType) -> bool {
    *sql_type == SqlType::SqlVariant || comparison(sql_type) != Comparison::Never
}

fn comparison(sql_type: &SqlType) -> Comparison {
    match sql_type {
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::NChar { .. }
        | SqlType::NVarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::DateTimeOffset { .. } => Comparison::Bytes,
        SqlType::Bit
        | SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Real
        | SqlType::Float
        | SqlType::SmallMoney
        | SqlType::Money
        | SqlType::SmallDateTime
        | SqlType::DateTime
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime2 { .. }
        | SqlType::Decimal { .. }
        | SqlType::Numeric { .. }
        | SqlType::UniqueIdentifier => Comparison::Value,
        SqlType::Udt { name, .. } if name.eq_ignore_ascii_case("hierarchyid") => Comparison::Value,
        _ => Comparison::Never,
    }
}
