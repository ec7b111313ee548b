//! sp_rename: tables, views, procedures and the like; columns, indexes and constraints.

use databases::catalogue::{ForeignKey, ModuleKind, same_name};
use databases::store_error::name_taken;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::parse_object_name_on;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::{OpenTable, place_of};
use crate::statements::ddl::alter_columns;
use crate::statements::ddl::alter_columns::uses_column;
use crate::statements::ddl::module;
use crate::statements::ddl::redefine;

/// Renames the object `name`. Errors: 15225 if there is none, 15248 for an unknown kind, 15335 if the new name is taken,
/// 15336 for a column that a check or a computed column uses.
pub fn run(
    session: &mut Session,
    name: &str,
    new: &str,
    kind: Option<&str>,
    frame: &Frame,
) -> Result<(), SqlError> {
    let parsed = parsed_name(session, name, kind)?;
    let mark = session.work.start_change()?;
    let result = match kind.map(str::to_ascii_uppercase).as_deref() {
        Some("COLUMN") => rename_column(session, &parsed, new, name, frame),
        Some("INDEX") => rename_index(session, &parsed, new, name),
        Some("OBJECT") => rename_object(session, &parsed, new, name, kind),
        None => rename_anything(session, &parsed, new, name, frame),
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
    session.work.end_statement(&mark, result.is_ok())?;
    result
}

/// Parses the name of the object to rename. A part of a table may have the current database before it too: four parts.
fn parsed_name(session: &Session, name: &str, kind: Option<&str>) -> Result<ObjectName, SqlError> {
    match parse_object_name_on(&session.database, name) {
        Err(error) if error.number == 7202 => {
            let text = "The database name component of the object qualifier must be the name of the current database.";
            Err(SqlError::new(15250, 16, 1, text))
        }
        parsed => parsed.map_err(|_| nothing_named(session, name, kind)),
    }
}

/// Renames what a name without a kind stands for: an object, or a column, an index or a constraint behind its table's name.
fn rename_anything(
    session: &mut Session,
    name: &ObjectName,
    new: &str,
    written: &str,
    frame: &Frame,
) -> Result<(), SqlError> {
    let missing = |result: &Result<(), SqlError>| result.as_ref().is_err_and(|error| error.number == 15225);
    let of_object = rename_object(session, name, new, written, None);
    if !missing(&of_object) || name.schema.is_none() {
        return of_object;
    }
    let of_column = rename_column(session, name, new, written, frame);
    if !missing(&of_column) {
        return of_column;
    }
    let of_index = rename_index(session, name, new, written);
    if !missing(&of_index) {
        return of_index;
    }
    // `schema.table.constraint`
    let part = ObjectName { database: None, schema: name.database.clone(), name: name.name.clone() };
    let of_table =
        part_of(session, name)?.is_some_and(|(table, _)| table.definition.object_named(&name.name).is_some());
    if of_table { rename_object(session, &part, new, written, None) } else { of_object }
}

fn nothing_named(session: &Session, name: &str, kind: Option<&str>) -> SqlError {
    let kind = kind.map_or("(null)".to_string(), str::to_string);
    SqlError::new(
        15225,
        11,
        1,
        format!(
            "No item by the name of '{name}' could be found in the current database '{}', given that @itemtype was input as '{kind}'.",
            session.database
        ),
    )
}

/// Lists the tables of the current database.
fn own_tables(session: &Session) -> Result<Vec<OpenTable>, SqlError> {
    let mut tables = session.work.view().tables()?;
    tables.retain(|table| same_name(&table.definition.database, &session.database));
    Ok(tables)
}

fn rename_object(
    session: &mut Session,
    name: &ObjectName,
    new: &str,
    written: &str,
    kind: Option<&str>,
) -> Result<(), SqlError> {
    let schema = name.schema.as_deref().unwrap_or("dbo");
    let tables = own_tables(session)?;
    let taken = tables.iter().any(|table| {
        same_name(&table.definition.schema, schema)
            && table.definition.objects().iter().any(|object| same_name(object.name, new))
            // Only the case may change.
            && !same_name(new, &name.name)
    });
    let module = |own: &str| {
        let wanted = ObjectName { name: own.to_string(), ..name.clone() };
        session.work.find_module(&wanted, &session.database)
    };
    let other = !same_name(new, &name.name) && module(new)?.is_some();
    if taken || other {
        return Err(duplicate(new, "object"));
    }
    if let Some((id, module)) = module(&name.name)? {
        let renamed = ObjectName { name: new.to_string(), ..name.clone() };
        let key = session.work.key_of(&renamed, &session.database);
        let mut definition = module.definition.clone();
        // The text stays as it was written, as in SQL Server.
        definition.name = new.to_string();
        let moved =
            session.work.write(place_of(&renamed), |transaction| transaction.open(id)?.rename_table(&key));
        moved.map_err(|error| name_taken(error, || duplicate(new, "object")))?;
        return module::keep_module(session, id, &definition, place_of(&renamed));
    }
    if let Some(table) = session.work.find(name, &session.database)? {
        return rename_table(session, &table, name, new, &tables);
    }
    let owner = tables.into_iter().find(|table| {
        same_name(&table.definition.schema, schema) && table.definition.object_named(&name.name).is_some()
    });
    let owner = owner.ok_or_else(|| nothing_named(session, written, kind))?;
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
    redefine::redefine(session, &owner, &definition)
}

fn rename_table(
    session: &mut Session,
    table: &OpenTable,
    name: &ObjectName,
    new: &str,
    tables: &[OpenTable],
) -> Result<(), SqlError> {
    let renamed = ObjectName { name: new.to_string(), ..name.clone() };
    let key = session.work.key_of(&renamed, &session.database);
    let mut definition = table.definition.as_ref().clone();
    definition.name = new.to_string();
    let refers = |key: &ForeignKey| {
        same_name(&key.table, &table.definition.name) && same_name(&key.schema, &table.definition.schema)
    };
    for key in definition.foreign_keys.iter_mut().filter(|key| refers(key)) {
        key.table = new.to_string();
    }
    let moved = session.work.write(table.place, |transaction| transaction.open(table.id)?.rename_table(&key));
    moved.map_err(|error| name_taken(error, || duplicate(new, "object")))?;
    redefine::redefine(session, table, &definition)?;
    for other in tables.iter().filter(|other| other.id != table.id) {
        if other.definition.foreign_keys.iter().any(refers) {
            let mut changed = other.definition.as_ref().clone();
            for key in changed.foreign_keys.iter_mut().filter(|key| refers(key)) {
                key.table = new.to_string();
            }
            redefine::redefine(session, other, &changed)?;
        }
    }
    Ok(())
}

/// Finds the table of `schema.table.part`, and the part's name.
fn part_of(session: &Session, name: &ObjectName) -> Result<Option<(OpenTable, ObjectName)>, SqlError> {
    let Some(table) = &name.schema else { return Ok(None) };
    let table = ObjectName { database: None, schema: name.database.clone(), name: table.clone() };
    Ok(session.work.find(&table, &session.database)?.map(|found| (found, table)))
}

fn rename_index(session: &mut Session, name: &ObjectName, new: &str, written: &str) -> Result<(), SqlError> {
    let missing = nothing_named(session, written, Some("INDEX"));
    let Some((table, _)) = part_of(session, name)? else { return Err(missing) };
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
    redefine::redefine(session, &table, &definition)
}

/// Renames a column of a view, which keeps its place.
fn rename_view_column(
    session: &mut Session,
    name: &ObjectName,
    new: &str,
    missing: SqlError,
) -> Result<(), SqlError> {
    let Some(view) = &name.schema else { return Err(missing) };
    let view = ObjectName { database: None, schema: name.database.clone(), name: view.clone() };
    let found = session.work.find_module(&view, &session.database)?;
    let Some((id, module)) = found.filter(|(_, module)| module.definition.kind == ModuleKind::View) else {
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
    module::keep_module(session, id, &definition, place_of(&view))
}

fn rename_column(
    session: &mut Session,
    name: &ObjectName,
    new: &str,
    written: &str,
    frame: &Frame,
) -> Result<(), SqlError> {
    let missing = nothing_named(session, written, Some("COLUMN"));
    let Some((table, _)) = part_of(session, name)? else {
        return rename_view_column(session, name, new, missing);
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
    let keys = definition.keys.iter_mut().map(|key| &mut key.partitioning);
    let indexes = definition.indexes.iter_mut().map(|index| &mut index.partitioning);
    let all = keys.chain(indexes).chain([&mut definition.partitioning]);
    all.flatten().for_each(|by| change(&mut by.column));
    definition.foreign_keys.iter_mut().for_each(|key| key.columns.iter_mut().for_each(change));
    let refers = |key: &ForeignKey| {
        same_name(&key.table, &table.definition.name) && same_name(&key.schema, &table.definition.schema)
    };
    for other in own_tables(session)?.iter().filter(|other| other.definition.foreign_keys.iter().any(refers))
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
        redefine::redefine(session, other, &changed)?;
    }
    // The stored columns have names of their own.
    alter_columns::rebuild_columns(session, &table, definition, frame)
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
