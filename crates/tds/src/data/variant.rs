//! The body of a `sql_variant` (MS-TDS 2.2.5.5.4): length, base type, its properties, data.

use crate::codec::{DecodeError, Reader, Writer};
use crate::collation::Collation;
use crate::data::value_data::{decode_data, encode_data};
use crate::sql_type::{SqlType, TIME_SCALE_MAX};
use crate::type_info::{
    Form, TypeInfo, decode_collation, decode_precision_and_scale, type_of_fixed_token, type_of_short_token,
};
use crate::type_token as token;
use crate::value::{Value, VariantValue};

/// Reads a variant with its four-byte length.
pub(crate) fn decode_variant(r: &mut Reader<'_>) -> Result<Value, DecodeError> {
    let length = r.u32("variant length")?;
    if length == 0 {
        return Ok(Value::Null);
    }
    let mut body = r.sub(length as usize, "variant")?;
    let offset = body.position();
    let base = body.u8("variant base type")?;
    let property_bytes = body.u8("variant property count")?;
    let mut properties = body.sub(usize::from(property_bytes), "variant properties")?;
    let type_info = decode_base(base, &mut properties, offset)?;
    properties.finish("variant properties")?;
    let offset = body.position();
    let value = decode_data(&type_info.sql_type, type_info.collation, body.rest(), offset)?;
    Ok(Value::Variant(Box::new(VariantValue { type_info, value })))
}

/// Appends a variant with its four-byte length.
pub(crate) fn encode_variant(value: &Value, w: &mut Writer) {
    let inner = match value {
        Value::Null => return w.u32(0),
        Value::Variant(inner) => inner,
        other => return w.invalid("variant", format!("{other} has no base type")),
    };
    let type_info = &inner.type_info;
    let data = match encode_data(&inner.value, &type_info.sql_type, type_info.collation) {
        Ok(data) => data,
        Err(what) => return w.invalid("variant", what),
    };
    let length = w.begin_u32();
    if !encode_base(type_info, w) {
        w.invalid("variant", format!("{} cannot be in a variant", type_info.sql_type));
    }
    w.bytes(&data);
    if type_info.sql_type.is_decimal() {
        // Sign and sixteen bytes, whatever the precision.
        w.bytes(&vec![0; 17_usize.saturating_sub(data.len())]);
    }
    w.end_u32(length, "variant length");
}

fn decode_base(base: u8, properties: &mut Reader<'_>, offset: usize) -> Result<TypeInfo, DecodeError> {
    let mut form = Form::Nullable;
    let mut collation: Option<Collation> = None;
    let mut declared = None;
    let sql_type = match base {
        token::GUID => SqlType::UniqueIdentifier,
        token::DATEN => SqlType::Date,
        token::TIMEN | token::DATETIME2N | token::DATETIMEOFFSETN => {
            let scale = properties.u8("variant scale")?;
            if scale > TIME_SCALE_MAX {
                let what = format!("time scale {scale} is above {TIME_SCALE_MAX}");
                return Err(DecodeError::invalid("variant scale", offset + 2, what));
            }
            match base {
                token::TIMEN => SqlType::Time { scale },
                token::DATETIME2N => SqlType::DateTime2 { scale },
                _ => SqlType::DateTimeOffset { scale },
            }
        }
        token::DECIMALN | token::NUMERICN => {
            let (precision, scale) = decode_precision_and_scale(properties)?;
            match base {
                token::DECIMALN => SqlType::Decimal { precision, scale },
                _ => SqlType::Numeric { precision, scale },
            }
        }
        token::BIGVARBIN
        | token::BIGBINARY
        | token::BIGVARCHR
        | token::BIGCHAR
        | token::NVARCHAR
        | token::NCHAR => {
            if !matches!(base, token::BIGVARBIN | token::BIGBINARY) {
                collation = Some(decode_collation(properties)?);
            }
            let length = properties.u16("variant max length")?;
            declared = Some(u32::from(length));
            // FFFF would be a max type, which no variant can hold.
            type_of_short_token(base, length).filter(|sql_type| !sql_type.is_plp()).ok_or_else(|| {
                let what = format!("length {length} of token {base:02X}");
                DecodeError::invalid("variant max length", offset, what)
            })?
        }
        _ => {
            form = Form::Fixed;
            type_of_fixed_token(base).ok_or_else(|| {
                let what = format!("{base:02X} is no base type of a variant");
                DecodeError::invalid("variant base type", offset, what)
            })?
        }
    };
    let mut type_info = TypeInfo::new(sql_type, form == Form::Nullable, collation);
    if let Some(declared) = declared {
        type_info.max_length = declared;
    }
    Ok(type_info)
}

/// Appends base type, property count and properties; false if the type cannot be in a variant.
fn encode_base(type_info: &TypeInfo, w: &mut Writer) -> bool {
    let fixed = |base: u8| vec![base, 0];
    let length = w.length_u16(type_info.max_length as usize, "variant max length").to_le_bytes();
    let binary = |base: u8| vec![base, 2, length[0], length[1]];
    let text = |base: u8| {
        let mut bytes = vec![base, 7];
        bytes.extend(type_info.collation.unwrap_or_default().to_bytes());
        bytes.extend(length);
        bytes
    };
    let bytes = match &type_info.sql_type {
        plp if plp.is_plp() => return false,
        SqlType::Bit => fixed(token::BIT),
        SqlType::TinyInt => fixed(token::INT1),
        SqlType::SmallInt => fixed(token::INT2),
        SqlType::Int => fixed(token::INT4),
        SqlType::BigInt => fixed(token::INT8),
        SqlType::Real => fixed(token::FLT4),
        SqlType::Float => fixed(token::FLT8),
        SqlType::SmallMoney => fixed(token::MONEY4),
        SqlType::Money => fixed(token::MONEY),
        SqlType::SmallDateTime => fixed(token::DATETIM4),
        SqlType::DateTime => fixed(token::DATETIME),
        SqlType::UniqueIdentifier => fixed(token::GUID),
        SqlType::Date => fixed(token::DATEN),
        SqlType::Time { scale } => vec![token::TIMEN, 1, *scale],
        SqlType::DateTime2 { scale } => vec![token::DATETIME2N, 1, *scale],
        SqlType::DateTimeOffset { scale } => vec![token::DATETIMEOFFSETN, 1, *scale],
        SqlType::Decimal { precision, scale } => vec![token::DECIMALN, 2, *precision, *scale],
        SqlType::Numeric { precision, scale } => vec![token::NUMERICN, 2, *precision, *scale],
        SqlType::Binary { .. } => binary(token::BIGBINARY),
        SqlType::VarBinary { .. } => binary(token::BIGVARBIN),
        SqlType::Char { .. } => text(token::BIGCHAR),
        SqlType::VarChar { .. } => text(token::BIGVARCHR),
        SqlType::NChar { .. } => text(token::NCHAR),
        SqlType::NVarChar { .. } => text(token::NVARCHAR),
        _ => return false,
    };
    w.bytes(&bytes);
    true
}
