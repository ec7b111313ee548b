//! What hashes equally and what does not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;
use formats::{Checksum, ContentChecksum, Reason};

fn of(columns: Vec<ArrayRef>) -> Checksum {
    let names = ["a", "b", "c"];
    let batch = RecordBatch::try_from_iter_with_nullable(
        names.iter().zip(columns).map(|(name, array)| (name, array, true)),
    );
    let mut checksum = ContentChecksum::new();
    checksum.update(&batch.unwrap()).unwrap();
    checksum.finish()
}

fn column(array: impl Array + 'static) -> Checksum {
    of(vec![Arc::new(array)])
}

#[track_caller]
fn all_equal(checksums: &[Checksum]) {
    assert!(checksums.windows(2).all(|pair| pair[0] == pair[1]), "{checksums:?}");
}

#[test]
fn equal_values_of_other_representations_are_equal() {
    all_equal(&[
        column(Int8Array::from(vec![Some(-1), None, Some(7)])),
        column(Int16Array::from(vec![Some(-1), None, Some(7)])),
        column(Int32Array::from(vec![Some(-1), None, Some(7)])),
        column(Int64Array::from(vec![Some(-1), None, Some(7)])),
    ]);
    all_equal(&[
        column(UInt8Array::from(vec![255])),
        column(Int16Array::from(vec![255])),
        column(UInt64Array::from(vec![255])),
    ]);
    all_equal(&[
        column(StringArray::from(vec![Some("ä longer text"), None, Some("ä longer text")])),
        column(LargeStringArray::from(vec![Some("ä longer text"), None, Some("ä longer text")])),
        column(StringViewArray::from(vec![Some("ä longer text"), None, Some("ä longer text")])),
        column(
            [Some("ä longer text"), None, Some("ä longer text")]
                .into_iter()
                .collect::<DictionaryArray<Int8Type>>(),
        ),
        column(
            [Some("ä longer text"), None, Some("ä longer text")].into_iter().collect::<RunArray<Int32Type>>(),
        ),
    ]);
    all_equal(&[
        column(BinaryArray::from(vec![&b"\x01\x02"[..]])),
        column(LargeBinaryArray::from(vec![&b"\x01\x02"[..]])),
        column(BinaryViewArray::from(vec![&b"\x01\x02"[..]])),
        column(FixedSizeBinaryArray::try_from_iter([b"\x01\x02"].into_iter()).unwrap()),
    ]);
    all_equal(&[column(Date32Array::from(vec![-1])), column(Date64Array::from(vec![-86_400_000]))]);
    all_equal(&[
        column(Time32SecondArray::from(vec![3])),
        column(Time32MillisecondArray::from(vec![3_000])),
        column(Time64MicrosecondArray::from(vec![3_000_000])),
        column(Time64NanosecondArray::from(vec![3_000_000_000])),
    ]);
    all_equal(&[
        column(TimestampSecondArray::from(vec![-3])),
        column(TimestampMillisecondArray::from(vec![-3_000])),
        column(TimestampMicrosecondArray::from(vec![-3_000_000])),
        column(TimestampNanosecondArray::from(vec![-3_000_000_000])),
    ]);
    all_equal(&[
        column(TimestampSecondArray::from(vec![3]).with_timezone("UTC")),
        column(TimestampMillisecondArray::from(vec![3_000]).with_timezone("+02:00")),
    ]);
    let decimal =
        |precision| Decimal128Array::from(vec![-1234]).with_precision_and_scale(precision, 2).unwrap();
    let decimal256 =
        Decimal256Array::from(vec![i256::from_i128(-1234)]).with_precision_and_scale(60, 2).unwrap();
    let decimal32 = Decimal32Array::from(vec![-1234]).with_precision_and_scale(9, 2).unwrap();
    all_equal(&[column(decimal(5)), column(decimal(38)), column(decimal256), column(decimal32)]);
    all_equal(&[column(Float32Array::from(vec![0.5, -0.0])), column(Float64Array::from(vec![0.5, 0.0]))]);
    all_equal(&[
        column(NullArray::new(1)),
        column(Int8Array::from(vec![None])),
        column(StringArray::from(vec![None::<&str>])),
    ]);
}

#[test]
fn different_values_differ() {
    let checksums = [
        column(Int64Array::from(vec![1])),
        column(Int64Array::from(vec![-1])),
        column(UInt64Array::from(vec![u64::MAX])),
        column(Int64Array::from(vec![1, 1])),
        column(BooleanArray::from(vec![true])),
        column(Float64Array::from(vec![1.0])),
        column(Decimal128Array::from(vec![1]).with_precision_and_scale(5, 0).unwrap()),
        column(Decimal128Array::from(vec![10]).with_precision_and_scale(5, 1).unwrap()),
        column(StringArray::from(vec!["1"])),
        column(StringArray::from(vec!["1 "])),
        column(StringArray::from(vec![""])),
        column(StringArray::from(vec!["\0"])),
        column(StringArray::from(vec!["\0\0"])),
        column(BinaryArray::from(vec![&b"1"[..]])),
        column(Date32Array::from(vec![1])),
        column(TimestampSecondArray::from(vec![86_400])),
        column(TimestampSecondArray::from(vec![86_400]).with_timezone("UTC")),
        column(Time32SecondArray::from(vec![1])),
        column(Int64Array::from(vec![None])),
        column(Int64Array::from(Vec::<i64>::new())),
    ];
    for (index, checksum) in checksums.iter().enumerate() {
        assert!(!checksums[..index].contains(checksum), "{index}");
    }
}

#[test]
fn order_and_batching_of_rows_do_not_count_but_columns_do() {
    let a: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
    let b: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..100).map(|number| format!("text {number}"))));
    let whole = of(vec![a.clone(), b.clone()]);
    let indices = UInt32Array::from_iter_values((0..100).rev());
    let take = |array: &ArrayRef| arrow::compute::take(array, &indices, None).unwrap();
    assert_eq!(whole, of(vec![take(&a), take(&b)]));
    let parts = [(0, 1), (1, 50), (51, 49)];
    let part = |(start, length)| of(vec![a.slice(start, length), b.slice(start, length)]);
    assert_eq!(whole, parts.into_iter().map(part).fold(Checksum::default(), Checksum::merge));
    assert_ne!(whole, of(vec![b.clone(), a.clone()]), "columns swapped");
    assert_ne!(whole, of(vec![a.clone(), take(&b)]), "values in the wrong rows");
    assert_ne!(of(vec![a.clone(), a.clone()]), of(vec![b.clone(), b.clone()]));
    assert_eq!(whole.rows, 100);
    assert_eq!(whole.to_string().len(), "100-".len() + 32);
}

#[test]
fn vectors_are_equal_if_their_numbers_are() {
    let rows = || vec![Some(vec![Some(1.0), Some(-0.5)]), None, Some(vec![Some(2.0), Some(0.0)])];
    let doubles = rows().into_iter().map(|row| {
        row.map(|row| row.into_iter().map(|value: Option<f32>| value.map(f64::from)).collect::<Vec<_>>())
    });
    let fixed = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows(), 2);
    all_equal(&[
        column(fixed.clone()),
        column(ListArray::from_iter_primitive::<Float32Type, _, _>(rows())),
        column(LargeListArray::from_iter_primitive::<Float64Type, _, _>(doubles)),
        column(fixed.slice(0, 1)).merge(column(fixed.slice(1, 2))),
    ]);
    let other = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        vec![Some(vec![Some(-0.5), Some(1.0)]), None, Some(vec![Some(2.0), Some(0.0)])],
        2,
    );
    assert_ne!(column(fixed), column(other));
}

#[test]
fn nested_types_are_refused() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)])]);
    let batch = RecordBatch::try_from_iter([("l", Arc::new(list) as ArrayRef)]).unwrap();
    let error = ContentChecksum::new().update(&batch).unwrap_err();
    assert!(matches!(*error.reason, Reason::UnsupportedType { .. }));
    assert_eq!(error.place.column.as_deref(), Some("l"));
}
