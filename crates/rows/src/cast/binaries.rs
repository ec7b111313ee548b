//! binary, varbinary, image, CLR types, uniqueidentifier and rowversion.

use std::borrow::Cow;

use arrow::datatypes::{DataType, UInt64Type};
use tds::SqlType;

use super::raw::Raw;
use super::{Fault, Source, Target, text_source};
use crate::cell_error::{CellErrorReason, LengthUnit};
use crate::encode::{Content, Fixed, VariableLane};
use crate::text::{binary, guid};

/// Largest value of a `max` type in bytes (2^31 - 1).
pub(super) const LOB_BYTES_MAX: u64 = i32::MAX as u64;

pub(super) fn binaries<'a>(source: &Source<'a, '_>, target: &Target) -> Result<VariableLane<'a>, Fault> {
    let limit = target.sql_type().max_length_bytes().map_or(LOB_BYTES_MAX, u64::from);
    let raw = if text_source::is_text(source) { from_hex(source)? } else { raw(source, target)? };
    let raw = match first_longer(source, &raw, limit) {
        None => raw,
        Some(_) if source.options.allow_truncate => cut(&raw, limit),
        Some(index) => {
            let length = raw.span(index).len() as u64;
            let reason = CellErrorReason::TooLong { length, limit, unit: LengthUnit::Bytes };
            return Err(Fault { index, reason });
        }
    };
    Ok(VariableLane { bytes: raw.bytes, offsets: raw.offsets, content: Content::Bytes, frame: target.frame })
}

/// Finds the first value longer than `limit` bytes that is not NULL.
pub(super) fn first_longer(source: &Source<'_, '_>, raw: &Raw<'_>, limit: u64) -> Option<usize> {
    let suspect = raw.first_longer(limit)?;
    (suspect..raw.len).find(|&index| source.is_valid(index) && raw.span(index).len() as u64 > limit)
}

fn raw<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Raw<'a>, Fault> {
    Raw::new(source.array).ok_or_else(|| Fault { index: 0, reason: target.out_of_range() })
}

fn from_hex(source: &Source<'_, '_>) -> Result<Raw<'static>, Fault> {
    let mut bytes = Vec::new();
    let mut offsets = Vec::with_capacity(source.len() + 1);
    offsets.push(0);
    text_source::each(source, |text| {
        if let Some(text) = text {
            binary::append_binary(text, &mut bytes)?;
        }
        offsets.push(bytes.len() as i64);
        Ok(())
    })?;
    Ok(Raw::owned(bytes, offsets))
}

/// Cuts every value to `limit` bytes.
fn cut(raw: &Raw<'_>, limit: u64) -> Raw<'static> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let mut offsets = Vec::with_capacity(raw.len + 1);
    offsets.push(0);
    for index in 0..raw.len {
        let value = raw.value(index);
        bytes.extend_from_slice(value.get(..limit).unwrap_or(value));
        offsets.push(bytes.len() as i64);
    }
    Raw::owned(bytes, offsets)
}

/// Converts a column to GUIDs in wire order, from text or from 16 bytes in the order of the text.
pub(super) fn guids<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    if text_source::is_text(source) {
        return text_source::map(source, |text| guid::guid(text).map(guid::swap_order))
            .map(|guids| Fixed::Sixteen(guids.into()));
    }
    let raw = raw(source, target)?;
    let guids = raw.bytes.as_chunks::<16>().0.iter().map(|&bytes| guid::swap_order(bytes)).collect();
    Ok(Fixed::Sixteen(Cow::Owned(guids)))
}

/// Converts a column to big-endian counters, from `UInt64` or from the eight bytes themselves.
pub(super) fn row_versions<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    if *source.data_type() == DataType::UInt64 {
        let values = source.primitive::<UInt64Type>().values();
        return Ok(Fixed::Eight(values.iter().map(|value| value.to_be_bytes()).collect()));
    }
    let values = raw(source, target)?;
    match values.bytes {
        Cow::Borrowed(bytes) => Ok(Fixed::Eight(Cow::Borrowed(bytes.as_chunks::<8>().0))),
        Cow::Owned(_) => {
            Err(Fault { index: 0, reason: CellErrorReason::Malformed(Box::new(SqlType::RowVersion)) })
        }
    }
}
