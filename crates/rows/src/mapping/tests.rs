#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::path::Path;

use super::*;
use crate::mapping_page::{markdown, sql_types};

/// Run with `UPDATE_DOCS=1` to rewrite the page.
#[test]
fn the_page_is_what_the_code_does() {
    let path = Path::new(".").join("../../docs/type-mapping.md");
    let text = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let printed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(printed == text, "docs/type-mapping.md is out of date; run this test with UPDATE_DOCS=1");
}

#[test]
fn a_field_finds_back_to_its_column() {
    for (_, sql_type) in sql_types() {
        for nullable in [false, true] {
            let collation = sql_type.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
            let column = Column::new("c", sql_type.clone(), nullable, collation);
            for form in [Form::default(), Form::Exact] {
                let back = column_for(&field_for(&column, &form)).unwrap();
                if let SqlType::Udt { .. } = sql_type {
                    assert_eq!(back.sql_type().to_string(), sql_type.to_string());
                } else {
                    assert_eq!(back, column, "{form:?}");
                }
            }
        }
    }
}

#[test]
fn lengths_choose_the_size() {
    let field = Field::new("c", DataType::Utf8, true);
    let of = |max_length, strings| {
        sql_type_of(&field, &CreateOptions { max_length, strings, ..CreateOptions::default() })
            .unwrap()
            .to_string()
    };
    assert_eq!(of(None, StringType::NVarChar), "nvarchar(max)");
    assert_eq!(of(Some(0), StringType::NVarChar), "nvarchar(1)");
    assert_eq!(of(Some(4000), StringType::NVarChar), "nvarchar(4000)");
    assert_eq!(of(Some(4001), StringType::NVarChar), "nvarchar(max)");
    assert_eq!(of(Some(8000), StringType::VarChar), "varchar(8000)");
    assert_eq!(of(Some(1 << 40), StringType::VarChar), "varchar(max)");
}

#[test]
fn lists_of_a_fixed_number_of_floats_are_vectors() {
    let of = |data_type: &str, options: &CreateOptions| {
        let data_type: DataType = data_type.parse().unwrap();
        sql_type_of(&Field::new("c", data_type, true), options).map(|sql_type| sql_type.to_string())
    };
    let vectors = CreateOptions::default();
    assert_eq!(of("FixedSizeList(3 x Float32)", &vectors).unwrap(), "vector(3)");
    assert_eq!(of("FixedSizeList(3996 x Float16)", &vectors).unwrap(), "vector(3996, float16)");
    assert!(of("FixedSizeList(1999 x Float32)", &vectors).is_err());
    assert!(of("FixedSizeList(3 x Float64)", &vectors).is_err());
    let without = CreateOptions { without_vectors: true, nested_as_json: true, ..CreateOptions::default() };
    assert_eq!(of("FixedSizeList(3 x Float32)", &without).unwrap(), "nvarchar(max)");
}

#[test]
fn decimals_beyond_sql_servers_are_refused_or_widened() {
    let of = |precision, scale| {
        sql_type_of(&Field::new("c", DataType::Decimal256(precision, scale), true), &CreateOptions::default())
            .map(|sql_type| sql_type.to_string())
    };
    assert_eq!(of(10, -2).unwrap(), "decimal(12, 0)");
    assert_eq!(of(3, 5).unwrap(), "decimal(5, 5)");
    assert_eq!(of(38, 38).unwrap(), "decimal(38, 38)");
    let error = of(39, 0).unwrap_err();
    assert_eq!(error.to_string(), "column \"c\": a decimal of 39 digits does not fit decimal(38)");
}

#[test]
fn durations_and_intervals_are_refused_by_name() {
    for data_type in [
        DataType::Duration(TimeUnit::Second),
        DataType::Interval(IntervalUnit::DayTime),
        DataType::List(std::sync::Arc::new(Field::new("item", DataType::Int8, true))),
    ] {
        let error = sql_type_of(&Field::new("c", data_type, true), &CreateOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with("column \"c\": "), "{error}");
    }
}
