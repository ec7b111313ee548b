//! One of the two tables of a SWITCH, and its partition that takes part.

use databases::catalogue::{Check, PartitionRanges, Partitioning, TableDefinition, same_name};
use tsql::SqlError;

use crate::session::Session;
use crate::session::work::OpenTable;
use crate::statements::ddl::allowed_values::AllowedValues;
use crate::statements::ddl::partition_rows;
use crate::statements::ddl::partitioning;
use crate::statements::ddl::switch_checks::{failed, failed_because};

/// A table, and its partition if it is partitioned.
pub(super) struct Side {
    pub table: OpenTable,
    pub partition: Option<Partition>,
}

/// A partition of a table.
pub(super) struct Partition {
    pub number: usize,
    pub ranges: PartitionRanges,
    /// The position of the partitioning column.
    pub position: usize,
    /// The file group that its scheme names.
    group: String,
}

impl Side {
    /// Takes the partition that a statement names. `state` is 1 for the source, 2 for the target.
    ///
    /// Errors: 4911 for a partitioned table without a number, 4950 for a partition that there is not, and those of indexes that are
    /// partitioned otherwise.
    pub fn new(
        session: &Session,
        table: OpenTable,
        number: Option<i64>,
        state: u8,
        notices: &mut Vec<SqlError>,
    ) -> Result<Side, SqlError> {
        let definition = &table.definition;
        let name = definition.full_name();
        let Some(by) = &definition.partitioning else {
            if let Some(number) = number {
                let text = format!(
                    "Warning: The specified partition {number} for the table '{name}' was ignored in ALTER TABLE SWITCH statement because the table is not partitioned."
                );
                notices.push(SqlError::new(4903, 0, state, text));
            }
            check_unpartitioned(definition)?;
            return Ok(Side { table, partition: None });
        };
        let Some(number) = number else {
            let text = format!(
                "Cannot specify a partitioned table without partition number in ALTER TABLE SWITCH statement. The table '{name}' is partitioned."
            );
            return Err(SqlError::new(4911, 16, state, text));
        };
        let function = partitioning::function_of(session, definition, by)?;
        let ranges = function.ranges()?;
        let missing =
            || failed_because(4950, &format!("partition number {number} does not exist in table '{name}'."));
        let number = usize::try_from(number).ok().filter(|number| (1..=ranges.count()).contains(number));
        let number = number.ok_or_else(missing)?;
        check_aligned(session, definition, by)?;
        let scheme = session.work.view().partition_scheme(&definition.database, &by.scheme)?;
        let group = scheme.and_then(|(_, scheme)| scheme.groups.get(number - 1).cloned());
        let position = partition_rows::position_of(definition)?;
        let group = group.unwrap_or_else(|| "PRIMARY".to_owned());
        Ok(Side { partition: Some(Partition { number, ranges, position, group }), table })
    }

    /// Returns the file group of the rows.
    pub fn rows_group(&self) -> String {
        match &self.partition {
            Some(partition) => partition.group.clone(),
            None => primary(&self.table.definition.file_groups.rows),
        }
    }

    /// Returns the file group of the large values.
    pub fn large_group(&self) -> String {
        match (&self.partition, &self.table.definition.file_groups.large_values) {
            (None, Some(group)) => group.clone(),
            _ => self.rows_group(),
        }
    }

    /// Returns the file group of an index, by the index's own setting.
    pub fn index_group(&self, own: &Option<String>) -> String {
        match (&self.partition, own) {
            (None, Some(group)) => group.clone(),
            _ => self.rows_group(),
        }
    }

    /// Returns true if the pages of the table and of all its indexes are in the table's own file group.
    pub fn is_in_one_group(&self) -> bool {
        let definition = &self.table.definition;
        let keys = definition.keys.iter().map(|key| &key.file_group);
        let indexes = definition.indexes.iter().map(|index| &index.file_group);
        keys.chain(indexes).all(Option::is_none) && definition.file_groups.large_values.is_none()
    }

    /// Errors: 4904 or 4905 for a target that has rows.
    pub fn check_empty(&self, session: &Session) -> Result<(), SqlError> {
        let name = self.table.definition.full_name();
        match &self.partition {
            None if self.table.rows > 0 => {
                Err(failed(4905, &format!("The target table '{name}' must be empty.")))
            }
            Some(Partition { number, ranges, .. })
                if !partition_rows::is_empty(session, &self.table, ranges, *number)? =>
            {
                let text =
                    format!("The specified partition {number} of target table '{name}' must be empty.");
                Err(failed(4904, &text))
            }
            _ => Ok(()),
        }
    }
}

impl Partition {
    /// Returns true if all rows of the partition satisfy a check of another table. `None`: the check is no range of
    /// the partitioning column.
    pub fn satisfies(&self, check: &Check, own: &TableDefinition, target: &TableDefinition) -> Option<bool> {
        let allowed = AllowedValues::of_whole_check(&check.text, target, self.position, &self.ranges)?;
        let of_table = AllowedValues::of_table(own, self.position, &self.ranges);
        let present = AllowedValues::of_partition(&self.ranges, self.number).and(of_table, &self.ranges);
        Some(present.are_within(&allowed, &self.ranges))
    }
}

/// Errors: 4953 for partitions by different columns, 4973 for a range that is no part of the target's. Error 4982 is
/// for a source whose constraints let values in that the target's partition does not take.
pub(super) fn check_ranges(from: &Side, to: &Side) -> Result<(), SqlError> {
    let Some(target) = &to.partition else { return Ok(()) };
    let (source_name, target_name) = (from.table.definition.full_name(), to.table.definition.full_name());
    let ranges = &target.ranges;
    let of_table = AllowedValues::of_table(&from.table.definition, target.position, ranges);
    let allowed = AllowedValues::of_partition(ranges, target.number);
    let Some(source) = &from.partition else {
        if of_table.are_within(&allowed, ranges) {
            return Ok(());
        }
        let text = format!(
            "Check constraints of source table '{source_name}' allow values that are not allowed by range defined by partition {} on target table '{target_name}'.",
            target.number
        );
        return Err(failed(4982, &text));
    };
    if source.position != target.position {
        let text = format!(
            "The columns set used to partition the table '{source_name}' is different from the column set used to partition the table '{target_name}'."
        );
        return Err(failed(4953, &text));
    }
    let present = AllowedValues::of_partition(&source.ranges, source.number).and(of_table, ranges);
    if present.are_within(&allowed, ranges) {
        return Ok(());
    }
    let text = format!(
        "Range defined by partition {} in table '{source_name}' is not a subset of range defined by partition {} in table '{target_name}'.",
        source.number, target.number
    );
    Err(failed(4973, &text))
}

fn primary(group: &Option<String>) -> String {
    group.clone().unwrap_or_else(|| "PRIMARY".to_owned())
}

/// Errors: 4906 for a table without partitions whose index has some.
fn check_unpartitioned(table: &TableDefinition) -> Result<(), SqlError> {
    let keys = table.keys.iter().filter(|key| key.partitioning.is_some()).map(|key| &key.name);
    let indexes = table.indexes.iter().filter(|index| index.partitioning.is_some()).map(|index| &index.name);
    match keys.chain(indexes).next() {
        Some(index) => {
            let text = format!(
                "'ALTER TABLE SWITCH' statement failed. The table '{}' is not partitioned while index '{index}' is partitioned.",
                table.full_name()
            );
            Err(SqlError::new(4906, 16, 1, text))
        }
        None => Ok(()),
    }
}

/// Errors: 7733 for an index that is not partitioned, 4912 for one by another column, 4907 and 4908 for one with other boundaries.
fn check_aligned(session: &Session, table: &TableDefinition, by: &Partitioning) -> Result<(), SqlError> {
    let Some(index) = partitioning::unaligned(session, table)? else { return Ok(()) };
    let (name, index_name) = (table.full_name(), &index.name);
    let told = |number: i32, state: u8, text: String| {
        Err(SqlError::new(number, 16, state, format!("'ALTER TABLE SWITCH' statement failed. {text}")))
    };
    match &index.partitioning {
        None => {
            let text =
                format!("The table '{name}' is partitioned while index '{index_name}' is not partitioned.");
            told(7733, 4, text)
        }
        Some(own) if !same_name(&own.column, &by.column) => {
            let text = format!(
                "The columns set used to partition the table '{name}' is different from the column set used to partition index '{index_name}'."
            );
            told(4912, 1, text)
        }
        Some(own) => {
            let counts = (
                partitioning::function_of(session, table, by)?.fanout(),
                partitioning::function_of(session, table, own)?.fanout(),
            );
            if counts.0 != counts.1 {
                let text = format!(
                    "The table '{name}' has {} partitions while index '{index_name}' has {} partitions.",
                    counts.0, counts.1
                );
                return told(4907, 1, text);
            }
            let text = format!(
                "The range boundary values used to partition the table '{name}' are different from the range boundary values used for index '{index_name}'."
            );
            told(4908, 1, text)
        }
    }
}
