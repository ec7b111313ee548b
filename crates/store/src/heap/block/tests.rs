#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Page counts against Microsoft's documented estimate of the size of a heap.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow::compute::cast;

use super::*;
use crate::record::kind::Kind;
use crate::record::layout::{Column, Layout};
use crate::record::tests::NoLargeValues;
use crate::record::{LengthPrefix, ValueContent, ValueForm, WireForm};

/// A column of the estimate: declared type, bytes of the data in it.
struct Estimated {
    kind: Kind,
    fixed_bytes: usize,
    variable_bytes: Option<usize>,
}

fn fixed(kind: Kind, bytes: usize) -> Estimated {
    Estimated { kind, fixed_bytes: bytes, variable_bytes: None }
}

fn variable(kind: Kind, bytes: usize) -> Estimated {
    Estimated { kind, fixed_bytes: 0, variable_bytes: Some(bytes) }
}

/// Computes the pages of a heap by "Estimate the Size of a Heap" (SQL Server documentation), steps 1 to 8.
fn estimated_pages(columns: &[Estimated], rows: usize) -> usize {
    let fixed: usize = columns.iter().map(|column| column.fixed_bytes).sum();
    let null_bitmap = 2 + columns.len().div_ceil(8);
    let variable_columns = columns.iter().filter(|column| column.variable_bytes.is_some()).count();
    let max_variable: usize = columns.iter().filter_map(|column| column.variable_bytes).sum();
    let variable = if variable_columns > 0 { 2 + variable_columns * 2 + max_variable } else { 0 };
    let row = fixed + variable + null_bitmap + 4;
    let rows_per_page = 8096 / (row + 2);
    rows.div_ceil(rows_per_page)
}

fn array(column: &Estimated, rows: usize) -> ArrayRef {
    let data_type = column.kind.data_type();
    match column.kind {
        Kind::VarChar(_) | Kind::VarBinary(_) => {
            let text = "x".repeat(column.variable_bytes.unwrap());
            let strings: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|_| &text)));
            cast(&strings, &data_type).unwrap()
        }
        Kind::NVarChar(_) => {
            let text = "ü".repeat(column.variable_bytes.unwrap() / 2);
            Arc::new(StringArray::from_iter_values((0..rows).map(|_| &text)))
        }
        // Fixed columns take their bytes also when they are null.
        _ => new_null_array(&data_type, rows),
    }
}

fn pages_filled(columns: &[Estimated], rows: usize) -> usize {
    let layout = Layout::new(
        columns
            .iter()
            .enumerate()
            .map(|(index, column)| Column::new(format!("c{index}"), column.kind))
            .collect(),
    )
    .unwrap();
    let arrays = columns.iter().map(|column| array(column, rows)).collect();
    let batch = RecordBatch::try_new(layout.schema.clone(), arrays).unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let mut block = PageBlock::new(UnitId::default(), &layout, 16, 100);
    let (mut first, mut pages) = (0, 0);
    while first < rows {
        let taken = block.append(&bound, first);
        assert!(taken > 0);
        first += taken;
        if first < rows {
            pages += block.pages();
            block.clear();
        }
    }
    pages + block.pages()
}

#[test]
fn heaps_take_as_many_pages_as_the_documented_estimate_says() {
    let decimal = |precision, scale| Kind::Decimal { precision, scale };
    let cases: Vec<(&str, Vec<Estimated>)> = vec![
        ("one byte", vec![fixed(Kind::TinyInt, 1)]),
        ("one int", vec![fixed(Kind::Int, 4)]),
        ("nine bits", (0..9).map(|bit| fixed(Kind::Bit, usize::from(bit % 8 == 0))).collect()),
        ("char(100)", vec![fixed(Kind::Char(100), 100)]),
        ("half a page", vec![fixed(Kind::Binary(4000), 4000)]),
        ("a whole page", vec![fixed(Kind::NChar(4000), 8000), fixed(Kind::Char(50), 50)]),
        (
            "money and decimals",
            vec![
                fixed(Kind::Money, 8),
                fixed(Kind::SmallMoney, 4),
                fixed(decimal(9, 2), 5),
                fixed(decimal(38, 10), 17),
            ],
        ),
        (
            "dates and times",
            vec![
                fixed(Kind::Date, 3),
                fixed(Kind::Time { scale: 0 }, 3),
                fixed(Kind::Time { scale: 7 }, 5),
                fixed(Kind::DateTime, 8),
                fixed(Kind::SmallDateTime, 4),
                fixed(Kind::DateTime2 { scale: 7 }, 8),
                fixed(Kind::DateTimeOffset { scale: 3 }, 9),
            ],
        ),
        ("one varchar", vec![variable(Kind::VarChar(Some(50)), 50)]),
        ("nvarchar beside int", vec![fixed(Kind::Int, 4), variable(Kind::NVarChar(Some(40)), 80)]),
        (
            "608-byte rows, ten columns of text",
            (0..2)
                .map(|_| fixed(Kind::Int, 4))
                .chain((0..11).map(|_| variable(Kind::VarChar(Some(60)), 51)))
                .collect(),
        ),
        (
            "eleven columns",
            vec![
                fixed(Kind::BigInt, 8),
                fixed(Kind::Int, 4),
                fixed(Kind::SmallInt, 2),
                fixed(Kind::Float, 8),
                fixed(Kind::Real, 4),
                fixed(Kind::UniqueIdentifier, 16),
                fixed(decimal(19, 4), 9),
                fixed(Kind::DateTime2 { scale: 3 }, 7),
                variable(Kind::VarChar(Some(20)), 12),
                variable(Kind::NVarChar(Some(20)), 24),
                variable(Kind::VarBinary(Some(20)), 9),
            ],
        ),
        ("three hundred columns", (0..300).map(|_| fixed(Kind::Int, 4)).collect()),
    ];
    for (name, columns) in cases {
        for rows in [1, 1_000, 4_321] {
            let (found, estimate) = (pages_filled(&columns, rows), estimated_pages(&columns, rows));
            assert_eq!(found, estimate, "{name}, {rows} rows");
        }
    }
}

#[test]
fn a_fill_factor_leaves_its_share_of_each_page_free() {
    let layout = Layout::new(vec![Column::new("c", Kind::Char(94))]).unwrap();
    let batch =
        RecordBatch::try_new(layout.schema.clone(), vec![new_null_array(&Kind::Char(1).data_type(), 790)])
            .unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    // 4 + 94 + 2 + 1 = 101 bytes and a slot: 78 rows in 8096 bytes. Nine tenths of a page hold 70 whole rows, half of it 39, 99 % 77:
    // those are left out.
    for (percent, rows_per_page) in [(100, 78), (10, 8), (50, 39), (1, 1)] {
        let mut block = PageBlock::new(UnitId::default(), &layout, 1, percent);
        assert_eq!(block.append(&bound, 0), rows_per_page, "{percent} %");
        let page = crate::page::Page::from_bytes(block.finish().unwrap()[0]);
        assert_eq!(usize::from(page.slot_count()), rows_per_page);
        assert_eq!(page.free_bytes(), 8096 - 103 * rows_per_page);
        assert_eq!(page.rows().map(|(_, row)| row.len()).sum::<usize>(), 101 * rows_per_page);
    }
}

/// Rows of the wire make the same pages whether each goes into its page at once or over records that were made before.
#[test]
fn wire_rows_fill_pages_as_finished_records_do() {
    let columns = vec![
        Column::required("a", Kind::Int),
        Column::new("b", Kind::VarChar(Some(3000))),
        Column::new("c", Kind::VarChar(Some(200))),
    ];
    let layout = Arc::new(Layout::new(columns).unwrap());
    let form =
        |prefix, required| ValueForm { prefix, content: ValueContent::Ascii, limit_bytes: 8000, required };
    let values = [
        (0, ValueForm { content: ValueContent::Stored, ..form(LengthPrefix::None, true) }),
        (1, form(LengthPrefix::Short, false)),
        (2, form(LengthPrefix::Short, false)),
    ];
    let copier = WireRowCopier::new(&layout, WireForm { marker: 0xD1, values: &values }).unwrap();
    let mut bytes = Vec::new();
    let text = |length: Option<usize>, bytes: &mut Vec<u8>| match length {
        None => bytes.extend_from_slice(&[0xFF, 0xFF]),
        Some(length) => {
            bytes.extend_from_slice(&(length as u16).to_le_bytes());
            bytes.extend((0..length).map(|index| b'a' + (index % 26) as u8));
        }
    };
    for row in 0..3_000_u32 {
        bytes.push(0xD1);
        bytes.extend_from_slice(&row.to_le_bytes());
        // Long ones now and then, so that pages end at every distance from the last row.
        let long = if row % 97 == 0 { 2900 } else { row as usize * 7 % 130 };
        text((row % 5 != 0).then_some(long), &mut bytes);
        text((row % 3 != 0).then_some(row as usize % 60), &mut bytes);
    }
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    let mut block = PageBlock::new(UnitId::default(), &layout, 3, 100);
    let (mut records, mut at) = (Records::default(), 0);
    while at < bytes.len() {
        at += copier.make(&bytes[at..], &mut records);
        let (mut first, mut start) = (0, 0);
        while first < records.lengths.len() {
            let taken = block.append_records(&records, first, start);
            start +=
                records.lengths[first..][..taken].iter().map(|length| usize::from(*length)).sum::<usize>();
            first += taken;
            if first < records.lengths.len() {
                expected.extend(block.finish().unwrap().iter().copied());
                block.clear();
            }
        }
    }
    expected.extend(block.finish().unwrap().iter().copied());
    let mut block = PageBlock::new(UnitId::default(), &layout, 3, 100);
    let (mut at, mut rows) = (0, 0);
    // In pieces that end inside of rows.
    for end in (0..=bytes.len()).step_by(10_007).chain([bytes.len()]) {
        loop {
            let (taken, is_full) = block.append_wire_rows(&copier, &bytes[at..end]);
            (at, rows) = (at + taken.bytes, rows + taken.rows);
            if !is_full {
                break;
            }
            found.extend(block.finish().unwrap().iter().copied());
            block.clear();
        }
    }
    found.extend(block.finish().unwrap().iter().copied());
    assert_eq!((at, rows), (bytes.len(), 3_000));
    assert!(found == expected, "{} pages, expected {}", found.len(), expected.len());
}
