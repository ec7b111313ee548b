//! Cells a second, one core, of reading values from text and of writing them as text.
//!
//! `cargo bench -p bulkwire-rows --bench text [-- CELLS [REPEATS]]`. Every repeat's values are summed and compared with
//! the sum of what was written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::Field;
use rows::column_text::{TextOptions, format_column};
use rows::text::{ParseOptions, TextError, datetime, number};

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let cells: i64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let repeats = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(9);
    let options = ParseOptions::default();
    let values = || (0..cells).map(|cell| cell.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64));
    let days = || values().map(|value| value.rem_euclid(60_000) as i32);
    let instants = || values().map(|value| value.rem_euclid(4_000_000_000_000_000));
    let decimals = Decimal128Array::from_iter_values(values().map(|value| i128::from(value >> 20)));
    let Ok(decimals) = decimals.with_precision_and_scale(18, 4) else { return };
    let cases: [(&str, ArrayRef, Parse); 5] = [
        ("int64", Arc::new(Int64Array::from_iter_values(values())), Box::new(number::bigint)),
        (
            "decimal(18, 4)",
            Arc::new(decimals),
            Box::new(move |text| number::decimal(text, 18, 4, &options).map(|units| units as i64)),
        ),
        (
            "date",
            Arc::new(Date32Array::from_iter_values(days())),
            Box::new(move |text| datetime::date(text, &options).map(|days| i64::from(days) - 719_162)),
        ),
        (
            "datetime2(6)",
            Arc::new(TimestampMicrosecondArray::from_iter_values(instants())),
            Box::new(move |text| {
                datetime::datetime2(text, 6, &options)
                    .map(|(days, ticks)| (i64::from(days) - 719_162) * 86_400_000_000 + ticks as i64)
            }),
        ),
        (
            "float",
            Arc::new(Float64Array::from_iter_values(values().map(|value| value as f64 / 1024.0))),
            Box::new(|text| number::float(text).map(|value| value.to_bits() as i64)),
        ),
    ];
    for (name, array, parse) in cases {
        run(name, &array, &*parse, repeats);
    }
}

type Parse = Box<dyn Fn(&str) -> Result<i64, TextError>>;

fn run(name: &str, array: &ArrayRef, parse: &dyn Fn(&str) -> Result<i64, TextError>, repeats: usize) {
    let field = Field::new(name, array.data_type().clone(), true);
    let (mut writing, mut reading) = (Duration::MAX, Duration::MAX);
    let mut written: Option<StringArray> = None;
    let mut sum = None;
    for _ in 0..repeats {
        let started = Instant::now();
        written = format_column(array, &field, &TextOptions::default()).ok();
        writing = writing.min(started.elapsed());
        let Some(text) = &written else { continue };
        let started = Instant::now();
        let read = text.iter().flatten().map(parse).try_fold(0i64, |sum, value| Ok(sum.wrapping_add(value?)));
        reading = reading.min(started.elapsed());
        let read: Result<i64, TextError> = read;
        sum = read.ok();
    }
    assert!(sum.is_some() && sum == expected(array), "{name}: the text does not read back");
    let rate = |time: Duration| array.len() as f64 / time.as_secs_f64() / 1e6;
    let bytes = written.map_or(0, |text| text.value_data().len()) as f64 / array.len() as f64;
    println!(
        "{name:15} {bytes:5.1} bytes a cell: read {:6.1} M cells/s, written {:6.1} M cells/s (sum verified)",
        rate(reading),
        rate(writing)
    );
}

/// The sum of the values' low 64 bits.
fn expected(array: &ArrayRef) -> Option<i64> {
    let any = array.as_any();
    let sum = |values: &mut dyn Iterator<Item = i64>| Some(values.fold(0i64, i64::wrapping_add));
    if let Some(values) = any.downcast_ref::<Int64Array>() {
        sum(&mut values.values().iter().copied())
    } else if let Some(values) = any.downcast_ref::<TimestampMicrosecondArray>() {
        sum(&mut values.values().iter().copied())
    } else if let Some(values) = any.downcast_ref::<Date32Array>() {
        sum(&mut values.values().iter().map(|&value| i64::from(value)))
    } else if let Some(values) = any.downcast_ref::<Decimal128Array>() {
        sum(&mut values.values().iter().map(|&value| value as i64))
    } else {
        let values = any.downcast_ref::<Float64Array>()?;
        sum(&mut values.values().iter().map(|value| value.to_bits() as i64))
    }
}
