#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::DataType;
use proptest::prelude::*;

use super::compress::Compression;
use super::kind::Kind;
use super::layout::{Column, Layout};
use super::*;
use crate::heap::block::PageBlock;
use crate::page::{Page, PageId, UnitId, set_address};

/// For rows that must fit.
pub struct NoLargeValues;

impl LargeValueSink for NoLargeValues {
    fn store(&mut self, _purpose: LargeUse, _value: &[u8]) -> Result<Vec<u8>, EngineError> {
        panic!("no value is expected to leave its row")
    }
}

impl LargeValueSource for NoLargeValues {
    fn read(&self, _pointer: &[u8], _out: &mut Vec<u8>) -> Result<(), EngineError> {
        panic!("no value is expected outside of its row")
    }
}

/// Keeps values in memory; the pointer is 24 bytes with the value's number, a u32, in front.
#[derive(Default)]
pub struct MemoryValues(Vec<(LargeUse, Vec<u8>)>);

impl MemoryValues {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl LargeValueSink for MemoryValues {
    fn store(&mut self, purpose: LargeUse, value: &[u8]) -> Result<Vec<u8>, EngineError> {
        self.0.push((purpose, value.to_vec()));
        let mut pointer = vec![0; POINTER_BYTES];
        pointer[..4].copy_from_slice(&(self.0.len() as u32 - 1).to_le_bytes());
        Ok(pointer)
    }
}

impl LargeValueSource for MemoryValues {
    fn read(&self, pointer: &[u8], out: &mut Vec<u8>) -> Result<(), EngineError> {
        assert_eq!(pointer.len(), POINTER_BYTES);
        let number = u32::from_le_bytes(*pointer.first_chunk().unwrap());
        out.extend_from_slice(&self.0[number as usize].1);
        Ok(())
    }
}

pub fn layout_of(kinds: &[Kind]) -> Layout {
    Layout::new(
        kinds.iter().enumerate().map(|(index, kind)| Column::new(format!("c{index}"), *kind)).collect(),
    )
    .unwrap()
}

pub fn through_pages(layout: &Layout, batch: &RecordBatch) -> RecordBatch {
    let mut values = MemoryValues::default();
    let bound = BoundBatch::new(layout, batch, &mut values).unwrap();
    let mut block = PageBlock::new(UnitId::default(), layout, 3, 100);
    let mut gatherer = RowGatherer::new(layout);
    let mut first = 0;
    while first < bound.rows() {
        let taken = block.append(&bound, first);
        assert!(taken > 0);
        for (index, bytes) in block.finish().unwrap().iter_mut().enumerate() {
            set_address(bytes, PageId::new(1, index as u32), PageId::NONE, PageId::NONE);
            crate::page::seal(bytes);
            let page = Page::from_bytes(*bytes);
            page.verify(PageId::new(1, index as u32)).unwrap();
            gatherer.push_page(&Arc::new(page)).unwrap();
        }
        first += taken;
        block.clear();
    }
    let all: Vec<usize> = (0..layout.columns.len()).collect();
    gatherer.finish(&all, &values).unwrap()
}

fn one(kind: Kind, array: impl Array + 'static) -> (Layout, RecordBatch) {
    let layout = layout_of(&[kind]);
    let batch = RecordBatch::try_new(layout.schema.clone(), vec![Arc::new(array)]).unwrap();
    (layout, batch)
}

fn bytes_of(kind: Kind, array: impl Array + 'static) -> Vec<u8> {
    let (layout, batch) = one(kind, array);
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let record = bound.record(0);
    assert_eq!(length(&record, 0), Some(record.len()));
    record
}

#[test]
fn a_record_has_the_published_form() {
    // CREATE TABLE t (a int, b varchar(10), c char(3), d varchar(10)); (1, 'xyz', 'ab', NULL): the trailing NULL has no entry.
    let layout = layout_of(&[Kind::Int, Kind::VarChar(Some(10)), Kind::Char(3), Kind::VarChar(Some(10))]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![1])),
        Arc::new(StringArray::from(vec!["xyz"])),
        Arc::new(StringArray::from(vec!["ab"])),
        Arc::new(StringArray::from(vec![None::<&str>])),
    ];
    let batch = RecordBatch::try_new(layout.schema.clone(), columns).unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let expected = [
        0x30, 0, 11, 0, // NULL bitmap and variable columns; fixed part ends at 11
        1, 0, 0, 0, b'a', b'b', b' ', // a, c
        4, 0, 0xF8, // four columns, the fourth is null, unused bits set
        1, 0, 21, 0, // one entry: b ends at 21
        b'x', b'y', b'z',
    ];
    assert_eq!(bound.record(0), expected);
}

#[test]
fn values_have_their_published_bytes() {
    let fixed = |kind, array: ArrayRef| bytes_of(kind, array)[4..].to_vec();
    let case = |kind, array: ArrayRef, bytes: &[u8]| {
        let found = fixed(kind, array);
        assert_eq!(&found[..found.len() - 3], bytes, "{kind}");
    };
    // 1.2345 as money is 12345 ten-thousandths.
    let money = Decimal128Array::from(vec![12_345]).with_precision_and_scale(19, 4).unwrap();
    case(Kind::Money, Arc::new(money), &[0x39, 0x30, 0, 0, 0, 0, 0, 0]);
    let decimal = |value| Decimal128Array::from(vec![value]).with_precision_and_scale(9, 2).unwrap();
    let kind = Kind::Decimal { precision: 9, scale: 2 };
    case(kind, Arc::new(decimal(258)), &[1, 2, 1, 0, 0]);
    case(kind, Arc::new(decimal(-258)), &[0, 2, 1, 0, 0]);
    // 0001-01-01 is day 0, 1900-01-01 day 693595.
    case(Kind::Date, Arc::new(Date32Array::from(vec![-719_162])), &[0, 0, 0]);
    case(Kind::Date, Arc::new(Date32Array::from(vec![-25_567])), &693_595_u32.to_le_bytes()[..3]);
    // 1900-01-02 00:00:00.003 is one tick into day 1.
    let datetime = TimestampMillisecondArray::from(vec![-25_566 * 86_400_000 + 3]);
    case(Kind::DateTime, Arc::new(datetime), &[1, 0, 0, 0, 1, 0, 0, 0]);
    let small = TimestampSecondArray::from(vec![-25_566 * 86_400 + 120]);
    case(Kind::SmallDateTime, Arc::new(small), &[2, 0, 1, 0]);
    // 12:00 at scale 7 is 432000000000 units.
    let noon = Time64NanosecondArray::from(vec![43_200_000_000_000]);
    case(Kind::Time { scale: 7 }, Arc::new(noon), &432_000_000_000_u64.to_le_bytes()[..5]);
    let guid = FixedSizeBinaryArray::try_from_iter([(0_u8..16).collect::<Vec<_>>()].into_iter()).unwrap();
    case(Kind::UniqueIdentifier, Arc::new(guid), &[3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]);
    case(Kind::NChar(2), Arc::new(StringArray::from(vec!["é"])), &[0xE9, 0, b' ', 0]);
    case(Kind::RowVersion, Arc::new(UInt64Array::from(vec![0x7D1])), &[0, 0, 0, 0, 0, 0, 7, 0xD1]);
}

#[test]
fn what_a_type_cannot_hold_is_refused() {
    let refused = |kind, array: ArrayRef| {
        let (layout, batch) = one(kind, array);
        for compression in [Compression::None, Compression::Row] {
            let layout = layout.clone().with_compression(compression).unwrap();
            match BoundBatch::new(&layout, &batch, &mut NoLargeValues) {
                Err(EngineError::Value { row, .. }) => assert_eq!(row, 0, "{kind}"),
                other => panic!("{kind}: {other:?}"),
            }
        }
    };
    refused(Kind::DateTime, Arc::new(TimestampMillisecondArray::from(vec![1])));
    // 1752-12-31.
    refused(Kind::DateTime, Arc::new(TimestampMillisecondArray::from(vec![-79_623 * 86_400_000])));
    refused(Kind::SmallDateTime, Arc::new(TimestampSecondArray::from(vec![30])));
    refused(Kind::SmallDateTime, Arc::new(TimestampSecondArray::from(vec![4_000_000_000])));
    refused(Kind::Date, Arc::new(Date32Array::from(vec![-719_163])));
    refused(Kind::Time { scale: 1 }, Arc::new(Time32MillisecondArray::from(vec![1])));
    refused(Kind::Time { scale: 3 }, Arc::new(Time32MillisecondArray::from(vec![86_400_000])));
    refused(Kind::VarChar(Some(3)), Arc::new(StringArray::from(vec!["four"])));
    refused(Kind::NVarChar(Some(3)), Arc::new(StringArray::from(vec!["four"])));
    refused(Kind::Char(3), Arc::new(StringArray::from(vec!["four"])));
    let wide = Decimal128Array::from(vec![1_000_000_000]).with_precision_and_scale(9, 0).unwrap();
    refused(Kind::Decimal { precision: 9, scale: 0 }, Arc::new(wide));
    let money =
        Decimal128Array::from(vec![i128::from(i32::MAX) + 1]).with_precision_and_scale(10, 4).unwrap();
    refused(Kind::SmallMoney, Arc::new(money));
    let required = Layout::new(vec![Column::required("c", Kind::Int)]).unwrap();
    let nulls =
        RecordBatch::try_from_iter([("c", Arc::new(Int32Array::from(vec![None])) as ArrayRef)]).unwrap();
    assert!(matches!(BoundBatch::new(&required, &nulls, &mut NoLargeValues), Err(EngineError::Value { .. })));
    let fixed = vec![Column::new("a", Kind::Char(8000)), Column::new("b", Kind::Char(61))];
    assert!(matches!(Layout::new(fixed), Err(EngineError::RowTooLarge { bytes: 8068, limit_bytes: 8060 })));
}

#[test]
fn long_rows_move_their_longest_values_out() {
    let layout = layout_of(&[Kind::VarChar(Some(8000)), Kind::VarChar(Some(8000)), Kind::VarBinary(None)]);
    let text = |length| Arc::new(StringArray::from(vec!["x".repeat(length)])) as ArrayRef;
    let binary = |length: usize| Arc::new(BinaryArray::from_iter_values([vec![7; length]])) as ArrayRef;
    let moved = |columns: Vec<ArrayRef>| {
        let batch = RecordBatch::try_new(layout.schema.clone(), columns).unwrap();
        let mut values = MemoryValues::default();
        let bound = BoundBatch::new(&layout, &batch, &mut values).unwrap();
        assert_eq!(bound.record(0).len(), usize::from(bound.lengths()[0]));
        assert_eq!(through_pages(&layout, &batch), batch);
        values.0.iter().map(|(purpose, value)| (*purpose, value.len())).collect::<Vec<_>>()
    };
    // 4 + 2 + 1 + 2 + 6 = 15 bytes beside the values: 8045 bytes fit.
    assert_eq!(moved(vec![text(8000), text(45), binary(0)]), []);
    assert_eq!(moved(vec![text(8000), text(46), binary(0)]), [(LargeUse::Overflow, 8000)]);
    assert_eq!(moved(vec![text(100), text(5000), binary(4000)]), [(LargeUse::Overflow, 5000)]);
    // A large value stays in its row up to 8000 bytes, if there is room.
    assert_eq!(moved(vec![text(1), text(1), binary(8000)]), []);
    assert_eq!(moved(vec![text(1), text(1), binary(8001)]), [(LargeUse::Large, 8001)]);
    assert_eq!(
        moved(vec![text(8000), text(7000), binary(100_000)]),
        [(LargeUse::Large, 100_000), (LargeUse::Overflow, 8000)]
    );
}

/// Generates values of one column, of all that the type can hold.
pub fn column(kind: Kind, rows: usize) -> BoxedStrategy<ArrayRef> {
    fn some<T: Clone + std::fmt::Debug + 'static>(
        values: impl Strategy<Value = T> + 'static,
        rows: usize,
        array: impl Fn(Vec<Option<T>>) -> ArrayRef + 'static,
    ) -> BoxedStrategy<ArrayRef> {
        prop::collection::vec(prop::option::weighted(0.8, values), rows).prop_map(array).boxed()
    }
    let days = -719_162_i64..=2_932_896;
    match kind {
        Kind::Bit => some(any::<bool>(), rows, |v| Arc::new(BooleanArray::from(v))),
        Kind::TinyInt => some(any::<u8>(), rows, |v| Arc::new(UInt8Array::from(v))),
        Kind::SmallInt => some(any::<i16>(), rows, |v| Arc::new(Int16Array::from(v))),
        Kind::Int => some(any::<i32>(), rows, |v| Arc::new(Int32Array::from(v))),
        Kind::BigInt => some(any::<i64>(), rows, |v| Arc::new(Int64Array::from(v))),
        Kind::Real => some(-1e30_f32..1e30, rows, |v| Arc::new(Float32Array::from(v))),
        Kind::Float => some(-1e300_f64..1e300, rows, |v| Arc::new(Float64Array::from(v))),
        Kind::RowVersion => some(any::<u64>(), rows, |v| Arc::new(UInt64Array::from(v))),
        Kind::SmallMoney | Kind::Money | Kind::Decimal { .. } => {
            let limit = match kind {
                Kind::SmallMoney => i128::from(i32::MAX),
                Kind::Money => i128::from(i64::MAX),
                Kind::Decimal { precision, .. } => 10_i128.pow(precision.into()) - 1,
                _ => 0,
            };
            let data_type = kind.data_type();
            some(-limit..=limit, rows, move |v| {
                Arc::new(Decimal128Array::from(v).with_data_type(data_type.clone()))
            })
        }
        Kind::Date => some(days, rows, |v| {
            Arc::new(Date32Array::from(v.into_iter().map(|v| v.map(|v| v as i32)).collect::<Vec<_>>()))
        }),
        Kind::Time { .. } | Kind::SmallDateTime | Kind::DateTime | Kind::DateTime2 { scale: 0..=6 } => {
            let (range, step, per_second) = match kind {
                Kind::Time { scale } => (
                    0..=86_400 * 10_i64.pow(scale.into()) - 1,
                    10_i64.pow((convert::unit_digits(scale) - scale).into()),
                    1,
                ),
                Kind::SmallDateTime => (-25_567 * 1440..=(65_535 - 25_567) * 1440, 60, 1),
                Kind::DateTime => (-79_257 * 8_640_000..=2_932_896 * 8_640_000, 10, 1),
                Kind::DateTime2 { scale } => (
                    -719_162 * 86_400 * 10_i64.pow(scale.into())
                        ..=2_932_897 * 86_400 * 10_i64.pow(scale.into()) - 1,
                    10_i64.pow((convert::unit_digits(scale) - scale).into()),
                    1,
                ),
                _ => (0..=0, 1, 1),
            };
            let data_type = kind.data_type();
            some(range, rows, move |v| {
                let values: Int64Array = v.into_iter().map(|v| v.map(|v| v * step * per_second)).collect();
                let array: ArrayRef = Arc::new(values);
                match data_type {
                    DataType::Time32(_) => arrow::compute::cast(
                        &arrow::compute::cast(&array, &DataType::Int32).unwrap(),
                        &data_type,
                    )
                    .unwrap(),
                    _ => arrow::compute::cast(&array, &data_type).unwrap(),
                }
            })
        }
        Kind::DateTime2 { .. } | Kind::DateTimeOffset { .. } => {
            let step = match kind {
                Kind::DateTimeOffset { scale } => 10_i64.pow(u32::from(7 - scale)),
                _ => 1,
            };
            let offset = matches!(kind, Kind::DateTimeOffset { .. });
            some((0_i64..3_652_059 * 864_000_000_000, -840_i16..=840), rows, move |v| {
                let values = v.into_iter().map(|v| {
                    v.map(|(count, minutes)| {
                        let mut bytes = (count / step * step).to_be_bytes().to_vec();
                        if offset {
                            let [high, low] = minutes.to_be_bytes();
                            bytes.extend([high ^ 0x80, low]);
                        }
                        bytes
                    })
                });
                let size = if offset { 10 } else { 8 };
                Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, size).unwrap())
            })
        }
        Kind::UniqueIdentifier => some(any::<[u8; 16]>(), rows, |v| {
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(v.into_iter(), 16).unwrap())
        }),
        Kind::Char(n) => some(prop::string::string_regex(&format!("[a-z]{{{n}}}")).unwrap(), rows, |v| {
            Arc::new(StringArray::from(v))
        }),
        Kind::NChar(n) => {
            some(prop::string::string_regex(&format!("[a-zäö]{{{n}}}")).unwrap(), rows, |v| {
                Arc::new(StringArray::from(v))
            })
        }
        Kind::Binary(n) => some(prop::collection::vec(any::<u8>(), usize::from(n)), rows, |v| {
            Arc::new(v.iter().map(Option::as_deref).collect::<BinaryArray>())
        }),
        Kind::VarChar(_) | Kind::NVarChar(_) => some(
            prop_oneof![4 => "[a-zé€𝄞]{0,12}", 1 => (2000_usize..9000).prop_map(move |length| match kind {
                Kind::VarChar(Some(_)) | Kind::NVarChar(Some(_)) => "x".repeat(2000),
                _ => "x".repeat(length),
            })],
            rows,
            |v| Arc::new(StringArray::from(v)),
        ),
        Kind::VarBinary(_) => {
            some((0_usize..3000, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]), rows, |v| {
                Arc::new(v.iter().map(Option::as_deref).collect::<BinaryArray>())
            })
        }
    }
}

pub fn kinds() -> impl Strategy<Value = Kind> {
    let scale = 0_u8..=7;
    prop_oneof![
        Just(Kind::Bit),
        Just(Kind::TinyInt),
        Just(Kind::SmallInt),
        Just(Kind::Int),
        Just(Kind::BigInt),
        Just(Kind::Real),
        Just(Kind::Float),
        Just(Kind::SmallMoney),
        Just(Kind::Money),
        (1_u8..=38).prop_map(|precision| Kind::Decimal { precision, scale: precision / 2 }),
        Just(Kind::Date),
        scale.clone().prop_map(|scale| Kind::Time { scale }),
        Just(Kind::SmallDateTime),
        Just(Kind::DateTime),
        scale.clone().prop_map(|scale| Kind::DateTime2 { scale }),
        scale.prop_map(|scale| Kind::DateTimeOffset { scale }),
        Just(Kind::UniqueIdentifier),
        Just(Kind::RowVersion),
        (1_u16..20).prop_map(Kind::Char),
        (1_u16..20).prop_map(Kind::NChar),
        (1_u16..20).prop_map(Kind::Binary),
        Just(Kind::VarChar(Some(2000))),
        Just(Kind::VarChar(None)),
        Just(Kind::NVarChar(Some(2000))),
        Just(Kind::NVarChar(None)),
        Just(Kind::VarBinary(Some(3000))),
        Just(Kind::VarBinary(None)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_goes_in_comes_out(
        (kinds, columns) in (prop::collection::vec(kinds(), 1..20), 0_usize..40).prop_flat_map(|(kinds, rows)| {
            let columns: Vec<_> = kinds.iter().map(|kind| column(*kind, rows)).collect();
            (Just(kinds), columns)
        })
    ) {
        for compression in [Compression::None, Compression::Row, Compression::Page] {
            let layout = layout_of(&kinds).with_compression(compression).unwrap();
            let batch = RecordBatch::try_new(layout.schema.clone(), columns.clone()).unwrap();
            prop_assume!(BoundBatch::new(&layout, &batch, &mut MemoryValues::default()).is_ok());
            prop_assert_eq!(through_pages(&layout, &batch), batch, "{}", compression);
        }
    }

    #[test]
    fn damaged_pages_are_refused_or_read_but_never_run_over(
        damage in prop::collection::vec((0_usize..8192, any::<u8>()), 1..20),
        columns in (column(Kind::Int, 50), column(Kind::NVarChar(Some(2000)), 50), column(Kind::VarBinary(None), 50)),
    ) {
        let layout = layout_of(&[Kind::Int, Kind::NVarChar(Some(2000)), Kind::VarBinary(None)]);
        let batch = RecordBatch::try_new(layout.schema.clone(), vec![columns.0, columns.1, columns.2]).unwrap();
        let mut values = MemoryValues::default();
        let bound = BoundBatch::new(&layout, &batch, &mut values).unwrap();
        let mut block = PageBlock::new(UnitId::default(), &layout, 1, 100);
        block.append(&bound, 0);
        let mut bytes = block.finish().unwrap()[0];
        for (place, byte) in damage {
            bytes[place] = byte;
        }
        let page = Arc::new(Page::from_bytes(bytes));
        let mut gatherer = RowGatherer::new(&layout);
        struct Nothing;
        impl LargeValueSource for Nothing {
            fn read(&self, _pointer: &[u8], _out: &mut Vec<u8>) -> Result<(), EngineError> {
                Ok(())
            }
        }
        if gatherer.push_page(&page).is_ok() {
            let _ = gatherer.finish(&[0, 1, 2], &Nothing);
        }
        let mut changed = (*page).clone();
        let _ = changed.remove(3, false);
        let _ = changed.insert(3, &[0x10, 0, 8, 0, 1, 2, 3, 4, 3, 0, 0], false);
        let _ = changed.replace(1, &[0x10, 0, 8, 0, 1, 2, 3, 4, 3, 0, 0]);
        prop_assert!(page.rows().all(|(_, row)| row.len() <= 8192));
    }

    #[test]
    fn damaged_records_of_any_columns_give_an_error_or_arrays_that_are_whole(
        (kinds, columns) in prop::collection::vec(kinds(), 1..12).prop_flat_map(|kinds| {
            let columns: Vec<_> = kinds.iter().map(|kind| column(*kind, 12)).collect();
            (Just(kinds), columns)
        }),
        // Most of it in the first records, where there is something to damage.
        damage in prop::collection::vec((prop_oneof![96_usize..600, 96_usize..8192], any::<u8>()), 1..8),
        subset in any::<u16>(),
    ) {
        let layout = layout_of(&kinds);
        let batch = RecordBatch::try_new(layout.schema.clone(), columns).unwrap();
        let mut values = MemoryValues::default();
        let Ok(bound) = BoundBatch::new(&layout, &batch, &mut values) else { return Ok(()) };
        let mut block = PageBlock::new(UnitId::default(), &layout, 20, 100);
        block.append(&bound, 0);
        let mut builder = BatchBuilder::new(&layout, &[], &ExpectedSizes::default()).unwrap();
        for bytes in block.finish().unwrap() {
            for (place, byte) in &damage {
                bytes[*place] = *byte;
            }
            let page = Arc::new(Page::from_bytes(*bytes));
            let all: Vec<usize> = (0..kinds.len()).collect();
            let some: Vec<usize> = all.iter().copied().filter(|column| subset >> column & 1 == 1).collect();
            for projection in [&all, &some] {
                let mut gatherer = RowGatherer::new(&layout);
                if gatherer.push_page(&page).is_err() {
                    continue;
                }
                let rows = gatherer.rows();
                prop_assert_eq!(gatherer.addresses().len(), rows);
                match gatherer.finish(projection, &empty_large_values()) {
                    Ok(batch) => {
                        prop_assert_eq!(batch.num_rows(), rows);
                        for array in batch.columns() {
                            prop_assert!(array.to_data().validate_full().is_ok());
                        }
                    }
                    Err(error) => prop_assert!(matches!(error, EngineError::DamagedRow { .. }), "{}", error),
                }
                // Rows that were not asked for may be damaged as they like.
                let mut gatherer = RowGatherer::new(&layout);
                gatherer.push_page(&page).unwrap();
                gatherer.read_into(&mut builder, &empty_large_values()).unwrap();
            }
        }
    }

    #[test]
    fn utf_16_is_read_as_the_standard_library_reads_it(
        units in prop::collection::vec(
            prop_oneof![
                4 => 0_u16..0x80,
                2 => 0x80_u16..0x800,
                2 => any::<u16>(),
                1 => 0xD800_u16..0xE000,
            ],
            0..24,
        ),
        pairs in "[a𝄞é]{0,8}",
    ) {
        let paired: Vec<u16> = pairs.encode_utf16().chain(units.iter().copied().filter(|unit| unit >> 11 != 0x1B)).collect();
        for units in [units, paired] {
            let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let mut found = b"before".to_vec();
            match (String::from_utf16(&units), convert::utf8(&bytes, &mut found)) {
                (Ok(expected), Some(())) => prop_assert_eq!(&found[6..], expected.as_bytes()),
                (Err(_), None) => {}
                (expected, read) => prop_assert!(false, "{:?}, {:?}", expected, read),
            }
            prop_assert!(convert::utf8(&[&bytes[..], b"!"].concat(), &mut found).is_none());
        }
    }
}

#[test]
fn a_damaged_value_is_named_with_its_page_and_place() {
    // Five rows of 4 + 3 + 4 bytes of values; the third is damaged, where it is not null.
    let layout = layout_of(&[Kind::Date, Kind::VarChar(Some(10))]);
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), Some(1), None, Some(3), Some(4)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["abcd"; 5]));
    let batch = RecordBatch::try_new(layout.schema.clone(), vec![dates.clone(), texts]).unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let mut block = PageBlock::new(UnitId::default(), &layout, 1, 100);
    block.append(&bound, 0);
    let mut sound = block.finish().unwrap()[0];
    set_address(&mut sound, PageId::new(1, 77), PageId::NONE, PageId::NONE);
    let length = usize::from(bound.lengths()[0]);
    // Header 4, date 3, count 2, bitmap 1, count of variable columns 2, one end 2, text 4.
    assert_eq!(length, 18);
    let read = |bytes: [u8; 8192], projection: &[usize]| {
        let mut gatherer = RowGatherer::new(&layout);
        gatherer.push_page(&Arc::new(Page::from_bytes(bytes))).unwrap();
        gatherer.finish(projection, &NoLargeValues)
    };
    let offset = |row: usize| 96 + row * length;
    let damaged = |row: usize, place: usize, bytes: &[u8]| {
        let mut damaged = sound;
        damaged[offset(row) + place..][..bytes.len()].copy_from_slice(bytes);
        damaged
    };
    let refused = |page: [u8; 8192], row: usize| match read(page, &[0, 1]) {
        Err(EngineError::DamagedRow { page, offset: found, .. }) => {
            assert_eq!((page, found), (PageId::new(1, 77), offset(row)));
        }
        other => panic!("{other:?}"),
    };
    // A day beyond the calendar.
    refused(damaged(3, 4, &[0xFF; 3]), 3);
    // The last byte of one text and the first of the next would be a character, were they one text.
    let mut split = damaged(1, 14 + 3, &[0xC3]);
    split[offset(2) + 14] = 0xA9;
    refused(split, 1);
    assert!(read(split, &[0]).is_ok(), "the text is not asked for");
    // Under the null anything may stand.
    assert_eq!(read(damaged(2, 4, &[0xFF; 3]), &[0]).unwrap().column(0), &dates);
}
