//! CREATE, ALTER and DROP PARTITION SCHEME.

use databases::catalogue::{PARTITION_SCHEME_ID_FIRST, PartitionFunction, PartitionScheme, same_name};
use databases::storage::TableId;
use tsql::SqlError;
use tsql::errors;
use tsql::file_group::WrittenGroup;
use tsql::partition::PartitionStatement;

use crate::session::Session;
use crate::statements::ddl::partition_function::{
    create_entry, current_database, drop_entry, hold_entry, keep_entry, lock_entry,
};

/// Runs a statement about a partition scheme. Returns what is to be said of it.
pub(super) fn change(
    session: &mut Session,
    statement: &PartitionStatement,
) -> Result<Vec<SqlError>, SqlError> {
    match statement {
        PartitionStatement::CreateScheme { name, function, all, groups } => {
            create_scheme(session, name, function, *all, groups)
        }
        PartitionStatement::NextUsed { scheme, group } => next_used(session, scheme, group.as_ref()),
        PartitionStatement::DropScheme(name) => drop_scheme(session, name).map(|()| Vec::new()),
        _ => Err(SqlError::internal("a statement about partitions without a place")),
    }
}

/// Runs CREATE PARTITION SCHEME. Errors: 2714 for a name that is taken, 208 for an unknown function or file group, 7723
/// for ALL TO several groups, 7707 for fewer groups than partitions.
fn create_scheme(
    session: &mut Session,
    name: &str,
    function: &str,
    all: bool,
    written: &[WrittenGroup],
) -> Result<Vec<SqlError>, SqlError> {
    let database = current_database(session)?;
    let groups = written.iter().map(|group| group_named(session, &database, group));
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    if find(session, &database, name)?.is_some()
        || all_groups(session, &database).iter().any(|own| same_name(own, name))
    {
        return Err(errors::OBJECT_EXISTS.with([name]));
    }
    let function_of = |session: &Session| {
        let found = session.work.view().partition_function(&database, function)?;
        found.ok_or_else(|| errors::INVALID_OBJECT.with([function]))
    };
    hold_entry(session, function_of(session)?.0)?;
    // Reads again, because others may have committed while the lock was waited for.
    let (_, function) = function_of(session)?;
    let partitions = function.fanout();
    let (groups, rest) = match (all, groups.as_slice()) {
        (true, [group]) => (vec![group.clone(); partitions], vec![group.clone()]),
        (true, _) => {
            let text = "Only a single filegroup can be specified while creating partition scheme using option ALL to specify all the filegroups.";
            return Err(SqlError::new(7723, 16, 1, text));
        }
        (false, groups) if groups.len() < partitions => {
            let text = format!(
                "The associated partition function '{}' generates more partitions than there are file groups mentioned in the scheme '{name}'.",
                function.name
            );
            return Err(SqlError::new(7707, 16, 1, text));
        }
        (false, groups) => {
            let (own, rest) = groups.split_at(partitions);
            (own.to_vec(), rest.to_vec())
        }
    };
    let schemes = session.work.view().partitions()?.schemes;
    let own = schemes.iter().filter(|scheme| same_name(&scheme.database, &database));
    let scheme = PartitionScheme {
        id: own.map(|scheme| scheme.id + 1).fold(PARTITION_SCHEME_ID_FIRST, i32::max),
        database,
        name: name.to_owned(),
        function: function.name,
        groups,
        next_used: rest.first().cloned(),
    };
    let properties = scheme.to_properties().map_err(|error| SqlError::internal(error))?;
    create_entry(session, &PartitionScheme::key(&scheme.database, name), &properties, name)?;
    let mut notices = Vec::new();
    if let Some(next) = &scheme.next_used {
        let text = format!(
            "Partition scheme '{name}' has been created successfully. '{next}' is marked as the next used filegroup in partition scheme '{name}'."
        );
        notices.push(SqlError::new(7712, 0, 1, text));
    }
    if rest.len() > 1 {
        let text =
            format!("{} filegroups specified after the next used filegroup are ignored.", rest.len() - 1);
        notices.push(SqlError::new(7713, 0, 1, text));
    }
    Ok(notices)
}

/// Runs ALTER PARTITION SCHEME … NEXT USED. Errors: 15151 for an unknown scheme, 208 for an unknown file group.
fn next_used(
    session: &mut Session,
    name: &str,
    group: Option<&WrittenGroup>,
) -> Result<Vec<SqlError>, SqlError> {
    let database = current_database(session)?;
    let (id, _) = find(session, &database, name)?.ok_or_else(|| not_found("alter", name))?;
    let group = group.map(|group| group_named(session, &database, group)).transpose()?;
    lock_entry(session, id)?;
    // Reads again, because others may have committed while the lock was waited for.
    let (id, mut scheme) = find(session, &database, name)?.ok_or_else(|| not_found("alter", name))?;
    if group.is_none() && scheme.next_used.is_none() {
        return Ok(vec![no_next_used(&scheme, 0)]);
    }
    scheme.next_used = group;
    keep(session, id, &scheme)?;
    Ok(Vec::new())
}

/// Runs DROP PARTITION SCHEME. Errors: 15151 for an unknown one, 7717 if a table or an index uses it.
fn drop_scheme(session: &mut Session, name: &str) -> Result<(), SqlError> {
    let database = current_database(session)?;
    let (id, scheme) = find(session, &database, name)?.ok_or_else(|| not_found("drop", name))?;
    lock_entry(session, id)?;
    let tables = session.work.view().tables()?;
    let used = tables.iter().map(|table| &table.definition).any(|table| {
        same_name(&table.database, &database)
            && table.all_partitionings().into_iter().any(|by| same_name(&by.scheme, &scheme.name))
    });
    if used {
        let text = format!(
            "The partition scheme \"{}\" is currently being used to partition one or more tables.",
            scheme.name
        );
        return Err(SqlError::new(7717, 16, 1, text));
    }
    drop_entry(session, id)
}

/// Gives every scheme of a function one more partition, at a place from 0. Errors: 7710 if one has no file group for it.
pub(super) fn add_partition(
    session: &mut Session,
    function: &PartitionFunction,
    place: usize,
) -> Result<(), SqlError> {
    for (id, mut scheme) in schemes_of(session, function)? {
        let Some(group) = scheme.next_used.take() else { return Err(no_next_used(&scheme, 16)) };
        let place = place.min(scheme.groups.len());
        scheme.groups.insert(place, group);
        keep(session, id, &scheme)?;
    }
    Ok(())
}

/// Takes a partition, whose place counts from 0, out of every scheme of a function.
pub(super) fn remove_partition(
    session: &mut Session,
    function: &PartitionFunction,
    place: usize,
) -> Result<(), SqlError> {
    for (id, mut scheme) in schemes_of(session, function)? {
        if place < scheme.groups.len() {
            scheme.groups.remove(place);
        }
        keep(session, id, &scheme)?;
    }
    Ok(())
}

/// Returns the schemes of a function, locked exclusively.
fn schemes_of(
    session: &Session,
    function: &PartitionFunction,
) -> Result<Vec<(TableId, PartitionScheme)>, SqlError> {
    let all = session.work.view().partitions()?.schemes;
    let own = all.into_iter().filter(|scheme| {
        same_name(&scheme.database, &function.database) && same_name(&scheme.function, &function.name)
    });
    let mut found = Vec::new();
    for scheme in own {
        if let Some((id, _)) = find(session, &scheme.database, &scheme.name)? {
            lock_entry(session, id)?;
            found.extend(find(session, &scheme.database, &scheme.name)?);
        }
    }
    Ok(found)
}

fn find(
    session: &Session,
    database: &str,
    name: &str,
) -> Result<Option<(TableId, PartitionScheme)>, SqlError> {
    session.work.view().partition_scheme(database, name)
}

fn keep(session: &Session, id: TableId, scheme: &PartitionScheme) -> Result<(), SqlError> {
    let properties = scheme.to_properties().map_err(|error| SqlError::internal(error))?;
    keep_entry(session, id, &properties)
}

/// Makes message 7710: a warning (class 0), or the error of a SPLIT.
fn no_next_used(scheme: &PartitionScheme, class: u8) -> SqlError {
    let text = format!(
        "Warning: The partition scheme '{}' does not have any next used filegroup. Partition scheme has not been changed.",
        scheme.name
    );
    SqlError::new(7710, class, 1, text)
}

fn not_found(verb: &str, name: &str) -> SqlError {
    let text = format!(
        "Cannot {verb} the partition scheme '{name}', because it does not exist or you do not have permission."
    );
    SqlError::new(15151, 16, 1, text)
}

fn all_groups(session: &Session, database: &str) -> Vec<String> {
    let figures = session.instance.store().figures_of(database);
    let groups = figures.map(|figures| figures.engine().files().file_groups());
    match groups {
        Some(groups) => groups.into_iter().map(|group| group.name).collect(),
        None => vec!["PRIMARY".to_owned()],
    }
}

/// Returns a file group's name as it was created. Errors: 208 if there is none of the name.
fn group_named(session: &Session, database: &str, written: &WrittenGroup) -> Result<String, SqlError> {
    let Some(name) = written else {
        let figures = session.instance.store().figures_of(database);
        let groups = figures.map(|figures| figures.engine().files().file_groups()).unwrap_or_default();
        let default = groups.into_iter().find(|group| group.is_default).map(|group| group.name);
        return Ok(default.unwrap_or_else(|| "PRIMARY".to_owned()));
    };
    let groups = all_groups(session, database);
    let found = groups.into_iter().find(|own| same_name(own, name));
    found.ok_or_else(|| errors::INVALID_OBJECT.with([name]))
}
