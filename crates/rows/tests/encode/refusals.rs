//! What is refused, where the error points, and which option lets it through.

use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use rows::{CastOptions, Mapping, Plan};
use tds::{Column, ColumnFlags};

use super::columns::target_column;

/// The error for `array` in a column of type `target` with these options, or the cells' bytes as hex.
fn bind(array: ArrayRef, target: &str, options: CastOptions) -> Result<String, String> {
    let column = target_column("c", target, true);
    let rows = array.len();
    let batch = super::batch_of(&[(array, column.clone())], rows);
    let plan = Plan::new(&batch.schema(), &[column], &Mapping::ByName, options)
        .map_err(|error| error.to_string())?;
    let bound = plan.bind(&batch, 1000).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    bound.encode(0..rows, &mut out);
    Ok(out.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refused without options with an error that ends as `expected`, accepted with `options`.
fn check(array: impl Array + 'static, target: &str, expected: &str, options: CastOptions, bytes: &str) {
    let array: ArrayRef = Arc::new(array);
    let error = bind(array.clone(), target, CastOptions::default()).unwrap_err();
    assert_eq!(error, expected);
    assert_eq!(bind(array, target, options), Ok(bytes.replace([' ', '|'], "")), "{expected}");
}

fn refuse(array: impl Array + 'static, target: &str, expected: &str) {
    let everything = CastOptions {
        allow_truncate: true,
        allow_rounding: true,
        replacement: Some('?'),
        nested_as_json: true,
        drop_time_zone: true,
        ..CastOptions::default()
    };
    assert_eq!(bind(Arc::new(array), target, everything).unwrap_err(), expected);
}

fn truncate() -> CastOptions {
    CastOptions { allow_truncate: true, ..CastOptions::default() }
}

fn round() -> CastOptions {
    CastOptions { allow_rounding: true, ..CastOptions::default() }
}

#[test]
fn long_values_name_row_length_and_limit() {
    let texts = StringArray::from(vec![Some("ok"), None, Some("toolong")]);
    check(
        texts,
        "varchar(4)",
        "row 1003, column \"c\": 7 bytes long, the column holds 4 (value: toolong)",
        truncate(),
        "d1 0200 6f6b | d1 ffff | d1 0400 746f6f6c",
    );
    // The limit counts the target's units: UTF-16 units, and a character is never halved.
    let texts = StringArray::from(vec!["ab😀"]);
    check(
        texts.clone(),
        "nvarchar(3)",
        "row 1001, column \"c\": 4 UTF-16 code units long, the column holds 3 (value: ab😀)",
        truncate(),
        "d1 0400 61006200",
    );
    assert!(bind(Arc::new(texts), "nvarchar(4)", CastOptions::default()).is_ok());
    // A letter takes two bytes in UTF-8, and one in the Greek code page.
    let texts = StringArray::from(vec!["αβγ"]);
    assert!(bind(Arc::new(texts.clone()), "greek:varchar(3)", CastOptions::default()).is_ok());
    check(
        texts,
        "utf8:varchar(3)",
        "row 1001, column \"c\": 6 bytes long, the column holds 3 (value: αβγ)",
        truncate(),
        "d1 0200 ceb1",
    );
    check(
        BinaryArray::from(vec![&b"\x01\x02\x03"[..]]),
        "varbinary(2)",
        "row 1001, column \"c\": 3 bytes long, the column holds 2 (value: 010203)",
        truncate(),
        "d1 0200 0102",
    );
}

#[test]
fn a_long_slot_under_a_null_does_not_matter() {
    let long = StringArray::from(vec!["much too long", "é"]);
    let array =
        StringArray::new(long.offsets().clone(), long.values().clone(), Some(vec![false, true].into()));
    assert_eq!(
        bind(Arc::new(array.clone()), "varchar(2)", CastOptions::default()),
        Ok("d1ffffd10100e9".into())
    );
    assert_eq!(bind(Arc::new(array), "nvarchar(2)", CastOptions::default()), Ok("d1ffffd10200e900".into()));
}

#[test]
fn characters_outside_the_code_page() {
    let replace = CastOptions { replacement: Some('?'), ..CastOptions::default() };
    check(
        StringArray::from(vec!["é", "漢x"]),
        "varchar(10)",
        "row 1002, column \"c\": character '漢' at byte 0 is not in code page 1252 of the column (value: 漢x)",
        replace,
        "d1 0100 e9 | d1 0200 3f78",
    );
    let useless = CastOptions { replacement: Some('漢'), ..CastOptions::default() };
    assert!(bind(Arc::new(StringArray::from(vec!["漢"])), "varchar(10)", useless).is_err());
}

#[test]
fn numbers_out_of_range_or_with_digits_to_spare() {
    refuse(
        Int64Array::from(vec![Some(1), None, Some(1 << 31)]),
        "int",
        "row 1003, column \"c\": outside the range of int (value: 2147483648)",
    );
    refuse(
        Int8Array::from(vec![-1]),
        "tinyint",
        "row 1001, column \"c\": outside the range of tinyint (value: -1)",
    );
    refuse(Int32Array::from(vec![2]), "bit", "row 1001, column \"c\": outside the range of bit (value: 2)");
    refuse(
        Int32Array::from(vec![-1000]),
        "decimal(5, 2)",
        "row 1001, column \"c\": outside the range of decimal(5, 2) (value: -1000)",
    );
    let decimal = Decimal128Array::from(vec![12_345]).with_precision_and_scale(10, 2).unwrap();
    check(
        decimal,
        "decimal(10, 1)",
        "row 1001, column \"c\": decimal(10, 1) would hold a rounded value, and rounding is not allowed \
         (value: 123.45)",
        round(),
        "d1 09 01 d3 04 00 00 00 00 00 00",
    );
    check(
        Float64Array::from(vec![2.5]),
        "int",
        "row 1001, column \"c\": int would hold a rounded value, and rounding is not allowed (value: 2.5)",
        round(),
        "d1 04 03 00 00 00",
    );
    check(
        Float64Array::from(vec![0.1]),
        "real",
        "row 1001, column \"c\": real would hold a rounded value, and rounding is not allowed (value: 0.1)",
        round(),
        "d1 04 cd cc cc 3d",
    );
    check(
        Int64Array::from(vec![(1 << 53) + 1]),
        "float",
        "row 1001, column \"c\": float would hold a rounded value, and rounding is not allowed \
         (value: 9007199254740993)",
        round(),
        "d1 08 00 00 00 00 00 00 40 43",
    );
    refuse(
        Float64Array::from(vec![1e300]),
        "real",
        "row 1001, column \"c\": outside the range of real (value: 1e300)",
    );
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for target in ["float", "real", "int", "decimal(10, 2)", "money"] {
            let error = bind(Arc::new(Float64Array::from(vec![0.0, value])), target, round()).unwrap_err();
            assert!(
                error.starts_with("row 1002, column \"c\": SQL Server has neither NaN nor infinities"),
                "{error}"
            );
        }
    }
    let garbage = Float64Array::new(vec![f64::NAN, 1.0].into(), Some(vec![false, true].into()));
    assert!(
        bind(Arc::new(garbage), "float", CastOptions::default()).is_ok(),
        "the slot of a NULL is no value"
    );
}

#[test]
fn decimals_beyond_their_own_precision() {
    // Arrow does not hold its decimals to their precision.
    let decimal =
        Decimal128Array::new(vec![99_999, 100_000].into(), None).with_precision_and_scale(5, 2).unwrap();
    refuse(
        decimal,
        "decimal(5, 2)",
        "row 1002, column \"c\": outside the range of decimal(5, 2) (value: 1000.00)",
    );
}

#[test]
fn moments_that_do_not_fit() {
    check(
        TimestampNanosecondArray::from(vec![150]),
        "datetime2(7)",
        "row 1001, column \"c\": datetime2(7) would hold a rounded value, and rounding is not allowed \
         (value: 1970-01-01T00:00:00.000000150)",
        round(),
        "d1 08 02 00 00 00 00 3a f9 0a",
    );
    check(
        TimestampMillisecondArray::from(vec![1]),
        "datetime",
        "row 1001, column \"c\": datetime would hold a rounded value, and rounding is not allowed \
         (value: 1970-01-01T00:00:00.001)",
        round(),
        "d1 08 df 63 00 00 00 00 00 00",
    );
    // The last instant of a day rounds into the next; the last of the calendar has none.
    check(
        TimestampMillisecondArray::from(vec![86_399_999]),
        "datetime2(0)",
        "row 1001, column \"c\": datetime2(0) would hold a rounded value, and rounding is not allowed \
         (value: 1970-01-01T23:59:59.999)",
        round(),
        "d1 06 00 00 00 3b f9 0a",
    );
    refuse(
        TimestampMillisecondArray::from(vec![253_402_300_799_999]),
        "datetime2(0)",
        "row 1001, column \"c\": outside the range of datetime2(0) (value: 9999-12-31T23:59:59.999)",
    );
    check(
        TimestampSecondArray::from(vec![90]),
        "smalldatetime",
        "row 1001, column \"c\": smalldatetime would hold a rounded value, and rounding is not allowed \
         (value: 1970-01-01T00:01:30)",
        round(),
        "d1 04 df 63 02 00",
    );
    check(
        TimestampSecondArray::from(vec![1]),
        "date",
        "row 1001, column \"c\": the time of day would be lost, and truncation is not allowed \
         (value: 1970-01-01T00:00:01)",
        truncate(),
        "d1 03 3a f9 0a",
    );
    refuse(
        Date32Array::from(vec![-719_163]),
        "date",
        "row 1001, column \"c\": outside the range of date (value: 0000-12-31)",
    );
    refuse(
        Date32Array::from(vec![-79_258]),
        "datetime",
        "row 1001, column \"c\": outside the range of datetime (value: 1752-12-31)",
    );
    for extreme in [i64::MIN, i64::MAX] {
        for target in ["datetime2(7)", "date", "datetime", "smalldatetime", "datetimeoffset(0)"] {
            let array = TimestampSecondArray::from(vec![extreme]);
            assert!(bind(Arc::new(array.clone()), target, round()).is_err());
            let local = array.with_timezone("Asia/Kolkata");
            let drop = CastOptions { drop_time_zone: true, ..round() };
            assert!(bind(Arc::new(local), target, drop).is_err());
        }
    }
    refuse(
        Time32SecondArray::from(vec![86_400]),
        "time(0)",
        "row 1001, column \"c\": outside the range of time(0) (value: ERROR: Cast error: Failed to convert 86400 to temporal for Time32(s))",
    );
}

#[test]
fn zones_are_dropped_only_when_asked() {
    let drop = CastOptions { drop_time_zone: true, ..CastOptions::default() };
    check(
        TimestampSecondArray::from(vec![0]).with_timezone("Asia/Kolkata"),
        "datetime2(0)",
        "column \"c\" (from \"c\"): datetime2(0) has no offset from UTC; the zone \"Asia/Kolkata\" would be lost, \
         and that was not asked for",
        drop,
        "d1 06 58 4d 00 3a f9 0a",
    );
    refuse(
        TimestampSecondArray::from(vec![0]).with_timezone("Mars/Olympus"),
        "datetimeoffset(0)",
        "column \"c\" (from \"c\"): unknown time zone \"Mars/Olympus\"",
    );
}

#[test]
fn text_that_is_no_value() {
    refuse(
        StringArray::from(vec![Some("1"), None, Some("x")]),
        "int",
        "row 1003, column \"c\": not a whole number (value: x)",
    );
    let empty = CastOptions { empty_as_null: true, ..CastOptions::default() };
    check(
        StringArray::from(vec![Some("1"), Some("")]),
        "int",
        "row 1002, column \"c\": the text is empty (value: )",
        empty.clone(),
        "d1 04 01000000 | d1 00",
    );
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["a", ""]));
    assert_eq!(bind(texts.clone(), "varchar(1)", empty), Ok("d1010061d1ffff".into()));
    assert_eq!(bind(texts, "varchar(1)", CastOptions::default()), Ok("d1010061d10000".into()));
}

#[test]
fn nulls_where_none_are_allowed() {
    for target in ["int", "nvarchar(5)", "decimal(5, 0)"] {
        let column = target_column("c", target, false);
        let arrays: [ArrayRef; 3] = [
            Arc::new(Int32Array::from(vec![Some(1), None])),
            Arc::new(NullArray::new(2)),
            Arc::new(DictionaryArray::<Int8Type>::new(
                Int8Array::from(vec![0, 1]),
                Arc::new(Int32Array::from(vec![Some(1), None])),
            )),
        ];
        for (array, row) in arrays.into_iter().zip([1, 0, 1]) {
            let batch = super::batch_of(&[(array, column.clone())], 2);
            let plan = Plan::new(
                &batch.schema(),
                std::slice::from_ref(&column),
                &Mapping::ByName,
                CastOptions::default(),
            )
            .unwrap();
            let error = plan.bind(&batch, 0).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "row {}, column \"c\": NULL in a column that does not allow it (value: NULL)",
                    row + 1
                )
            );
        }
    }
}

#[test]
fn a_bad_value_of_a_dictionary_is_found_at_its_first_row() {
    let values: ArrayRef = Arc::new(StringArray::from(vec!["good", "bad value", "unused and much too long"]));
    let keys = Int8Array::from(vec![Some(0), None, Some(0), Some(1), Some(1)]);
    refuse_short(Arc::new(DictionaryArray::new(keys, values)), 1003);
    let values = StringArray::from(vec!["good", "fine", "bad value"]);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![4, 7, 9]), &values).unwrap();
    refuse_short(Arc::new(runs.slice(5, 4)), 1002);
}

fn refuse_short(array: ArrayRef, row: u64) {
    assert_eq!(
        bind(array, "varchar(5)", CastOptions::default()).unwrap_err(),
        format!("row {}, column \"c\": 9 bytes long, the column holds 5 (value: bad value)", row + 1)
    );
}

#[test]
fn types_without_a_way_are_refused_before_the_load() {
    refuse(
        DurationSecondArray::from(vec![1]),
        "bigint",
        "column \"c\" (from \"c\"): SQL Server has no type for a duration; cast it to an integer of a unit of your \
         choice first",
    );
    refuse(
        IntervalDayTimeArray::from(vec![IntervalDayTime::new(1, 2)]),
        "nvarchar(50)",
        "column \"c\" (from \"c\"): SQL Server has no type for an interval; cast it to text or integers first",
    );
    refuse(
        BinaryArray::from(vec![&b"x"[..]]),
        "nvarchar(5)",
        "column \"c\" (from \"c\"): Binary cannot become nvarchar(5)",
    );
    refuse(Date32Array::from(vec![1]), "int", "column \"c\" (from \"c\"): Date32 cannot become int");
    refuse(BooleanArray::from(vec![true]), "date", "column \"c\" (from \"c\"): Boolean cannot become date");
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    let json = CastOptions { nested_as_json: true, ..CastOptions::default() };
    check(
        list,
        "varchar(10)",
        "column \"c\" (from \"c\"): List(Int32) is nested; the option nested_as_json writes it as JSON text",
        json,
        "d1 0300 5b315d",
    );
}

#[test]
fn columns_find_each_other() {
    let schema =
        Schema::new(vec![Field::new("B", DataType::Int32, true), Field::new("a", DataType::Int32, true)]);
    let targets: Vec<Column> = ["A", "a", "b"].map(|name| target_column(name, "int", true)).into();
    let names = |mapping: &Mapping| {
        Plan::new(&schema, &targets, mapping, CastOptions::default())
            .map(|plan| {
                let names: Vec<_> = plan.columns().iter().map(|column| column.name.clone()).collect();
                (names.join(" "), plan.source_indexes().collect::<Vec<_>>())
            })
            .map_err(|error| error.to_string())
    };
    assert_eq!(names(&Mapping::ByName), Ok(("a b".into(), vec![1, 0])));
    assert_eq!(names(&Mapping::ByPosition), Err("the source has 2 columns, the target 3".into()));
    let explicit = |pairs: &[(&str, &str)]| {
        names(&Mapping::Explicit(
            pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect(),
        ))
    };
    assert_eq!(explicit(&[("a", "b")]), Ok(("b".into(), vec![1])));
    assert_eq!(explicit(&[("a", "b"), ("B", "b")]), Err("two source columns fill \"b\"".into()));
    assert_eq!(explicit(&[("x", "b")]), Err("the source has no column \"x\"".into()));
    assert_eq!(explicit(&[("a", "x")]), Err("the target has no column \"x\"".into()));
    assert_eq!(explicit(&[]), Err("no source column has a target column".into()));
}

#[test]
fn computed_columns_are_not_loaded() {
    let schema = Schema::new(vec![Field::new("a", DataType::Int32, true)]);
    let mut computed = target_column("a", "int", true);
    computed.flags.0 |= ColumnFlags::COMPUTED;
    let error = Plan::new(&schema, &[computed], &Mapping::ByName, CastOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "\"a\" is computed by the server and cannot be loaded");
}

#[test]
fn a_batch_of_another_schema_is_refused() {
    let column = target_column("c", "bigint", true);
    let planned = super::batch_of(&[(Arc::new(Int32Array::from(vec![1])), column.clone())], 1);
    let other = super::batch_of(&[(Arc::new(Int64Array::from(vec![1])), column.clone())], 1);
    let plan = Plan::new(&planned.schema(), &[column], &Mapping::ByName, CastOptions::default()).unwrap();
    assert!(plan.bind(&other, 0).is_err());
}
