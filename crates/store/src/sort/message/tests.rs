#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use arrow::array::*;
use arrow::datatypes::{DataType, Field};
use proptest::prelude::*;

use super::*;

/// One column of every kind of layout, with nulls.
fn sample(rows: usize) -> RecordBatch {
    let text = |row: usize| (!row.is_multiple_of(3)).then(|| "ü".repeat(row % 40));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "bit",
            Arc::new((0..rows).map(|row| (row % 4 != 1).then_some(row % 2 == 0)).collect::<BooleanArray>()),
        ),
        (
            "int",
            Arc::new(
                (0..rows).map(|row| (!row.is_multiple_of(5)).then_some(row as i32)).collect::<Int32Array>(),
            ),
        ),
        ("decimal", Arc::new((0..rows).map(|row| Some(row as i128 * 7)).collect::<Decimal128Array>())),
        ("text", Arc::new((0..rows).map(text).collect::<StringArray>())),
        ("view", Arc::new((0..rows).map(text).collect::<StringViewArray>())),
        ("bytes", Arc::new((0..rows).map(|row| text(row).map(String::into_bytes)).collect::<BinaryArray>())),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::try_from_iter((0..rows).map(|row| [row as u8; 16])).unwrap()),
        ),
        ("null", Arc::new(NullArray::new(rows))),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn encode(batch: &RecordBatch) -> Vec<u8> {
    MessageEncoder::new(&batch.schema())
        .unwrap()
        .encode(batch)
        .unwrap()
        .iter()
        .flat_map(|b| b.to_vec())
        .collect()
}

#[test]
fn round_trip_of_whole_and_sliced_batches() {
    let whole = sample(1000);
    for (first, rows) in [(0, 1000), (0, 1), (1, 1), (7, 0), (333, 64), (999, 1)] {
        let batch = whole.slice(first, rows);
        let bytes = Buffer::from_vec(encode(&batch));
        assert_eq!(decode_message(&bytes, &batch.schema()).unwrap(), batch);
    }
}

#[test]
fn a_slice_is_encoded_without_the_rest_of_its_batch() {
    let whole = sample(10_000);
    let slice = encode(&whole.slice(5000, 10));
    assert!(slice.len() < 8 << 10, "{} bytes for ten rows", slice.len());
}

#[test]
fn another_schema_is_refused() {
    let batch = sample(10);
    let bytes = Buffer::from_vec(encode(&batch));
    for keep in 0..batch.num_columns() {
        let fewer = Arc::new(batch.schema().project(&(0..keep).collect::<Vec<_>>()).unwrap());
        assert!(decode_message(&bytes, &fewer).is_err());
    }
    let other = Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8, true); 8]));
    assert!(decode_message(&bytes, &other).is_err());
}

proptest! {
    #[test]
    fn any_bytes_decode_to_a_batch_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode_message(&Buffer::from_vec(bytes), &sample(1).schema());
    }

    #[test]
    fn damaged_messages_decode_to_a_batch_or_an_error(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: Option<prop::sample::Index>,
    ) {
        let batch = sample(20);
        let mut bytes = encode(&batch);
        for (place, value) in damage {
            let length = bytes.len();
            bytes[place.index(length)] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = decode_message(&Buffer::from_vec(bytes), &batch.schema());
    }
}
