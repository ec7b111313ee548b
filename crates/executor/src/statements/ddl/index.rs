//! CREATE, ALTER and DROP INDEX, and the rebuilding of tables.

use databases::catalogue::{Index, IndexOptions, Module, TableDefinition, same_name, wrong_filter};
use databases::storage::{KeyWidth, holds_filter, is_key_column};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;
use tsql::index::{AlterIndex, CreateIndex, DataCompression, IndexAction, IndexSettings, Rebuild};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::OpenTable;
use crate::statements::ddl::definition;
use crate::statements::ddl::key_index;
use crate::statements::ddl::key_limits::{
    KEY_COLUMNS_MAX, duplicates_found, no_key_column, refuse_long_key, refused, too_many_columns,
};
use crate::statements::ddl::partitioning;
use crate::statements::ddl::redefine;
use crate::statements::evaluation::resolve;

/// Runs CREATE INDEX. Errors: 1088 without the table, 1505 for duplicates, 1902 for a second clustered index. 1909,
/// 1911, 1919 and 10601 are for columns that cannot be used, 1913 and 7999 for the name. 1907 is for a constraint that
/// the index would no longer enforce.
pub(crate) fn create_index(
    session: &mut Session,
    create: &CreateIndex,
    frame: &Frame,
) -> Result<(), SqlError> {
    if let Some(module) = resolve::view_module(session, &resolve::resolved(session, &create.table)?)? {
        return Err(index_on_view(&module, &create.table));
    }
    let table = indexed_table(session, &create.table)?;
    let mut definition = table.definition.as_ref().clone();
    let columns = key_columns(&definition, create)?;
    refuse_clauses(create)?;
    let written = create.group.as_ref().and_then(Option::as_ref);
    partitioning::refuse_bare_scheme(session, &definition.database, written)?;
    let scheme = create.scheme.as_ref();
    let by = scheme.map(|scheme| partitioning::written(session, &definition.database, scheme)).transpose()?;
    let constraint = definition.keys.iter_mut().find(|key| same_name(&key.name, &create.name));
    if let (Some(key), true) = (constraint, create.settings.drop_existing) {
        // Only how the constraint's index is stored may change.
        let same = key.columns == columns && create.unique && create.include.is_empty();
        if !same || key.clustered != create.clustered {
            return Err(refused(
                1907,
                1,
                format!(
                    "Cannot recreate index '{}'. The new index definition does not match the constraint being enforced by the existing index.",
                    create.name
                ),
            ));
        }
        key.options = IndexOptions::of(&create.settings);
        let group =
            create.group.as_ref().map(|group| definition::named_group(session, &definition.database, group));
        match (group, &by) {
            (Some(group), _) if create.clustered => {
                definition.file_groups.rows = group;
                definition.partitioning = None;
            }
            (Some(group), _) => {
                key.file_group = group;
                key.partitioning = None;
            }
            (None, Some(by)) if create.clustered => definition.partitioning = Some(by.clone()),
            (None, Some(by)) => {
                key.file_group = None;
                key.partitioning = Some(by.clone());
            }
            (None, None) => {}
        }
        if create.clustered {
            definition.compression = create.settings.compression.unwrap_or(definition.compression);
        }
        partitioning::settle(session, &mut definition, Some(&table.definition))?;
        return redefine::redefine(session, &table, &definition);
    }
    let old = definition.indexes.iter().position(|index| same_name(&index.name, &create.name));
    let old = match (old, create.settings.drop_existing) {
        (Some(position), true) => Some(definition.indexes.remove(position)),
        (None, true) => {
            return Err(refused(
                7999,
                9,
                format!("Could not find any index named '{}' for table '{}'.", create.name, create.table),
            ));
        }
        (taken, false) => {
            if taken.is_some() || definition.keys.iter().any(|key| same_name(&key.name, &create.name)) {
                return Err(name_taken(create));
            }
            None
        }
    };
    let own_id = old.filter(|old| old.clustered == create.clustered).map(|old| old.index_id);
    enter_index(session, &mut definition, create, columns, own_id)?;
    let known = TableDefinition {
        // An index that replaces another one says for itself where it is.
        indexes: table
            .definition
            .indexes
            .iter()
            .filter(|index| !same_name(&index.name, &create.name))
            .cloned()
            .collect(),
        ..table.definition.as_ref().clone()
    };
    partitioning::settle(session, &mut definition, Some(&known))?;
    if let Some(index) = definition.indexes.last() {
        check_index(index, &definition)?;
    }
    measure_entries(session, &table, &definition, &create.name, frame)?;
    redefine::redefine(session, &table, &definition)
        .map_err(|error| duplicates_found(&definition, &create.name, error))
}

/// Adds the indexes that CREATE TABLE, a table type or a table variable declares among its columns. Errors: those of CREATE INDEX.
pub(super) fn add_inline(
    session: &Session,
    definition: &mut TableDefinition,
    indexes: &[CreateIndex],
) -> Result<(), SqlError> {
    for create in indexes {
        refuse_clauses(create)?;
        if create.settings.ignore_dup_key == Some(true) && !create.unique {
            let text = "CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.";
            return Err(SqlError::new(1916, 16, 4, text));
        }
        let written = create.group.as_ref().and_then(Option::as_ref);
        partitioning::refuse_bare_scheme(session, &definition.database, written)?;
        let columns = key_columns(definition, create)?;
        let taken = definition.keys.iter().map(|key| &key.name);
        let taken = taken.chain(definition.indexes.iter().map(|index| &index.name));
        if taken.into_iter().any(|name| same_name(name, &create.name)) {
            return Err(name_taken(create));
        }
        enter_index(session, definition, create, columns, None)?;
    }
    Ok(())
}

/// Checks the indexes of a new table, whose definition is complete. Errors: 10611 and those of long keys.
pub(super) fn check_inline(definition: &TableDefinition) -> Result<(), SqlError> {
    definition.indexes.iter().try_for_each(|index| check_index(index, definition))
}

fn check_index(index: &Index, definition: &TableDefinition) -> Result<(), SqlError> {
    let filter = index.row_filter(definition)?;
    if filter.is_some_and(|filter| !holds_filter(&filter, definition)) {
        return Err(wrong_filter(&index.name, &definition.name));
    }
    if index.columnstore { Ok(()) } else { refuse_long_key(definition, &index.name) }
}

/// Refuses clauses that clustered indexes have not. Errors: 10601, 10622.
fn refuse_clauses(create: &CreateIndex) -> Result<(), SqlError> {
    if create.clustered && create.filter.is_some() {
        let text = "Filtered indexes and statistics cannot be created on clustered indexes.";
        return Err(SqlError::new(10622, 16, 1, text));
    }
    if create.clustered && !create.include.is_empty() && !create.columnstore {
        return Err(refused(10601, 1, "Cannot specify included columns for a clustered index.".to_owned()));
    }
    Ok(())
}

/// Returns error 1913.
fn name_taken(create: &CreateIndex) -> SqlError {
    refused(
        1913,
        1,
        format!(
            "The operation failed because an index or statistics with name '{}' already exists on table '{}'.",
            create.name, create.table
        ),
    )
}

/// Enters a new index into a table's definition, under `own_id` if it keeps one. Errors: 1902 for a second clustered index.
fn enter_index(
    session: &Session,
    definition: &mut TableDefinition,
    create: &CreateIndex,
    columns: Vec<(String, bool)>,
    own_id: Option<i32>,
) -> Result<(), SqlError> {
    if create.clustered && definition.is_clustered() {
        return Err(refused(
            1902,
            3,
            format!(
                "Cannot create more than one clustered index on table '{}'. Drop the existing clustered index before creating another.",
                create.table
            ),
        ));
    }
    if create.clustered && !create.columnstore {
        definition.compression = create.settings.compression.unwrap_or(definition.compression);
    }
    let index_id = match create.clustered {
        true => 1,
        false => own_id.unwrap_or_else(|| definition.next_index_id()),
    };
    let scheme = create.scheme.as_ref();
    let by = scheme.map(|scheme| partitioning::written(session, &definition.database, scheme)).transpose()?;
    let group =
        create.group.as_ref().map(|group| definition::named_group(session, &definition.database, group));
    match (&group, &by) {
        (Some(group), _) if create.clustered => {
            definition.file_groups.rows.clone_from(group);
            definition.partitioning = None;
        }
        (None, Some(by)) if create.clustered => definition.partitioning = Some(by.clone()),
        _ => {}
    }
    definition.indexes.push(Index {
        name: create.name.clone(),
        index_id,
        unique: create.unique,
        clustered: create.clustered,
        columnstore: create.columnstore,
        columns,
        include: create.include.clone(),
        filter: create.filter.clone(),
        options: IndexOptions::of(&create.settings),
        file_group: group.flatten().filter(|_| !create.clustered),
        partitioning: by.filter(|_| !create.clustered),
    });
    Ok(())
}

/// Measures the entries of an index of a changed definition, if they may be too long. Errors: 1946.
fn measure_entries(
    session: &mut Session,
    table: &OpenTable,
    definition: &TableDefinition,
    name: &str,
    frame: &Frame,
) -> Result<(), SqlError> {
    // Trees look for duplicates themselves.
    if !KeyWidth::of_table(definition).iter().any(|key| key.name == name && key.is_wide()) {
        return Ok(());
    }
    let checked = redefine::check_rows(session, table, definition, frame);
    checked.map_err(|error| duplicates_found(definition, name, error))
}

/// Runs DROP INDEX. Errors: 3701 for a missing one, 3723 for a constraint's.
pub(crate) fn drop_indexes(
    session: &mut Session,
    names: &[(String, ObjectName)],
    if_exists: bool,
) -> Result<(), SqlError> {
    for (index, table_name) in names {
        let table = session.work.find(table_name, &session.database)?;
        let constraint = table.as_ref().and_then(|table| {
            table.definition.keys.iter().find(|key| same_name(&key.name, index)).map(|key| key.primary)
        });
        if let Some(primary) = constraint {
            let what = if primary { "PRIMARY KEY" } else { "UNIQUE KEY" };
            return Err(refused(
                3723,
                4,
                format!(
                    "An explicit DROP INDEX is not allowed on index '{table_name}.{index}'. It is being used for {what} constraint enforcement."
                ),
            ));
        }
        let position = table.as_ref().and_then(|table| {
            table.definition.indexes.iter().position(|candidate| same_name(&candidate.name, index))
        });
        let (Some(table), Some(position)) = (table, position) else {
            if if_exists {
                continue;
            }
            return Err(errors::CANNOT_DROP.with(["index", &format!("{table_name}.{index}")]));
        };
        let mut definition = table.definition.as_ref().clone();
        if let Some(dropped) = definition.indexes.get(position) {
            let written = format!("{}.{}", table_name.name, dropped.name);
            key_index::refuse_bound_index(session, &definition, &dropped.name, &written)?;
        }
        definition.indexes.remove(position);
        redefine::redefine(session, &table, &definition)?;
    }
    Ok(())
}

/// Runs ALTER INDEX. Returns what is to be said of it. Errors: 1088 without the table, 2727 without the index, 1505 for duplicates that came in while it
/// was disabled.
pub(crate) fn alter_index(
    session: &mut Session,
    alter: &AlterIndex,
    frame: &Frame,
) -> Result<Vec<SqlError>, SqlError> {
    let table = indexed_table(session, &alter.table)?;
    let mut definition = table.definition.as_ref().clone();
    let chosen = |name: &str| alter.name.as_ref().is_none_or(|own| same_name(own, name));
    let names: Vec<String> = definition
        .keys
        .iter()
        .map(|key| &key.name)
        .chain(definition.indexes.iter().map(|index| &index.name))
        .filter(|name| chosen(name))
        .cloned()
        .collect();
    if let (Some(name), true) = (&alter.name, names.is_empty()) {
        return Err(SqlError::new(2727, 11, 1, format!("Cannot find index '{name}'.")));
    }
    match &alter.action {
        IndexAction::Set(settings) => {
            let ignores = IndexSettings { ignore_dup_key: settings.ignore_dup_key, ..Default::default() };
            for name in &names {
                refuse_ignoring(&definition, name, &ignores)?;
                options_of(&mut definition, name)?.0.change(&ignores);
            }
            redefine::redefine(session, &table, &definition)?;
        }
        IndexAction::Reorganize { partition } => {
            names.iter().try_for_each(|name| check_partition(session, &definition, name, *partition))?;
            write_anew(session, &table, &definition, &names)?;
        }
        IndexAction::Disable => return key_index::disable(session, &table, &names),
        IndexAction::Rebuild(Rebuild { partition, settings }) => {
            for name in &names {
                check_partition(session, &definition, name, *partition)?;
                let (options, clustered) = options_of(&mut definition, name)?;
                let compression = if clustered { None } else { Some(options.compression) };
                let compression = compression.unwrap_or(definition.compression);
                refuse_compression(*partition, settings, compression)?;
            }
            let before = definition.clone();
            for name in &names {
                refuse_ignoring(&definition, name, settings)?;
                let (options, clustered) = options_of(&mut definition, name)?;
                options.change(settings);
                options.disabled = false;
                if clustered {
                    definition.compression = settings.compression.unwrap_or(definition.compression);
                }
            }
            if before == definition {
                write_anew(session, &table, &definition, &names)?;
                return Ok(Vec::new());
            }
            for name in &names {
                measure_entries(session, &table, &definition, name, frame)?;
            }
            let name = names.first().cloned().unwrap_or_default();
            redefine::redefine(session, &table, &definition)
                .map_err(|error| duplicates_found(&definition, &name, error))?;
        }
    }
    Ok(Vec::new())
}

/// Runs ALTER TABLE … REBUILD.
pub(crate) fn rebuild_table(
    session: &mut Session,
    table: &OpenTable,
    rebuild: &Rebuild,
) -> Result<(), SqlError> {
    let Rebuild { partition, settings } = rebuild;
    let partitions = partitioning::count(session, &table.definition, table.definition.partitioning.as_ref())?;
    let name = &table.definition.name;
    match (partition, partitions) {
        (Some(number), Some(count)) if !(1..=count as u64).contains(number) => {
            let text = format!(
                "Alter table statement failed because partition number {number} does not exist in table '{name}'."
            );
            return Err(refused(7730, 1, text));
        }
        (Some(number), None) if *number != 1 => {
            let text = format!(
                "Cannot specify partition number in alter table statement to rebuild or reorganize a partition of table '{name}' as table is not partitioned."
            );
            return Err(refused(7735, 1, text));
        }
        _ => {}
    }
    refuse_compression(*partition, settings, table.definition.compression)?;
    let mut definition = table.definition.as_ref().clone();
    definition.compression = settings.compression.unwrap_or(definition.compression);
    let keys = definition.keys.iter_mut().filter(|key| key.clustered).map(|key| &mut key.options);
    let indexes = definition.indexes.iter_mut().filter(|index| index.clustered);
    for options in keys.chain(indexes.map(|index| &mut index.options)) {
        options.change(settings);
    }
    if definition == *table.definition {
        return session.work.write(table.place, |transaction| transaction.open(table.id)?.rebuild(None));
    }
    redefine::redefine(session, table, &definition)
}

/// Errors: 7730 for a partition that an index does not have, 7735 for one of an index that is not partitioned.
fn check_partition(
    session: &Session,
    table: &TableDefinition,
    index: &str,
    partition: Option<u64>,
) -> Result<(), SqlError> {
    let Some(number) = partition else { return Ok(()) };
    match partitioning::count(session, table, partitioning::of_index(table, index))? {
        Some(count) if (1..=count as u64).contains(&number) => Ok(()),
        Some(_) => Err(refused(
            7730,
            1,
            format!(
                "Alter index statement failed because partition number {number} does not exist in index '{index}'."
            ),
        )),
        None if number == 1 => Ok(()),
        None => Err(refused(
            7735,
            1,
            format!(
                "Cannot specify partition number in alter index statement to rebuild or reorganize a partition of index '{index}' as index is not partitioned."
            ),
        )),
    }
}

/// Refuses to compress one partition otherwise than the others: they have one tree.
fn refuse_compression(
    partition: Option<u64>,
    settings: &IndexSettings,
    compression: DataCompression,
) -> Result<(), SqlError> {
    match (partition, settings.compression) {
        (Some(_), Some(wanted)) if wanted != compression => {
            Err(SqlError::unsupported("DATA_COMPRESSION of a single partition"))
        }
        _ => Ok(()),
    }
}

/// Rebuilds indexes as they are declared. Of the clustered one that is the whole table with all its indexes.
fn write_anew(
    session: &mut Session,
    table: &OpenTable,
    definition: &TableDefinition,
    names: &[String],
) -> Result<(), SqlError> {
    let mut held = Vec::new();
    for name in names {
        let key = definition.keys.iter().find(|key| &key.name == name);
        let index = definition.indexes.iter().find(|index| &index.name == name);
        let clustered =
            key.map(|key| key.clustered).or(index.map(|index| index.clustered)).unwrap_or_default();
        // There is nothing to write of an index that is only declared.
        let is_built = clustered || !index.is_some_and(|index| index.columnstore || index.options.disabled);
        if is_built {
            held.push((name.as_str(), clustered));
        }
    }
    let whole = held.iter().any(|(_, clustered)| *clustered);
    session.work.write(table.place, |transaction| match whole {
        true => transaction.open(table.id)?.rebuild(None),
        false => held.iter().try_for_each(|(name, _)| transaction.open(table.id)?.rebuild(Some(name))),
    })
}

/// Refuses IGNORE_DUP_KEY of an index that is not unique (1916) or of a constraint's index (1979).
fn refuse_ignoring(
    definition: &TableDefinition,
    name: &str,
    settings: &IndexSettings,
) -> Result<(), SqlError> {
    let index = definition.indexes.iter().find(|index| index.name == name);
    match (settings.ignore_dup_key, index) {
        (Some(_), None) => Err(refused(
            1979,
            1,
            format!(
                "Cannot use index option ignore_dup_key to alter index '{name}' as it enforces a primary or unique constraint."
            ),
        )),
        (Some(true), Some(index)) if !index.unique => Err(refused(
            1916,
            4,
            "ALTER INDEX options nonunique and ignore_dup_key are mutually exclusive.".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Says why a view gets no index: 1939 if it is not bound to its schema, else that views keep no rows of their own.
fn index_on_view(module: &Module, name: &ObjectName) -> SqlError {
    let bound = module.definition.text.to_ascii_uppercase().contains("SCHEMABINDING");
    match bound {
        true => SqlError::unsupported("An index on a view"),
        false => refused(
            1939,
            1,
            format!("Cannot create index on view '{}' because the view is not schema bound.", name.name),
        ),
    }
}

fn indexed_table(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    session.work.find(name, &session.database)?.ok_or_else(|| {
        refused(
            1088,
            12,
            format!(
                "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
            ),
        )
    })
}

/// Returns the key columns as the table spells them.
fn key_columns(table: &TableDefinition, create: &CreateIndex) -> Result<Vec<(String, bool)>, SqlError> {
    let unknown = |column: &str| {
        refused(1911, 1, format!("Column name '{column}' does not exist in the target table or view."))
    };
    let mut columns: Vec<(String, bool)> = Vec::with_capacity(create.columns.len());
    for (name, descending) in &create.columns {
        let column = table.position(name).and_then(|position| table.columns.get(position));
        let column = column.ok_or_else(|| unknown(name))?;
        if !is_key_column(column) && !create.columnstore {
            return Err(no_key_column(column, table));
        }
        if columns.iter().any(|(own, _)| same_name(own, name)) {
            return Err(refused(
                1909,
                1,
                format!(
                    "Cannot use duplicate column names in index. Column name '{}' listed more than once.",
                    column.name
                ),
            ));
        }
        columns.push((column.name.clone(), *descending));
    }
    if columns.len() > KEY_COLUMNS_MAX && !create.columnstore {
        return Err(too_many_columns(&create.name, &table.name, columns.len()));
    }
    match create.include.iter().find(|name| table.position(name).is_none()) {
        Some(name) => Err(unknown(name)),
        None => Ok(columns),
    }
}

/// Returns the options of a key's or index's storage, and true if it is clustered. Errors: 2727.
pub(super) fn options_of<'d>(
    definition: &'d mut TableDefinition,
    name: &str,
) -> Result<(&'d mut IndexOptions, bool), SqlError> {
    let keys = definition.keys.iter_mut().map(|key| (&key.name, &mut key.options, key.clustered));
    let indexes =
        definition.indexes.iter_mut().map(|index| (&index.name, &mut index.options, index.clustered));
    let found = keys.chain(indexes).find(|(own, ..)| own.as_str() == name);
    let (_, options, clustered) =
        found.ok_or_else(|| SqlError::new(2727, 11, 1, format!("Cannot find index '{name}'.")))?;
    Ok((options, clustered))
}
