//! CREATE, DROP, ALTER and TRUNCATE.

use std::sync::Arc;

use store::LockMode;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{AlterAction, ColumnClause, ConstraintKind, CreateTable, StatementKind};
use tsql::file_group::DEFAULT_GROUP;

use super::Session;
use super::interpreter::Frame;
use super::trigger::{drop_triggers, switch_triggers};
use super::user_type::{create_type, drop_type, resolve_columns, resolve_statement};
use super::work::{OpenTable, store_error};
use crate::catalogue::{ForeignKey, PropertyOwner, TableDefinition, same_name};
use crate::storage::{KeyWidth, Reads};
use crate::table::InputRows;

/// Columns of a table.
const COLUMNS_MAX: usize = 1024;

impl Session {
    /// Runs a statement that changes what exists, within a transaction of its own unless one is open.
    pub(super) async fn define(&mut self, statement: &StatementKind, frame: &Frame) -> Result<(), SqlError> {
        match statement {
            StatementKind::CreateDatabase { name, collation } => {
                return self.create_database(name, collation.as_deref());
            }
            StatementKind::DropDatabase { names, if_exists } => {
                return names.iter().try_for_each(|name| self.drop_database(name, *if_exists));
            }
            _ => {}
        }
        let resolved = resolve_statement(self, statement)?;
        let statement = resolved.as_ref().unwrap_or(statement);
        let mark = self.work.start_change()?;
        let result = self.define_inside(statement, frame);
        self.work.end_statement(&mark, result.is_ok())?;
        result
    }

    fn define_inside(&mut self, statement: &StatementKind, frame: &Frame) -> Result<(), SqlError> {
        match statement {
            StatementKind::CreateTable(create) => self.create_table(create, frame),
            StatementKind::DropTable { names, if_exists } => self.drop_tables(names, *if_exists),
            StatementKind::TruncateTable(name) => self.truncate(name),
            StatementKind::AlterTable { table, check, action } => {
                self.alter_table(table, *check, action, frame)
            }
            StatementKind::CreateIndex(create) => self.create_index(create, frame),
            StatementKind::AlterIndex(alter) => self.alter_index(alter, frame),
            StatementKind::DropIndex { names, if_exists } => self.drop_indexes(names, *if_exists),
            StatementKind::CreateSchema(name) => self.create_schema(name),
            StatementKind::DropSchema { name, if_exists } => self.drop_schema(name, *if_exists),
            StatementKind::CreateModule(create) => self.create_module(create, frame),
            StatementKind::CreateSequence { name, options } => self.create_sequence(name, options),
            StatementKind::AlterSequence { name, options } => self.alter_sequence(name, options),
            StatementKind::CreateType(create) => create_type(self, create, frame),
            StatementKind::DropType { name, if_exists } => drop_type(self, name, *if_exists),
            StatementKind::CreateSynonym { name, target } => self.create_synonym(name, target),
            StatementKind::DropModule { kind, names, if_exists } => {
                self.drop_modules(*kind, names, *if_exists)
            }
            _ => Err(SqlError::internal("a statement without a place")),
        }
    }

    fn create_table(&mut self, create: &CreateTable, frame: &Frame) -> Result<(), SqlError> {
        if self.work.find(&create.name, &self.database)?.is_some() {
            return Err(SqlError::object_exists(&create.name.name));
        }
        let definition = self.declared(create, frame)?;
        self.create(definition, &create.name)?;
        Ok(())
    }

    /// DECLARE of a table variable.
    pub(super) fn declare_table(&mut self, create: &CreateTable, frame: &Frame) -> Result<(), SqlError> {
        let refused = create.constraints.iter().chain(create.columns.iter().flat_map(|c| &c.constraints));
        if refused.into_iter().any(|clause| matches!(clause.kind, ConstraintKind::ForeignKey { .. })) {
            return Err(SqlError::syntax_keyword("FOREIGN"));
        }
        let mut create = create.clone();
        resolve_columns(self, &mut create.columns)?;
        let definition = self.declared(&create, frame)?;
        self.work.declare_table(&definition, None)
    }

    /// The definition of a function's table.
    pub(super) fn declared_columns(
        &self,
        create: &CreateTable,
        frame: &Frame,
    ) -> Result<TableDefinition, SqlError> {
        self.declared(create, frame)
    }

    /// The definition that CREATE TABLE writes out.
    fn declared(&self, create: &CreateTable, frame: &Frame) -> Result<TableDefinition, SqlError> {
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
        let mut definition = self.new_definition(&create.name, Vec::new())?;
        definition.compression = create.compression;
        definition.file_groups = create.file_groups.clone();
        let database = definition.database.clone();
        if let Some(group) = &mut definition.file_groups.large_values {
            if group.eq_ignore_ascii_case(DEFAULT_GROUP) {
                *group = self.named_group(&database, &None).unwrap_or_else(|| group.clone());
            }
            let large = |column: &ColumnClause| {
                column.sql_type.as_ref().is_some_and(super::definition::is_large)
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
            self.add_column(&mut definition, column, frame)?;
        }
        let place = |name: &str| create.columns.iter().position(|column| same_name(&column.name, name));
        definition.columns.sort_by_key(|column| place(&column.name));
        for (id, column) in (1..).zip(&mut definition.columns) {
            column.id = id;
        }
        for constraint in &create.constraints {
            self.add_constraint(&mut definition, constraint, None, frame)?;
        }
        Ok(definition)
    }

    fn drop_tables(&mut self, names: &[ObjectName], if_exists: bool) -> Result<(), SqlError> {
        for name in names {
            let Some(table) = self.work.find(name, &self.database)? else {
                if if_exists {
                    continue;
                }
                return Err(SqlError::cannot_drop("table", &name.to_string()));
            };
            if self.referring_from_elsewhere(&table)?.is_some() {
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
            drop_triggers(self, &definition.schema, &definition.database, &definition.triggers)?;
            self.work.write(table.place, |transaction| transaction.drop_table(table.id))?;
            self.instance.forget_table(table.id);
        }
        Ok(())
    }

    /// A FOREIGN KEY of another table that refers to this one.
    fn referring_from_elsewhere(
        &self,
        table: &OpenTable,
    ) -> Result<Option<(OpenTable, ForeignKey)>, SqlError> {
        if table.place != super::work::Place::Shared {
            return Ok(None);
        }
        let referring = self.referring(&table.definition)?;
        Ok(referring.into_iter().find(|(other, _)| other.definition.object_id != table.definition.object_id))
    }

    fn truncate(&mut self, name: &ObjectName) -> Result<(), SqlError> {
        let table =
            self.work.find(name, &self.database)?.ok_or_else(|| SqlError::cannot_truncate(&name.name))?;
        if self.referring_from_elsewhere(&table)?.is_some() {
            return Err(SqlError::new(
                4712,
                16,
                1,
                format!(
                    "Cannot truncate table '{name}' because it is being referenced by a FOREIGN KEY constraint."
                ),
            ));
        }
        self.work.write(table.place, |transaction| transaction.truncate(table.id))?;
        if table.definition.identity().is_some_and(|(_, identity)| identity.reseeded.is_some()) {
            let mut definition = table.definition.as_ref().clone();
            for identity in definition.columns.iter_mut().filter_map(|column| column.identity.as_mut()) {
                identity.reseeded = None;
            }
            self.redefine(&table, &definition)?;
        }
        // The next row gets the seed again.
        self.instance.set_identity(table.definition.object_id, None);
        Ok(())
    }

    fn existing(&self, name: &ObjectName) -> Result<OpenTable, SqlError> {
        self.work.find(name, &self.database)?.ok_or_else(|| SqlError::cannot_find_object(&name.to_string()))
    }

    /// Keeps a changed definition, rows unchanged.
    pub(super) fn redefine(
        &mut self,
        table: &OpenTable,
        definition: &TableDefinition,
    ) -> Result<(), SqlError> {
        let properties = definition.to_properties().map_err(SqlError::internal)?;
        let access = self.work.access(table.place);
        access.write_keyed(definition, |transaction| transaction.set_properties(table.id, &properties))
    }

    fn alter_table(
        &mut self,
        name: &ObjectName,
        check: Option<bool>,
        action: &AlterAction,
        frame: &Frame,
    ) -> Result<(), SqlError> {
        if let AlterAction::SwitchTriggers { names, enabled } = action {
            return switch_triggers(self, name, names.as_deref(), *enabled);
        }
        let table = self.existing(name)?;
        let mut definition = table.definition.as_ref().clone();
        match action {
            AlterAction::Nothing | AlterAction::SwitchTriggers { .. } => Ok(()),
            AlterAction::Several(actions) => {
                actions.iter().try_for_each(|action| self.alter_table(name, check, action, frame))
            }
            AlterAction::Rebuild(settings) => self.rebuild_table(&table, settings),
            AlterAction::Add { columns, constraints } => {
                let keyed: Vec<String> = constraints.iter().flat_map(key_columns).collect();
                if keyed.iter().any(|name| {
                    table
                        .definition
                        .columns
                        .iter()
                        .any(|column| same_name(&column.name, name) && column.nullable)
                }) {
                    return Err(super::definition::null_in_key(&definition.name));
                }
                if !columns.is_empty() {
                    return self.add_columns(&table, columns, constraints, check, frame);
                }
                for constraint in constraints {
                    self.add_constraint(&mut definition, constraint, None, frame)?;
                }
                // A key that the rows do not have: 1505, as for an index.
                let new_key = constraints.iter().find_map(|constraint| match &constraint.kind {
                    ConstraintKind::Key { .. } => definition.keys.last().map(|key| key.name.clone()),
                    _ => None,
                });
                let told = |definition: &TableDefinition, error| match &new_key {
                    Some(name) => super::index::duplicates_found(definition, name, error),
                    None => error,
                };
                // Trees look for duplicates themselves.
                let keys_alone = constraints
                    .iter()
                    .all(|constraint| matches!(constraint.kind, ConstraintKind::Key { .. }));
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
                    self.check_rows(&table, &keys_only, frame)
                } else {
                    // Those that were there may have been taken on trust.
                    let mut asked = definition.clone();
                    asked.checks.drain(..table.definition.checks.len());
                    asked.foreign_keys.drain(..table.definition.foreign_keys.len());
                    self.check_rows(&table, &asked, frame)
                };
                checked
                    .and_then(|()| self.redefine(&table, &definition))
                    .map_err(|error| told(&definition, error))
            }
            AlterAction::DropColumns { names, if_exists } => {
                self.drop_columns(&table, names, *if_exists, frame)
            }
            AlterAction::DropConstraints { names, if_exists } => {
                for constraint in names {
                    self.refuse_referenced_key(&definition, constraint)?;
                    if !remove_constraint(&mut definition, constraint) && !if_exists {
                        return Err(SqlError::new(
                            3728,
                            16,
                            1,
                            format!("'{constraint}' is not a constraint."),
                        ));
                    }
                }
                self.redefine(&table, &definition)
            }
            AlterAction::SwitchConstraints { names, enabled } => {
                self.switch_constraints(&table, definition, names.as_deref(), *enabled, check, frame)
            }
            AlterAction::AlterColumn(clause) => self.alter_column(&table, clause, frame),
        }
    }

    /// Checks that the rows satisfy the constraints of a changed definition.
    pub(super) fn check_rows(
        &mut self,
        table: &OpenTable,
        definition: &TableDefinition,
        frame: &Frame,
    ) -> Result<(), SqlError> {
        if table.rows == 0 {
            return Ok(());
        }
        self.work.lock(table, LockMode::Exclusive)?;
        let changed = OpenTable { definition: Arc::new(definition.clone()), ..table.clone() };
        let options = super::modify::write_options("ALTER TABLE", "ALTER TABLE");
        let mut writer = self.writer_as_given(&changed, frame, options)?;
        for batch in (self.work.opener(table, Reads::Latest))(None, None).map_err(store_error)? {
            let batch = batch.map_err(store_error)?;
            let columns = batch
                .columns()
                .iter()
                .cloned()
                .zip(definition.columns.iter().map(|column| column.sql_type.clone()))
                .map(Some)
                .collect();
            writer.complete(InputRows { columns, rows: batch.num_rows() })?;
        }
        writer.finish()
    }

    fn create_schema(&mut self, name: &str) -> Result<(), SqlError> {
        let mut directory = self.work.directory_to_change()?;
        let current = self.database.clone();
        let Some(database) = directory.database_mut(&current) else {
            return Err(SqlError::unknown_database(&current));
        };
        if database.schema(name).is_some() {
            return Err(SqlError::object_exists(name));
        }
        database.add_schema(name);
        self.work.set_directory(&directory)
    }

    fn drop_schema(&mut self, name: &str, if_exists: bool) -> Result<(), SqlError> {
        let mut directory = self.work.directory_to_change()?;
        let current = self.database.clone();
        let in_use = self.work.view().tables()?.into_iter().find(|table| {
            same_name(&table.definition.database, &current) && same_name(&table.definition.schema, name)
        });
        let module_in_use = self.work.view().modules()?.into_iter().find(|module| {
            same_name(&module.definition.database, &current) && same_name(&module.definition.schema, name)
        });
        let Some(database) = directory.database_mut(&current) else {
            return Err(SqlError::unknown_database(&current));
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
        let type_in_use = self
            .work
            .view()
            .user_types()
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
        self.work.set_directory(&directory)
    }
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
