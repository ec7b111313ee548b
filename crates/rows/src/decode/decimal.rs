//! `decimal` and `numeric`: sign byte and magnitude of 4, 8, 12 or 16 bytes (MS-TDS 2.2.5.5.1.6).

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Decimal128Type};
use arrow::error::ArrowError;

use super::error::RowDecodeErrorReason as Reason;
use super::fixed::primitives;
use super::gather::{BadCell, Gather};
use super::validity::{GROUP, Validity};
use super::walk::NULL_CELL;
use crate::text::number::POWERS_OF_TEN;

const EXPECTED: &str = "decimal (0, 5, 9, 13 or 17 bytes)";

/// A column of decimals; each cell may have any of the lengths.
pub(super) struct DecimalColumn {
    precision: u8,
    /// Least magnitude that is too large: 10^precision.
    limit: i128,
    values: Vec<i128>,
    validity: Validity,
    data_type: DataType,
}

impl DecimalColumn {
    pub fn new(precision: u8, data_type: &DataType) -> Self {
        Self {
            precision,
            limit: limit(precision),
            values: Vec::new(),
            validity: Validity::default(),
            data_type: data_type.clone(),
        }
    }
}

impl Gather for DecimalColumn {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        self.values.reserve(lane.len());
        for (group, starts) in lane.chunks(GROUP).enumerate() {
            let mut valid = 0u64;
            for (index, &start) in starts.iter().enumerate() {
                let value = match cell(block, start, self.limit, self.precision) {
                    Ok(Some(value)) => {
                        valid |= 1 << index;
                        value
                    }
                    Ok(None) => 0,
                    Err(reason) => {
                        self.validity.append_before_bad(valid, index);
                        return Err((group * GROUP + index, reason));
                    }
                };
                self.values.push(value);
            }
            self.validity.append(valid, starts.len());
        }
        Ok(())
    }

    fn validity(&self) -> &Validity {
        &self.validity
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        let values = std::mem::replace(&mut self.values, Vec::with_capacity(rows_hint));
        primitives::<Decimal128Type>(values, self.validity.finish(), &self.data_type)
    }
}

/// Returns the first magnitude that has more digits than the precision.
pub(super) fn limit(precision: u8) -> i128 {
    POWERS_OF_TEN.get(usize::from(precision)).copied().unwrap_or(i128::MAX)
}

#[inline]
fn cell(block: &[u8], start: u32, limit: i128, precision: u8) -> Result<Option<i128>, Reason> {
    let start = start as usize;
    // The length that most columns have, read without a detour.
    if let Some(&[9, sign, a, b, c, d, e, f, g, h]) = block.get(start..start + 10) {
        let magnitude = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        return signed(u128::from(magnitude), sign, limit, precision).map(Some);
    }
    if start as u32 == NULL_CELL {
        return Ok(None);
    }
    let cell = block.get(start..).unwrap_or(&[]);
    match *cell {
        [0, ..] => Ok(None),
        [length, ..] => {
            value(cell.get(1..1 + usize::from(length)).unwrap_or(&[]), limit, precision).map(Some)
        }
        [] => Err(Reason::Length { length: 0, expected: EXPECTED }),
    }
}

/// Reads a decimal's data: sign byte, then the magnitude.
pub(super) fn value(data: &[u8], limit: i128, precision: u8) -> Result<i128, Reason> {
    let wrong = Reason::Length { length: data.len(), expected: EXPECTED };
    let Some((&sign, magnitude)) = data.split_first() else { return Err(wrong) };
    let mut wide = [0u8; 16];
    match (magnitude.len(), wide.get_mut(..magnitude.len())) {
        (4 | 8 | 12 | 16, Some(low)) => low.copy_from_slice(magnitude),
        _ => return Err(wrong),
    }
    signed(u128::from_le_bytes(wide), sign, limit, precision)
}

#[inline]
fn signed(magnitude: u128, sign: u8, limit: i128, precision: u8) -> Result<i128, Reason> {
    match (i128::try_from(magnitude), sign) {
        (Ok(magnitude), 1) if magnitude < limit => Ok(magnitude),
        (Ok(magnitude), 0) if magnitude < limit => Ok(-magnitude),
        (Ok(magnitude), _) if magnitude < limit => Err(Reason::DecimalSign { sign }),
        _ => Err(Reason::DecimalOverflow { precision }),
    }
}

/// Reads a `money`: the high four bytes come first.
#[inline]
pub(super) fn money([a, b, c, d, e, f, g, h]: [u8; 8]) -> i64 {
    i64::from_le_bytes([e, f, g, h, a, b, c, d])
}
