#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use arrow::array::{Array, ArrayRef, RecordBatch};
use proptest::prelude::*;

use super::*;
use crate::record::BoundBatch;
use crate::record::kind::Place;
use crate::record::layout::Column;
use crate::record::tests::{NoLargeValues, column, kinds, layout_of};

/// First byte of every row in these tests.
const MARKER: u8 = 0xD1;

/// Rows of columns, one behind the other.
#[derive(Default)]
struct Rows {
    columns: Vec<(ValueForm, Vec<Option<Vec<u8>>>)>,
}

impl Rows {
    fn column(&mut self, form: ValueForm, values: &[Option<Vec<u8>>]) -> &mut Self {
        self.columns.push((form, values.to_vec()));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for row in 0..self.columns[0].1.len() {
            bytes.push(MARKER);
            for (form, values) in &self.columns {
                let value = values[row].as_deref();
                match form.prefix {
                    LengthPrefix::None => {}
                    LengthPrefix::Byte => bytes.push(value.map_or(0, <[u8]>::len) as u8),
                    LengthPrefix::Short => {
                        let length = value.map_or(u16::MAX, |value| value.len() as u16);
                        bytes.extend_from_slice(&length.to_le_bytes());
                    }
                }
                bytes.extend_from_slice(value.unwrap_or_default());
            }
        }
        bytes
    }

    fn values(&self) -> Vec<(usize, ValueForm)> {
        self.columns.iter().enumerate().map(|(index, (form, _))| (index, *form)).collect()
    }

    /// Returns all records; None: not all rows are taken.
    fn records(&self, layout: &Layout) -> Option<Vec<Vec<u8>>> {
        let (made, taken) = made(layout, &self.values(), &self.bytes())?;
        (taken == self.bytes().len()).then_some(made)
    }
}

/// Makes the records of rows. Returns them, and the number of bytes that were taken.
fn made(layout: &Layout, values: &[(usize, ValueForm)], bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let copier = WireRowCopier::new(&Arc::new(layout.clone()), WireForm { marker: MARKER, values }).ok()?;
    let (mut all, mut records, mut at) = (Vec::new(), Records::default(), 0);
    loop {
        let taken = copier.make(&bytes[at..], &mut records);
        let mut rest = records.bytes.as_slice();
        for length in &records.lengths {
            let (record, after) = rest.split_at((*length).into());
            all.push(record.to_vec());
            rest = after;
        }
        at += taken;
        if records.lengths.is_empty() {
            assert_eq!(taken, 0);
            return Some((all, at));
        }
    }
}

fn form_of(kind: Kind) -> ValueForm {
    let prefix = match kind {
        Kind::Char(_)
        | Kind::NChar(_)
        | Kind::Binary(_)
        | Kind::VarChar(_)
        | Kind::NVarChar(_)
        | Kind::VarBinary(_) => LengthPrefix::Short,
        _ => LengthPrefix::Byte,
    };
    let content = match kind {
        Kind::Money | Kind::DateTime | Kind::SmallDateTime => ValueContent::SwappedHalves,
        Kind::Char(_) | Kind::VarChar(_) => ValueContent::Ascii,
        _ => ValueContent::Stored,
    };
    ValueForm { prefix, content, limit_bytes: 8000, required: false }
}

/// Returns the bytes that the batch form gives each value of a column in a record of its own.
fn stored(kind: Kind, array: &ArrayRef) -> Vec<Option<Vec<u8>>> {
    let layout = layout_of(&[kind]);
    let batch = RecordBatch::try_new(layout.schema.clone(), vec![array.clone()]).unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let value = |row: usize| {
        if array.is_null(row) {
            return None;
        }
        let record = bound.record(row);
        let mut value = match kind.place() {
            Place::Fixed(width) => record[4..4 + width].to_vec(),
            Place::Bit => record[4..5].to_vec(),
            Place::Variable { .. } => record[layout.bitmap_end() + 4..].to_vec(),
        };
        if form_of(kind).content == ValueContent::SwappedHalves {
            let half = value.len() / 2;
            value.rotate_left(half);
        }
        Some(value)
    };
    (0..array.len()).map(value).collect()
}

/// Returns true if the copier must take these values: ASCII text, or UTF-16 without surrogates.
fn is_plain(kind: Kind, values: &[Option<Vec<u8>>]) -> bool {
    values.iter().flatten().all(|value| match kind {
        Kind::Char(_) | Kind::VarChar(_) => value.is_ascii(),
        Kind::NChar(_) | Kind::NVarChar(_) => {
            value.as_chunks::<2>().0.iter().all(|unit| u16::from_le_bytes(*unit) & 0xF800 != 0xD800)
        }
        _ => true,
    })
}

/// Generates kinds whose values can be copied.
fn copied_kinds() -> impl Strategy<Value = Kind> {
    kinds().prop_filter("made by the server, or stored elsewhere", |kind| {
        !matches!(kind, Kind::RowVersion)
            && !matches!(kind.place(), Place::Variable { limit_bytes } if limit_bytes.is_none_or(|limit| limit > 900))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The records are those of the batch form, byte by byte.
    #[test]
    fn copied_rows_are_the_rows_of_batches(
        (kinds, columns) in prop::collection::vec(copied_kinds(), 1..9).prop_flat_map(|kinds| {
            let columns: Vec<_> = kinds.iter().map(|kind| column(*kind, 40)).collect();
            (Just(kinds), columns)
        }),
    ) {
        let layout = layout_of(&kinds);
        let batch = RecordBatch::try_new(layout.schema.clone(), columns.clone()).unwrap();
        let values: Vec<_> = kinds.iter().zip(&columns).map(|(kind, array)| stored(*kind, array)).collect();
        let mut cells = Rows::default();
        for (kind, values) in kinds.iter().zip(&values) {
            cells.column(form_of(*kind), values);
        }
        let plain = kinds.iter().zip(&values).all(|(kind, values)| {
            // The calendar's first and last days with an offset are not taken.
            is_plain(*kind, values) && !matches!(kind, Kind::DateTimeOffset { .. })
        });
        let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues);
        match (cells.records(&layout), bound) {
            (Some(records), Ok(bound)) => {
                for (row, record) in records.iter().enumerate() {
                    let mut expected = bound.record(row);
                    // Under a null a batch may have any value, a copied row has none.
                    for (column, position) in columns.iter().zip(layout.positions.iter()) {
                        if let (Position::Fixed { offset, width }, true) = (*position, column.is_null(row)) {
                            expected[offset..offset + width].fill(0);
                        }
                    }
                    prop_assert_eq!(record, &expected, "row {}", row);
                }
            }
            (None, _) => prop_assert!(!plain),
            (Some(_), Err(error)) => prop_assert!(false, "{}", error),
        }
    }

    /// Whatever the bytes are, rows are taken whose records hold values that batches can have, or none.
    #[test]
    fn any_bytes_give_sound_records_or_none(
        kinds in prop::collection::vec(copied_kinds(), 1..5),
        bytes in prop::collection::vec(prop_oneof![0_u8..5, any::<u8>()], 0..64),
        rows in prop::collection::vec(any::<bool>(), 0..4),
    ) {
        let layout = layout_of(&kinds);
        let mut all = vec![MARKER];
        for (byte, is_row) in bytes.iter().zip(rows.iter().chain(std::iter::repeat(&false))) {
            all.extend_from_slice(if *is_row { &[MARKER] } else { std::slice::from_ref(byte) });
        }
        let values: Vec<_> = kinds.iter().enumerate().map(|(index, kind)| (index, form_of(*kind))).collect();
        if let Some((records, taken)) = made(&layout, &values, &all) {
            prop_assert!(taken <= all.len());
            for record in records {
                prop_assert_eq!(crate::record::length(&record, 0), Some(record.len()));
                prop_assert!(decoded(&layout, &record).is_ok());
            }
        }
    }

    /// Rows that are cut off anywhere are taken as far as they are whole, and the rest of them when it comes.
    #[test]
    fn rows_that_come_in_pieces_are_the_same(cut in 0_usize..2000) {
        let kinds = [Kind::Int, Kind::NVarChar(Some(20)), Kind::VarBinary(Some(9))];
        let layout = layout_of(&kinds);
        let mut rows = Rows::default();
        for (index, kind) in kinds.iter().enumerate() {
            let value = |row: usize| (row % 7 != index).then(|| [7, 0].repeat(if index == 0 { 2 } else { row % 5 }));
            rows.column(form_of(*kind), &(0..100).map(value).collect::<Vec<_>>());
        }
        let bytes = rows.bytes();
        let whole = rows.records(&layout).unwrap();
        let cut = cut.min(bytes.len());
        let (mut first, taken) = made(&layout, &rows.values(), &bytes[..cut]).unwrap();
        let (second, rest) = made(&layout, &rows.values(), &bytes[taken..]).unwrap();
        first.extend(second);
        prop_assert_eq!(taken + rest, bytes.len());
        prop_assert_eq!(first, whole);
    }
}

/// Reads a record back.
fn decoded(layout: &Layout, record: &[u8]) -> Result<RecordBatch, crate::error::EngineError> {
    use crate::page::{self, CAPACITY_BYTES, HEADER_BYTES, PAGE_BYTES, Page, PageId, PageType, UnitId};
    let mut bytes = [0; PAGE_BYTES];
    let id = PageId::new(1, 0);
    page::format(&mut bytes, id, PageType::Data, 0, UnitId::default(), layout.fixed_bytes as u16);
    bytes[HEADER_BYTES..HEADER_BYTES + record.len()].copy_from_slice(record);
    bytes[PAGE_BYTES - 2..].copy_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
    page::set_fill(&mut bytes, 1, HEADER_BYTES + record.len(), CAPACITY_BYTES - record.len() - 2);
    let mut rows = crate::record::RowGatherer::new(layout);
    rows.push_page(&std::sync::Arc::new(Page::from_bytes(bytes))).unwrap();
    let all: Vec<usize> = (0..layout.columns.len()).collect();
    rows.finish(&all, &NoLargeValues)
}

fn taken(kind: Kind, form: ValueForm, value: &[u8]) -> Option<Vec<u8>> {
    let mut cells = Rows::default();
    let records = cells.column(form, &[Some(value.to_vec())]).records(&layout_of(&[kind]))?;
    let record = records.into_iter().next()?;
    Some(match kind.place() {
        Place::Fixed(width) => record[4..4 + width].to_vec(),
        Place::Bit => record[4..5].to_vec(),
        Place::Variable { .. } => record[layout_of(&[kind]).bitmap_end() + 4..].to_vec(),
    })
}

#[test]
fn values_that_are_none_or_need_more_than_copying_are_refused() {
    let refused =
        |kind, value: &[u8]| assert_eq!(taken(kind, form_of(kind), value), None, "{kind} {value:x?}");
    refused(Kind::Bit, &[2]);
    refused(Kind::Int, &[1, 0]);
    // Ten digits in nine, a sign that is none, a zero with a minus sign.
    let decimal = Kind::Decimal { precision: 9, scale: 2 };
    refused(decimal, &[1, 0x00, 0xCA, 0x9A, 0x3B]);
    refused(decimal, &[2, 1, 0, 0, 0]);
    refused(decimal, &[0, 0, 0, 0, 0]);
    // 10000-01-01 is day 3,652,059; a day has 86,400 seconds.
    refused(Kind::Date, &3_652_059_u32.to_le_bytes()[..3]);
    refused(Kind::Time { scale: 0 }, &86_400_u32.to_le_bytes()[..3]);
    refused(Kind::DateTime2 { scale: 0 }, &[0x80, 0x51, 0x01, 0, 0, 0]);
    // 1752-12-31, and a tick too many.
    refused(Kind::DateTime, &[(-53_691_i32).to_le_bytes(), [0; 4]].concat());
    refused(Kind::DateTime, &[[0; 4], 25_920_000_u32.to_le_bytes()].concat());
    refused(Kind::SmallDateTime, &[0, 0, 0xA0, 0x05]);
    // 14:01 from UTC; the calendar's first day.
    refused(Kind::DateTimeOffset { scale: 0 }, &[0, 0, 0, 5, 0, 0, 0x49, 0x03]);
    refused(Kind::DateTimeOffset { scale: 0 }, &[0, 0, 0, 0, 0, 0, 0, 0]);
    // Too long, half a unit, half a pair and a whole one, text that is not ASCII.
    refused(Kind::NVarChar(Some(2)), &[0x41, 0, 0x42, 0, 0x43, 0]);
    refused(Kind::NVarChar(Some(2)), &[0x41, 0, 0x42]);
    refused(Kind::NVarChar(Some(2)), &[0x00, 0xD8]);
    refused(Kind::NVarChar(Some(2)), &[0x3D, 0xD8, 0x00, 0xDE]);
    refused(Kind::VarChar(Some(2)), &[0xC3, 0xA9]);
    refused(Kind::VarBinary(Some(1)), &[1, 2]);
    refused(Kind::Binary(1), &[1, 2]);
    refused(Kind::RowVersion, &[0; 8]);
}

#[test]
fn short_values_of_fixed_columns_are_padded() {
    let bytes = |kind, value: &[u8]| taken(kind, form_of(kind), value).unwrap();
    assert_eq!(bytes(Kind::Char(4), b"ab"), b"ab  ");
    assert_eq!(bytes(Kind::NChar(3), &[0x41, 0]), [0x41, 0, 0x20, 0, 0x20, 0]);
    assert_eq!(bytes(Kind::Binary(3), &[1]), [1, 0, 0]);
    // Text of a code page in a column of bytes.
    let text = ValueForm { content: ValueContent::Ascii, ..form_of(Kind::Binary(3)) };
    assert_eq!(taken(Kind::Binary(3), text, b"a").unwrap(), b"a  ");
    assert_eq!(taken(Kind::Binary(3), text, &[0xE9]), None);
}

#[test]
fn a_form_that_is_not_its_columns_is_refused() {
    let int = form_of(Kind::Int);
    assert!(taken(Kind::Int, int, &[1, 0, 0, 0]).is_some());
    assert_eq!(
        taken(Kind::Int, ValueForm { content: ValueContent::SwappedHalves, ..int }, &[1, 0, 0, 0]),
        None
    );
    assert_eq!(taken(Kind::Int, ValueForm { prefix: LengthPrefix::Short, ..int }, &[1, 0, 0, 0]), None);
    let money = form_of(Kind::Money);
    assert_eq!(taken(Kind::Money, ValueForm { content: ValueContent::Stored, ..money }, &[0; 8]), None);
    let text = form_of(Kind::NVarChar(Some(9)));
    assert_eq!(taken(Kind::NVarChar(Some(9)), ValueForm { limit_bytes: 1, ..text }, &[0x41, 0]), None);
}

#[test]
fn nulls_are_refused_where_they_may_not_be() {
    let null = |layout: &Layout, form| {
        let mut cells = Rows::default();
        cells.column(form, &[None]).records(layout)
    };
    let form = form_of(Kind::Int);
    assert!(null(&layout_of(&[Kind::Int]), form).is_some());
    assert!(null(&layout_of(&[Kind::Int]), ValueForm { required: true, ..form }).is_none());
    let required = Layout::new(vec![Column::required("c", Kind::Int)]).unwrap();
    assert!(null(&required, form).is_none());
}

#[test]
fn rows_that_do_not_fit_a_page_are_refused() {
    let kind = Kind::VarBinary(Some(8000));
    let records = |bytes: usize| {
        let mut cells = Rows::default();
        let value = vec![Some(vec![7; bytes])];
        cells.column(form_of(kind), &value).column(form_of(kind), &value).records(&layout_of(&[kind; 2]))
    };
    // 4 header, 2 count of columns, 1 bitmap, 2 count of variable ones, 2 each for their ends: 13 and twice 3,993 are 7,999.
    assert_eq!(records(3993).unwrap()[0].len(), 7999);
    assert!(records(4100).is_none());
}
