//! `GetInfo`: names and versions of the driver and the database system.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::{Error, Result, Status};
use adbc_core::options::InfoCode;
use adbc_core::schemas::GET_INFO_SCHEMA;
use arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray,
    new_empty_array,
};
use arrow::datatypes::DataType;

use crate::refusal::refused;

/// Type codes of the union's members.
const STRING: i8 = 0;
const BOOL: i8 = 1;
const INT64: i8 = 2;

enum Answer {
    Text(String),
    Flag(bool),
    Number(i64),
}

/// Returns the requested codes, or all, each in a row: about a driver, and a database system and its version.
///
/// # Errors
/// None, as long as ADBC's schema is what it is.
pub fn batch(
    asked: Option<HashSet<InfoCode>>,
    driver: &str,
    (system, version): (&str, &str),
) -> Result<RecordBatch> {
    let own = |text: &str| Answer::Text(text.to_owned());
    let known = [
        (InfoCode::VendorName, own(system)),
        (InfoCode::VendorVersion, own(version)),
        (InfoCode::VendorSql, Answer::Flag(true)),
        (InfoCode::VendorSubstrait, Answer::Flag(false)),
        (InfoCode::DriverName, own(driver)),
        (InfoCode::DriverVersion, own(env!("CARGO_PKG_VERSION"))),
        (InfoCode::DriverArrowVersion, own(&format!("v{}", arrow::ARROW_VERSION))),
        (InfoCode::DriverAdbcVersion, Answer::Number(i64::from(ADBC_VERSION_1_1_0))),
    ];
    let (mut names, mut type_ids, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    let (mut texts, mut flags, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (code, answer) in known {
        if asked.as_ref().is_some_and(|asked| !asked.contains(&code)) {
            continue;
        }
        names.push(u32::from(&code));
        let (type_id, offset) = match answer {
            Answer::Text(text) => (STRING, push(&mut texts, text)),
            Answer::Flag(flag) => (BOOL, push(&mut flags, flag)),
            Answer::Number(number) => (INT64, push(&mut numbers, number)),
        };
        type_ids.push(type_id);
        offsets.push(offset);
    }
    let schema = Arc::clone(&GET_INFO_SCHEMA);
    let DataType::Union(fields, _) = schema.field(1).data_type() else {
        return Err(wrong_schema());
    };
    let children = fields.iter().map(|(type_id, field)| -> ArrayRef {
        match type_id {
            STRING => Arc::new(StringArray::from(texts.clone())),
            BOOL => Arc::new(BooleanArray::from(flags.clone())),
            INT64 => Arc::new(Int64Array::from(numbers.clone())),
            _ => new_empty_array(field.data_type()),
        }
    });
    let values =
        UnionArray::try_new(fields.clone(), type_ids.into(), Some(offsets.into()), children.collect())?;
    Ok(RecordBatch::try_new(
        schema,
        vec![Arc::new(UInt32Array::from(names)), Arc::new(values) as Arc<dyn Array>],
    )?)
}

fn push<T>(values: &mut Vec<T>, value: T) -> i32 {
    values.push(value);
    i32::try_from(values.len() - 1).unwrap_or(i32::MAX)
}

fn wrong_schema() -> Error {
    refused(Status::Internal, "info_value is not a union")
}
