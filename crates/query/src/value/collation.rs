//! Comparing and ordering by collation: a value is compared through its key.
//!
//! | Type | Key |
//! |---|---|
//! | character, case-insensitive collation | lower case, without trailing blanks |
//! | character, case-sensitive or binary collation | without trailing blanks |
//! | datetimeoffset | the instant: its UTC ticks |
//! | uniqueidentifier | the bytes in SQL Server's order of significance (last group first) |
//! | varbinary | without trailing zero bytes: the shorter value is padded with them |
//! | sql_variant | bytes in the order of the families of types |
//! | everything else | itself |
//!
//! Order among different letters is that of Unicode code points, not the linguistic order of a locale.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, FixedSizeBinaryBuilder, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use datafusion::logical_expr::{Expr, lit};
use tds::{Collation, SqlType};

use crate::datum::Datum;
use crate::kernels::TextColumn;
use crate::running;
use crate::scalar::Scalar;
use crate::typed::{Typed, call_with};
use crate::variant_key::variant_key;
use tsql::SqlError;

/// The byte order in which SQL Server compares uniqueidentifiers, as positions in the order of their text. The first three groups
/// are numbers that are stored low byte first, and are compared as they are stored.
pub(crate) const GUID_ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0];

/// The function that makes the key of a varbinary.
pub(crate) const BINARY_KEY: &str = "binary_key";

/// Returns the key of a value for comparisons, ORDER BY, GROUP BY and DISTINCT.
pub fn key(value: &Typed) -> Expr {
    match &value.sql_type {
        sql_type if sql_type.is_character() => {
            let fold = !is_case_sensitive(value.collation);
            if let Some(Datum::Text(text)) = &value.constant {
                return lit(text_key(text, fold));
            }
            let function = Scalar::by_column(
                if fold { "collation_key_ci" } else { "collation_key_cs" },
                vec![sql_type.clone()],
                SqlType::NVarChar { length: tds::Length::Max },
                move |arrays, _| text_keys(arrays, fold),
            );
            call_with(function, vec![value.clone()]).expr
        }
        SqlType::DateTimeOffset { .. } => fixed_key("instant_key", value, 8, |bytes, key| {
            key.extend_from_slice(bytes.get(..8).unwrap_or_default());
        }),
        SqlType::UniqueIdentifier => fixed_key("guid_key", value, 16, |bytes, key| {
            key.extend(GUID_ORDER.iter().filter_map(|position| bytes.get(*position)));
        }),
        SqlType::VarBinary { .. } => {
            let trimmed = SqlType::VarBinary { length: tds::Length::Max };
            if let Some(Datum::Binary(bytes)) = &value.constant {
                return lit(without_zeros(bytes).to_vec());
            }
            let function =
                Scalar::by_column(BINARY_KEY, vec![value.sql_type.clone()], trimmed, |arrays, _| {
                    let Some(array) = arrays.first() else {
                        return Err(SqlError::internal("a key of nothing"));
                    };
                    Ok(binary_keys(array))
                });
            call_with(function, vec![value.clone()]).expr
        }
        SqlType::SqlVariant => {
            let bytes = SqlType::VarBinary { length: tds::Length::Max };
            let function =
                Scalar::by_value("variant_key", vec![SqlType::SqlVariant], bytes, |values| match values {
                    [Datum::Binary(body)] => variant_key(body).map(Datum::Binary),
                    _ => Ok(Datum::Null),
                });
            call_with(function, vec![value.clone()]).expr
        }
        _ => value.expr.clone(),
    }
}

/// Returns true if the function computes the key of a text, which every text has.
pub fn is_key(function: &str) -> bool {
    matches!(function, "collation_key_ci" | "collation_key_cs")
}

/// Returns true if different values can have equal keys, so that a group must keep one of the values.
pub fn is_lossy(value: &Typed) -> bool {
    value.sql_type.is_character()
        || matches!(
            value.sql_type,
            SqlType::DateTimeOffset { .. }
                | SqlType::UniqueIdentifier
                | SqlType::VarBinary { .. }
                | SqlType::SqlVariant
        )
}

/// Returns true if the collation distinguishes upper and lower case.
pub fn is_case_sensitive(collation: Option<Collation>) -> bool {
    collation.is_some_and(|collation| collation.case_sensitive() || collation.is_binary())
}

/// Returns the key of a text.
pub fn text_key(text: &str, fold: bool) -> String {
    let trimmed = text.trim_end_matches(' ');
    if !fold {
        return trimmed.to_string();
    }
    if trimmed.is_ascii() { trimmed.to_ascii_lowercase() } else { trimmed.to_lowercase() }
}

/// Returns bytes without the zeros at their end, which count for nothing in comparisons.
pub fn without_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or(bytes)
}

/// Returns the keys of an array of varbinary.
pub fn binary_keys(array: &ArrayRef) -> ArrayRef {
    let values = array.as_binary::<i32>();
    if values.iter().flatten().all(|value| value.last() != Some(&0)) {
        return Arc::clone(array);
    }
    Arc::new(values.iter().map(|value| value.map(without_zeros)).collect::<BinaryArray>())
}

fn text_keys(arrays: &[ArrayRef], fold: bool) -> Result<ArrayRef, SqlError> {
    let Some(array) = arrays.first() else { return Err(SqlError::internal("a key of nothing")) };
    let texts = array.as_string::<i32>();
    if !fold || texts.is_ascii() {
        return trimmed_texts(array, fold);
    }
    let mut keys = TextColumn::with_capacity(texts.len(), texts.value_data().len());
    for text in texts {
        match text {
            Some(text) => keys.push(&text_key(text, fold))?,
            None => keys.push_null(),
        }
    }
    keys.finish()
}

/// Returns texts without their trailing blanks, in lower case if they are ASCII and `lower` is asked for. Works on all
/// bytes at once. Errors: 701.
fn trimmed_texts(array: &ArrayRef, lower: bool) -> Result<ArrayRef, SqlError> {
    let texts = array.as_string::<i32>();
    let (offsets, nulls) = (texts.value_offsets(), texts.nulls().cloned());
    let first = offsets.first().copied().unwrap_or_default();
    let last = offsets.last().copied().unwrap_or_default();
    let bytes = texts.value_data().get(first as usize..last as usize).unwrap_or_default();
    let text_at = |pair: &[i32]| match pair {
        [start, end] => bytes.get((start - first) as usize..(end - first) as usize).unwrap_or_default(),
        _ => &[],
    };
    let has_blanks = offsets.windows(2).any(|pair| text_at(pair).last() == Some(&b' '));
    if !has_blanks && !lower {
        return Ok(Arc::clone(array));
    }
    running::take(bytes.len())?;
    let (mut key, ends) = if has_blanks {
        let mut key = Vec::with_capacity(bytes.len());
        let mut ends = Vec::with_capacity(offsets.len());
        ends.push(0);
        for pair in offsets.windows(2) {
            let text = text_at(pair);
            let length = text.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
            key.extend_from_slice(text.get(..length).unwrap_or_default());
            // No longer than the texts, whose ends are numbers of this kind.
            ends.push(key.len() as i32);
        }
        (key, ends)
    } else {
        (bytes.to_vec(), offsets.iter().map(|offset| offset - first).collect())
    };
    if lower {
        key.make_ascii_lowercase();
    }
    let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
    let keys = StringArray::try_new(ends, Buffer::from_vec(key), nulls);
    Ok(Arc::new(keys.map_err(|error| SqlError::internal(error))?))
}

fn fixed_key(name: &str, value: &Typed, width: i32, write: fn(&[u8], &mut Vec<u8>)) -> Expr {
    let function =
        Scalar::by_column(name, vec![value.sql_type.clone()], value.sql_type.clone(), move |arrays, rows| {
            let Some(array) = arrays.first() else { return Err(SqlError::internal("a key of nothing")) };
            let array = array.as_fixed_size_binary();
            let mut builder = FixedSizeBinaryBuilder::with_capacity(rows, width);
            let mut bytes = Vec::with_capacity(16);
            for row in 0..array.len() {
                bytes.clear();
                if !array.is_null(row) {
                    write(array.value(row), &mut bytes);
                }
                if array.is_null(row) || builder.append_value(&bytes).is_err() {
                    builder.append_null();
                }
            }
            Ok(Arc::new(builder.finish()) as ArrayRef)
        })
        .with_result_type(DataType::FixedSizeBinary(width));
    call_with(function, vec![value.clone()]).expr
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn keys_of_columns_are_those_of_their_texts() {
        let plain = vec![Some("AbC"), None, Some(""), Some("x y"), Some("Z")];
        let blank = vec![Some("AbC  "), None, Some("   "), Some(" x "), Some("Z"), Some("")];
        let other = vec![Some("ÄRGER "), Some("Ok"), None, Some("ΣΣ"), Some(" ")];
        for texts in [plain, blank, other] {
            let all: ArrayRef = Arc::new(StringArray::from(texts.clone()));
            for (start, length) in [(0, texts.len()), (1, texts.len() - 1), (2, 2), (3, 0)] {
                for fold in [false, true] {
                    let keys = text_keys(&[all.slice(start, length)], fold).unwrap();
                    let expected = texts.iter().skip(start).take(length);
                    let expected: StringArray =
                        expected.map(|text| text.map(|text| text_key(text, fold))).collect();
                    assert_eq!(keys.as_string::<i32>(), &expected, "{texts:?} from {start}, {fold}");
                }
            }
        }
    }
}
