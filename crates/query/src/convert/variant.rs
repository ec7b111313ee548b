//! sql_variant: a value of any other type with that type.
//!
//! Inside the server a variant is the body that travels (MS-TDS 2.2.5.5.4): base type, properties, value.

use tds::{Collation, Length, SqlType, TypeInfo, Value, ValuePlace, VariantValue, Writer, encode_value};

use super::super::datum::Datum;
use super::{convert, refused, variant_value};
use tsql::SqlError;

/// Bytes of the length before a variant's body.
const LENGTH_BYTES: usize = 4;

/// Wraps a value as a variant. Errors: 206 for the types that a variant cannot hold.
pub(super) fn to_variant(value: Datum, from: &SqlType) -> Result<Datum, SqlError> {
    let base = base_type(from).ok_or_else(|| refused(from, &SqlType::SqlVariant))?;
    let value = convert(value, from, &base, 0)?;
    let collation = base.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let type_info = TypeInfo::new(base.clone(), true, collation);
    let inner = VariantValue { type_info, value: value.to_value(&base) };
    let mut writer = Writer::new();
    let variant = Value::Variant(Box::new(inner));
    encode_value(&variant, &TypeInfo::new(SqlType::SqlVariant, true, None), &mut writer, ValuePlace::Row);
    let bytes = writer.finish().map_err(|error| SqlError::internal(error))?;
    let value =
        bytes.get(LENGTH_BYTES..).ok_or_else(|| SqlError::internal("a sql_variant without a length"))?;
    Ok(Datum::Binary(value.to_vec()))
}

/// Returns the value in a variant, and its type.
pub fn base_of(body: &[u8]) -> Result<(Datum, SqlType), SqlError> {
    match variant_value(body)? {
        Value::Variant(variant) => Ok((Datum::from_value(&variant.value), variant.type_info.sql_type)),
        _ => Ok((Datum::Null, SqlType::Int)),
    }
}

/// Returns the type in which a variant holds a value: unchanged, but no (max) and no old large type.
fn base_type(from: &SqlType) -> Option<SqlType> {
    match from {
        SqlType::Text
        | SqlType::NText
        | SqlType::Image
        | SqlType::Xml
        | SqlType::Json
        | SqlType::RowVersion
        | SqlType::SqlVariant
        | SqlType::Udt { .. }
        | SqlType::Vector { .. }
        | SqlType::VarChar { length: Length::Max }
        | SqlType::NVarChar { length: Length::Max }
        | SqlType::VarBinary { length: Length::Max } => None,
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn what_goes_in_comes_out_with_its_type() {
        for (value, sql_type) in [
            (Datum::Int(-7), SqlType::Int),
            (Datum::Int(200), SqlType::TinyInt),
            (Datum::Bit(true), SqlType::Bit),
            (Datum::Decimal(-12_345), SqlType::Numeric { precision: 9, scale: 2 }),
            (Datum::Float(1.5), SqlType::Float),
            (Datum::Text("Å".into()), SqlType::NVarChar { length: Length::Units(3) }),
            (Datum::Text("x".into()), SqlType::VarChar { length: Length::Units(5) }),
            (Datum::Binary(vec![0, 1]), SqlType::VarBinary { length: Length::Units(2) }),
            (Datum::Date(738_000), SqlType::Date),
            (Datum::Guid([7; 16]), SqlType::UniqueIdentifier),
        ] {
            let variant = to_variant(value.clone(), &sql_type).expect("a type that variants hold");
            let Datum::Binary(body) = variant else { unreachable!("a variant is bytes") };
            assert_eq!(base_of(&body).expect("what was written"), (value, sql_type));
        }
        assert_eq!(to_variant(Datum::Text(String::new()), &SqlType::Xml).map_err(|e| e.number), Err(206));
    }
}
