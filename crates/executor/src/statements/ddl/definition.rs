//! Clauses of CREATE and ALTER TABLE to definitions.

use databases::catalogue::{
    Check, ColumnDefinition, Default, Identity, IndexOptions, KeyConstraint, Partitioning, TableDefinition,
    has_ansi_padding, same_name,
};
use databases::storage::is_key_column;
use databases::table::scope_of;
use query::{Binder, Scope};
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{ColumnClause, ConstraintClause, ConstraintKind};
use tsql::errors;
use tsql::expression::Expr;
use tsql::file_group::WrittenGroup;
use tsql::index::IndexSettings;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::statements::ddl::constraint;
use crate::statements::ddl::constraint::ForeignKeyClause;
use crate::statements::ddl::database;
use crate::statements::ddl::key_limits;
use crate::statements::ddl::key_limits::KEY_COLUMNS_MAX;
use crate::statements::ddl::partitioning;
use crate::statements::evaluation::environment::SessionEnvironment;

/// Adds a column and the constraints beside it.
pub(crate) fn add_column(
    session: &Session,
    table: &mut TableDefinition,
    clause: &ColumnClause,
    frame: &Frame,
) -> Result<(), SqlError> {
    if table.position(&clause.name).is_some() {
        return Err(SqlError::new(
            2705,
            16,
            3,
            format!(
                "Column names in each table must be unique. Column name '{}' in table '{}' is specified more than once.",
                clause.name, table.name
            ),
        ));
    }
    let environment = SessionEnvironment::new(session, frame);
    let binder = Binder::new(&environment);
    let computed = match &clause.computed {
        Some(computed) => Some(binder.value(&computed.expr, &scope_of(table))?),
        None => None,
    };
    let sql_type = match (&clause.sql_type, &computed) {
        (Some(sql_type), _) => sql_type.clone(),
        (None, Some(computed)) => computed.sql_type.clone(),
        (None, None) => return Err(errors::SYNTAX.with([&clause.name])),
    };
    if sql_type == SqlType::SqlVariant && clause.identity.is_some()
        || clause.identity.is_some() && !can_be_identity(&sql_type)
    {
        return Err(SqlError::new(
            2749,
            16,
            2,
            format!(
                "Identity column '{}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable.",
                clause.name
            ),
        ));
    }
    if clause.identity.is_some() && table.identity().is_some() {
        return Err(SqlError::new(
            2744,
            16,
            2,
            format!(
                "Multiple identity columns specified for table '{}'. Only one identity column per table is allowed.",
                table.name
            ),
        ));
    }
    if sql_type == SqlType::RowVersion
        && let Some(other) = table.columns.iter().find(|column| column.sql_type == SqlType::RowVersion)
        && other.name != clause.name
    {
        return Err(SqlError::new(
            2738,
            16,
            2,
            format!(
                "A table can only have one timestamp column. Because table '{}' already has one, the column '{}' cannot be added.",
                table.name, clause.name
            ),
        ));
    }
    if let Some(collation) = &clause.collation
        && tds::Collation::from_name(collation).is_none()
    {
        return Err(SqlError::new(448, 16, 4, format!("Invalid collation '{collation}'.")));
    }
    // Behind a column without a comma, a key may list other columns: it is then one of the table.
    let keyed = clause.constraints.iter().any(|constraint| match &constraint.kind {
        ConstraintKind::Key { primary: true, columns, .. } => {
            columns.is_empty() || columns.iter().any(|(name, _)| same_name(name, &clause.name))
        }
        _ => false,
    });
    let row_version = sql_type == SqlType::RowVersion;
    let nullable = match clause.nullable {
        Some(true) if clause.identity.is_some() => {
            return Err(SqlError::new(
                8147,
                16,
                1,
                format!(
                    "Could not create IDENTITY attribute on nullable column '{}', table '{}'.",
                    clause.name, table.name
                ),
            ));
        }
        Some(true) if keyed => return Err(null_in_key(&table.name)),
        Some(nullable) => nullable,
        None if computed.is_some() && !keyed => {
            let known = clause.computed.as_ref().is_some_and(|source| keeps_null_out(&source.expr));
            !known || computed.as_ref().is_none_or(|value| value.nullable)
        }
        None => {
            let allowed = session.settings.ansi_null_default_on;
            allowed && !(clause.identity.is_some() || keyed || row_version)
        }
    };
    let default = match &clause.default {
        Some(_) if matches!(sql_type, SqlType::Vector { .. }) => {
            return Err(SqlError::unsupported("DEFAULT of a vector column"));
        }
        Some((name, source)) => {
            // A default that cannot become the column's type is refused now.
            binder.value(&source.expr, &Scope::empty())?.cast(&sql_type)?;
            let object_id = session.instance.new_object_id();
            let name = name.clone().unwrap_or_else(|| made_name("DF", &table.name, &clause.name, object_id));
            Some(Default { name, object_id, text: source.text.clone() })
        }
        None => None,
    };
    if clause.row_guid {
        if sql_type != SqlType::UniqueIdentifier {
            return Err(SqlError::unsupported("ROWGUIDCOL of another type than uniqueidentifier"));
        }
        if table.columns.iter().any(|column| column.row_guid) {
            return Err(second_row_guid());
        }
    }
    let column = ColumnDefinition {
        id: table.next_column_id(),
        row_guid: clause.row_guid,
        name: clause.name.clone(),
        collation: match &clause.collation {
            _ if !sql_type.is_character() => None,
            // That of its expression, which is the server's if nothing else is said.
            _ if clause.computed.is_some() => {
                let collation = computed.and_then(|value| value.collation);
                collation.and_then(|collation| collation.name()).map(|name| name.to_string())
            }
            Some(collation) => Some(collation.clone()),
            None => database::database_collation(session, &table.database)?,
        },
        ansi_padding_off: !session.settings.ansi_padding && has_ansi_padding(&sql_type),
        sql_type,
        nullable,
        identity: clause.identity.map(|(seed, increment)| Identity {
            seed,
            increment,
            reseeded: None,
            reseeded_unused: false,
        }),
        default,
        computed: clause.computed.as_ref().map(|computed| computed.text.clone()),
        alias: clause.alias.clone(),
        persisted: clause.persisted,
        sparse: clause.sparse,
    };
    check_sparse(&column, &table.name)?;
    table.columns.push(column);
    for constraint in &clause.constraints {
        add_constraint(session, table, constraint, Some(&clause.name), frame)?;
    }
    Ok(())
}

/// Refuses a sparse column that cannot be one. Errors: 1731.
pub(super) fn check_sparse(column: &ColumnDefinition, table: &str) -> Result<(), SqlError> {
    let sparse_type = !matches!(
        column.sql_type,
        SqlType::Text | SqlType::NText | SqlType::Image | SqlType::RowVersion | SqlType::Udt { .. }
    );
    let plain = column.nullable && !column.row_guid && column.default.is_none();
    if !column.sparse || plain && sparse_type && column.computed.is_none() {
        return Ok(());
    }
    let text = format!(
        "Cannot create the sparse column '{}' in the table '{table}' because an option or data type specified is not valid. A sparse column must be nullable and cannot have the ROWGUIDCOL, IDENTITY, or FILESTREAM properties. A sparse column cannot be of the following data types: text, ntext, image, geometry, geography, or user-defined type.",
        column.name
    );
    Err(SqlError::new(1731, 16, 1, text))
}

/// Makes error 8196.
pub(super) fn second_row_guid() -> SqlError {
    SqlError::new(8196, 16, 1, "Duplicate column specified as ROWGUIDCOL.")
}

/// Returns the column of a condition that names no other.
fn only_column(condition: &Expr, table: &TableDefinition) -> Option<String> {
    let mut positions = Vec::new();
    condition.clone().rewrite(&mut |part| {
        if let Expr::Column(path) = &part
            && let Some(position) = path.last().and_then(|name| table.position(name))
            && !positions.contains(&position)
        {
            positions.push(position);
        }
        part
    });
    let [position] = positions.as_slice() else { return None };
    table.columns.get(*position).map(|column| column.name.clone())
}

/// Returns true if a computed column of an expression without NULL is NOT NULL in the catalogue. Most expressions
/// may overflow, which without ARITHABORT yields NULL, and so their columns are nullable.
fn keeps_null_out(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(_) => true,
        Expr::Collate(inner, _) => keeps_null_out(inner),
        Expr::Function(call) => {
            call.schema.is_none() && matches!(call.name.as_str(), "ISNULL" | "CONCAT" | "CONCAT_WS")
        }
        _ => false,
    }
}

/// Adds a constraint. `column` is the one it was written beside.
pub(crate) fn add_constraint(
    session: &Session,
    table: &mut TableDefinition,
    clause: &ConstraintClause,
    column: Option<&str>,
    frame: &Frame,
) -> Result<(), SqlError> {
    let object_id = session.instance.new_object_id();
    let made = |prefix: &str| {
        clause.name.clone().unwrap_or_else(|| made_name(prefix, &table.name, column.unwrap_or(""), object_id))
    };
    match &clause.kind {
        ConstraintKind::Key { primary, clustered, columns, settings, group, scheme } => {
            let columns = match (columns.is_empty(), column) {
                (true, Some(column)) => vec![(column.to_string(), false)],
                _ => columns.clone(),
            };
            let name = made(if *primary { "PK" } else { "UQ" });
            let written = group.as_ref().and_then(Option::as_ref);
            partitioning::refuse_bare_scheme(session, &table.database, written)?;
            let group = group.as_ref().map(|group| named_group(session, &table.database, group));
            let scheme = scheme.as_ref();
            let by =
                scheme.map(|scheme| partitioning::written(session, &table.database, scheme)).transpose()?;
            let (primary, clustered) = (*primary, *clustered);
            let key = KeyClause { name, object_id, primary, clustered, columns, group, by };
            add_key(table, key, settings)
        }
        ConstraintKind::Check(source) => {
            let environment = SessionEnvironment::new(session, frame);
            Binder::new(&environment).condition(&source.expr, &scope_of(table))?;
            table.checks.push(Check {
                name: made("CK"),
                object_id,
                text: source.text.clone(),
                column: column.map(str::to_string).or_else(|| only_column(&source.expr, table)),
                trusted: true,
                disabled: false,
            });
            Ok(())
        }
        // SQL Server too leaves FOREIGN KEYs of temporary tables out.
        ConstraintKind::ForeignKey { .. } if table.name.starts_with('#') => Ok(()),
        ConstraintKind::ForeignKey { columns, table: other, referenced, on_delete, on_update } => {
            let columns = match (columns.is_empty(), column) {
                (true, Some(column)) => vec![column.to_string()],
                _ => columns.clone(),
            };
            let clause = ForeignKeyClause {
                name: made("FK"),
                object_id,
                columns,
                table: other,
                referenced,
                on_delete: *on_delete,
                on_update: *on_update,
            };
            constraint::add_foreign_key(session, table, clause)
        }
        ConstraintKind::Default { value, column } => {
            let position = table.position(column).ok_or_else(|| errors::INVALID_COLUMN.with([column]))?;
            let name = clause.name.clone().unwrap_or_else(|| made_name("DF", &table.name, column, object_id));
            let Some(definition) = table.columns.get_mut(position) else {
                return Err(errors::INVALID_COLUMN.with([column]));
            };
            if definition.default.is_some() {
                return Err(SqlError::new(1781, 16, 1, "Column already has a DEFAULT bound to it."));
            }
            definition.default = Some(Default { name, object_id, text: value.text.clone() });
            Ok(())
        }
    }
}

/// Returns the name of the file group that `ON` names; `None` if the database lacks it.
pub(crate) fn named_group(session: &Session, database: &str, written: &WrittenGroup) -> Option<String> {
    match written {
        Some(name) => Some(name.clone()),
        None => {
            let groups = session.instance.store().figures_of(database)?.engine().files().file_groups();
            groups.into_iter().find(|group| group.is_default).map(|group| group.name)
        }
    }
}

fn add_key(table: &mut TableDefinition, key: KeyClause, settings: &IndexSettings) -> Result<(), SqlError> {
    let KeyClause { name, object_id, primary, clustered, columns, group, by } = key;
    if primary && table.keys.iter().any(|key| key.primary) {
        return Err(SqlError::new(
            8110,
            16,
            0,
            format!("Cannot add multiple PRIMARY KEY constraints to table '{}'.", table.name),
        ));
    }
    if columns.len() > KEY_COLUMNS_MAX {
        return Err(key_limits::too_many_columns(&name, &table.name, columns.len()));
    }
    let mut spelled = Vec::with_capacity(columns.len());
    for (column, descending) in columns {
        let position = table.position(&column).ok_or_else(|| {
            SqlError::new(
                1911,
                16,
                1,
                format!("Column name '{column}' does not exist in the target table or view."),
            )
        })?;
        let Some(definition) = table.columns.get_mut(position) else { continue };
        if !is_key_column(definition) {
            let column = definition.clone();
            return Err(key_limits::no_key_column(&column, table));
        }
        // A key column that says nothing of NULL is NOT NULL; the clause was read before the key.
        if primary {
            definition.nullable = false;
        }
        spelled.push((definition.name.clone(), descending));
    }
    let clustered = clustered.unwrap_or(primary && !table.is_clustered());
    if clustered && table.is_clustered() {
        return Err(SqlError::new(
            1902,
            16,
            3,
            format!(
                "Cannot create more than one clustered index on table '{}'. Drop the existing clustered index before creating another.",
                table.name
            ),
        ));
    }
    let index_id = if clustered { 1 } else { table.next_index_id() };
    if clustered {
        table.compression = settings.compression.unwrap_or(table.compression);
    }
    let options = IndexOptions::of(settings);
    let mut key = KeyConstraint {
        name,
        object_id,
        index_id,
        primary,
        clustered,
        columns: spelled,
        options,
        file_group: None,
        partitioning: None,
    };
    match (group, by) {
        // The rows are where the clustered key is, whatever the table says.
        (Some(group), _) if clustered => {
            table.file_groups.rows = group;
            table.partitioning = None;
        }
        (Some(group), _) => key.file_group = group,
        (None, Some(by)) if clustered => table.partitioning = Some(by),
        (None, by) => key.partitioning = by,
    }
    table.keys.push(key);
    let name = table.keys.last().map(|key| key.name.clone()).unwrap_or_default();
    key_limits::refuse_long_key(table, &name)
}

/// PRIMARY KEY or UNIQUE with its name.
struct KeyClause {
    name: String,
    object_id: i32,
    primary: bool,
    clustered: Option<bool>,
    columns: Vec<(String, bool)>,
    /// ON, as far as it is written; None within: a store without groups.
    group: Option<Option<String>>,
    /// ON, if it names a partition scheme.
    by: Option<Partitioning>,
}

/// Makes error 8111: a nullable column cannot be part of a primary key.
pub(crate) fn null_in_key(table: &str) -> SqlError {
    SqlError::new(
        8111,
        16,
        1,
        format!("Cannot define PRIMARY KEY constraint on nullable column in table '{table}'."),
    )
}

/// Makes a constraint name of its table's and its column's, in SQL Server's pattern.
fn made_name(prefix: &str, table: &str, column: &str, object_id: i32) -> String {
    let short = |text: &str, length: usize| text.chars().take(length).collect::<String>();
    if matches!(prefix, "PK" | "UQ") {
        return format!("{prefix}__{}__{:08X}{object_id:08X}", short(table, 8), object_id.rotate_left(16));
    }
    let column = match short(column, 5) {
        column if column.is_empty() => column,
        column => format!("{column}__"),
    };
    format!("{prefix}__{}__{column}{object_id:08X}", short(table, 9))
}

pub(crate) fn can_be_identity(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Decimal { scale: 0, .. }
            | SqlType::Numeric { scale: 0, .. }
    )
}

pub(crate) fn is_large(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::Json)
        || (sql_type.is_plp() && !matches!(sql_type, SqlType::Udt { .. }))
}
