//! ALTER TABLE … ADD, DROP COLUMN and ALTER COLUMN: columns of a table that has rows.
//!
//! Rows are read, converted and rewritten batch by batch, or not at all if only the definition changes.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use databases::catalogue::{ColumnDefinition, TableDefinition, same_name};
use databases::storage::{ColumnSource, LockMode};
use databases::store_error::store_error;
use databases::table::{InputRows, TableWriter};
use databases::waiting;
use query::Datum;
use tds::{Length, SqlType};
use tsql::SqlError;
use tsql::ast::{ColumnClause, ConstraintClause, ConstraintKind};
use tsql::errors;
use tsql::expression::Expr;
use tsql::parse_expression;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::OpenTable;
use crate::session::work::locks;
use crate::statements::ddl::definition;
use crate::statements::ddl::key_limits;
use crate::statements::ddl::partitioning;
use crate::statements::ddl::redefine::writer_as_given;
use crate::statements::dml::destination;
use crate::statements::dml::references;

/// Runs ALTER TABLE … ADD with columns. Errors: 2705 and others of the columns, 4901 for rows that would have no value,
/// those of the constraints.
pub(crate) fn add_columns(
    session: &mut Session,
    table: &OpenTable,
    columns: &[ColumnClause],
    constraints: &[ConstraintClause],
    check: Option<bool>,
    frame: &Frame,
) -> Result<(), SqlError> {
    let before = Arc::clone(&table.definition);
    let mut definition = before.as_ref().clone();
    for column in columns {
        definition::add_column(session, &mut definition, column, frame)?;
    }
    for constraint in constraints {
        definition::add_constraint(session, &mut definition, constraint, None, frame)?;
    }
    for column in added(&definition, &before) {
        let filled = column.nullable
            || column.default.is_some()
            || column.identity.is_some()
            || column.computed.is_some()
            || column.sql_type == SqlType::RowVersion;
        if !filled && table.rows > 0 {
            return Err(SqlError::new(
                4901,
                16,
                1,
                format!(
                    "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified, or the column being added is an identity or timestamp column, or alternatively if none of the previous conditions are satisfied the table must be empty to allow addition of this column. Column '{}' cannot be added to non-empty table '{}' because it does not satisfy these conditions.",
                    column.name, definition.name
                ),
            ));
        }
    }
    partitioning::settle(session, &mut definition, Some(&before))?;
    let mut asked = definition.clone();
    asked.checks.drain(..before.checks.len());
    asked.foreign_keys.drain(..before.foreign_keys.len());
    if check == Some(false) {
        let checks = definition.checks.iter_mut().skip(before.checks.len());
        checks.for_each(|check| check.trusted = false);
        let keys = definition.foreign_keys.iter_mut().skip(before.foreign_keys.len());
        keys.for_each(|key| key.trusted = false);
        asked.checks.clear();
        asked.foreign_keys.clear();
    }
    // A default is for rows to come, unless the column cannot do without it or WITH VALUES says otherwise.
    for clause in columns.iter().filter(|clause| !clause.with_values) {
        let column = asked.columns.iter_mut().find(|own| same_name(&own.name, &clause.name));
        if let Some(column) = column.filter(|column| column.nullable) {
            column.default = None;
        }
    }
    let clauses = columns.iter().flat_map(|column| &column.constraints).chain(constraints);
    let keyed = clauses.filter(|clause| matches!(clause.kind, ConstraintKind::Key { .. })).count();
    let new_key = definition.keys.last().filter(|_| keyed > 0).map(|key| key.name.clone());
    let done = write_columns(session, table, definition.clone(), asked, frame);
    done.map_err(|error| match &new_key {
        Some(name) => key_limits::duplicates_found(&definition, name, error),
        None => error,
    })
}

/// Runs ALTER TABLE … DROP COLUMN. Errors: 4924 for a missing column, 5074 for one in use, 4923 for the last one.
pub(crate) fn drop_columns(
    session: &mut Session,
    table: &OpenTable,
    names: &[String],
    if_exists: bool,
    frame: &Frame,
) -> Result<(), SqlError> {
    let mut definition = table.definition.as_ref().clone();
    for column in names {
        let Some(position) = definition.position(column) else {
            if if_exists {
                continue;
            }
            return Err(no_column("DROP COLUMN", column, &definition));
        };
        if let Some(user) = partitioned_by(&definition, column).or(user_of(session, &definition, column)?) {
            return Err(dependent(&user, column));
        }
        let mut others = definition.columns.iter().enumerate().filter(|(other, _)| *other != position);
        if others.all(|(_, other)| other.computed.is_some()) {
            return Err(SqlError::new(
                4923,
                16,
                1,
                format!(
                    "ALTER TABLE DROP COLUMN failed because '{column}' is the only data column in table '{}'. A table must have at least one data column.",
                    definition.name
                ),
            ));
        }
        definition.columns.remove(position);
    }
    rebuild_columns(session, table, definition, frame)
}

/// Runs ALTER TABLE … ALTER COLUMN. Errors: 4924 for a missing column, 4928 for one that cannot be altered, 5074 for
/// one in use. 515 is for NULLs where none may be, 2628 and others for values that do not fit.
pub(crate) fn alter_column(
    session: &mut Session,
    table: &OpenTable,
    clause: &ColumnClause,
    frame: &Frame,
) -> Result<(), SqlError> {
    let mut definition = table.definition.as_ref().clone();
    let position = definition
        .position(&clause.name)
        .ok_or_else(|| no_column("ALTER COLUMN", &clause.name, &definition))?;
    let (Some(before), Some(sql_type)) = (definition.columns.get(position).cloned(), &clause.sql_type) else {
        return Err(errors::SYNTAX.with([&clause.name]));
    };
    let fixed = match (&before.computed, &before.sql_type, sql_type) {
        (Some(_), ..) => Some("COMPUTED"),
        (_, SqlType::RowVersion, _) | (_, _, SqlType::RowVersion) => Some("timestamp"),
        _ => None,
    };
    if let Some(kind) = fixed {
        let text = format!("Cannot alter column '{}' because it is '{kind}'.", before.name);
        return Err(SqlError::new(4928, 16, 1, text));
    }
    if let Some(collation) = &clause.collation
        && tds::Collation::from_name(collation).is_none()
    {
        return Err(SqlError::new(448, 16, 4, format!("Invalid collation '{collation}'.")));
    }
    let after = ColumnDefinition {
        sql_type: sql_type.clone(),
        nullable: clause.nullable.unwrap_or(before.identity.is_none()),
        collation: clause.collation.clone().filter(|_| sql_type.is_character()),
        // ANSI_PADDING is always ON for ALTER COLUMN.
        ansi_padding_off: false,
        alias: clause.alias.clone(),
        sparse: before.sparse || clause.sparse,
        ..before.clone()
    };
    if after == before {
        return Ok(());
    }
    if before.identity.is_some() && !definition::can_be_identity(sql_type) {
        return Err(SqlError::new(
            2749,
            16,
            2,
            format!(
                "Identity column '{}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable.",
                before.name
            ),
        ));
    }
    let same_type = is_same_type(&before, &after);
    if let Some(user) = partitioned_by(&definition, &before.name).filter(|_| !same_type) {
        return Err(dependent(&user, &before.name));
    }
    let grows = is_longer(&before, &after);
    if let Some(user) =
        user_of(session, &definition, &before.name)?.filter(|user| !user.allows(&before, &after, grows))
    {
        return Err(dependent(&user, &before.name));
    }
    if let Some(column) = definition.columns.get_mut(position) {
        *column = after;
    }
    rebuild_columns(session, table, definition, frame)
}

/// Gives the rows of a table the columns of a changed definition, matched by their ids.
pub(crate) fn rebuild_columns(
    session: &mut Session,
    table: &OpenTable,
    definition: TableDefinition,
    frame: &Frame,
) -> Result<(), SqlError> {
    // The rows still satisfy everything that they satisfied before.
    let asked = TableDefinition { checks: Vec::new(), foreign_keys: Vec::new(), ..definition.clone() };
    write_columns(session, table, definition, asked, frame)
}

/// Writes the columns for a definition of which `asked` is to be computed and checked for the present rows.
fn write_columns(
    session: &mut Session,
    table: &OpenTable,
    definition: TableDefinition,
    mut asked: TableDefinition,
    frame: &Frame,
) -> Result<(), SqlError> {
    locks::lock(&session.work, table, LockMode::Exclusive)?;
    let before = Arc::clone(&table.definition);
    let known = |column: &ColumnDefinition| before.columns.iter().any(|own| own.id == column.id);
    for column in asked.columns.iter_mut().filter(|column| known(column)) {
        column.identity = None;
    }
    let numbered = definition.columns.iter().find(|own| own.identity.is_some() && !known(own));
    if let Some(identity) = numbered.and_then(|column| column.identity) {
        let last = identity.seed.checked_sub(identity.increment).filter(|_| table.rows > 0);
        session.instance.set_identity(definition.object_id, last);
    }
    let had_identity = before.identity().is_some();
    let done = write_altered(session, table, &definition, asked, frame);
    if (done.is_err() && numbered.is_some()) || (had_identity && definition.identity().is_none()) {
        session.instance.set_identity(definition.object_id, None);
    }
    done
}

fn write_altered(
    session: &mut Session,
    table: &OpenTable,
    definition: &TableDefinition,
    asked: TableDefinition,
    frame: &Frame,
) -> Result<(), SqlError> {
    let changed = OpenTable { definition: Arc::new(asked), ..table.clone() };
    let options = destination::write_options("UPDATE", "ALTER TABLE");
    let writer = writer_as_given(session, &changed, frame, options)?;
    let sources = sources(&table.definition, &changed.definition, &writer);
    let mut rows =
        NewRows { before: Arc::clone(&table.definition), definition: definition.clone(), sources, writer };
    let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
    let access = session.work.access(table.place);
    let sources = rows.sources.clone();
    let started = access.write_keyed(definition, |transaction| {
        transaction.open(table.id)?.start_altering(definition.arrow_schema(), &properties, sources)
    })?;
    if let Some(mut altered) = started {
        while let Some(batch) = altered.next() {
            let batch = rows.made(&batch.map_err(store_error)?)?;
            waiting::waiting(|| altered.append(&batch)).map_err(store_error)?;
        }
        access.write_keyed(definition, |transaction| {
            transaction.open(table.id)?.finish_altering(altered, &properties)
        })?;
    }
    rows.writer.finish()
}

/// Finds an object that uses a column: a key, an index, a constraint, a computed column.
fn user_of(session: &Session, definition: &TableDefinition, column: &str) -> Result<Option<User>, SqlError> {
    let is = |name: &String| same_name(name, column);
    let among = |columns: &[(String, bool)]| columns.iter().any(|(name, _)| is(name));
    let object = |name: &str, use_of: UseOf| Some(User { kind: "object", name: name.to_owned(), use_of });
    if let Some(key) = definition.keys.iter().find(|key| among(&key.columns)) {
        let use_of = if key.primary { UseOf::Fixed } else { UseOf::Length };
        return Ok(object(&key.name, use_of));
    }
    let users = definition.indexes.iter().find(|index| among(&index.columns) || index.include.iter().any(is));
    if let Some(index) = users {
        return Ok(Some(User { kind: "index", name: index.name.clone(), use_of: UseOf::Length }));
    }
    let position = definition.position(column);
    let filtered = definition.indexes.iter().find(|index| {
        let filter = index.row_filter(definition).ok().flatten();
        filter.is_some_and(|filter| filter.columns().any(|used| Some(used) == position))
    });
    if let Some(index) = filtered {
        return Ok(Some(User { kind: "index", name: index.name.clone(), use_of: UseOf::Fixed }));
    }
    if let Some(key) = definition.foreign_keys.iter().find(|key| key.columns.iter().any(is)) {
        return Ok(object(&key.name, UseOf::Nullability));
    }
    for (_, key) in references::referring_tables(session, definition)? {
        if key.referenced.iter().any(is) {
            return Ok(object(&key.name, UseOf::Nullability));
        }
    }
    for check in &definition.checks {
        let only = TableDefinition {
            columns: Vec::new(),
            indexes: Vec::new(),
            checks: vec![check.clone()],
            ..definition.clone()
        };
        if uses_column(&only, column) {
            return Ok(object(&check.name, UseOf::Length));
        }
    }
    for computed in definition.columns.iter().filter(|own| own.computed.is_some()) {
        let only = TableDefinition {
            columns: vec![computed.clone()],
            indexes: Vec::new(),
            checks: Vec::new(),
            ..definition.clone()
        };
        if !is(&computed.name) && uses_column(&only, column) {
            return Ok(Some(User { kind: "column", name: computed.name.clone(), use_of: UseOf::Fixed }));
        }
    }
    let own = definition.position(column).and_then(|position| definition.columns.get(position));
    let default = own.and_then(|own| own.default.as_ref());
    Ok(default.and_then(|default| object(&default.name, UseOf::SameType)))
}

/// Returns the partition scheme that partitions the table or an index of it by this column.
fn partitioned_by(definition: &TableDefinition, column: &str) -> Option<User> {
    let by = definition.all_partitionings().into_iter().find(|by| same_name(&by.column, column))?;
    Some(User { kind: "object", name: by.scheme.clone(), use_of: UseOf::Fixed })
}

/// Something that uses a column.
struct User {
    /// The word for the object in messages.
    kind: &'static str,
    name: String,
    use_of: UseOf,
}

/// The changes that are still allowed to a column in use.
enum UseOf {
    /// Nothing.
    Fixed,
    /// The length of a type of variable length.
    Length,
    /// Length, precision and scale, and whether it may be NULL.
    SameType,
    /// Only the nullability may change.
    Nullability,
}

impl User {
    fn allows(&self, before: &ColumnDefinition, after: &ColumnDefinition, grows: bool) -> bool {
        match self.use_of {
            UseOf::Fixed => false,
            UseOf::Length => grows || is_same_type(before, after),
            UseOf::Nullability => is_same_type(before, after),
            UseOf::SameType => {
                std::mem::discriminant(&before.sql_type) == std::mem::discriminant(&after.sql_type)
            }
        }
    }
}

/// Returns true if a column keeps its type and its collation.
fn is_same_type(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    before.sql_type == after.sql_type && before.collation() == after.collation()
}

/// The rows of a table as they are to be.
struct NewRows {
    before: Arc<TableDefinition>,
    definition: TableDefinition,
    sources: Vec<ColumnSource>,
    writer: TableWriter,
}

impl NewRows {
    /// Rows of the new definition, made of rows of the old one.
    fn made(&mut self, batch: &RecordBatch) -> Result<RecordBatch, SqlError> {
        let old = |position: usize| {
            let array: &ArrayRef = batch.columns().get(position)?;
            Some((Arc::clone(array), self.before.columns.get(position)?.sql_type.clone()))
        };
        let given: Vec<Option<(ArrayRef, SqlType)>> = self
            .sources
            .iter()
            .map(|source| match source {
                ColumnSource::Kept(from) | ColumnSource::Made(Some(from)) => old(*from),
                _ => None,
            })
            .collect();
        let rows = batch.num_rows();
        let completed = self.writer.complete(InputRows { columns: given, rows })?;
        // Row versions and computed values of rows that were there stay.
        let arrays = self.sources.iter().zip(completed.columns()).map(|(source, made)| match source {
            ColumnSource::Kept(from) => old(*from).map_or_else(|| Arc::clone(made), |(array, _)| array),
            _ => Arc::clone(made),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = self.definition.arrow_schema();
        RecordBatch::try_new_with_options(schema, arrays.collect(), &options)
            .map_err(|error| SqlError::internal(error))
    }
}

/// Decides the source of each column's values.
fn sources(before: &TableDefinition, asked: &TableDefinition, writer: &TableWriter) -> Vec<ColumnSource> {
    let checked = !asked.checks.is_empty() || !asked.foreign_keys.is_empty();
    let columns = asked.columns.iter().enumerate();
    columns
        .map(|(position, column)| {
            let from = before.columns.iter().position(|own| own.id == column.id);
            match from.and_then(|from| Some((from, before.columns.get(from)?))) {
                Some((from, own)) if is_same(own, column) || is_longer(own, column) => {
                    ColumnSource::Kept(from)
                }
                Some((from, _)) => ColumnSource::Made(Some(from)),
                None if checked
                    || column.identity.is_some()
                    || column.computed.is_some()
                    || column.sql_type == SqlType::RowVersion =>
                {
                    ColumnSource::Made(None)
                }
                None => match (&column.default, writer.constant_default(position)) {
                    (None, _) => ColumnSource::Null,
                    (Some(_), Some(value)) => {
                        ColumnSource::Value(Datum::array(std::slice::from_ref(&value), &column.sql_type))
                    }
                    (Some(_), None) => ColumnSource::Made(None),
                },
            }
        })
        .collect()
}

/// Returns true if the values of one column can be kept for the other, whatever its name. A NOT NULL column may
/// become nullable.
fn is_same(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    before.sql_type == after.sql_type
        && before.trims_padding() == after.trims_padding()
        && before.collation() == after.collation()
        && (after.nullable || !before.nullable)
}

/// Returns true if the only change is a longer limit of variable length.
fn is_longer(before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
    let longer = match (&before.sql_type, &after.sql_type) {
        (SqlType::VarChar { length: own }, SqlType::VarChar { length })
        | (SqlType::NVarChar { length: own }, SqlType::NVarChar { length })
        | (SqlType::VarBinary { length: own }, SqlType::VarBinary { length }) => match (own, length) {
            (Length::Units(own), Length::Units(length)) => own <= length,
            _ => false,
        },
        _ => false,
    };
    longer && before.collation() == after.collation() && (after.nullable || !before.nullable)
}

/// Returns the columns of a definition that another one lacks.
fn added<'d>(
    definition: &'d TableDefinition,
    before: &'d TableDefinition,
) -> impl Iterator<Item = &'d ColumnDefinition> {
    definition.columns.iter().filter(|column| !before.columns.iter().any(|own| own.id == column.id))
}

pub(super) fn no_column(action: &str, column: &str, table: &TableDefinition) -> SqlError {
    let text = format!(
        "ALTER TABLE {action} failed because column '{column}' does not exist in table '{}'.",
        table.name
    );
    SqlError::new(4924, 16, 1, text)
}

/// Makes error 5074: something else needs the column as it is.
fn dependent(user: &User, column: &str) -> SqlError {
    let text = format!("The {} '{}' is dependent on column '{column}'.", user.kind, user.name);
    SqlError::new(5074, 16, 1, text)
}

/// Returns true if a check, a computed column or a filter names the column.
pub(crate) fn uses_column(definition: &TableDefinition, column: &str) -> bool {
    let computed = definition.columns.iter().filter_map(|column| column.computed.as_ref());
    let checks = definition.checks.iter().map(|check| &check.text);
    let filters = definition.indexes.iter().filter_map(|index| index.filter.as_ref());
    computed.chain(checks).chain(filters).any(|text| {
        // A text that cannot be read again may name anything.
        let Ok(expr) = parse_expression(text) else { return true };
        let mut found = false;
        expr.rewrite(&mut |part| {
            if let Expr::Column(path) = &part {
                found |= path.last().is_some_and(|name| same_name(name, column));
            }
            part
        });
        found
    })
}
