//! sp_rename: tables, views, procedures and the like; columns, indexes and constraints.

use tsql::ObjectName;
use tsql::SqlError;
use tsql::expression::Expr;
use tsql::{parse_expression, parse_object_name};

use super::Session;
use super::interpreter::Frame;
use super::work::{OpenTable, place_of};
use crate::catalogue::{ModuleKind, TableDefinition, same_name};

impl Session {
    /// Renames what `name` names. Errors: 15225 if nothing does, 15248 for an unknown kind, 15335 if the new name is taken,
    /// 15336 for a column that a check or a computed column uses.
    pub(super) fn rename(
        &mut self,
        name: &str,
        new: &str,
        kind: Option<&str>,
        frame: &Frame,
    ) -> Result<(), SqlError> {
        let parsed = parse_object_name(name).map_err(|_| self.nothing_named(name, kind))?;
        let mark = self.work.start_change()?;
        let result = match kind.map(str::to_ascii_uppercase).as_deref() {
            Some("COLUMN") => self.rename_column(&parsed, new, name, frame),
            Some("INDEX") => self.rename_index(&parsed, new, name),
            None | Some("OBJECT") => self.rename_object(&parsed, new, name, kind),
            Some(_) => Err(SqlError::new(
                15248,
                11,
                1,
                format!(
                    "Either the parameter @objname is ambiguous or the claimed @objtype ({}) is wrong.",
                    kind.unwrap_or_default()
                ),
            )),
        };
        self.work.end_statement(&mark, result.is_ok())?;
        result
    }

    fn nothing_named(&self, name: &str, kind: Option<&str>) -> SqlError {
        let kind = kind.map_or("(null)".to_string(), str::to_string);
        SqlError::new(
            15225,
            11,
            1,
            format!(
                "No item by the name of '{name}' could be found in the current database '{}', given that @itemtype was input as '{kind}'.",
                self.database
            ),
        )
    }

    /// The tables of the current database.
    fn own_tables(&self) -> Result<Vec<OpenTable>, SqlError> {
        let mut tables = self.work.view().tables()?;
        tables.retain(|table| same_name(&table.definition.database, &self.database));
        Ok(tables)
    }

    fn rename_object(
        &mut self,
        name: &ObjectName,
        new: &str,
        written: &str,
        kind: Option<&str>,
    ) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or("dbo");
        let tables = self.own_tables()?;
        let taken = tables.iter().any(|table| {
            same_name(&table.definition.schema, schema)
                && table.definition.objects().iter().any(|object| same_name(object.name, new))
                // Only the case may change.
                && !same_name(new, &name.name)
        });
        let module = |own: &str| {
            let wanted = ObjectName { name: own.to_string(), ..name.clone() };
            self.work.find_module(&wanted, &self.database)
        };
        let other = !same_name(new, &name.name) && module(new)?.is_some();
        if taken || other {
            return Err(duplicate(new, "object"));
        }
        if let Some((id, module)) = module(&name.name)? {
            let renamed = ObjectName { name: new.to_string(), ..name.clone() };
            let key = self.work.key_of(&renamed, &self.database);
            let mut definition = module.definition.clone();
            // The text stays as it was written, as in SQL Server.
            definition.name = new.to_string();
            self.work.write(place_of(&renamed), |transaction| transaction.rename_table(id, &key))?;
            return self.keep_module(id, &definition, place_of(&renamed));
        }
        if let Some(table) = self.work.find(name, &self.database)? {
            return self.rename_table(&table, name, new, &tables);
        }
        let owner = tables.into_iter().find(|table| {
            same_name(&table.definition.schema, schema) && table.definition.object_named(&name.name).is_some()
        });
        let owner = owner.ok_or_else(|| self.nothing_named(written, kind))?;
        let mut definition = owner.definition.as_ref().clone();
        let names = definition
            .keys
            .iter_mut()
            .map(|key| &mut key.name)
            .chain(definition.checks.iter_mut().map(|check| &mut check.name))
            .chain(definition.foreign_keys.iter_mut().map(|key| &mut key.name))
            .chain(definition.columns.iter_mut().filter_map(|c| Some(&mut c.default.as_mut()?.name)));
        for own in names.filter(|own| same_name(own, &name.name)) {
            *own = new.to_string();
        }
        self.redefine(&owner, &definition)
    }

    fn rename_table(
        &mut self,
        table: &OpenTable,
        name: &ObjectName,
        new: &str,
        tables: &[OpenTable],
    ) -> Result<(), SqlError> {
        let renamed = ObjectName { name: new.to_string(), ..name.clone() };
        let key = self.work.key_of(&renamed, &self.database);
        let mut definition = table.definition.as_ref().clone();
        definition.name = new.to_string();
        let refers = |key: &crate::catalogue::ForeignKey| {
            same_name(&key.table, &table.definition.name) && same_name(&key.schema, &table.definition.schema)
        };
        for key in definition.foreign_keys.iter_mut().filter(|key| refers(key)) {
            key.table = new.to_string();
        }
        self.work.write(table.place, |transaction| transaction.rename_table(table.id, &key))?;
        self.redefine(table, &definition)?;
        for other in tables.iter().filter(|other| other.id != table.id) {
            if other.definition.foreign_keys.iter().any(refers) {
                let mut changed = other.definition.as_ref().clone();
                for key in changed.foreign_keys.iter_mut().filter(|key| refers(key)) {
                    key.table = new.to_string();
                }
                self.redefine(other, &changed)?;
            }
        }
        Ok(())
    }

    /// The table of `schema.table.part`, and the part's name.
    fn part_of(&self, name: &ObjectName) -> Result<Option<(OpenTable, ObjectName)>, SqlError> {
        let Some(table) = &name.schema else { return Ok(None) };
        let table = ObjectName { database: None, schema: name.database.clone(), name: table.clone() };
        Ok(self.work.find(&table, &self.database)?.map(|found| (found, table)))
    }

    fn rename_index(&mut self, name: &ObjectName, new: &str, written: &str) -> Result<(), SqlError> {
        let missing = self.nothing_named(written, Some("INDEX"));
        let Some((table, _)) = self.part_of(name)? else { return Err(missing) };
        let mut definition = table.definition.as_ref().clone();
        let mut names: Vec<&mut String> = definition
            .keys
            .iter_mut()
            .map(|key| &mut key.name)
            .chain(definition.indexes.iter_mut().map(|index| &mut index.name))
            .collect();
        if !same_name(new, &name.name) && names.iter().any(|own| same_name(own, new)) {
            return Err(duplicate(new, "INDEX"));
        }
        match names.iter_mut().find(|own| same_name(own, &name.name)) {
            Some(own) => **own = new.to_string(),
            None => return Err(missing),
        }
        self.redefine(&table, &definition)
    }

    /// A column of a view keeps its place, and gets another name there.
    fn rename_view_column(
        &mut self,
        name: &ObjectName,
        new: &str,
        missing: SqlError,
    ) -> Result<(), SqlError> {
        let Some(view) = &name.schema else { return Err(missing) };
        let view = ObjectName { database: None, schema: name.database.clone(), name: view.clone() };
        let found = self.work.find_module(&view, &self.database)?;
        let Some((id, module)) = found.filter(|(_, module)| module.definition.kind == ModuleKind::View)
        else {
            return Err(missing);
        };
        let mut definition = module.definition.clone();
        if !same_name(new, &name.name) && definition.columns.iter().any(|own| same_name(&own.name, new)) {
            return Err(duplicate(new, "COLUMN"));
        }
        let Some(column) = definition.columns.iter_mut().find(|own| same_name(&own.name, &name.name)) else {
            return Err(missing);
        };
        column.name = new.to_string();
        definition.renamed_columns = true;
        self.keep_module(id, &definition, place_of(&view))
    }

    fn rename_column(
        &mut self,
        name: &ObjectName,
        new: &str,
        written: &str,
        frame: &Frame,
    ) -> Result<(), SqlError> {
        let missing = self.nothing_named(written, Some("COLUMN"));
        let Some((table, _)) = self.part_of(name)? else {
            return self.rename_view_column(name, new, missing);
        };
        let old = name.name.as_str();
        let mut definition = table.definition.as_ref().clone();
        let Some(position) = definition.position(old) else { return Err(missing) };
        if !same_name(new, old) && definition.position(new).is_some() {
            return Err(duplicate(new, "COLUMN"));
        }
        if uses_column(&definition, old) {
            return Err(SqlError::new(
                15336,
                16,
                1,
                format!(
                    "Object '{written}' cannot be renamed because the object participates in enforced dependencies."
                ),
            ));
        }
        if let Some(column) = definition.columns.get_mut(position) {
            column.name = new.to_string();
        }
        let change = |column: &mut String| {
            if same_name(column, old) {
                *column = new.to_string();
            }
        };
        definition.keys.iter_mut().for_each(|key| key.columns.iter_mut().for_each(|(c, _)| change(c)));
        for index in &mut definition.indexes {
            index.columns.iter_mut().for_each(|(column, _)| change(column));
            index.include.iter_mut().for_each(change);
        }
        definition.foreign_keys.iter_mut().for_each(|key| key.columns.iter_mut().for_each(change));
        let refers = |key: &crate::catalogue::ForeignKey| {
            same_name(&key.table, &table.definition.name) && same_name(&key.schema, &table.definition.schema)
        };
        for other in
            self.own_tables()?.iter().filter(|other| other.definition.foreign_keys.iter().any(refers))
        {
            if other.id == table.id {
                for key in definition.foreign_keys.iter_mut().filter(|key| refers(key)) {
                    key.referenced.iter_mut().for_each(change);
                }
                continue;
            }
            let mut changed = other.definition.as_ref().clone();
            for key in changed.foreign_keys.iter_mut().filter(|key| refers(key)) {
                key.referenced.iter_mut().for_each(change);
            }
            self.redefine(other, &changed)?;
        }
        // The stored columns have names of their own.
        self.rebuild(&table, definition, frame)
    }
}

fn duplicate(name: &str, kind: &str) -> SqlError {
    SqlError::new(
        15335,
        11,
        1,
        format!(
            "Error: The new name '{name}' is already in use as a {kind} name and would cause a duplicate that is not permitted."
        ),
    )
}

/// Whether a check, a computed column or a filter names the column.
pub(super) fn uses_column(definition: &TableDefinition, column: &str) -> bool {
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
