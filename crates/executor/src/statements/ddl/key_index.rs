//! Unique indexes to which FOREIGN KEYs are bound: DISABLE takes the keys with it, DROP INDEX is refused.

use databases::catalogue::{ForeignKey, TableDefinition, same_name};
use tsql::SqlError;

use crate::session::Session;
use crate::session::work::OpenTable;
use crate::statements::ddl::index;
use crate::statements::ddl::key_limits::refused;
use crate::statements::ddl::redefine;
use crate::statements::dml::references;

/// Returns true if a FOREIGN KEY is bound to an index or to the constraint of that name.
fn is_bound(parent: &TableDefinition, name: &str, reference: &ForeignKey) -> bool {
    if let Some(key) = parent.key_of_reference(reference) {
        return key.name == name;
    }
    // Of several indexes the first that was made.
    let of_reference = |columns: &[(String, bool)]| {
        columns.len() == reference.referenced.len()
            && columns.iter().all(|(name, _)| reference.referenced.iter().any(|own| same_name(own, name)))
    };
    let indexes = parent.indexes.iter();
    let fitting =
        indexes.filter(|index| index.unique && index.filter.is_none() && of_reference(&index.columns));
    fitting.min_by_key(|index| index.index_id).is_some_and(|index| index.name == name)
}

/// Errors: 3723 if a FOREIGN KEY is bound to the index.
pub(super) fn refuse_bound_index(
    session: &Session,
    parent: &TableDefinition,
    name: &str,
    written: &str,
) -> Result<(), SqlError> {
    let mut referring = references::referring_tables(session, parent)?.into_iter();
    match referring.any(|(_, key)| is_bound(parent, name, &key)) {
        false => Ok(()),
        true => Err(refused(
            3723,
            6,
            format!(
                "An explicit DROP INDEX is not allowed on index '{written}'. It is being used for FOREIGN KEY constraint enforcement."
            ),
        )),
    }
}

/// Errors: 1776 if the table that a FOREIGN KEY refers to has no enabled key or unique index of its columns.
pub(super) fn refuse_without_index(
    session: &Session,
    child: &TableDefinition,
    reference: &ForeignKey,
) -> Result<(), SqlError> {
    let other;
    let parent = if child.refers_to(reference, child) {
        child
    } else {
        let Some(found) = references::referenced_table(session, child, reference)? else { return Ok(()) };
        other = found;
        other.definition.as_ref()
    };
    let targets = parent.positions(&reference.referenced);
    let has_key = parent.unique_keys().iter().any(|key| {
        key.filter.is_none()
            && key.columns.len() == targets.len()
            && key.columns.iter().all(|column| targets.contains(column))
    });
    match has_key {
        true => Ok(()),
        false => Err(refused(
            1776,
            0,
            format!(
                "There are no primary or candidate keys in the referenced table '{}' that match the referencing column list in the foreign key '{}'.",
                parent.name, reference.name
            ),
        )),
    }
}

/// Disables indexes, and the FOREIGN KEYs that are bound to them, which is said of each. Errors: 40515 for a clustered one.
pub(super) fn disable(
    session: &mut Session,
    table: &OpenTable,
    names: &[String],
) -> Result<Vec<SqlError>, SqlError> {
    let parent = table.definition.as_ref().clone();
    let mut changed = parent.clone();
    for name in names {
        let (options, clustered) = index::options_of(&mut changed, name)?;
        if clustered {
            return Err(SqlError::unsupported("DISABLE of a clustered index"));
        }
        options.disabled = true;
    }
    let mut notices = Vec::new();
    let mut others: Vec<(OpenTable, TableDefinition)> = Vec::new();
    for (child, key) in references::referring_tables(session, &parent)? {
        let Some(name) = names.iter().find(|name| is_bound(&parent, name, &key)) else { continue };
        if key.disabled {
            continue;
        }
        let definition = if child.definition.object_id == parent.object_id {
            &mut changed
        } else {
            let known = others.iter().position(|(_, other)| other.object_id == child.definition.object_id);
            let at = known.unwrap_or(others.len());
            if known.is_none() {
                others.push((child.clone(), child.definition.as_ref().clone()));
            }
            match others.get_mut(at) {
                Some((_, definition)) => definition,
                None => continue,
            }
        };
        for own in definition.foreign_keys.iter_mut().filter(|own| own.object_id == key.object_id) {
            (own.disabled, own.trusted) = (true, false);
        }
        let text = format!(
            "Warning: Foreign key '{}' on table '{}' referencing table '{}' was disabled as a result of disabling the index '{name}'.",
            key.name, child.definition.name, parent.name
        );
        notices.push(SqlError::new(0, 0, 1, text));
    }
    redefine::redefine(session, table, &changed)?;
    for (child, definition) in &others {
        redefine::redefine(session, child, definition)?;
    }
    Ok(notices)
}
