//! CREATE, ALTER and DROP PARTITION FUNCTION.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use databases::catalogue::{
    PARTITION_FUNCTION_ID_FIRST, PARTITIONS_MAX, PartitionFunction, PartitionRanges, PropertyValue,
    TableDefinition, same_name,
};
use databases::storage::{LockMode, ReadLock, TableId};
use query::Datum;
use query::convert::convert;
use query::types::{is_convertible, is_numeric};
use tds::{Collation, Length, SqlType};
use tsql::SqlError;
use tsql::errors;
use tsql::expression::Expr;
use tsql::parse_expression;
use tsql::partition::{CreatePartitionFunction, PartitionStatement};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::Place;
use crate::session::work::directory;
use crate::session::work::locks;
use crate::statements::ddl::database;
use crate::statements::ddl::partition_scheme;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::partition_number;

/// A boundary before it has the function's type.
type Written = (Datum, SqlType);

/// Runs a statement about a partition function or scheme. Returns what is to be said of it.
pub(crate) async fn run(
    session: &mut Session,
    statement: &PartitionStatement,
    frame: &Frame,
) -> Result<Vec<SqlError>, SqlError> {
    // Boundaries are constants, but may be computed of variables and functions.
    let mut values = Vec::new();
    if written_values(statement).len() >= PARTITIONS_MAX {
        return Err(too_many());
    }
    for expr in written_values(statement) {
        values.push(evaluate::value(session, expr, frame).await?);
    }
    let mark = session.work.start_change()?;
    let result = change(session, statement, values);
    session.work.end_statement(&mark, result.is_ok())?;
    result
}

fn written_values(statement: &PartitionStatement) -> Vec<&Expr> {
    match statement {
        PartitionStatement::CreateFunction(create) => create.values.iter().collect(),
        PartitionStatement::Split { value, .. } | PartitionStatement::Merge { value, .. } => {
            value.iter().collect()
        }
        _ => Vec::new(),
    }
}

fn change(
    session: &mut Session,
    statement: &PartitionStatement,
    values: Vec<Written>,
) -> Result<Vec<SqlError>, SqlError> {
    match statement {
        PartitionStatement::CreateFunction(create) => create_function(session, create, values),
        PartitionStatement::Split { function, .. } => split(session, function, values).map(|()| Vec::new()),
        PartitionStatement::Merge { function, .. } => merge(session, function, values).map(|()| Vec::new()),
        PartitionStatement::DropFunction(name) => drop_function(session, name).map(|()| Vec::new()),
        other => partition_scheme::change(session, other),
    }
}

/// Runs CREATE PARTITION FUNCTION. Errors: 2714 for a name that is taken, 7703 for several parameters, 7704 for a type
/// that has no ranges, 7719 for too many boundaries, and those of [`boundaries`].
fn create_function(
    session: &mut Session,
    create: &CreatePartitionFunction,
    values: Vec<Written>,
) -> Result<Vec<SqlError>, SqlError> {
    let database = current_database(session)?;
    if session.work.view().partition_function(&database, &create.name)?.is_some() {
        return Err(errors::OBJECT_EXISTS.with([&create.name]));
    }
    let [sql_type] = create.parameters.as_slice() else {
        let text = "Can not create RANGE partition function with multiple parameter types.";
        return Err(SqlError::new(7703, 16, 1, text));
    };
    check_type(sql_type)?;
    if let Some(collation) = &create.collation
        && Collation::from_name(collation).is_none()
    {
        return Err(SqlError::new(448, 16, 4, format!("Invalid collation '{collation}'.")));
    }
    let collation = match (sql_type.is_character(), &create.collation) {
        (false, _) => None,
        (true, Some(collation)) => Some(collation.clone()),
        (true, None) => database::database_collation(session, &database)?,
    };
    let now = now_us();
    let mut function = PartitionFunction {
        id: next_id(session, &database)?,
        database,
        name: create.name.clone(),
        created_us: now,
        modified_us: now,
        type_text: sql_type.to_string(),
        collation,
        right: create.right,
        boundaries: Vec::new(),
    };
    let (sorted, was_sorted) = boundaries(&function.ranges()?, values)?;
    function.boundaries = sorted.iter().map(|value| stored(value, sql_type)).collect::<Result<_, _>>()?;
    let key = PartitionFunction::key(&function.database, &function.name);
    let properties = function.to_properties().map_err(|error| SqlError::internal(error))?;
    create_entry(session, &key, &properties, &function.name)?;
    let text = format!(
        "Warning: Range value list for partition function '{0}' is not sorted by value. Mapping of partitions to filegroups during CREATE PARTITION SCHEME will use the sorted boundary values if the function '{0}' is referenced in CREATE PARTITION SCHEME.",
        function.name
    );
    Ok((!was_sorted).then(|| SqlError::new(7709, 0, 1, text)).into_iter().collect())
}

/// Runs ALTER PARTITION FUNCTION … SPLIT RANGE. Errors: 15151 for an unknown function, 7714 without a value, 7719 for
/// too many partitions. 7721 is for an existing boundary, 7710 if a scheme has no file group for the new partition.
fn split(session: &mut Session, name: &str, values: Vec<Written>) -> Result<(), SqlError> {
    let (id, mut function) = to_change(session, name)?;
    let ranges = function.ranges()?;
    let value = only(&ranges, values)?;
    if ranges.count() >= PARTITIONS_MAX {
        return Err(too_many());
    }
    let place = match ranges.find(&value) {
        Err(place) => place,
        Ok(place) => {
            let text = format!(
                "Duplicate range boundary values are not allowed in partition function boundary values list. The boundary value being added is already present at ordinal {} of the boundary value list.",
                place + 1
            );
            return Err(SqlError::new(7721, 16, 1, text));
        }
    };
    function.boundaries.insert(place, stored(&value, ranges.sql_type())?);
    // The new partition is the one that the boundary belongs to.
    partition_scheme::add_partition(session, &function, place + usize::from(function.right))?;
    keep(session, id, function)
}

/// Runs ALTER PARTITION FUNCTION … MERGE RANGE. Errors: 15151 for an unknown function, 7714 without a value, 7715 for
/// one that is no boundary.
fn merge(session: &mut Session, name: &str, values: Vec<Written>) -> Result<(), SqlError> {
    let (id, mut function) = to_change(session, name)?;
    let ranges = function.ranges()?;
    let value = only(&ranges, values)?;
    let Ok(place) = ranges.find(&value) else {
        return Err(SqlError::new(7715, 16, 1, "The specified partition range value could not be found."));
    };
    function.boundaries.remove(place);
    // The partition goes that the boundary belonged to.
    partition_scheme::remove_partition(session, &function, place + usize::from(function.right))?;
    keep(session, id, function)
}

/// Runs DROP PARTITION FUNCTION. Errors: 15151 for an unknown one, 7706 if a scheme uses it, 3729 if an expression of a
/// table does.
fn drop_function(session: &mut Session, name: &str) -> Result<(), SqlError> {
    let database = current_database(session)?;
    let view = session.work.view();
    let (id, function) = view.partition_function(&database, name)?.ok_or_else(|| not_found("drop", name))?;
    let schemes = view.partitions()?.schemes;
    if schemes.iter().any(|scheme| uses(&function, &scheme.database, &scheme.function)) {
        let text =
            format!("Partition function '{}' is being used by one or more partition schemes.", function.name);
        return Err(SqlError::new(7706, 16, 1, text));
    }
    refuse_in_expressions(session, &function, "DROP")?;
    drop_entry(session, id)
}

/// Finds the function of a name, and locks the tables that are partitioned by it exclusively.
fn to_change(session: &mut Session, name: &str) -> Result<(TableId, PartitionFunction), SqlError> {
    let database = current_database(session)?;
    let (id, _) =
        session.work.view().partition_function(&database, name)?.ok_or_else(|| not_found("alter", name))?;
    lock_entry(session, id)?;
    // Reads again, because others may have committed while the lock was waited for.
    let (id, function) =
        session.work.view().partition_function(&database, name)?.ok_or_else(|| not_found("alter", name))?;
    refuse_in_expressions(session, &function, "ALTER")?;
    let partitions = session.work.view().partitions()?;
    let mut tables = session.work.view().tables()?;
    tables.retain(|table| {
        let definition = &table.definition;
        let by = definition.all_partitionings();
        by.into_iter()
            .any(|by| partitions.function_of(definition, by).is_some_and(|own| own.id == function.id))
            && same_name(&definition.database, &database)
    });
    // In one order, so that two such statements do not wait for each other.
    tables.sort_unstable_by_key(|table| table.id);
    tables.iter().try_for_each(|table| locks::lock(&session.work, table, LockMode::Exclusive))?;
    Ok((id, function))
}

fn keep(session: &Session, id: TableId, mut function: PartitionFunction) -> Result<(), SqlError> {
    function.modified_us = now_us();
    let properties = function.to_properties().map_err(|error| SqlError::internal(error))?;
    keep_entry(session, id, &properties)
}

fn uses(function: &PartitionFunction, database: &str, name: &str) -> bool {
    same_name(&function.database, database) && same_name(&function.name, name)
}

/// Errors: 3729 if a computed column or a check calls the function: what is stored of it would not be true any more.
fn refuse_in_expressions(
    session: &Session,
    function: &PartitionFunction,
    verb: &str,
) -> Result<(), SqlError> {
    for table in session.work.view().tables()? {
        let definition = table.definition.as_ref();
        if same_name(&definition.database, &function.database) && calls(definition, &function.name) {
            let text = format!(
                "Cannot {verb} PARTITION FUNCTION '{}' because it is being referenced by object '{}'.",
                function.name, definition.name
            );
            return Err(SqlError::new(3729, 16, 3, text));
        }
    }
    Ok(())
}

/// Returns true if a computed column or a check of a table calls a partition function.
fn calls(table: &TableDefinition, function: &str) -> bool {
    let computed = table.columns.iter().filter_map(|column| column.computed.as_ref());
    let mut texts = computed.chain(table.checks.iter().map(|check| &check.text));
    texts.any(|text| {
        let Ok(expr) = parse_expression(text) else { return false };
        let mut found = false;
        expr.rewrite(&mut |part| {
            if let Expr::Function(call) = &part {
                let prefix = call.schema.as_deref().unwrap_or_default();
                found |=
                    prefix.eq_ignore_ascii_case(partition_number::PREFIX) && same_name(&call.name, function);
            }
            part
        });
        found
    })
}

/// Takes the one value of SPLIT or MERGE. Errors: 7714 without one, and those of [`boundary`].
fn only(ranges: &PartitionRanges, values: Vec<Written>) -> Result<Datum, SqlError> {
    match values.into_iter().next() {
        Some(value) => boundary(value, ranges.sql_type(), 1),
        None => Err(SqlError::new(7714, 16, 1, "Partition range value is missing.")),
    }
}

/// Boundaries in order, and whether they were written so. Errors: those of [`boundary`], 7708 for two that are equal.
fn boundaries(ranges: &PartitionRanges, values: Vec<Written>) -> Result<(Vec<Datum>, bool), SqlError> {
    let sql_type = ranges.sql_type();
    let numbered =
        (1..).zip(values).map(|(ordinal, value)| Ok((ordinal, boundary(value, sql_type, ordinal)?)));
    let mut numbered: Vec<(usize, Datum)> = numbered.collect::<Result<_, SqlError>>()?;
    numbered.sort_by(|(_, one), (_, other)| ranges.compare(one, other));
    let was_sorted = numbered.is_sorted_by_key(|(ordinal, _)| *ordinal);
    let equal = numbered.windows(2).find_map(|pair| match pair {
        [(first, one), (second, other)] if ranges.compare(one, other) == Ordering::Equal => {
            Some((first, second))
        }
        _ => None,
    });
    if let Some((first, second)) = equal {
        let text = format!(
            "Duplicate range boundary values are not allowed in partition function boundary values list. Partition boundary values at ordinal {first} and {second} are equal."
        );
        return Err(SqlError::new(7708, 16, 1, text));
    }
    Ok((numbered.into_iter().map(|(_, value)| value).collect(), was_sorted))
}

/// Converts a boundary to a function's type. Errors: 7705 for one without an implicit conversion, 7720 for one that
/// would lose something.
fn boundary((value, from): Written, to: &SqlType, ordinal: usize) -> Result<Datum, SqlError> {
    let unfit = |state: u8| {
        let text = format!(
            "Could not implicitly convert range values type specified at ordinal {ordinal} to partition function parameter type."
        );
        SqlError::new(7705, 16, state, text)
    };
    if value.is_null() {
        return Ok(Datum::Null);
    }
    if !is_convertible(&from, to) || !is_implicit(&from, to) {
        return Err(unfit(1));
    }
    let converted = convert(value.clone(), &from, to, 0).map_err(|_| unfit(2))?;
    converted.check(to).map_err(|_| unfit(2))?;
    if loses(&value, &from, &converted, to) {
        let text = format!(
            "Data truncated when converting range values to the partition function parameter type. The range value at ordinal {ordinal} requires data truncation."
        );
        return Err(SqlError::new(7720, 16, 1, text));
    }
    Ok(converted)
}

/// Returns true if an assignment converts values of one type to another.
fn is_implicit(from: &SqlType, to: &SqlType) -> bool {
    let money = |sql_type: &SqlType| matches!(sql_type, SqlType::Money | SqlType::SmallMoney);
    match (from, to) {
        (from, to) if from.is_character() && to.is_binary() => false,
        (from, to) if money(from) && to.is_character() => false,
        (from, to) if from.is_temporal() && (is_numeric(to) || to.is_binary()) => false,
        (from, to) if is_numeric(from) && is_modern_moment(to) => false,
        _ => true,
    }
}

/// Returns true for the types of moments to which numbers do not convert.
fn is_modern_moment(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. }
    )
}

/// Returns true if a value has lost something in its conversion to another type.
fn loses(value: &Datum, from: &SqlType, converted: &Datum, to: &SqlType) -> bool {
    match (value, converted) {
        (Datum::Text(before), Datum::Text(after)) => {
            before.trim_end_matches(' ') != after.trim_end_matches(' ')
        }
        (Datum::Binary(before), Datum::Binary(after)) => before.len() > after.len(),
        _ if (is_numeric(from) && is_numeric(to) || from.is_temporal() && to.is_temporal())
            // A float is no exact number to begin with.
            && !matches!(to, SqlType::Real | SqlType::Float) =>
        {
            convert(converted.clone(), to, from, 0).map_or(true, |back| back != *value)
        }
        _ => false,
    }
}

/// Errors: 7704 for a type whose values have no ranges.
fn check_type(sql_type: &SqlType) -> Result<(), SqlError> {
    let state = match sql_type {
        SqlType::SqlVariant => return Err(SqlError::unsupported("A partition function of sql_variant")),
        SqlType::Udt { .. } => 3,
        SqlType::Text
        | SqlType::NText
        | SqlType::Image
        | SqlType::Xml
        | SqlType::Json
        | SqlType::RowVersion
        | SqlType::Vector { .. }
        | SqlType::VarChar { length: Length::Max }
        | SqlType::NVarChar { length: Length::Max }
        | SqlType::VarBinary { length: Length::Max } => 1,
        _ => return Ok(()),
    };
    let text = format!("The type '{sql_type}' is not valid for this operation.");
    Err(SqlError::new(7704, 16, state, text))
}

fn stored(value: &Datum, sql_type: &SqlType) -> Result<PropertyValue, SqlError> {
    if sql_type.is_character() {
        return Ok(PropertyValue::of(value, sql_type));
    }
    let variant = convert(value.clone(), sql_type, &SqlType::SqlVariant, 0)?;
    Ok(PropertyValue::of(&variant, &SqlType::SqlVariant))
}

fn too_many() -> SqlError {
    let text = format!(
        "CREATE/ALTER partition function failed as only a maximum of {PARTITIONS_MAX} partitions can be created."
    );
    SqlError::new(7719, 16, 1, text)
}

fn not_found(verb: &str, name: &str) -> SqlError {
    let text = format!(
        "Cannot {verb} the partition function '{name}', because it does not exist or you do not have permission."
    );
    SqlError::new(15151, 16, 1, text)
}

/// Returns the current database, as its entry spells it.
pub(super) fn current_database(session: &Session) -> Result<String, SqlError> {
    let directory = directory::of(&session.work)?;
    let database = directory.database(&session.database);
    Ok(database.ok_or_else(|| errors::UNKNOWN_DATABASE.with([&session.database]))?.name.clone())
}

fn next_id(session: &Session, database: &str) -> Result<i32, SqlError> {
    let partitions = session.work.view().partitions()?;
    let own = partitions.functions.iter().filter(|function| same_name(&function.database, database));
    Ok(own.map(|function| function.id + 1).fold(PARTITION_FUNCTION_ID_FIRST, i32::max))
}

fn now_us() -> i64 {
    (query::facts::now() - query::datum::DAYS_TO_1970 * query::datum::TICKS_PER_DAY) / 10
}

/// Returns the column of a table of the store that is kept for its properties.
fn no_rows() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]))
}

/// Puts a function or a scheme into the store. Errors: 2714 if another transaction has made one of the name.
pub(super) fn create_entry(
    session: &Session,
    key: &str,
    properties: &str,
    name: &str,
) -> Result<(), SqlError> {
    let created =
        session.work.write(Place::Shared, |transaction| transaction.create_table(key, no_rows(), properties));
    let taken = |error| databases::store_error::name_taken(error, || errors::OBJECT_EXISTS.with([name]));
    created.map(drop).map_err(taken)
}

/// Keeps a changed function or scheme.
pub(super) fn keep_entry(session: &Session, id: TableId, properties: &str) -> Result<(), SqlError> {
    session.work.write(Place::Shared, |transaction| transaction.open(id)?.set_properties(properties))
}

/// Takes a function or a scheme out of the store.
pub(super) fn drop_entry(session: &Session, id: TableId) -> Result<(), SqlError> {
    session.work.write(Place::Shared, |transaction| transaction.open(id)?.drop_table())
}

/// Locks a function or a scheme alone, to the end of the transaction.
pub(super) fn lock_entry(session: &Session, id: TableId) -> Result<(), SqlError> {
    let timeout = crate::session::work::reads::lock_timeout(&session.work);
    session.work.write(Place::Shared, |transaction| transaction.open(id)?.lock(LockMode::Exclusive, timeout))
}

/// Keeps others from changing or dropping a function or a scheme, to the end of the transaction.
pub(crate) fn hold_entry(session: &Session, id: TableId) -> Result<(), SqlError> {
    let timeout = crate::session::work::reads::lock_timeout(&session.work);
    session
        .work
        .write(Place::Shared, |transaction| transaction.open(id)?.lock_for_reading(ReadLock::Shared, timeout))
}
