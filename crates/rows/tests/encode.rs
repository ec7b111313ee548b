//! The columnar encoder against a slow and obvious one, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "encode/columns.rs"]
mod columns;
#[path = "encode/reference.rs"]
mod reference;
#[path = "encode/refusals.rs"]
mod refusals;
#[path = "encode/vectors.rs"]
mod vectors;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use proptest::prelude::*;
use rows::{CastOptions, Mapping, Plan};
use tds::{Column, ValuePlace};

/// A batch of the given columns, named as their targets are.
fn batch_of(columns: &[(ArrayRef, Column)], rows: usize) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(array, column)| Field::new(&column.name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.iter().map(|(array, _)| array.clone()).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).unwrap()
}

fn check(columns: &[(ArrayRef, Column)], rows: usize) {
    let batch = batch_of(columns, rows);
    let targets: Vec<Column> = columns.iter().map(|(_, column)| column.clone()).collect();
    let options = CastOptions { nested_as_json: true, ..CastOptions::default() };
    let plan = Plan::new(&batch.schema(), &targets, &Mapping::ByPosition, options).unwrap();
    let bound = plan.bind(&batch, 0).unwrap();
    let expected = reference::rows(&batch, plan.columns(), ValuePlace::BulkRow);

    let mut out = b"kept".to_vec();
    bound.encode(0..rows, &mut out);
    assert_eq!(out.split_off(4), expected.concat(), "{targets:?}");
    assert_eq!(out, b"kept");
    assert_eq!(bound.encoded_len(0..rows), expected.concat().len());

    // Any range of rows is the same rows.
    let (start, end) = (rows / 3, rows - rows / 5);
    let mut out = Vec::new();
    bound.encode(start..end, &mut out);
    assert_eq!(out, expected[start..end].concat());
    assert_eq!(bound.encoded_len(start..end), out.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every kind of column alone: all lengths around the block size, sliced at any offset.
    #[test]
    fn one_column(
        kind in 0..columns::KINDS.len(),
        seed in any::<u64>(),
        rows in prop_oneof![Just(0), Just(1), 2..70_usize, 250..260_usize, 500..600_usize],
        offset in 0..70_usize,
        nulls in columns::null_densities(),
    ) {
        check(&[columns::column(kind, "c", seed, offset, rows, nulls)], rows);
    }

    /// Columns side by side, in any order.
    #[test]
    fn many_columns(
        kinds in prop::collection::vec((0..columns::KINDS.len(), columns::null_densities()), 1..9),
        seed in any::<u64>(),
        rows in prop_oneof![1..20_usize, 250..300_usize],
        offset in 0..20_usize,
    ) {
        let columns: Vec<_> = kinds
            .iter()
            .enumerate()
            .map(|(index, &(kind, nulls))| {
                columns::column(kind, &format!("c{index}"), seed ^ index as u64, offset, rows, nulls)
            })
            .collect();
        check(&columns, rows);
    }
}

/// The property tests choose among kinds; here each of them runs for sure.
#[test]
fn every_kind() {
    for kind in 0..columns::KINDS.len() {
        for (seed, nulls) in [(1, 0), (2, 3), (3, 50), (4, 100)] {
            check(&[columns::column(kind, "c", seed, 5, 300, nulls)], 300);
        }
    }
}

#[test]
fn no_rows_and_rows_past_the_end() {
    let columns = [columns::column(0, "c", 1, 0, 10, 0)];
    let batch = batch_of(&columns, 10);
    let plan = Plan::new(&batch.schema(), &[columns[0].1.clone()], &Mapping::ByName, CastOptions::default())
        .unwrap();
    let bound = plan.bind(&batch, 0).unwrap();
    let mut out = Vec::new();
    bound.encode(10..10, &mut out);
    bound.encode(11..400, &mut out);
    assert!(out.is_empty());
    assert_eq!(bound.encoded_len(8..400), bound.encoded_len(8..10));
}
