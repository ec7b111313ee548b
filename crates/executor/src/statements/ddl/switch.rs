//! ALTER TABLE … SWITCH: rows of a table or of a partition become those of another, empty one.
//!
//! If all rows of the one go and the other has none, pages change their owner and no row is copied. Otherwise the rows of the partition
//! move one by one, since the partitions of a table share its heap or tree.

use databases::catalogue::same_name;
use databases::storage::LockMode;
use tsql::ObjectName;
use tsql::SqlError;

use crate::session::Session;
use crate::session::work::locks;
use crate::statements::ddl::define::existing;
use crate::statements::ddl::partition_number::PartitionNumbers;
use crate::statements::ddl::partition_rows;
use crate::statements::ddl::switch_checks::{check_columns, check_constraints, check_trees, failed};
use crate::statements::ddl::switch_side::{Side, check_ranges};

/// Runs the statement. Both tables are held alone before anything of them is compared. Returns what is to be said of it.
pub(super) fn run(
    session: &mut Session,
    source: &ObjectName,
    target: &ObjectName,
    numbers: &PartitionNumbers,
) -> Result<Vec<SqlError>, SqlError> {
    let (from, to) = (existing(session, source)?, existing(session, target)?);
    if from.id == to.id {
        let text =
            format!("The source table '{0}' and target table '{0}' are same.", from.definition.full_name());
        return Err(failed(4955, &text));
    }
    let databases = [&from, &to].map(|table| table.definition.database.as_str());
    if from.place != to.place || !same_name(databases[0], databases[1]) {
        let text = format!(
            "The source table '{}' is in database '{}' while the target table '{}' is in database '{}'.",
            from.definition.full_name(),
            databases[0],
            to.definition.full_name(),
            databases[1]
        );
        return Err(failed(4948, &text));
    }
    let mut both = [&from, &to];
    // In one order, so that two such statements do not wait for each other.
    both.sort_unstable_by_key(|table| table.id);
    both.into_iter().try_for_each(|table| locks::lock(&session.work, table, LockMode::Exclusive))?;
    // Reads again, because others may have committed while the locks were waited for.
    let (from, to) = (existing(session, source)?, existing(session, target)?);
    let mut notices = Vec::new();
    let from = Side::new(session, from, numbers.from, 1, &mut notices)?;
    let to = Side::new(session, to, numbers.to, 2, &mut notices)?;
    check_columns(&from.table.definition, &to.table.definition)?;
    check_trees(&from, &to)?;
    check_constraints(session, &from, &to)?;
    check_ranges(&from, &to)?;
    to.check_empty(session)?;
    give(session, &from, &to)?;
    for side in [&from, &to] {
        // The next value comes after those of the rows that are there now.
        session.instance.set_identity(side.table.definition.object_id, None);
    }
    Ok(notices)
}

/// Gives the rows of the one side to the other.
fn give(session: &mut Session, from: &Side, to: &Side) -> Result<(), SqlError> {
    let plain = from.partition.is_none() && to.partition.is_none();
    let groups = [from, to].map(|side| &side.table.definition.file_groups.rows);
    let may_swap = plain
        || to.table.rows == 0 && groups[0] == groups[1] && from.is_in_one_group() && to.is_in_one_group();
    let all_go = match &from.partition {
        Some(partition) if may_swap => {
            partition_rows::are_all_in(session, &from.table, &partition.ranges, partition.number)?
        }
        _ => may_swap,
    };
    if all_go {
        let (place, id) = (from.table.place, from.table.id);
        return session.work.write(place, |transaction| transaction.open(id)?.switch_to(to.table.id));
    }
    let partition = from.partition.as_ref().map(|partition| (&partition.ranges, partition.number));
    partition_rows::move_rows(session, &from.table, &to.table, partition)
}
