//! Finds the target of UPDATE or DELETE among the tables of FROM.

use databases::catalogue::same_name;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::Assignment;
use tsql::errors;
use tsql::query::{CommonTable, TableSource};

use crate::session::Session;
use crate::statements::evaluation::resolve;

/// Finds the table of FROM that a target means: the one with its name as alias, else the same object without an alias, else the
/// only one with another alias. None stands for a target beside FROM.
///
/// Errors: 8154 if FROM has the object several times, each time with an alias.
pub(crate) fn reference_in<'f>(
    session: &Session,
    target: &ObjectName,
    from: &'f mut [TableSource],
    with: &[CommonTable],
) -> Result<Option<&'f mut TableSource>, SqlError> {
    let mut sources = Vec::new();
    from.iter_mut().for_each(|source| tables(source, &mut sources));
    let named: Vec<(&ObjectName, Option<&str>)> = sources
        .iter()
        .filter_map(|source| match source {
            TableSource::Table { name, alias, .. } => Some((name, alias.as_deref())),
            _ => None,
        })
        .collect();
    if named.is_empty() {
        return Ok(None);
    }
    let position = match position_of(session, target, &named, with)? {
        Some(position) => position,
        None => return Ok(None),
    };
    Ok(sources.into_iter().nth(position))
}

fn position_of(
    session: &Session,
    target: &ObjectName,
    sources: &[(&ObjectName, Option<&str>)],
    with: &[CommonTable],
) -> Result<Option<usize>, SqlError> {
    let bare = target.schema.is_none() && target.database.is_none();
    let has_alias = |alias: &Option<&str>| alias.is_some_and(|alias| same_name(alias, &target.name));
    if bare && let Some(position) = sources.iter().position(|(_, alias)| has_alias(alias)) {
        return Ok(Some(position));
    }
    let own = object_key(session, target, with)?;
    let mut same = Vec::new();
    for (position, (name, alias)) in sources.iter().enumerate() {
        if object_key(session, name, with)? == own {
            same.push((position, alias.is_some()));
        }
    }
    if let Some((position, _)) = same.iter().find(|(_, aliased)| !aliased) {
        return Ok(Some(*position));
    }
    match same.as_slice() {
        [] => {}
        [(position, _)] => return Ok(Some(*position)),
        _ => {
            let text = format!("The table '{}' is ambiguous.", target.name);
            return Err(SqlError::new(8154, 16, 1, text));
        }
    }
    // A name that is no object's may still be that of a table of another schema, as FROM exposes it.
    let exposed =
        |(name, alias): &(&ObjectName, Option<&str>)| alias.is_none() && same_name(&name.name, &target.name);
    let position = sources.iter().position(exposed).filter(|_| bare);
    match position {
        Some(position) if !is_object(session, target)? => Ok(Some(position)),
        _ => Ok(None),
    }
}

/// Returns a key that two names share if they name the same object.
fn object_key(session: &Session, name: &ObjectName, with: &[CommonTable]) -> Result<String, SqlError> {
    let bare = name.schema.is_none() && name.database.is_none();
    if bare && with.iter().any(|table| same_name(&table.name, &name.name)) {
        return Ok(format!(" with {}", name.name.to_lowercase()));
    }
    if name.is_variable() {
        return Ok(name.name.to_lowercase());
    }
    Ok(session.work.key_of(&resolve::resolved(session, name)?, &session.database))
}

fn is_object(session: &Session, name: &ObjectName) -> Result<bool, SqlError> {
    let real = resolve::resolved(session, name)?;
    Ok(session.work.find(&real, &session.database)?.is_some()
        || resolve::view_module(session, &real)?.is_some())
}

/// Collects the named tables of a source, in their order.
pub(super) fn tables<'f>(source: &'f mut TableSource, found: &mut Vec<&'f mut TableSource>) {
    match source {
        TableSource::Table { .. } => found.push(source),
        TableSource::Join { left, right, .. } => {
            tables(left, found);
            tables(right, found);
        }
        _ => {}
    }
}

/// Errors: 4104 for an assignment to a column of another table than the target, which is called `alias` in FROM.
pub(crate) fn check_assigned_table(
    assignments: &[Assignment],
    target: &ObjectName,
    alias: &str,
) -> Result<(), SqlError> {
    for assignment in assignments {
        let Some(table) = assignment.table.last() else { continue };
        if !same_name(table, alias) && !same_name(table, &target.name) {
            let mut parts = assignment.table.clone();
            parts.extend(assignment.column.clone());
            return Err(errors::UNBOUND_IDENTIFIER.with([&parts.join(".")]));
        }
    }
    Ok(())
}
