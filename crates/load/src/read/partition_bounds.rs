//! Ranges that follow the partitions of a table.

use tds::Value;

use super::even;
use crate::{describe::Partitioning, value_order::OrderedValue};

/// Boundaries between groups of whole partitions, for about so many ranges. A partition that is as large as a range stands alone.
pub(crate) fn of_groups(partitioning: &Partitioning, ranges: usize) -> Vec<Value> {
    let share = share(partitioning, ranges);
    let rows = &partitioning.rows;
    // Nothing follows the last partition with rows.
    let last = rows.iter().rposition(|rows| *rows > 0).unwrap_or_default();
    let mut found = Vec::new();
    let mut group = 0;
    for ((rows, next), boundary) in
        rows.iter().zip(rows.iter().skip(1)).zip(&partitioning.boundaries).take(last)
    {
        group += rows;
        let is_full = group >= share || (group > 0 && *next >= share);
        if is_full && !boundary.is_null() {
            found.push(first_behind(boundary, partitioning.is_right));
            group = 0;
        }
    }
    found
}

/// Boundaries that were found among the keys, made to follow the partitions: small partitions are read as groups, and only large
/// ones are cut within. `None`: the order of the values is not known here.
pub(crate) fn with_partitions(
    found: &[Value],
    partitioning: &Partitioning,
    ranges: usize,
) -> Option<Vec<Value>> {
    let share = share(partitioning, ranges);
    let place = |value: &Value| OrderedValue::of(value);
    let mut all = Vec::new();
    for value in of_groups(partitioning, ranges) {
        all.push((place(&value)?, value));
    }
    let starts: Vec<OrderedValue> = partitioning
        .boundaries
        .iter()
        .filter(|boundary| !boundary.is_null())
        .map(|boundary| place(&first_behind(boundary, partitioning.is_right)))
        .collect::<Option<_>>()?;
    let nulls = partitioning.boundaries.len() - starts.len();
    for value in found {
        let at = place(value)?;
        let partition = nulls + starts.partition_point(|start| *start <= at);
        if partitioning.rows.get(partition).is_some_and(|rows| *rows / 2 >= share) {
            all.push((at, value.clone()));
        }
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all.dedup_by(|(one, _), (other, _)| one == other);
    Some(all.into_iter().map(|(_, value)| value).collect())
}

/// Returns the number of rows of a range.
fn share(partitioning: &Partitioning, ranges: usize) -> u64 {
    (partitioning.rows.iter().sum::<u64>() / ranges.max(1) as u64).max(1)
}

/// Returns the first value of the partition behind a boundary, as far as it can be counted. Where it cannot, the
/// boundary's own rows are read with those behind it.
fn first_behind(boundary: &Value, is_right: bool) -> Value {
    match is_right {
        true => boundary.clone(),
        false => even::next(boundary).unwrap_or_else(|| boundary.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;
    use tds::Value;

    use super::{of_groups, with_partitions};
    use crate::describe::Partitioning;

    fn partitioning(is_right: bool, boundaries: &[i32], rows: &[u64]) -> Partitioning {
        Partitioning {
            scheme: "s".to_owned(),
            function: "f".to_owned(),
            column: "k".to_owned(),
            is_right,
            boundaries: boundaries.iter().copied().map(Value::Int).collect(),
            rows: rows.to_vec(),
            unaligned_indexes: Vec::new(),
        }
    }

    fn ints(values: &[i32]) -> Vec<Value> {
        values.iter().copied().map(Value::Int).collect()
    }

    #[test]
    fn small_partitions_are_read_as_groups() {
        let rows = [10, 10, 10, 10, 60, 0, 0];
        let boundaries = [1, 2, 3, 4, 5, 6];
        assert_eq!(of_groups(&partitioning(true, &boundaries, &rows), 5), ints(&[2, 4]));
        // A boundary of RANGE LEFT ends its partition: the next begins behind it.
        assert_eq!(of_groups(&partitioning(false, &boundaries, &rows), 5), ints(&[3, 5]));
        assert_eq!(of_groups(&partitioning(true, &boundaries, &rows), 1), ints(&[]));
        assert_eq!(of_groups(&partitioning(true, &[1], &[0, 9]), 4), ints(&[]));
    }

    #[test]
    fn a_large_partition_is_cut_by_the_keys_that_were_found() {
        let partitions = partitioning(true, &[10, 20], &[5, 100, 5]);
        let found = with_partitions(&ints(&[3, 12, 15, 18, 25]), &partitions, 4).unwrap();
        assert_eq!(found, ints(&[10, 12, 15, 18, 20]));
        let text = Value::String("a".to_owned());
        assert_eq!(with_partitions(&[text], &partitions, 4), None);
    }

    proptest! {
        #[test]
        fn boundaries_ascend_whatever_partitions_there_are(
            is_right: bool,
            partitions in prop::collection::btree_map(-40..40_i32, 0_u64..100, 0..20),
            first in 0_u64..100,
            found in prop::collection::btree_set(-50..50_i32, 0..20),
            ranges in 1..40_usize,
        ) {
            let boundaries: Vec<i32> = partitions.keys().copied().collect();
            let rows: Vec<u64> = std::iter::once(first).chain(partitions.into_values()).collect();
            let partitions = partitioning(is_right, &boundaries, &rows);
            let numbers = |values: Vec<Value>| -> Vec<i32> {
                values.into_iter().map(|value| match value { Value::Int(n) => n, other => panic!("{other}") }).collect()
            };
            let groups = numbers(of_groups(&partitions, ranges));
            prop_assert!(groups.is_sorted_by(|a, b| a < b));
            prop_assert!(groups.len() < 2 * ranges + 1);
            let found: Vec<i32> = found.into_iter().collect();
            let both = numbers(with_partitions(&ints(&found), &partitions, ranges).unwrap());
            prop_assert!(both.is_sorted_by(|a, b| a < b));
            prop_assert!(groups.iter().all(|group| both.contains(group)));
        }
    }
}
