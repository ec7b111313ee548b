//! Functions of text over bytes.

use tds::{Length, SqlType};

use super::super::convert::length_limit;
use super::super::kernels::window;
use super::super::typed::Typed;
use super::super::types::text_of;
use super::super::{Datum, running};
use super::{long_text, strict};
use tsql::SqlError;

/// Bytes that are looked at between two looks at the cancellation.
const PIECE_BYTES: usize = 1 << 20;

/// Converts a value to a text of any length, for a function's argument. Bytes become Unicode text beside Unicode text,
/// else text of the code page.
pub(super) fn as_text(value: Typed, unicode: bool) -> Result<(Typed, SqlType), SqlError> {
    match value.sql_type.is_binary() && !unicode {
        true => Ok((value.cast(&text_of(false, None))?, long_text())),
        false => Ok((value, long_text())),
    }
}

/// Makes CHARINDEX of bytes in bytes, which have no case.
pub(super) fn index_of_bytes(needle: Typed, value: Typed, start: Typed) -> Result<Typed, SqlError> {
    let long = matches!(value.sql_type, SqlType::VarBinary { length: Length::Max } | SqlType::Image);
    let result = if long { SqlType::BigInt } else { SqlType::Int };
    let all = SqlType::VarBinary { length: Length::Max };
    let cast = vec![(needle, all.clone()), (value, all), (start, SqlType::BigInt)];
    strict("CHARINDEX_BINARY", cast, result, |values| match values {
        [Datum::Binary(needle), Datum::Binary(value), start] => {
            let skip = start.as_int().unwrap_or(1).saturating_sub(1).max(0) as usize;
            let found = find(value.get(skip..).unwrap_or_default(), needle)?;
            Ok(Datum::Int(found.map_or(0, |at| (at + skip + 1) as i64)))
        }
        _ => Ok(Datum::Null),
    })
}

fn find(hay: &[u8], needle: &[u8]) -> Result<Option<usize>, SqlError> {
    let Some(first) = needle.first() else { return Ok(None) };
    let mut start = 0;
    while start < hay.len() {
        running::check()?;
        let end = start.saturating_add(PIECE_BYTES).min(hay.len());
        let piece = hay.get(start..end).unwrap_or_default();
        let begins = |(at, byte): (usize, &u8)| {
            (byte == first && hay.get(start + at..).is_some_and(|rest| rest.starts_with(needle)))
                .then_some(at)
        };
        if let Some(at) = piece.iter().enumerate().find_map(begins) {
            return Ok(Some(start + at));
        }
        start = end;
    }
    Ok(None)
}

/// Makes SUBSTRING of bytes.
pub(super) fn substring(value: Typed, start: Typed, count: Typed) -> Result<Typed, SqlError> {
    let sql_type = value.sql_type.clone();
    let length = length_limit(&sql_type).map_or(Length::Max, |length| Length::Units(length as u16));
    let cast = vec![(value, sql_type), (start, SqlType::Int), (count, SqlType::Int)];
    strict("SUBSTRING_BINARY", cast, SqlType::VarBinary { length }, |values| match values {
        [Datum::Binary(bytes), Datum::Int(start), Datum::Int(count)] => {
            Ok(Datum::Binary(bytes.get(window(*start, *count, bytes.len())?).unwrap_or_default().to_vec()))
        }
        _ => Ok(Datum::Null),
    })
}

/// Makes STUFF of bytes; the inserted value is taken as bytes too.
pub(super) fn stuff(value: Typed, start: Typed, count: Typed, with: Typed) -> Result<Typed, SqlError> {
    let all = SqlType::VarBinary { length: Length::Max };
    let long = [&value, &with].iter().any(|value| length_limit(&value.sql_type).is_none());
    let limit = if long { None } else { Some(8000) };
    let result = SqlType::VarBinary { length: limit.map_or(Length::Max, Length::Units) };
    let with =
        if with.untyped_null { Typed::constant(Datum::Binary(Vec::new()), all.clone())? } else { with };
    let cast = vec![(value, all.clone()), (start, SqlType::Int), (count, SqlType::Int), (with, all)];
    strict("STUFF_BINARY", cast, result, move |values| {
        let [Datum::Binary(bytes), start, count, Datum::Binary(with)] = values else {
            return Ok(Datum::Null);
        };
        let (start, count) = (start.as_int().unwrap_or(0), count.as_int().unwrap_or(0));
        if start < 1 || start as usize > bytes.len() || count < 0 {
            return Ok(Datum::Null);
        }
        let start = start as usize - 1;
        let end = start.saturating_add(count as usize).min(bytes.len());
        let mut stuffed = bytes.get(..start).unwrap_or_default().to_vec();
        stuffed.extend_from_slice(with);
        stuffed.extend_from_slice(bytes.get(end..).unwrap_or_default());
        stuffed.truncate(limit.map_or(usize::MAX, usize::from));
        Ok(Datum::Binary(stuffed))
    })
}
