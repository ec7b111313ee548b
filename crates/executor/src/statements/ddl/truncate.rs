//! TRUNCATE TABLE, of all rows or of some partitions.

use databases::catalogue::TableDefinition;
use databases::storage::LockMode;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;

use crate::session::Session;
use crate::session::work::OpenTable;
use crate::session::work::locks;
use crate::statements::ddl::define::referring_from_elsewhere;
use crate::statements::ddl::partition_rows;
use crate::statements::ddl::partitioning;
use crate::statements::ddl::redefine;

/// Runs TRUNCATE TABLE. Errors: 4701 without the table, 4712 if a FOREIGN KEY refers to it.
pub(super) fn truncate(session: &mut Session, name: &ObjectName) -> Result<(), SqlError> {
    let table = to_empty(session, name)?;
    session.work.write(table.place, |transaction| transaction.open(table.id)?.truncate())?;
    if table.definition.identity().is_some_and(|(_, identity)| identity.reseeded.is_some()) {
        let mut definition = table.definition.as_ref().clone();
        for identity in definition.columns.iter_mut().filter_map(|column| column.identity.as_mut()) {
            (identity.reseeded, identity.reseeded_unused) = (None, false);
        }
        redefine::redefine(session, &table, &definition)?;
    }
    // The next row gets the seed again.
    session.instance.set_identity(table.definition.object_id, None);
    Ok(())
}

/// Runs TRUNCATE TABLE … WITH (PARTITIONS …). Identity values go on.
///
/// Errors: 7728 for a span from a greater number to a smaller one, 7711 for a partition that is named twice, 7729 for a
/// table without partitions. Error 7722 is for a partition that does not exist, 3756 and 4716 for an index that is
/// partitioned otherwise.
pub(super) fn truncate_partitions(
    session: &mut Session,
    name: &ObjectName,
    spans: &[(i64, i64)],
) -> Result<(), SqlError> {
    let table = to_empty(session, name)?;
    locks::lock(&session.work, &table, LockMode::Exclusive)?;
    // Reads again, because others may have committed while the lock was waited for.
    let table = to_empty(session, name)?;
    let definition = &table.definition;
    let Some(by) = &definition.partitioning else {
        let text = format!(
            "Cannot specify partition number in the truncate table statement as the table '{}' is not partitioned.",
            definition.name
        );
        return Err(SqlError::new(7729, 16, 3, text));
    };
    let function = partitioning::function_of(session, definition, by)?;
    let count = function.fanout();
    let mut chosen = vec![false; count];
    for (from, to) in spans {
        if from > to {
            let text = format!(
                "Invalid partition range: {from} TO {to}. Lower bound must not be greater than upper bound."
            );
            return Err(SqlError::new(7728, 16, 1, text));
        }
        for number in [from, to] {
            if !(1..=count as i64).contains(number) {
                let text = format!(
                    "Invalid partition number {number} specified for table '{}', partition number can range from 1 to {count}.",
                    definition.name
                );
                return Err(SqlError::new(7722, 16, 2, text));
            }
        }
        let places = (*from as usize - 1)..(*to as usize);
        for place in chosen.get_mut(places).into_iter().flatten() {
            if std::mem::replace(place, true) {
                let text = "The PARTITIONS option was specified more than once for the table, or for at least one of its partitions if the table is partitioned.";
                return Err(SqlError::new(7711, 16, 2, text));
            }
        }
    }
    check_indexes(session, definition)?;
    partition_rows::remove(session, &table, &function.ranges()?, &chosen)
}

/// Errors: 3756 for an index that is not partitioned as its table is, 4716 for one that is partitioned by another column.
fn check_indexes(session: &Session, table: &TableDefinition) -> Result<(), SqlError> {
    let Some(index) = partitioning::unaligned(session, table)? else { return Ok(()) };
    let name = &table.name;
    Err(match index.by_another_column {
        true => SqlError::new(
            4716,
            16,
            1,
            format!(
                "TRUNCATE TABLE statement failed. The column set used to partition the table '{name}' is different from the column set used to partition index '{}'",
                index.name
            ),
        ),
        false => SqlError::new(
            3756,
            16,
            1,
            format!(
                "TRUNCATE TABLE statement failed. Index '{}' is not partitioned, but table '{name}' uses partition function '{}'. Index and table must use an equivalent partition function.",
                index.name, index.function
            ),
        ),
    })
}

/// Finds and locks the table to empty. Errors: 4701 without it, 4712 if a FOREIGN KEY refers to it.
fn to_empty(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    let table = session
        .work
        .find(name, &session.database)?
        .ok_or_else(|| errors::CANNOT_TRUNCATE.with([&name.name]))?;
    if referring_from_elsewhere(session, &table)?.is_some() {
        let text = format!(
            "Cannot truncate table '{name}' because it is being referenced by a FOREIGN KEY constraint."
        );
        return Err(SqlError::new(4712, 16, 1, text));
    }
    Ok(table)
}
