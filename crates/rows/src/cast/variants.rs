//! sql_variant: every value with its base type (MS-TDS 2.2.5.5.4).

use arrow::datatypes::DataType;
use tds::{Collation, Length, Reader, SqlType, TypeInfo, decode_value, type_token as token};

use super::raw::Raw;
use super::{Cast, Fault, Source, Target};
use crate::cell_error::CellErrorReason;
use crate::encode::{Content, Lane, VariableLane, cells_of};
use crate::mapping::{CreateOptions, declared_sql_type, sql_type_of};

/// Bytes of a decimal in a variant: a sign and sixteen bytes, for every precision.
const DECIMAL_DATA_BYTES: usize = 17;

pub(super) fn variants<'a>(source: &Source<'a, '_>, target: &Target) -> Result<VariableLane<'a>, Fault> {
    let raw = match declared_sql_type(source.field) {
        Ok(Some(SqlType::SqlVariant)) if is_binary(source.data_type()) => stored(source, target)?,
        _ => wrapped(source, target)?,
    };
    Ok(VariableLane { bytes: raw.bytes, offsets: raw.offsets, content: Content::Bytes, frame: target.frame })
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// Takes bodies of `sql_variant` as the embedded server stores them, and reads each once to check it.
fn stored<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Raw<'a>, Fault> {
    let malformed =
        |index| Fault { index, reason: CellErrorReason::Malformed(Box::new(SqlType::SqlVariant)) };
    let raw = Raw::new(source.array).ok_or_else(|| malformed(0))?;
    let type_info = TypeInfo::new(SqlType::SqlVariant, true, None);
    let mut value = Vec::new();
    for index in (0..raw.len).filter(|&index| source.is_valid(index)) {
        let body = raw.value(index);
        let too_long = body.is_empty() || body.len() > target.type_info.max_length as usize;
        value.clear();
        value.extend_from_slice(&(body.len() as u32).to_le_bytes());
        value.extend_from_slice(body);
        let read = decode_value(&mut Reader::new(&value), &type_info, tds::ValuePlace::Row);
        if too_long || read.is_err() {
            return Err(malformed(index));
        }
    }
    Ok(raw)
}

/// Encodes each value behind the base type that its Arrow type maps to.
fn wrapped(source: &Source<'_, '_>, target: &Target) -> Result<Raw<'static>, Fault> {
    let out_of_range = || Fault { index: 0, reason: target.out_of_range() };
    let declared = sql_type_of(source.field, &CreateOptions::default()).map_err(|_| out_of_range())?;
    let base = match declared {
        SqlType::NVarChar { .. } | SqlType::SqlVariant => SqlType::NVarChar { length: Length::Units(4000) },
        SqlType::VarBinary { .. } => SqlType::VarBinary { length: Length::Units(8000) },
        other => other,
    };
    let collation = base.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let inner = Target::new(TypeInfo::new(base, true, collation), true);
    let head = head(&inner.type_info).ok_or_else(out_of_range)?;
    let prefix = match inner.frame {
        crate::encode::Frame::Byte => 1,
        crate::encode::Frame::Short => 2,
        _ => return Err(out_of_range()),
    };
    let padding = if inner.sql_type().is_decimal() { DECIMAL_DATA_BYTES } else { 0 };
    let cast = Cast { field: source.field.clone(), target: inner, zone: source.zone.cloned() };
    let lane =
        Lane { cells: cast.cells(source.array, source.nulls, source.options)?, nulls: source.nulls.cloned() };
    let (cells, ends) = cells_of(&lane, source.len());
    let mut bytes = Vec::new();
    let mut offsets = Vec::with_capacity(source.len() + 1);
    offsets.push(0);
    for (index, span) in ends.windows(2).enumerate() {
        if source.is_valid(index) {
            let data = &cells[span[0] + prefix..span[1]];
            bytes.extend_from_slice(&head);
            bytes.extend_from_slice(data);
            bytes.resize(bytes.len() + padding.saturating_sub(data.len()), 0);
        }
        offsets.push(bytes.len() as i64);
    }
    Ok(Raw::owned(bytes, offsets))
}

/// Makes base type, property count and properties. `None` for types that a variant cannot hold.
fn head(type_info: &TypeInfo) -> Option<Vec<u8>> {
    let length = (type_info.max_length as u16).to_le_bytes();
    let (token, properties) = match type_info.sql_type {
        SqlType::Bit => (token::BIT, vec![]),
        SqlType::TinyInt => (token::INT1, vec![]),
        SqlType::SmallInt => (token::INT2, vec![]),
        SqlType::Int => (token::INT4, vec![]),
        SqlType::BigInt => (token::INT8, vec![]),
        SqlType::Real => (token::FLT4, vec![]),
        SqlType::Float => (token::FLT8, vec![]),
        SqlType::SmallMoney => (token::MONEY4, vec![]),
        SqlType::Money => (token::MONEY, vec![]),
        SqlType::SmallDateTime => (token::DATETIM4, vec![]),
        SqlType::DateTime => (token::DATETIME, vec![]),
        SqlType::UniqueIdentifier => (token::GUID, vec![]),
        SqlType::Date => (token::DATEN, vec![]),
        SqlType::Time { scale } => (token::TIMEN, vec![scale]),
        SqlType::DateTime2 { scale } => (token::DATETIME2N, vec![scale]),
        SqlType::DateTimeOffset { scale } => (token::DATETIMEOFFSETN, vec![scale]),
        SqlType::Decimal { precision, scale } => (token::DECIMALN, vec![precision, scale]),
        SqlType::Numeric { precision, scale } => (token::NUMERICN, vec![precision, scale]),
        SqlType::Binary { .. } => (token::BIGBINARY, length.to_vec()),
        SqlType::VarBinary { length: Length::Units(_) } => (token::BIGVARBIN, length.to_vec()),
        SqlType::Char { .. } => (token::BIGCHAR, text_properties(type_info, length)),
        SqlType::VarChar { length: Length::Units(_) } => {
            (token::BIGVARCHR, text_properties(type_info, length))
        }
        SqlType::NChar { .. } => (token::NCHAR, text_properties(type_info, length)),
        SqlType::NVarChar { length: Length::Units(_) } => {
            (token::NVARCHAR, text_properties(type_info, length))
        }
        _ => return None,
    };
    let mut head = vec![token, properties.len() as u8];
    head.extend_from_slice(&properties);
    Some(head)
}

fn text_properties(type_info: &TypeInfo, length: [u8; 2]) -> Vec<u8> {
    let mut properties = type_info.collation.unwrap_or_default().to_bytes().to_vec();
    properties.extend_from_slice(&length);
    properties
}
