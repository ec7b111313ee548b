//! Tables and indexes on a partition scheme.

use databases::catalogue::{PartitionFunction, Partitioning, TableDefinition, same_name};
use tds::SqlType;
use tsql::SqlError;
use tsql::partition::WrittenScheme;

use crate::session::Session;
use crate::statements::ddl::partition_function::hold_entry;

/// Reads `ON scheme(column)`, before it is [checked](settle). Errors: 2726 unless there is one column.
pub(super) fn written(
    session: &Session,
    database: &str,
    scheme: &WrittenScheme,
) -> Result<Partitioning, SqlError> {
    let Some((_, found)) = session.work.view().partition_scheme(database, &scheme.name)? else {
        return Err(invalid_scheme(&scheme.name));
    };
    let [column] = scheme.columns.as_slice() else {
        let text = format!(
            "Partition function '{}' uses 1 columns which does not match with the number of partition columns used to partition the table or index.",
            found.function
        );
        return Err(SqlError::new(2726, 16, 1, text));
    };
    Ok(Partitioning { scheme: found.name, column: column.clone() })
}

/// Errors: 2726 for a partition scheme that is named without its column, as a file group is.
pub(super) fn refuse_bare_scheme(
    session: &Session,
    database: &str,
    group: Option<&String>,
) -> Result<(), SqlError> {
    let Some(name) = group else { return Ok(()) };
    let bare = WrittenScheme { name: name.clone(), columns: Vec::new() };
    match session.work.view().partition_scheme(database, name)? {
        Some(_) => written(session, database, &bare).map(drop),
        None => Ok(()),
    }
}

/// Completes how a definition is partitioned, and checks it. Keys and indexes that `before` did not have and that name no place
/// are partitioned as their table is.
///
/// Errors: 1707 for TEXTIMAGE_ON, 1908 for a unique key without the partitioning column, and those of [`check`].
pub(super) fn settle(
    session: &Session,
    table: &mut TableDefinition,
    before: Option<&TableDefinition>,
) -> Result<(), SqlError> {
    if table.partitioning.is_some() && table.file_groups.large_values.is_some() {
        let text = "Cannot specify TEXTIMAGE_ON filegroup for a partitioned table.";
        return Err(SqlError::new(1707, 16, 1, text));
    }
    let own = table.partitioning.clone();
    let known = |name: &str| {
        before.is_some_and(|before| {
            before.keys.iter().any(|key| key.name == name)
                || before.indexes.iter().any(|index| index.name == name)
        })
    };
    for key in table.keys.iter_mut().filter(|key| !key.clustered && !known(&key.name)) {
        if key.partitioning.is_none() && key.file_group.is_none() {
            key.partitioning.clone_from(&own);
        }
    }
    for index in table.indexes.iter_mut().filter(|index| !index.clustered && !known(&index.name)) {
        if index.partitioning.is_none() && index.file_group.is_none() {
            index.partitioning.clone_from(&own);
        }
    }
    if let Some(by) = &own {
        table.partitioning = Some(check(session, table, by)?);
    }
    for place in 0..table.keys.len() {
        let Some(by) = table.keys.get(place).and_then(|key| key.partitioning.clone()) else { continue };
        let checked = check(session, table, &by)?;
        if let Some(key) = table.keys.get_mut(place) {
            key.partitioning = Some(checked);
        }
    }
    for place in 0..table.indexes.len() {
        let Some(by) = table.indexes.get(place).and_then(|index| index.partitioning.clone()) else {
            continue;
        };
        let checked = check(session, table, &by)?;
        if let Some(index) = table.indexes.get_mut(place) {
            index.partitioning = Some(checked);
        }
    }
    check_unique_keys(table)
}

/// Errors: 1908 for a unique key that lacks the column which it is partitioned by.
fn check_unique_keys(table: &TableDefinition) -> Result<(), SqlError> {
    let of = |clustered: bool, own: &Option<Partitioning>| match clustered {
        true => table.partitioning.clone(),
        false => own.clone(),
    };
    let keys = table.keys.iter().map(|key| (&key.name, &key.columns, of(key.clustered, &key.partitioning)));
    let indexes = table.indexes.iter().filter(|index| index.unique);
    let indexes =
        indexes.map(|index| (&index.name, &index.columns, of(index.clustered, &index.partitioning)));
    for (name, columns, by) in keys.chain(indexes) {
        let Some(by) = by else { continue };
        if !columns.iter().any(|(column, _)| same_name(column, &by.column)) {
            let text = format!(
                "Column '{}' is partitioning column of the index '{name}'. Partition columns for a unique index must be a subset of the index key.",
                by.column
            );
            return Err(SqlError::new(1908, 16, 1, text));
        }
    }
    Ok(())
}

/// Returns a partitioning in the spelling of its scheme and column. The scheme and its function stay as they are to the
/// end of the transaction.
///
/// Errors: 1921 for an unknown scheme, 1911 for an unknown column, 7724 for a computed one that is not persisted.
/// Errors 7726 and 7727 are for a column of another type or collation than the function's.
fn check(session: &Session, table: &TableDefinition, by: &Partitioning) -> Result<Partitioning, SqlError> {
    let database = &table.database;
    let (id, _) = session
        .work
        .view()
        .partition_scheme(database, &by.scheme)?
        .ok_or_else(|| invalid_scheme(&by.scheme))?;
    hold_entry(session, id)?;
    // Reads again, because others may have committed while the lock was waited for.
    let view = session.work.view();
    let (_, scheme) =
        view.partition_scheme(database, &by.scheme)?.ok_or_else(|| invalid_scheme(&by.scheme))?;
    let missing = || SqlError::internal(format!("partition scheme {} has no function", scheme.name));
    let (id, _) = view.partition_function(database, &scheme.function)?.ok_or_else(missing)?;
    hold_entry(session, id)?;
    let (_, function) =
        session.work.view().partition_function(database, &scheme.function)?.ok_or_else(missing)?;
    let position = table.position(&by.column);
    let Some(column) = position.and_then(|position| table.columns.get(position)) else {
        let text = format!("Column name '{}' does not exist in the target table or view.", by.column);
        return Err(SqlError::new(1911, 16, 1, text));
    };
    if column.computed.is_some() && !column.persisted {
        let text = format!(
            "Computed column cannot be used as a partition key if it is not persisted. Partition key column '{}' in table '{}' is not persisted.",
            column.name, table.name
        );
        return Err(SqlError::new(7724, 16, 1, text));
    }
    let ranges = function.ranges()?;
    if !is_same_type(&column.sql_type, ranges.sql_type()) {
        let text = format!(
            "Partition column '{}' has data type {} which is different from the partition function '{}' parameter data type {}.",
            column.name,
            column.sql_type,
            function.name,
            ranges.sql_type()
        );
        return Err(SqlError::new(7726, 16, 1, text));
    }
    if column.collation() != ranges.collation() {
        let text = format!(
            "Collation of partition column '{}' does not match collation of corresponding parameter in partition function '{}'.",
            column.name, function.name
        );
        return Err(SqlError::new(7727, 16, 1, text));
    }
    Ok(Partitioning { scheme: scheme.name, column: column.name.clone() })
}

/// Returns the partitioning of the key or index of a name.
pub(super) fn of_index<'t>(table: &'t TableDefinition, name: &str) -> Option<&'t Partitioning> {
    let keys = table.keys.iter().map(|key| (&key.name, key.clustered, &key.partitioning));
    let indexes = table.indexes.iter().map(|index| (&index.name, index.clustered, &index.partitioning));
    let (_, clustered, own) = keys.chain(indexes).find(|(own, ..)| same_name(own, name))?;
    if clustered { table.partitioning.as_ref() } else { own.as_ref() }
}

/// Returns the function behind a partitioning. Errors: 596 if it is gone.
pub(crate) fn function_of(
    session: &Session,
    table: &TableDefinition,
    by: &Partitioning,
) -> Result<PartitionFunction, SqlError> {
    let view = session.work.view();
    let scheme = view.partition_scheme(&table.database, &by.scheme)?;
    let function = match &scheme {
        Some((_, scheme)) => view.partition_function(&table.database, &scheme.function)?,
        None => None,
    };
    let missing = || SqlError::internal(format!("partition scheme {} has no function", by.scheme));
    function.map(|(_, function)| function).ok_or_else(missing)
}

/// A key or an index that is not partitioned as its table is.
pub(super) struct Unaligned {
    pub name: String,
    /// The partitioning of the index; `None` if it has none.
    pub partitioning: Option<Partitioning>,
    pub by_another_column: bool,
    /// The partition function of its table.
    pub function: String,
}

/// Finds the first key or index of a partitioned table whose partitions are not those of the table.
pub(super) fn unaligned(session: &Session, table: &TableDefinition) -> Result<Option<Unaligned>, SqlError> {
    let Some(by) = &table.partitioning else { return Ok(None) };
    let function = function_of(session, table, by)?;
    let ranges = function.ranges()?;
    let keys = table.keys.iter().filter(|key| !key.clustered).map(|key| (&key.name, &key.partitioning));
    let indexes = table.indexes.iter().filter(|index| !index.clustered);
    for (name, own) in keys.chain(indexes.map(|index| (&index.name, &index.partitioning))) {
        let by_another_column = own.as_ref().is_some_and(|own| !same_name(&own.column, &by.column));
        let aligned = match own {
            None => false,
            Some(own) if own.scheme == by.scheme => !by_another_column,
            Some(own) => !by_another_column && function_of(session, table, own)?.ranges()? == ranges,
        };
        if !aligned {
            return Ok(Some(Unaligned {
                name: name.clone(),
                partitioning: own.clone(),
                by_another_column,
                function: function.name,
            }));
        }
    }
    Ok(None)
}

/// Returns the number of partitions; `None` if the table is not partitioned.
pub(super) fn count(
    session: &Session,
    table: &TableDefinition,
    by: Option<&Partitioning>,
) -> Result<Option<usize>, SqlError> {
    by.map(|by| function_of(session, table, by).map(|function| function.fanout())).transpose()
}

/// Returns true if a column and a parameter have one type; decimal and numeric are the same.
fn is_same_type(column: &SqlType, parameter: &SqlType) -> bool {
    match (column, parameter) {
        (
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
            SqlType::Decimal { precision: other, scale: others }
            | SqlType::Numeric { precision: other, scale: others },
        ) => precision == other && scale == others,
        (column, parameter) => column == parameter,
    }
}

fn invalid_scheme(name: &str) -> SqlError {
    SqlError::new(1921, 16, 1, format!("Invalid partition scheme '{name}' specified."))
}
