//! New tables: their database, file group and name in the store.

use std::sync::Arc;

use databases::catalogue::{ColumnDefinition, TableDefinition};
use databases::store_error::name_taken;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;

use crate::session::Session;
use crate::session::work;
use crate::session::work::directory;
use crate::session::work::scopes;
use crate::session::work::{OpenTable, Place};

/// Makes the definition of a new table of plain columns.
pub(crate) fn new_definition(
    session: &Session,
    name: &ObjectName,
    columns: Vec<ColumnDefinition>,
) -> Result<TableDefinition, SqlError> {
    let (database, schema) = home_of(session, name)?;
    Ok(TableDefinition {
        object_id: session.instance.new_object_id(),
        database,
        schema,
        name: name.name.clone(),
        created_us: (query::facts::now() - query::datum::DAYS_TO_1970 * query::datum::TICKS_PER_DAY) / 10,
        columns,
        keys: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        compression: Default::default(),
        file_groups: Default::default(),
        partitioning: None,
        lock_escalation: Default::default(),
        lock_on_bulk_load: false,
        extended_properties: Vec::new(),
        triggers: Vec::new(),
    })
}

/// Returns database and schema of a new table, as they are spelled. Errors: 911, 2760.
pub(crate) fn home_of(session: &Session, name: &ObjectName) -> Result<(String, String), SqlError> {
    if name.is_temporary() || name.is_variable() {
        return Ok(("tempdb".to_string(), "dbo".to_string()));
    }
    let directory = directory::of(&session.work)?;
    let wanted = name.database.as_deref().unwrap_or(&session.database);
    let database = directory.database(wanted).ok_or_else(|| errors::UNKNOWN_DATABASE.with([wanted]))?;
    let schema = name.schema.as_deref().unwrap_or("dbo");
    let schema = database.schema(schema).ok_or_else(|| {
        SqlError::new(
            2760,
            16,
            1,
            format!("The specified schema name \"{schema}\" either does not exist or you do not have permission to use it."),
        )
    })?;
    Ok((database.name.clone(), schema.name.clone()))
}

/// Puts a new table into its store. Errors: 2714.
pub(crate) fn create_table_of(
    session: &mut Session,
    definition: TableDefinition,
    name: &ObjectName,
) -> Result<OpenTable, SqlError> {
    let place = work::place_of(name);
    let taken = || errors::OBJECT_EXISTS.with([&name.name]);
    let key = match session.work.find(name, &session.database)? {
        Some(hidden) => scopes::hide(&mut session.work, &hidden, &definition).ok_or_else(taken)?,
        None if session.work.find_module(name, &session.database)?.is_some() => return Err(taken()),
        None => session.work.key_of(name, &session.database),
    };
    let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
    let schema = definition.arrow_schema();
    let created =
        session.work.write(place, |transaction| transaction.create_table(&key, schema, &properties));
    let id = created.map_err(|error| name_taken(error, taken))?;
    if place == Place::Temporary {
        scopes::note_temporary(&mut session.work, &definition, key);
    } else if name.is_global() {
        scopes::note_global(&mut session.work, id);
    }
    Ok(OpenTable { place, id, definition: Arc::new(definition), rows: 0 })
}
