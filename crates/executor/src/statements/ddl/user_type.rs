//! CREATE TYPE, DROP TYPE, and the types that declarations name.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use databases::catalogue::{TableDefinition, USER_TYPE_ID_FIRST, UserType, UserTypeKind, same_name};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{AlterAction, ColumnClause, Declaration, StatementKind};
use tsql::errors;
use tsql::parse_object_name;
use tsql::user_type::{CreateType, TypeBody, name_of_type};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::Place;
use crate::statements::ddl::declared_columns;
use crate::statements::ddl::new_table;
use crate::statements::evaluation::declared_type::{Declared, declared_type, find_type, resolve_columns};

/// Runs CREATE TYPE. Errors: 219 for a name that is taken, and those of the table's columns.
pub(crate) fn create_type(session: &mut Session, create: &CreateType, frame: &Frame) -> Result<(), SqlError> {
    let name = &create.name;
    if name.database.is_some() {
        return Err(SqlError::new(
            117,
            15,
            1,
            format!(
                "The type name '{name}' contains more than the maximum number of prefixes. The maximum is 1."
            ),
        ));
    }
    let taken = parse_object_name(&name.name).is_ok_and(|bare| bare.name.parse::<SqlType>().is_ok());
    if taken || find_type(session, name, None)?.is_some() {
        let text = format!("The type '{name}' already exists, or you do not have permission to create it.");
        return Err(SqlError::new(219, 16, 1, text));
    }
    let (database, schema) = new_table::home_of(session, name)?;
    let known = session.work.view().user_types()?;
    let id = known
        .iter()
        .filter(|known| same_name(&known.database, &database))
        .map(|known| known.id + 1)
        .fold(USER_TYPE_ID_FIRST, i32::max);
    let kind = match &create.body {
        TypeBody::Alias { sql_type: SqlType::Vector { .. }, .. } => {
            return Err(errors::VECTOR_ALIAS.error());
        }
        TypeBody::Alias { sql_type, nullable } => {
            UserTypeKind::Alias { type_text: sql_type.to_string(), nullable: *nullable }
        }
        TypeBody::Table(table) => {
            let mut table = table.clone();
            resolve_columns(session, &mut table.columns)?;
            UserTypeKind::Table(Box::new(declared_columns::declared_columns(session, &table, frame)?))
        }
    };
    let made = UserType { id, database, schema, name: name.name.clone(), kind };
    let properties = made.to_properties().map_err(|error| SqlError::internal(error))?;
    let fields = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
    let key = UserType::key(&made.database, &made.schema, &made.name);
    session
        .work
        .write(Place::Shared, |transaction| transaction.create_table(&key, fields, &properties))
        .map(|_| ())
}

/// Runs DROP TYPE. Errors: 218 if there is none, 3732 if something is declared with it.
pub(crate) fn drop_type(session: &mut Session, name: &ObjectName, if_exists: bool) -> Result<(), SqlError> {
    let Some(found) = find_type(session, name, None)? else {
        if if_exists {
            return Ok(());
        }
        let text = format!(
            "Could not find the type '{name}'. Either it does not exist or you do not have the necessary permission."
        );
        return Err(SqlError::new(218, 16, 1, text));
    };
    if let Some(user) = user_of_type(session, &found)? {
        let text = format!(
            "Cannot drop type '{name}' because it is being referenced by object '{user}'. There may be other objects that reference this type."
        );
        return Err(SqlError::new(3732, 16, 1, text));
    }
    let key = UserType::key(&found.database, &found.schema, &found.name);
    session.work.write(Place::Shared, |transaction| match transaction.table(&key) {
        Some(info) => transaction.open(info.id)?.drop_table(),
        None => Ok(()),
    })
}

/// Finds an object that is declared with a type.
fn user_of_type(session: &Session, wanted: &UserType) -> Result<Option<String>, SqlError> {
    let qualified = wanted.qualified_name();
    let uses = |definition: &TableDefinition| {
        let mut aliases = definition.columns.iter().filter_map(|column| column.alias.as_deref());
        same_name(&definition.database, &wanted.database) && aliases.any(|alias| same_name(alias, &qualified))
    };
    let view = session.work.view();
    if let Some(table) = view.tables()?.into_iter().find(|table| uses(&table.definition)) {
        return Ok(Some(table.definition.name.clone()));
    }
    if let Some(other) = view.user_types()?.into_iter().find(|other| other.table().is_some_and(uses)) {
        return Ok(Some(other.name));
    }
    let modules = view.modules()?;
    let user = modules.iter().map(|module| &module.definition).find(|module| {
        same_name(&module.database, &wanted.database)
            && module.parameters.iter().any(|parameter| {
                parse_object_name(&parameter.type_text).is_ok_and(|name| {
                    same_name(&name.name, &wanted.name)
                        && same_name(name.schema.as_deref().unwrap_or("dbo"), &wanted.schema)
                })
            })
    });
    Ok(user.map(|module| module.name.clone()))
}

/// Replaces alias types in a statement by their base types; `None` if it has none. Errors: those of
/// [`resolve_columns`].
pub(crate) fn resolve_statement(
    session: &Session,
    statement: &StatementKind,
) -> Result<Option<StatementKind>, SqlError> {
    let named = |column: &ColumnClause| column.sql_type.as_ref().and_then(name_of_type).is_some();
    match statement {
        StatementKind::CreateTable(create) if create.columns.iter().any(named) => {
            let mut create = create.clone();
            resolve_columns(session, &mut create.columns)?;
            Ok(Some(StatementKind::CreateTable(create)))
        }
        StatementKind::AlterTable { table, check, action } => {
            let mut action = action.clone();
            match &mut action {
                AlterAction::Add { columns, .. } if columns.iter().any(named) => {
                    resolve_columns(session, columns)?;
                }
                AlterAction::AlterColumn(column) if named(column) => {
                    resolve_columns(session, std::slice::from_mut(column.as_mut()))?;
                }
                _ => return Ok(None),
            }
            Ok(Some(StatementKind::AlterTable { table: table.clone(), check: *check, action }))
        }
        _ => Ok(None),
    }
}

/// Checks what a procedure declares of its parameters. Errors: 2715, 352 for a table that is not READONLY, 346 for a READONLY that is
/// none.
pub(crate) fn check_parameters(session: &Session, parameters: &[Declaration]) -> Result<(), SqlError> {
    for (number, parameter) in (1..).zip(parameters) {
        match (declared_type(session, &parameter.sql_type, number, None)?, parameter.read_only) {
            (Declared::Scalar(_), false) | (Declared::Table(_), true) => {}
            (Declared::Table(_), false) => {
                let text = format!(
                    "The table-valued parameter \"{}\" must be declared with the READONLY option.",
                    parameter.name
                );
                return Err(SqlError::new(352, 15, 1, text));
            }
            (Declared::Scalar(_), true) => {
                let text = format!(
                    "The parameter \"{}\" can not be declared READONLY since it is not a table-valued parameter.",
                    parameter.name
                );
                return Err(SqlError::new(346, 15, 1, text));
            }
        }
    }
    Ok(())
}
