//! The types that declarations name: the system's and the user's.

use databases::catalogue::{TableDefinition, UserType, UserTypeKind};
use query::Datum;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::ColumnClause;
use tsql::ast::Declaration;
use tsql::errors;
use tsql::user_type::name_of_type;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::VariableTable;
use crate::session::work::variables;

/// The meaning of a declared type.
pub(crate) enum Declared {
    /// A type of values.
    Scalar(SqlType),
    /// A table type.
    Table(Box<UserType>),
}

/// Finds the type of a name, in a database or the current one.
pub(crate) fn find_type(
    session: &Session,
    name: &ObjectName,
    database: Option<&str>,
) -> Result<Option<UserType>, SqlError> {
    let database = name.database.as_deref().or(database).unwrap_or(&session.database);
    let schema = name.schema.as_deref().unwrap_or("dbo");
    session.work.view().user_type(&UserType::key(database, schema, &name.name))
}

/// Resolves a declared type. Errors: 2715 for an unknown name; `number` is the declaration's place in its list.
pub(crate) fn declared_type(
    session: &Session,
    sql_type: &SqlType,
    number: usize,
    database: Option<&str>,
) -> Result<Declared, SqlError> {
    let Some(name) = name_of_type(sql_type) else { return Ok(Declared::Scalar(sql_type.clone())) };
    let unknown = || errors::UNKNOWN_TYPE.with([&number.to_string(), &name.to_string()]);
    let found = find_type(session, &name, database)?.ok_or_else(unknown)?;
    match (&found.kind, found.base()) {
        (UserTypeKind::Table(_), _) => Ok(Declared::Table(Box::new(found))),
        (_, Some((base, _))) => Ok(Declared::Scalar(base)),
        _ => Err(unknown()),
    }
}

/// Resolves a declared type where values are meant. Errors: 2715.
pub(crate) fn scalar_type(session: &Session, sql_type: &SqlType, number: usize) -> Result<SqlType, SqlError> {
    match declared_type(session, sql_type, number, None)? {
        Declared::Scalar(sql_type) => Ok(sql_type),
        Declared::Table(table) => {
            Err(errors::UNKNOWN_TYPE.with([&number.to_string(), &table.qualified_name()]))
        }
    }
}

/// Gives variables whose values do not matter to a scope that only describes. Tables are left out.
pub(crate) fn describe_declarations(
    session: &Session,
    declarations: &[Declaration],
    frame: &mut Frame,
) -> Result<(), SqlError> {
    for (number, declaration) in (1..).zip(declarations) {
        if let Declared::Scalar(sql_type) = declared_type(session, &declaration.sql_type, number, None)? {
            frame.declare(&declaration.name, sql_type, Datum::Null);
        }
    }
    Ok(())
}

/// Makes an empty table of a table type under a variable's name.
pub(crate) fn table_of_type(
    session: &mut Session,
    found: &UserType,
    name: &str,
) -> Result<VariableTable, SqlError> {
    let definition = definition_of_type(session, found, name)?;
    variables::make_variable(&mut session.work, &definition, Some(found.id), &[])
}

/// Puts the base types of alias types into columns. Errors: 2715, 350 for a column of a table type.
pub(crate) fn resolve_columns(session: &Session, columns: &mut [ColumnClause]) -> Result<(), SqlError> {
    for (number, column) in (1..).zip(columns) {
        let Some(name) = column.sql_type.as_ref().and_then(name_of_type) else { continue };
        let unknown = || errors::UNKNOWN_TYPE.with([&number.to_string(), &name.to_string()]);
        let found = find_type(session, &name, None)?.ok_or_else(unknown)?;
        let Some((base, nullable)) = found.base() else {
            let text = format!(
                "The column \"{}\" does not have a valid data type. A column cannot be of a user-defined table type.",
                column.name
            );
            return Err(SqlError::new(350, 16, 1, text));
        };
        column.sql_type = Some(base);
        column.nullable = column.nullable.or(Some(nullable));
        column.alias = Some(found.qualified_name());
    }
    Ok(())
}

/// Makes the definition of a variable of a table type.
pub(crate) fn definition_of_type(
    session: &Session,
    found: &UserType,
    name: &str,
) -> Result<TableDefinition, SqlError> {
    let Some(table) = found.table() else { return Err(SqlError::internal("a table of an alias type")) };
    let object_id = session.instance.new_object_id();
    Ok(TableDefinition {
        object_id,
        database: "tempdb".to_string(),
        schema: "dbo".to_string(),
        name: name.to_string(),
        ..table.clone()
    })
}
