//! CREATE, DROP, ALTER and TRUNCATE.

use databases::catalogue::{FIXED_ROLES, ForeignKey, PropertyOwner, TableDefinition, same_name};
use databases::storage::KeyWidth;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::administration::Administration;
use tsql::ast::{AlterAction, ConstraintKind, CreateTable, StatementKind};
use tsql::errors;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::command;
use crate::session::work::directory;
use crate::session::work::scopes;
use crate::session::work::{OpenTable, Place};
use crate::statements::administration::permission;
use crate::statements::ddl::alter_columns;
use crate::statements::ddl::column_attribute;
use crate::statements::ddl::constraint;
use crate::statements::ddl::database;
use crate::statements::ddl::declared_columns;
use crate::statements::ddl::definition;
use crate::statements::ddl::index;
use crate::statements::ddl::key_limits;
use crate::statements::ddl::module;
use crate::statements::ddl::new_table;
use crate::statements::ddl::partition_function;
use crate::statements::ddl::partition_number::PartitionNumbers;
use crate::statements::ddl::partitioning;
use crate::statements::ddl::redefine;
use crate::statements::ddl::sequence;
use crate::statements::ddl::switch;
use crate::statements::ddl::transfer;
use crate::statements::ddl::trigger::{drop_triggers, switch_triggers};
use crate::statements::ddl::truncate;
use crate::statements::ddl::user_type::{create_type, drop_type, resolve_statement};
use crate::statements::dml::references;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::isolation;

/// Runs a statement that changes what exists, and says that it is done.
pub(crate) async fn run_and_tell(
    session: &mut Session,
    statement: &StatementKind,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if !session.settings.format_only {
        isolation::check_definition_change(session, statement)?;
        for notice in run(session, statement, frame).await? {
            answer::inform(session, notice, output).await;
        }
    }
    let code = match statement {
        StatementKind::CreateTable(_) => command::CREATE_TABLE,
        StatementKind::DropTable { .. } => command::DROP_TABLE,
        _ => command::OTHER,
    };
    session.last.error = 0;
    output.done(frame.done_kind(), code, None).await;
    Ok(())
}

/// Runs a statement that changes what exists, within a transaction of its own unless one is open. Returns what is to be said of it.
async fn run(
    session: &mut Session,
    statement: &StatementKind,
    frame: &Frame,
) -> Result<Vec<SqlError>, SqlError> {
    match statement {
        StatementKind::CreateDatabase { name, collation } => {
            return database::create_database(session, name, collation.as_deref()).map(|()| Vec::new());
        }
        StatementKind::DropDatabase { names, if_exists } => {
            names.iter().try_for_each(|name| database::drop_database(session, name, *if_exists))?;
            return Ok(Vec::new());
        }
        StatementKind::Partition(statement) => {
            return partition_function::run(session, statement, frame).await;
        }
        _ => {}
    }
    let resolved = resolve_statement(session, statement)?;
    let statement = resolved.as_ref().unwrap_or(statement);
    let numbers = PartitionNumbers::of(session, statement, frame).await?;
    let mark = session.work.start_change()?;
    let result = match statement {
        StatementKind::AlterTable { table, action: AlterAction::SwitchRows(switch), .. } => {
            switch::run(session, table, &switch.target, &numbers)
        }
        StatementKind::TruncateTable { table, partitions } if !partitions.is_empty() => {
            truncate::truncate_partitions(session, table, &numbers.spans).map(|()| Vec::new())
        }
        StatementKind::AlterIndex(alter) => index::alter_index(session, alter, frame),
        other => define_inside(session, other, frame).map(|()| Vec::new()),
    };
    session.work.end_statement(&mark, result.is_ok())?;
    result
}

fn define_inside(session: &mut Session, statement: &StatementKind, frame: &Frame) -> Result<(), SqlError> {
    match statement {
        StatementKind::CreateTable(create) => create_table(session, create, frame),
        StatementKind::DropTable { names, if_exists } => drop_tables(session, names, *if_exists),
        StatementKind::TruncateTable { table, .. } => truncate::truncate(session, table),
        StatementKind::AlterTable { table, check, action } => {
            alter_table(session, table, *check, action, frame)
        }
        StatementKind::CreateIndex(create) => index::create_index(session, create, frame),
        StatementKind::DropIndex { names, if_exists } => index::drop_indexes(session, names, *if_exists),
        StatementKind::CreateSchema { name, elements } => {
            create_schema(session, name)?;
            // All within the one statement: if one of them fails, there is no schema either.
            elements.iter().try_for_each(|element| {
                let resolved = resolve_statement(session, &element.kind)?;
                define_inside(session, resolved.as_ref().unwrap_or(&element.kind), frame)
                    .map_err(|error| error.at_line(element.line))
            })
        }
        StatementKind::Administration(statement) => match statement.as_ref() {
            Administration::Permission(permission) => permission::run(session, permission),
            _ => Err(SqlError::internal("a statement without a place")),
        },
        StatementKind::TransferObject { schema, name } => transfer::transfer(session, schema, name),
        StatementKind::DropSchema { name, if_exists } => drop_schema(session, name, *if_exists),
        StatementKind::CreateModule(create) => module::create_module(session, create, frame),
        StatementKind::CreateSequence { name, options } => sequence::create_sequence(session, name, options),
        StatementKind::AlterSequence { name, options } => sequence::alter_sequence(session, name, options),
        StatementKind::CreateType(create) => create_type(session, create, frame),
        StatementKind::DropType { name, if_exists } => drop_type(session, name, *if_exists),
        StatementKind::CreateSynonym { name, server, target } => {
            module::create_synonym(session, name, server.as_deref(), target)
        }
        StatementKind::DropModule { kind, names, if_exists } => {
            module::drop_modules(session, *kind, names, *if_exists)
        }
        _ => Err(SqlError::internal("a statement without a place")),
    }
}

fn create_table(session: &mut Session, create: &CreateTable, frame: &Frame) -> Result<(), SqlError> {
    if let Some(found) = session.work.find(&create.name, &session.database)?
        && !scopes::may_hide(&session.work, &found)
    {
        return Err(errors::OBJECT_EXISTS.with([&create.name.name]));
    }
    let definition = declared_columns::declared_column(session, create, frame)?;
    new_table::create_table_of(session, definition, &create.name)?;
    Ok(())
}

fn drop_tables(session: &mut Session, names: &[ObjectName], if_exists: bool) -> Result<(), SqlError> {
    for name in names {
        let Some(table) = session.work.find(name, &session.database)? else {
            if if_exists {
                continue;
            }
            return Err(errors::CANNOT_DROP.with(["table", &name.to_string()]));
        };
        if referring_from_elsewhere(session, &table)?.is_some() {
            return Err(SqlError::new(
                3726,
                16,
                1,
                format!(
                    "Could not drop object '{name}' because it is referenced by a FOREIGN KEY constraint."
                ),
            ));
        }
        let definition = &table.definition;
        drop_triggers(session, &definition.schema, &definition.database, &definition.triggers)?;
        session.work.write(table.place, |transaction| transaction.open(table.id)?.drop_table())?;
        session.instance.forget_table(table.id);
    }
    Ok(())
}

/// Finds a FOREIGN KEY of another table that refers to this one.
pub(super) fn referring_from_elsewhere(
    session: &Session,
    table: &OpenTable,
) -> Result<Option<(OpenTable, ForeignKey)>, SqlError> {
    if table.place != Place::Shared {
        return Ok(None);
    }
    let referring = references::referring_tables(session, &table.definition)?;
    Ok(referring.into_iter().find(|(other, _)| other.definition.object_id != table.definition.object_id))
}

pub(super) fn existing(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    session
        .work
        .find(name, &session.database)?
        .ok_or_else(|| errors::CANNOT_FIND_OBJECT.with([&name.to_string()]))
}

fn alter_table(
    session: &mut Session,
    name: &ObjectName,
    check: Option<bool>,
    action: &AlterAction,
    frame: &Frame,
) -> Result<(), SqlError> {
    if let AlterAction::SwitchTriggers { names, enabled } = action {
        return switch_triggers(session, name, names.as_deref(), *enabled);
    }
    let table = existing(session, name)?;
    let mut definition = table.definition.as_ref().clone();
    match action {
        AlterAction::SwitchTriggers { .. } => Ok(()),
        AlterAction::Several(actions) => {
            actions.iter().try_for_each(|action| alter_table(session, name, check, action, frame))
        }
        AlterAction::SwitchRows(_) => Err(SqlError::internal("SWITCH without a target")),
        AlterAction::LockEscalation(escalation) => {
            definition.lock_escalation = *escalation;
            redefine::redefine(session, &table, &definition)
        }
        AlterAction::SwitchAttribute { column, attribute, on } => {
            column_attribute::switch(&mut definition, column, *attribute, *on)?;
            redefine::redefine(session, &table, &definition)
        }
        AlterAction::Rebuild(rebuild) => index::rebuild_table(session, &table, rebuild),
        AlterAction::Add { columns, constraints } => {
            let keyed: Vec<String> = constraints.iter().flat_map(key_columns).collect();
            if keyed.iter().any(|name| {
                table.definition.columns.iter().any(|column| same_name(&column.name, name) && column.nullable)
            }) {
                return Err(definition::null_in_key(&definition.name));
            }
            if !columns.is_empty() {
                return alter_columns::add_columns(session, &table, columns, constraints, check, frame);
            }
            for constraint in constraints {
                definition::add_constraint(session, &mut definition, constraint, None, frame)?;
            }
            partitioning::settle(session, &mut definition, Some(&table.definition))?;
            // A key that the rows do not have: 1505, as for an index.
            let new_key = constraints.iter().find_map(|constraint| match &constraint.kind {
                ConstraintKind::Key { .. } => definition.keys.last().map(|key| key.name.clone()),
                _ => None,
            });
            let told = |definition: &TableDefinition, error| match &new_key {
                Some(name) => key_limits::duplicates_found(definition, name, error),
                None => error,
            };
            // Trees look for duplicates themselves.
            let keys_alone =
                constraints.iter().all(|constraint| matches!(constraint.kind, ConstraintKind::Key { .. }));
            let wide = KeyWidth::of_table(&definition).iter().any(KeyWidth::is_wide);
            let checked = if keys_alone && !wide {
                Ok(())
            } else if check == Some(false) {
                // New CHECK and FOREIGN KEY constraints are taken on trust; keys never are.
                let known = table.definition.as_ref();
                for check in definition.checks.iter_mut().skip(known.checks.len()) {
                    check.trusted = false;
                }
                for key in definition.foreign_keys.iter_mut().skip(known.foreign_keys.len()) {
                    key.trusted = false;
                }
                let keys_only = TableDefinition {
                    keys: definition.keys.clone(),
                    indexes: definition.indexes.clone(),
                    ..known.clone()
                };
                redefine::check_rows(session, &table, &keys_only, frame)
            } else {
                // Those that were there may have been taken on trust.
                let mut asked = definition.clone();
                asked.checks.drain(..table.definition.checks.len());
                asked.foreign_keys.drain(..table.definition.foreign_keys.len());
                redefine::check_rows(session, &table, &asked, frame)
            };
            checked
                .and_then(|()| redefine::redefine(session, &table, &definition))
                .map_err(|error| told(&definition, error))
        }
        AlterAction::DropColumns { names, if_exists } => {
            alter_columns::drop_columns(session, &table, names, *if_exists, frame)
        }
        AlterAction::DropConstraints { names, if_exists } => {
            for constraint in names {
                constraint::refuse_referenced_key(session, &definition, constraint)?;
                if !remove_constraint(&mut definition, constraint) && !if_exists {
                    return Err(SqlError::new(3728, 16, 1, format!("'{constraint}' is not a constraint.")));
                }
            }
            redefine::redefine(session, &table, &definition)
        }
        AlterAction::SwitchConstraints { names, enabled } => constraint::switch_constraints(
            session,
            &table,
            definition,
            names.as_deref(),
            *enabled,
            check,
            frame,
        ),
        AlterAction::AlterColumn(clause) => alter_columns::alter_column(session, &table, clause, frame),
    }
}

fn create_schema(session: &mut Session, name: &str) -> Result<(), SqlError> {
    let mut directory = directory::to_change(&session.work)?;
    let current = session.database.clone();
    let Some(database) = directory.database_mut(&current) else {
        return Err(errors::UNKNOWN_DATABASE.with([&current]));
    };
    if database.schema(name).is_some() || FIXED_ROLES.iter().any(|(_, role)| same_name(role, name)) {
        return Err(errors::OBJECT_EXISTS.with([name]));
    }
    database.add_schema(name);
    directory::set(&session.work, &directory)
}

fn drop_schema(session: &mut Session, name: &str, if_exists: bool) -> Result<(), SqlError> {
    let mut directory = directory::to_change(&session.work)?;
    let current = session.database.clone();
    let in_use = session.work.view().tables()?.into_iter().find(|table| {
        same_name(&table.definition.database, &current) && same_name(&table.definition.schema, name)
    });
    let module_in_use = session.work.view().modules()?.into_iter().find(|module| {
        same_name(&module.definition.database, &current) && same_name(&module.definition.schema, name)
    });
    let Some(database) = directory.database_mut(&current) else {
        return Err(errors::UNKNOWN_DATABASE.with([&current]));
    };
    let Some(position) = database.schemas.iter().position(|schema| same_name(&schema.name, name)) else {
        if if_exists {
            return Ok(());
        }
        return Err(SqlError::new(
            15151,
            16,
            1,
            format!(
                "Cannot drop the schema '{name}', because it does not exist or you do not have permission."
            ),
        ));
    };
    let type_in_use = session
        .work
        .view()
        .user_types()?
        .into_iter()
        .find(|found| same_name(&found.database, &current) && same_name(&found.schema, name));
    let in_use = in_use
        .map(|table| table.definition.name.clone())
        .or(module_in_use.map(|module| module.definition.name.clone()))
        .or(type_in_use.map(|found| found.name));
    if let Some(object) = in_use {
        return Err(SqlError::new(
            3729,
            16,
            1,
            format!("Cannot drop schema '{name}' because it is being referenced by object '{object}'."),
        ));
    }
    let dropped = PropertyOwner::schema(database.schemas.remove(position).id);
    database.extended_properties.retain(|property| property.owner != dropped);
    directory::set(&session.work, &directory)
}

fn key_columns(constraint: &tsql::ast::ConstraintClause) -> Vec<String> {
    match &constraint.kind {
        tsql::ast::ConstraintKind::Key { primary: true, columns, .. } => {
            columns.iter().map(|(name, _)| name.clone()).collect()
        }
        _ => Vec::new(),
    }
}

/// Removes a constraint of any kind; false if there is none of that name.
fn remove_constraint(definition: &mut TableDefinition, name: &str) -> bool {
    let counts = |definition: &TableDefinition| {
        let defaults = definition.columns.iter().filter(|column| column.default.is_some()).count();
        definition.keys.len() + definition.checks.len() + definition.foreign_keys.len() + defaults
    };
    let before = counts(definition);
    definition.keys.retain(|key| !same_name(&key.name, name));
    definition.checks.retain(|check| !same_name(&check.name, name));
    definition.foreign_keys.retain(|key| !same_name(&key.name, name));
    for column in &mut definition.columns {
        if column.default.as_ref().is_some_and(|default| same_name(&default.name, name)) {
            column.default = None;
        }
    }
    counts(definition) < before
}
