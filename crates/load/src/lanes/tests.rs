//! Lanes against a slow, obvious model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{cmp::Ordering, sync::Arc};

use arrow::{
    array::{ArrayRef, BinaryArray, Float64Array, Int32Array, StringArray},
    datatypes::Schema,
    record_batch::RecordBatch,
};
use proptest::prelude::*;
use rows::{CastOptions, Mapping, Plan};
use tds::{Column, Length, SqlType, Value};

use super::{LaneRule, PartitionRule, Router, Routing};
use crate::{
    describe::{ColumnDescription, DatabaseDescription, Partitioning, Storage, TableDescription},
    options::LoadOptions,
    source::SourceBatch,
    value_order::OrderedValue,
};

/// A heap with the columns `k`, by which it is partitioned, and `n`.
pub(crate) fn partitioned_table(
    sql_type: SqlType,
    is_right: bool,
    boundaries: Vec<Value>,
) -> TableDescription {
    let described = |name: &str, sql_type: SqlType| ColumnDescription {
        type_name: sql_type.to_string(),
        column: Column::new(name, sql_type, true, None),
        is_identity: false,
        is_computed: false,
        is_rowversion: false,
        has_default: false,
        is_required: false,
        collation: None,
        encryption: None,
    };
    let partitions = boundaries.len() + 1;
    TableDescription {
        name: "dbo.t".parse().unwrap(),
        is_view: false,
        columns: vec![described("k", sql_type), described("n", SqlType::Int)],
        storage: Storage::Heap,
        indexes: Vec::new(),
        triggers: Vec::new(),
        constraints: Vec::new(),
        rows: 0,
        partitions: u32::try_from(partitions).unwrap(),
        partitioning: Some(Partitioning {
            scheme: "s".to_owned(),
            function: "f".to_owned(),
            column: "k".to_owned(),
            is_right,
            boundaries,
            rows: vec![0; partitions],
            unaligned_indexes: Vec::new(),
        }),
        database: DatabaseDescription::default(),
    }
}

/// A router for batches of `schema`, with so many lanes of partitions.
pub(crate) fn router(
    target: &TableDescription,
    schema: &Schema,
    options: &LoadOptions,
    lanes: usize,
) -> Router {
    let plan =
        Plan::new(schema, &target.loadable_columns(false), &Mapping::ByName, options.cast.clone()).unwrap();
    let routing = Routing::new(target, schema, &plan, options).unwrap();
    let (partitions, has_default) = (routing.partitions.clone(), routing.has_default);
    let rule = LaneRule { partitions, lanes, has_default, column: routing.column.clone() };
    Router::new(rule, routing)
}

/// How SQL Server compares two values of one type, by its documentation; NULL comes first.
fn compare(one: &Value, other: &Value) -> Ordering {
    let padded = |bytes: &[u8], length: usize| {
        let mut bytes = bytes.to_vec();
        bytes.resize(length, 0);
        bytes
    };
    match (one, other) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::TinyInt(a), Value::TinyInt(b)) => a.cmp(b),
        (Value::SmallInt(a), Value::SmallInt(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b)) => a.cmp(b),
        (Value::Money(a), Value::Money(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap(),
        (
            Value::Decimal { magnitude: a, negative: c, .. },
            Value::Decimal { magnitude: b, negative: d, .. },
        ) => {
            let signed = |magnitude: u128, negative: bool| {
                if negative { -(magnitude as i128) } else { magnitude as i128 }
            };
            signed(*a, *c).cmp(&signed(*b, *d))
        }
        (Value::Time { ticks: a, .. }, Value::Time { ticks: b, .. }) => a.cmp(b),
        (Value::DateTime2 { days: a, ticks: c, .. }, Value::DateTime2 { days: b, ticks: d, .. })
        | (
            Value::DateTimeOffset { days: a, ticks: c, .. },
            Value::DateTimeOffset { days: b, ticks: d, .. },
        ) => (a, c).cmp(&(b, d)),
        (Value::DateTime { days: a, ticks: c }, Value::DateTime { days: b, ticks: d }) => (a, c).cmp(&(b, d)),
        (Value::SmallDateTime { days: a, minutes: c }, Value::SmallDateTime { days: b, minutes: d }) => {
            (a, c).cmp(&(b, d))
        }
        (Value::Guid(a), Value::Guid(b)) => {
            let places = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
            let different = places.into_iter().find(|place| a[*place] != b[*place]);
            different.map_or(Ordering::Equal, |place| a[place].cmp(&b[place]))
        }
        (Value::Binary(a), Value::Binary(b)) => {
            let length = a.len().max(b.len());
            padded(a, length).cmp(&padded(b, length))
        }
        other => panic!("{other:?}"),
    }
}

/// The partition by looking at one boundary after the other.
fn partition_of(value: &Value, boundaries: &[Value], is_right: bool) -> usize {
    let is_behind = |boundary: &&Value| match compare(value, boundary) {
        Ordering::Less => false,
        Ordering::Equal => is_right,
        Ordering::Greater => true,
    };
    boundaries.iter().filter(is_behind).count()
}

/// A value of the kind, of few different ones, so that values and boundaries meet.
fn value(kind: usize, at: i64) -> Value {
    let days = 737_000 + i32::try_from(at / 7).unwrap();
    let of_day = at.rem_euclid(7).unsigned_abs();
    match kind {
        0 => Value::TinyInt((at + 100) as u8),
        1 => Value::SmallInt(at as i16 * 300),
        2 => Value::Int(at as i32 * 40_000_000),
        3 => Value::BigInt(at * 10_000_000_000_000_000),
        4 => Value::Money(at * 5_000),
        5 => {
            Value::Decimal { magnitude: at.unsigned_abs().into(), negative: at < 0, precision: 18, scale: 2 }
        }
        6 => Value::Date(days),
        7 => Value::Time { ticks: (at + 50).unsigned_abs() * 800_000, scale: 3 },
        8 => Value::DateTime2 { days, ticks: of_day * 10_000_000, scale: 7 },
        9 => {
            Value::DateTimeOffset { days, ticks: of_day * 60_000, scale: 3, offset_minutes: (at * 10) as i16 }
        }
        10 => Value::DateTime { days: days - 693_595, ticks: of_day as u32 * 300 },
        11 => Value::SmallDateTime { days: (days - 693_595) as u16, minutes: of_day as u16 },
        12 => {
            let mut bytes = [0; 16];
            bytes[at.rem_euclid(16) as usize] = (at / 3) as u8;
            Value::Guid(bytes)
        }
        13 => Value::Float(at as f64 / 4.0),
        _ => {
            let mut bytes = (at / 4).to_be_bytes()[6..].to_vec();
            bytes.resize(2 + at.rem_euclid(4) as usize, 0);
            Value::Binary(bytes)
        }
    }
}

const KINDS: usize = 15;

fn sql_type(kind: usize) -> SqlType {
    match kind {
        0 => SqlType::TinyInt,
        1 => SqlType::SmallInt,
        2 => SqlType::Int,
        3 => SqlType::BigInt,
        4 => SqlType::Money,
        5 => SqlType::Decimal { precision: 18, scale: 2 },
        6 => SqlType::Date,
        7 => SqlType::Time { scale: 3 },
        8 => SqlType::DateTime2 { scale: 7 },
        9 => SqlType::DateTimeOffset { scale: 3 },
        10 => SqlType::DateTime,
        11 => SqlType::SmallDateTime,
        12 => SqlType::UniqueIdentifier,
        13 => SqlType::Float,
        _ => SqlType::VarBinary { length: Length::Units(10) },
    }
}

/// The values as a source has them: text, or bytes, or numbers.
fn column(values: &[Value]) -> ArrayRef {
    let text = |value: &Value| (!value.is_null()).then(|| value.to_string());
    match values.iter().find(|value| !value.is_null()) {
        Some(Value::Float(_)) => Arc::new(Float64Array::from_iter(values.iter().map(|value| match value {
            Value::Float(number) => Some(*number),
            _ => None,
        }))),
        Some(Value::Binary(_)) => Arc::new(BinaryArray::from_iter(values.iter().map(|value| match value {
            Value::Binary(bytes) => Some(bytes.as_slice()),
            _ => None,
        }))),
        _ => Arc::new(StringArray::from_iter(values.iter().map(text))),
    }
}

fn batch(keys: ArrayRef) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..keys.len() as i32));
    RecordBatch::try_from_iter([("k", keys), ("n", numbers)]).unwrap()
}

/// The rows of each lane by number, in order.
fn dealt(router: &Router, batch: RecordBatch) -> Vec<(usize, Vec<u64>)> {
    let parts = router.split(SourceBatch::from(batch)).unwrap();
    parts
        .into_iter()
        .map(|(lane, part)| (lane, (0..part.rows()).map(|row| part.origin_row(row)).collect()))
        .collect()
}

proptest! {
    #[test]
    fn every_row_goes_to_the_lane_of_its_partition(
        kind in 0..KINDS,
        is_right: bool,
        boundaries in prop::collection::vec(-49..50_i64, 0..12),
        starts_with_null: bool,
        rows in prop::collection::vec(prop::option::weighted(0.9, -49..50_i64), 1..200),
        lanes in 1..20_usize,
    ) {
        let mut boundaries: Vec<Value> = boundaries.into_iter().map(|at| value(kind, at)).collect();
        if starts_with_null {
            boundaries.push(Value::Null);
        }
        boundaries.sort_by(compare);
        boundaries.dedup_by(|one, other| compare(one, other).is_eq());
        let values: Vec<Value> = rows.iter().map(|at| at.map_or(Value::Null, |at| value(kind, at))).collect();
        let batch = batch(column(&values));
        let target = partitioned_table(sql_type(kind), is_right, boundaries.clone());
        let router = router(&target, &batch.schema(), &LoadOptions::default(), lanes);
        let mut expected = vec![Vec::new(); lanes];
        for (row, value) in values.iter().enumerate() {
            expected[partition_of(value, &boundaries, is_right) % lanes].push(row as u64);
        }
        let expected: Vec<_> = expected.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()).collect();
        prop_assert_eq!(dealt(&router, batch), expected);
    }

    #[test]
    fn a_rule_reads_back_from_its_text(
        kind in 0..KINDS,
        is_right: bool,
        boundaries in prop::collection::vec(-49..50_i64, 0..12),
        lanes in 1..70_usize,
        has_default: bool,
    ) {
        let mut boundaries: Vec<Option<OrderedValue>> =
            boundaries.into_iter().map(|at| OrderedValue::of(&value(kind, at))).chain([None]).collect();
        boundaries.sort();
        boundaries.dedup();
        let partitions = PartitionRule::of(is_right, boundaries).unwrap();
        let column = "a\nb] int".to_owned();
        let rule = LaneRule { partitions, lanes, has_default, column };
        prop_assert_eq!(LaneRule::of_text(&rule.to_text(), &rule.column), Some(rule.clone()));
        prop_assert_eq!(LaneRule::of_text(&rule.to_text(), "c int"), None);
    }
}

#[test]
fn rows_are_routed_by_the_value_that_is_stored() {
    let target = partitioned_table(SqlType::Int, true, vec![Value::Int(2)]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1.4", "1.6", "x", "7"]));
    let rounding = CastOptions { allow_rounding: true, ..CastOptions::default() };
    let numbers = |options: &LoadOptions, keys: ArrayRef| {
        let batch = batch(keys);
        dealt(&router(&target, &batch.schema(), options, 2), batch)
    };
    // 1.6 is stored as 2, where that is allowed. What does not fit is in the lane of rows whose partition is not known.
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.4, 1.6, 7.0, 1e20]));
    let options = LoadOptions { cast: rounding, ..LoadOptions::default() };
    assert_eq!(numbers(&options, Arc::clone(&floats)), [(0, vec![0]), (1, vec![1, 2]), (2, vec![3])]);
    assert_eq!(numbers(&LoadOptions::default(), texts), [(1, vec![3]), (2, vec![0, 1, 2])]);
}

#[test]
fn null_that_becomes_a_default_has_no_known_partition() {
    let mut target = partitioned_table(SqlType::Int, true, vec![Value::Int(2)]);
    target.columns[0].has_default = true;
    let keys: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(5)]));
    let deal = |options: &LoadOptions| {
        let batch = batch(Arc::clone(&keys));
        dealt(&router(&target, &batch.schema(), options, 2), batch)
    };
    assert_eq!(deal(&LoadOptions::default()), [(1, vec![1]), (2, vec![0])]);
    assert_eq!(
        deal(&LoadOptions { keep_nulls: true, ..LoadOptions::default() }),
        [(0, vec![0]), (1, vec![1])]
    );
}

#[test]
fn what_cannot_be_routed_says_why() {
    let boundary = || vec![Value::Int(2)];
    let refused = |target: &TableDescription, names: [&'static str; 2]| {
        let keys: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([(names[0], Arc::clone(&keys)), (names[1], keys)]).unwrap();
        let columns: Vec<Column> = target.loadable_columns(false);
        let pairs = names.map(|name| (name.to_owned(), name.to_owned()));
        let pairs = pairs.into_iter().filter(|(name, _)| columns.iter().any(|column| column.name == *name));
        let mapping = Mapping::Explicit(pairs.collect());
        let plan = Plan::new(&batch.schema(), &columns, &mapping, CastOptions::default()).unwrap();
        Routing::new(target, &batch.schema(), &plan, &LoadOptions::default()).map(|_| ()).unwrap_err()
    };
    let table = partitioned_table(SqlType::Int, true, boundary());
    assert_eq!(refused(&table, ["other", "n"]), "the partitioning column [k] is not in the source");
    let mut computed = table.clone();
    computed.columns[0].is_computed = true;
    assert_eq!(refused(&computed, ["k", "n"]), "the server computes the partitioning column [k]");
    let bigint = partitioned_table(SqlType::BigInt, true, boundary());
    assert_eq!(refused(&bigint, ["k", "n"]), "[k]: its boundaries are of another type than the column");
    let unknown = TableDescription { partitioning: None, ..table };
    assert_eq!(refused(&unknown, ["k", "n"]), "the catalogue does not say how the table is partitioned");
}

#[test]
fn text_is_not_routed() {
    let text = SqlType::NVarChar { length: Length::Units(10) };
    let target = partitioned_table(text.clone(), true, vec![Value::String("m".to_owned())]);
    let refused = PartitionRule::new(target.partitioning.as_ref().unwrap(), &text);
    assert_eq!(refused, Err("text compares by its collation, which the server alone knows"));
}
