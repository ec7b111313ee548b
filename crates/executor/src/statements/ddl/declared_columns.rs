//! The columns that CREATE TABLE, table types and table variables declare.

use databases::catalogue::{TableDefinition, same_name};
use tsql::SqlError;
use tsql::ast::CreateTable;
use tsql::ast::{ColumnClause, ConstraintClause, ConstraintKind};
use tsql::errors;
use tsql::file_group::DEFAULT_GROUP;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::variables;
use crate::statements::ddl::definition;
use crate::statements::ddl::index;
use crate::statements::ddl::new_table;
use crate::statements::ddl::partitioning;
use crate::statements::evaluation::declared_type::resolve_columns;

/// Columns of a table.
const COLUMNS_MAX: usize = 1024;

/// Runs DECLARE of a table variable.
pub(crate) fn declare_table(
    session: &mut Session,
    create: &CreateTable,
    frame: &Frame,
) -> Result<(), SqlError> {
    let refused = create.constraints.iter().chain(create.columns.iter().flat_map(|c| &c.constraints));
    if refused.into_iter().any(|clause| matches!(clause.kind, ConstraintKind::ForeignKey { .. })) {
        return Err(errors::SYNTAX_KEYWORD.with(["FOREIGN"]));
    }
    let mut create = create.clone();
    resolve_columns(session, &mut create.columns)?;
    let definition = declared_column(session, &create, frame)?;
    variables::declare_table(&mut session.work, &definition, None)
}

/// Makes the definition of a function's table.
pub(crate) fn declared_columns(
    session: &Session,
    create: &CreateTable,
    frame: &Frame,
) -> Result<TableDefinition, SqlError> {
    declared_column(session, create, frame)
}

/// Makes the definition that CREATE TABLE writes out.
pub(crate) fn declared_column(
    session: &Session,
    create: &CreateTable,
    frame: &Frame,
) -> Result<TableDefinition, SqlError> {
    if create.columns.len() > COLUMNS_MAX {
        return Err(SqlError::new(
            1702,
            16,
            1,
            format!(
                "CREATE TABLE failed because column '{}' in table '{}' exceeds the maximum of 1024 columns.",
                create.columns.get(COLUMNS_MAX).map_or("", |column| &column.name),
                create.name.name
            ),
        ));
    }
    let beside = beside_clustered(create);
    let create = beside.as_ref().unwrap_or(create);
    let mut definition = new_table::new_definition(session, &create.name, Vec::new())?;
    definition.compression = create.compression;
    definition.file_groups = create.file_groups.clone();
    partitioning::refuse_bare_scheme(session, &definition.database, create.file_groups.rows.as_ref())?;
    if let Some(scheme) = &create.scheme {
        definition.partitioning = Some(partitioning::written(session, &definition.database, scheme)?);
    }
    let database = definition.database.clone();
    if let Some(group) = &mut definition.file_groups.large_values {
        if group.eq_ignore_ascii_case(DEFAULT_GROUP) {
            *group = definition::named_group(session, &database, &None).unwrap_or_else(|| group.clone());
        }
        let large = |column: &ColumnClause| {
            column.sql_type.as_ref().is_some_and(definition::is_large)
                || column.sql_type.as_ref().is_some_and(tds::SqlType::is_plp)
        };
        if !create.columns.iter().any(large) {
            return Err(SqlError::new(
                1709,
                16,
                1,
                "Cannot use TEXTIMAGE_ON when a table has no text, ntext, image, varchar(max), nvarchar(max), non-FILESTREAM varbinary(max), xml or large CLR type columns.",
            ));
        }
    }
    // Computed columns may name columns after them.
    let (plain, computed): (Vec<&ColumnClause>, Vec<&ColumnClause>) =
        create.columns.iter().partition(|column| column.computed.is_none());
    for column in plain.into_iter().chain(computed) {
        definition::add_column(session, &mut definition, column, frame)?;
    }
    for name in create.constraints.iter().flat_map(primary_columns) {
        let written = create.columns.iter().find(|column| same_name(&column.name, name));
        if written.is_some_and(|column| column.nullable == Some(true)) {
            return Err(definition::null_in_key(&create.name.name));
        }
    }
    let place = |name: &str| create.columns.iter().position(|column| same_name(&column.name, name));
    definition.columns.sort_by_key(|column| place(&column.name));
    for (id, column) in (1..).zip(&mut definition.columns) {
        column.id = id;
    }
    for constraint in &create.constraints {
        definition::add_constraint(session, &mut definition, constraint, None, frame)?;
    }
    index::add_inline(session, &mut definition, &create.indexes)?;
    partitioning::settle(session, &mut definition, None)?;
    index::check_inline(&definition)?;
    Ok(definition)
}

/// Returns the statement with its PRIMARY KEY nonclustered, if the key says nothing and another one is written as CLUSTERED.
fn beside_clustered(create: &CreateTable) -> Option<CreateTable> {
    let of_columns = create.columns.iter().flat_map(|column| &column.constraints);
    let mut keys = create.constraints.iter().chain(of_columns);
    let written = |clause: &ConstraintClause| {
        matches!(clause.kind, ConstraintKind::Key { primary: false, clustered: Some(true), .. })
    };
    if !create.indexes.iter().any(|index| index.clustered) && !keys.any(written) {
        return None;
    }
    let mut create = create.clone();
    let of_columns = create.columns.iter_mut().flat_map(|column| &mut column.constraints);
    for clause in create.constraints.iter_mut().chain(of_columns) {
        if let ConstraintKind::Key { primary: true, clustered: clustered @ None, .. } = &mut clause.kind {
            *clustered = Some(false);
        }
    }
    Some(create)
}

/// Returns the columns of a PRIMARY KEY of the table.
fn primary_columns(constraint: &ConstraintClause) -> impl Iterator<Item = &str> {
    let columns = match &constraint.kind {
        ConstraintKind::Key { primary: true, columns, .. } => columns.as_slice(),
        _ => &[],
    };
    columns.iter().map(|(name, _)| name.as_str())
}
