//! Bytes that others published: values as SQL Server takes them.

use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use rows::{CastOptions, Mapping, Plan};

use super::columns::target_column;

/// The one cell of `array`, as hex, for a column of type `target`.
fn cell(array: ArrayRef, target: &str) -> String {
    let column = target_column("c", target, true);
    let batch = super::batch_of(&[(array, column.clone())], 1);
    let plan = Plan::new(&batch.schema(), &[column], &Mapping::ByName, CastOptions::default()).unwrap();
    let mut out = Vec::new();
    plan.bind(&batch, 0).unwrap().encode(0..1, &mut out);
    assert_eq!(out[0], 0xD1);
    out[1..].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(array: impl Array + 'static, target: &str, expected: &str) {
    assert_eq!(cell(Arc::new(array), target), expected.replace([' ', '|'], ""), "{target}");
}

fn text(value: Option<&str>) -> StringArray {
    StringArray::from(vec![value])
}

#[test]
fn worked_values() {
    check(Int32Array::from(vec![7]), "int", "04 07 00 00 00");
    check(Int32Array::from(vec![None]), "int", "00");
    check(text(Some("Aé")), "nvarchar(10)", "0400 41 00 e9 00");
    check(text(None), "nvarchar(10)", "ffff");
    check(text(Some("A")), "nvarchar(max)", "02 00 00 00 00 00 00 00 | 02 00 00 00 41 00 | 00 00 00 00");
    check(text(Some("")), "nvarchar(max)", "00 00 00 00 00 00 00 00 | 00 00 00 00");
    check(text(None), "nvarchar(max)", "ff ff ff ff ff ff ff ff");
    check(BooleanArray::from(vec![true]), "bit", "01 01");
    check(Float64Array::from(vec![1.0]), "float", "08 00 00 00 00 00 00 f0 3f");
    check(FixedSizeBinaryArray::new_null(16, 1), "uniqueidentifier", "00");
}

/// As Microsoft's ODBC driver sends them (docs/wire-comparison.md).
#[test]
fn text_pointers_of_a_load() {
    let pointer = "10 | ffffffffffffffffffffffffffffffff | ffffffffffffffff | ";
    check(text(Some("A")), "text", &format!("{pointer} 01000000 41"));
    check(text(Some("A")), "ntext", &format!("{pointer} 02000000 4100"));
    check(text(None), "ntext", "00");
    check(BinaryArray::from_vec(vec![b"\0"]), "image", &format!("{pointer} 01000000 00"));
}

#[test]
fn numbers_with_a_point() {
    let decimal = |value| Decimal128Array::from(vec![value]).with_precision_and_scale(10, 2).unwrap();
    check(decimal(Some(12345)), "decimal(10, 2)", "09 01 39 30 00 00 00 00 00 00");
    check(decimal(None), "decimal(10, 2)", "00");
    check(Int32Array::from(vec![1]), "money", "08 00 00 00 00 10 27 00 00");
    check(Int32Array::from(vec![-1]), "money", "08 ff ff ff ff f0 d8 ff ff");
    // 1234.5678, 1,000,000 and -0.01 as in native bcp files, whose money is the wire's.
    let money = |value: i128| Decimal128Array::from(vec![value]).with_precision_and_scale(19, 4).unwrap();
    check(money(12_345_678), "money", "08 00 00 00 00 4e 61 bc 00");
    check(money(10_000_000_000), "money", "08 02 00 00 00 00 e4 0b 54");
    check(money(-100), "money", "08 ff ff ff ff 9c ff ff ff");
    check(money(-25_000), "smallmoney", "04 58 9e ff ff");
}

#[test]
fn dates_and_times() {
    let leap_day = 738_944 - 719_162;
    check(Date32Array::from(vec![leap_day]), "date", "03 80 46 0b");
    check(Time64NanosecondArray::from(vec![100]), "time(7)", "05 01 00 00 00 00");
    check(TimestampNanosecondArray::from(vec![0]), "datetime2(7)", "08 00 00 00 00 00 3a f9 0a");
    check(TimestampSecondArray::from(vec![-25_567 * 86_400]), "datetime", "08 00 00 00 00 00 00 00 00");
    let at_one = TimestampSecondArray::from(vec![0]).with_timezone("+01:00");
    check(at_one, "datetimeoffset(0)", "08 00 00 00 3a f9 0a 3c 00");
    // A zone with rules gives its offset at that time: Berlin is one hour ahead of UTC in winter, two in
    // summer.
    let berlin = |value| TimestampSecondArray::from(vec![value]).with_timezone("Europe/Berlin");
    check(berlin(0), "datetimeoffset(0)", "08 00 00 00 3a f9 0a 3c 00");
    let july = 19_905 * 86_400;
    check(berlin(july), "datetimeoffset(0)", "08 00 00 00 fb 46 0b 78 00");
}

#[test]
fn guids() {
    let bytes = vec![
        0x00_u8, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
    ];
    let wire = "10 33 22 11 00 55 44 77 66 88 99 aa bb cc dd ee ff";
    check(FixedSizeBinaryArray::new(16, bytes.into(), None), "uniqueidentifier", wire);
    check(text(Some("00112233-4455-6677-8899-aabbccddeeff")), "uniqueidentifier", wire);
}

#[test]
fn one_bit_column_of_the_specification() {
    // d1 00: the row of the smallest bulk load in MS-TDS, a NOT NULL bit of 0.
    let column = target_column("c1", "bit", false);
    let array: ArrayRef = Arc::new(BooleanArray::from(vec![false]));
    let batch = super::batch_of(&[(array, column.clone())], 1);
    let plan = Plan::new(&batch.schema(), &[column], &Mapping::ByName, CastOptions::default()).unwrap();
    let mut out = Vec::new();
    plan.bind(&batch, 0).unwrap().encode(0..1, &mut out);
    assert_eq!(out, [0xD1, 0x00]);
}

#[test]
fn exact_forms_order_as_they_mean() {
    let ticks = |days: u64, ticks: u64| (days * 864_000_000_000 + ticks).to_be_bytes();
    let array = FixedSizeBinaryArray::new(8, ticks(719_162, 1).to_vec().into(), None);
    check(array, "datetime2(7)", "08 01 00 00 00 00 3a f9 0a");
    let bytes = [&ticks(719_162, 0)[..], &(60_i16 as u16 ^ 0x8000).to_be_bytes()].concat();
    check(
        FixedSizeBinaryArray::new(10, bytes.into(), None),
        "datetimeoffset(0)",
        "08 00 00 00 3a f9 0a 3c 00",
    );
}

#[test]
fn a_result_set_sends_rowversions_and_stored_variants() {
    use arrow::record_batch::RecordBatch;
    use rows::Form;
    use rows::mapping::field_for;
    let columns = [target_column("v", "rowversion", false), target_column("x", "sql_variant", true)];
    let schema = Arc::new(Schema::new(
        columns.iter().map(|column| field_for(column, &Form::Exact)).collect::<Vec<_>>(),
    ));
    let int_7 = [0x38, 0x00, 0x07, 0x00, 0x00, 0x00];
    let batch = |body: &[u8]| {
        let arrays: Vec<ArrayRef> =
            vec![Arc::new(UInt64Array::from(vec![0x07D1])), Arc::new(BinaryArray::from(vec![body]))];
        RecordBatch::try_new(schema.clone(), arrays).unwrap()
    };
    let plan = Plan::for_result(&schema, &columns).unwrap();
    let mut out = Vec::new();
    plan.bind(&batch(&int_7), 0).unwrap().encode(0..1, &mut out);
    let expected = [&[0xD1, 8, 0, 0, 0, 0, 0, 0, 0, 0x07, 0xD1, 6, 0, 0, 0][..], &int_7].concat();
    assert_eq!(out, expected);

    for damaged in [&int_7[..5], &[][..], &[0x38, 1, 0, 7, 0, 0, 0][..], &[0xFF, 0, 1][..]] {
        let error = plan.bind(&batch(damaged), 0).unwrap_err();
        assert_eq!(error.reason.to_string(), "the bytes are not a stored sql_variant");
    }
}
