//! Columns of a bulk load that have the same bytes on the wire as in pages.

use tds::{Collation, Length, LengthClass, SqlType};

use crate::storage::{LengthPrefix, ValueContent, ValueForm};
use crate::table::intake::DecodeReason;

/// Returns the form of values that come as `from`, if a page holds the same bytes for a column of type `to`.
/// `required`: rows with a NULL are decoded.
pub(super) fn value_form(
    from: &tds::Column,
    to: &SqlType,
    collation: Option<Collation>,
    required: bool,
) -> Result<ValueForm, DecodeReason> {
    let info = &from.type_info;
    if !matches!(info.form, tds::Form::Fixed | tds::Form::Nullable) {
        return Err(DecodeReason::LargeValues);
    }
    let prefix = match info.length_class() {
        LengthClass::Fixed(_) => LengthPrefix::None,
        LengthClass::ByteLen => LengthPrefix::Byte,
        LengthClass::UShortLen => LengthPrefix::Short,
        LengthClass::Plp | LengthClass::LongLen | LengthClass::Variant => {
            return Err(DecodeReason::LargeValues);
        }
    };
    let is_ascii_superset = |collation: Option<Collation>| {
        collation.is_none_or(|own| own.is_utf8() || own.code_page().is_ascii_superset())
    };
    let content = match (from.sql_type(), to) {
        (SqlType::Money, SqlType::Money)
        | (SqlType::DateTime, SqlType::DateTime)
        | (SqlType::SmallDateTime, SqlType::SmallDateTime) => ValueContent::SwappedHalves,
        (own, to) if is_bounded_text(own) && is_bounded_text(to) => {
            let fits = is_ascii_superset(info.collation) && is_ascii_superset(collation);
            fits.then_some(ValueContent::Ascii).ok_or(DecodeReason::Conversion)?
        }
        (own, to) if is_bounded_unicode(own) && is_bounded_unicode(to) => ValueContent::Stored,
        (own, to) if is_bounded_binary(own) && is_bounded_binary(to) => ValueContent::Stored,
        (
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
            SqlType::Decimal { precision: to_precision, scale: to_scale }
            | SqlType::Numeric { precision: to_precision, scale: to_scale },
        ) if (precision, scale) == (to_precision, to_scale) => ValueContent::Stored,
        (own, to) if own == to && is_same_in_pages(own) => ValueContent::Stored,
        _ => return Err(DecodeReason::Conversion),
    };
    let limit_bytes = usize::try_from(info.max_length).map_err(|_| DecodeReason::Conversion)?;
    Ok(ValueForm { prefix, content, limit_bytes, required })
}

fn is_same_in_pages(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Bit
            | SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Real
            | SqlType::Float
            | SqlType::SmallMoney
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime2 { .. }
            | SqlType::DateTimeOffset { .. }
            | SqlType::UniqueIdentifier
    )
}

fn is_bounded_text(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Char { .. } | SqlType::VarChar { length: Length::Units(_) })
}

fn is_bounded_unicode(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::NChar { .. } | SqlType::NVarChar { length: Length::Units(_) })
}

fn is_bounded_binary(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Binary { .. } | SqlType::VarBinary { length: Length::Units(_) })
}
