//! Rows of single partitions. A partitioned table has one heap or tree: its partitions are found by their column's values.

use databases::catalogue::{PartitionRanges, TableDefinition};
use databases::storage::{Bound, KeyRange, KeySpan, Reads, RowLocator};
use databases::store_error::store_error;
use query::{Datum, KeyedTable};
use tsql::SqlError;

use crate::session::Session;
use crate::session::work::OpenTable;
use crate::session::work::reads;
use crate::statements::dml::change::take_rows;

/// Rows that are removed at once: their indexed columns are in memory meanwhile.
const REMOVED_AT_ONCE: usize = 64 << 10;

/// Returns true if a partition has no row. The table must be locked exclusively.
pub(super) fn is_empty(
    session: &Session,
    table: &OpenTable,
    ranges: &PartitionRanges,
    number: usize,
) -> Result<bool, SqlError> {
    any_row(session, table, ranges, Some(number), |own| own == number).map(|found| !found)
}

/// Returns true if all rows of a table are in one partition. The table must be locked exclusively.
pub(super) fn are_all_in(
    session: &Session,
    table: &OpenTable,
    ranges: &PartitionRanges,
    number: usize,
) -> Result<bool, SqlError> {
    any_row(session, table, ranges, None, |own| own != number).map(|found| !found)
}

fn any_row(
    session: &Session,
    table: &OpenTable,
    ranges: &PartitionRanges,
    within: Option<usize>,
    wanted: impl Fn(usize) -> bool,
) -> Result<bool, SqlError> {
    if table.rows == 0 {
        return Ok(false);
    }
    let position = position_of(&table.definition)?;
    let range = within.and_then(|number| key_range(&table.definition, position, ranges, number));
    let scan = (reads::opener(&session.work, table, Reads::Latest))(Some(vec![position]), range.as_ref());
    for batch in scan.map_err(store_error)? {
        let batch = batch.map_err(store_error)?;
        let Some(array) = batch.columns().first() else { continue };
        if ranges.numbers(array.as_ref())?.into_iter().any(&wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the rows of the chosen partitions of a table, which is locked alone.
pub(super) fn remove(
    session: &mut Session,
    table: &OpenTable,
    ranges: &PartitionRanges,
    chosen: &[bool],
) -> Result<(), SqlError> {
    if table.rows == 0 {
        return Ok(());
    }
    if chosen.iter().all(|chosen| *chosen) {
        return session.work.write(table.place, |transaction| transaction.open(table.id)?.truncate());
    }
    let position = position_of(&table.definition)?;
    let mut numbers = chosen.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(place, _)| place + 1);
    // One partition may be found by the key.
    let range = match (numbers.next(), numbers.next()) {
        (Some(only), None) => key_range(&table.definition, position, ranges, only),
        _ => None,
    };
    let mut locators = Vec::new();
    let scan =
        reads::located_opener(&session.work, table, Reads::Latest)(Some(vec![position]), range.as_ref());
    for found in scan.map_err(store_error)? {
        let (batch, own) = found.map_err(store_error)?;
        let Some(array) = batch.columns().first() else { continue };
        for (number, locator) in ranges.numbers(array.as_ref())?.into_iter().zip(own) {
            if chosen.get(number - 1) == Some(&true) {
                locators.push(locator);
            }
        }
    }
    if locators.len() as u64 == table.rows {
        return session.work.write(table.place, |transaction| transaction.open(table.id)?.truncate());
    }
    delete(session, table, &locators)
}

/// Gives the rows of a table to another one, which is alike: those of one partition, or all of them. Both are locked alone.
pub(super) fn move_rows(
    session: &mut Session,
    from: &OpenTable,
    to: &OpenTable,
    partition: Option<(&PartitionRanges, usize)>,
) -> Result<(), SqlError> {
    if from.rows == 0 {
        return Ok(());
    }
    let position = partition.map(|_| position_of(&from.definition)).transpose()?;
    let range = partition
        .zip(position)
        .and_then(|((ranges, number), position)| key_range(&from.definition, position, ranges, number));
    let target = session.work.access(to.place);
    let mut locators = Vec::new();
    let mut rows_left = 0;
    let scan = reads::located_opener(&session.work, from, Reads::Latest)(None, range.as_ref());
    for found in scan.map_err(store_error)? {
        let (batch, own) = found.map_err(store_error)?;
        let moved = match partition.zip(position) {
            None => batch,
            Some(((ranges, number), position)) => {
                let Some(array) = batch.columns().get(position) else {
                    return Err(SqlError::internal("a partitioned table without its column"));
                };
                let numbers = ranges.numbers(array.as_ref())?;
                let rows: Vec<usize> = numbers
                    .iter()
                    .enumerate()
                    .filter(|(_, own)| **own == number)
                    .map(|(row, _)| row)
                    .collect();
                rows_left += batch.num_rows() - rows.len();
                locators.extend(rows.iter().filter_map(|row| own.get(*row).cloned()));
                match rows.len() == batch.num_rows() {
                    true => batch,
                    false => take_rows(&batch, &rows)?,
                }
            }
        };
        if moved.num_rows() > 0 {
            target.write_keyed(&to.definition, |transaction| transaction.open(to.id)?.append(&moved))?;
        }
    }
    target.write_keyed(&to.definition, |transaction| transaction.settle())?;
    let all = partition.is_none() || range.is_none() && rows_left == 0;
    match all {
        true => session.work.write(from.place, |transaction| transaction.open(from.id)?.truncate()),
        false => delete(session, from, &locators),
    }
}

fn delete(session: &Session, table: &OpenTable, locators: &[RowLocator]) -> Result<(), SqlError> {
    locators.chunks(REMOVED_AT_ONCE).try_for_each(|some| {
        session.work.write(table.place, |transaction| transaction.open(table.id)?.delete_located(some))
    })
}

/// Returns the position of the column that a table is partitioned by.
pub(super) fn position_of(table: &TableDefinition) -> Result<usize, SqlError> {
    let position = table.partitioning.as_ref().and_then(|by| table.position(&by.column));
    position.ok_or_else(|| SqlError::internal(format!("table {} has no partitions", table.qualified_name())))
}

/// Returns the range of the clustered key in which all rows of a partition are. `None`: the key begins with another
/// column, or orders its values otherwise.
fn key_range(
    table: &TableDefinition,
    position: usize,
    ranges: &PartitionRanges,
    number: usize,
) -> Option<KeyRange> {
    let keys = KeyedTable::keys(table);
    let key = keys.first().filter(|key| key.index.is_none())?;
    let plain = ranges
        .values()
        .iter()
        .all(|value| matches!(value, Datum::Int(_) | Datum::Decimal(_) | Datum::Date(_) | Datum::Moment(_)));
    if key.columns.first() != Some(&(position, false)) || !plain {
        return None;
    }
    let bound = |value: &Datum| Bound {
        // Rows at the bound itself are compared one by one.
        included: true,
        columns: vec![position],
        values: vec![Datum::array(std::slice::from_ref(value), ranges.sql_type())],
    };
    let (below, above) = ranges.bounds(number);
    let span = KeySpan { from: below.map(bound), to: above.map(bound), begins: false, descends: false };
    Some(KeyRange { index: None, spans: vec![span], single: false, backward: false })
}
