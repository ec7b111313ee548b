//! Vectors on their way into a load: what becomes one, and what is wrong with the rest.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::*;
use half::f16;
use rows::{CastOptions, CellErrorReason, Decoder, Form, Mapping, Plan};
use tds::Column;

fn target(sql_type: &str) -> Column {
    Column::new("v", sql_type.parse().unwrap(), true, None)
}

/// The rows that `array` becomes, read back in the form of users, or what is wrong.
fn loaded(array: ArrayRef, sql_type: &str, options: CastOptions) -> Result<ArrayRef, String> {
    let field = Field::new("v", array.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let columns = [target(sql_type)];
    let plan = Plan::new(&batch.schema(), &columns, &Mapping::ByName, options).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    let bound = plan.bind(&batch, 0).map_err(|error| error.to_string())?;
    bound.encode(0..batch.num_rows(), &mut bytes);
    let mut decoder = Decoder::new(&columns, Form::default()).unwrap();
    assert_eq!(decoder.decode(&bytes).unwrap(), bytes.len());
    Ok(decoder.take_batch().unwrap().column(0).clone())
}

fn fixed(values: ArrayRef, size: i32, nulls: Option<Vec<bool>>) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Arc::new(FixedSizeListArray::try_new(field, size, values, nulls.map(NullBuffer::from)).unwrap())
}

fn floats(values: &[f32]) -> ArrayRef {
    Arc::new(Float32Array::from(values.to_vec()))
}

#[test]
fn lists_of_floats_come_back_as_they_were() {
    let lists =
        fixed(floats(&[1.0, 2.0, 9.0, 9.0, f32::MIN_POSITIVE, f32::MAX]), 2, Some(vec![true, false, true]));
    let back = loaded(lists.clone(), "vector(2)", CastOptions::default()).unwrap();
    assert_eq!(back.data_type(), lists.data_type());
    let back = back.as_fixed_size_list();
    assert_eq!(back.value(0).as_primitive::<Float32Type>().values().as_ref(), &[1.0, 2.0]);
    assert!(back.is_null(1));
    assert_eq!(back.value(2).as_primitive::<Float32Type>().values().as_ref(), &[f32::MIN_POSITIVE, f32::MAX]);
    // A part of a longer array.
    let back = loaded(lists.slice(2, 1), "vector(2)", CastOptions::default()).unwrap();
    assert_eq!(back.as_fixed_size_list().value(0).as_primitive::<Float32Type>().value(1), f32::MAX);
}

#[test]
fn half_precision_has_a_vector_of_its_own() {
    let halves: ArrayRef = Arc::new(Float16Array::from(vec![f16::MAX, f16::MIN_POSITIVE]));
    let lists = fixed(halves, 2, None);
    assert_eq!(&loaded(lists.clone(), "vector(2, float16)", CastOptions::default()).unwrap(), &lists);
    // Every half is a float.
    let wide = loaded(lists, "vector(2)", CastOptions::default()).unwrap();
    assert_eq!(wide.as_fixed_size_list().values().as_primitive::<Float32Type>().value(0), 65504.0);
    let wide = fixed(floats(&[0.5, 0.1]), 2, None);
    let error = loaded(wide.clone(), "vector(2, float16)", CastOptions::default()).unwrap_err();
    assert!(error.contains("rounding is not allowed"), "{error}");
    let rounding = CastOptions { allow_rounding: true, ..CastOptions::default() };
    assert!(loaded(wide, "vector(2, float16)", rounding).is_ok());
}

#[test]
fn lists_of_any_layout_and_text_are_vectors_too() {
    let doubles: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5, -0.25]));
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let lists: ArrayRef =
        Arc::new(ListArray::new(item.clone(), OffsetBuffer::from_lengths([2, 2]), doubles.clone(), None));
    let large: ArrayRef =
        Arc::new(LargeListArray::new(item, OffsetBuffer::from_lengths([2, 2]), doubles, None));
    let integers = fixed(Arc::new(Int64Array::from(vec![1, 2, 3, 4])), 2, None);
    let expected = fixed(floats(&[0.5, 1.5, 2.5, -0.25]), 2, None);
    for array in [lists, large] {
        assert_eq!(loaded(array, "vector(2)", CastOptions::default()).unwrap().to_data(), expected.to_data());
    }
    let back = loaded(integers, "vector(2)", CastOptions::default()).unwrap();
    assert_eq!(back.to_data(), fixed(floats(&[1.0, 2.0, 3.0, 4.0]), 2, None).to_data());
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("[0.1, 2e1]"), None, Some("[1,2]")]));
    let back = loaded(texts, "vector(2)", CastOptions::default()).unwrap();
    assert_eq!(
        back.as_fixed_size_list().value(0).as_primitive::<Float32Type>().values().as_ref(),
        &[0.1, 20.0]
    );
    assert!(back.is_null(1));
}

#[test]
fn what_is_wrong_names_row_column_and_element() {
    let wrong = |array: ArrayRef| loaded(array, "vector(2)", CastOptions::default()).unwrap_err();
    assert_eq!(
        wrong(fixed(floats(&[1.0, 2.0, 3.0]), 3, None)),
        "column \"v\" (from \"v\"): FixedSizeList(3 x Float32) has 3 elements, vector(2) has another number"
    );
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    let lists = ListArray::new(item, OffsetBuffer::from_lengths([2, 1]), floats(&[1.0, 2.0, 3.0]), None);
    assert_eq!(wrong(Arc::new(lists)), "row 2, column \"v\": 1 dimensions, the column has 2 (value: [3.0])");
    let error = wrong(fixed(floats(&[1.0, 2.0, f32::NAN, 4.0]), 2, None));
    assert!(error.starts_with("row 2, column \"v\": element 0 is not a finite number"), "{error}");
    let nulls: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.0), None]));
    let error = wrong(fixed(nulls, 2, None));
    assert!(error.starts_with("row 1, column \"v\": element 1 is NULL"), "{error}");
    let huge: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1e39]));
    let error = wrong(fixed(huge, 2, None));
    assert!(error.contains("element 1 is outside the range of float32"), "{error}");
    for (text, what) in [
        ("[1]", "1 dimensions, the column has 2"),
        ("1,2", "no JSON array of numbers: no opening bracket at byte 0"),
    ] {
        let error = wrong(Arc::new(StringArray::from(vec![text])));
        assert!(error.contains(what), "{error}");
    }
    let nested = fixed(Arc::new(StringArray::from(vec!["a", "b"])), 2, None);
    assert!(wrong(nested).contains("cannot become vector(2)"));
}

#[test]
fn the_slot_of_a_null_may_hold_anything() {
    let lists = fixed(floats(&[f32::NAN, f32::INFINITY, 1.0, 2.0]), 2, Some(vec![false, true]));
    assert!(loaded(lists, "vector(2)", CastOptions::default()).unwrap().is_null(0));
}

#[test]
fn stored_vectors_are_looked_at() {
    let field = Field::new("v", DataType::Binary, true)
        .with_metadata([("sql_type".to_owned(), "vector(2)".to_owned())].into());
    let stored = tds::Vector::parse("[1,2]", tds::VectorBase::Float32).unwrap().to_bytes();
    let array: ArrayRef =
        Arc::new(BinaryArray::from(vec![Some(stored.as_slice()), None, Some(&stored[..12])]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let columns = [target("vector(2)")];
    let plan = Plan::for_result(&batch.schema(), &columns).unwrap();
    assert!(plan.bind(&batch.slice(0, 2), 0).is_ok());
    let error = plan.bind(&batch, 0).unwrap_err();
    assert_eq!(error.row, 2);
    assert!(matches!(error.reason, CellErrorReason::Vector(_)), "{error}");
    // For a client that knows no vectors: text, as the server spells it.
    let text = [target("varchar(max)")];
    let plan = Plan::for_result(&batch.schema(), &text).unwrap();
    let first = batch.slice(0, 2);
    let mut bytes = Vec::new();
    plan.bind(&first, 0).unwrap().encode(0..2, &mut bytes);
    let mut decoder = Decoder::new(&text, Form::default()).unwrap();
    decoder.decode(&bytes).unwrap();
    let back = decoder.take_batch().unwrap();
    assert_eq!(back.column(0).as_string::<i32>().value(0), "[1.0000000e+000,2.0000000e+000]");
    assert!(back.column(0).is_null(1));
}
