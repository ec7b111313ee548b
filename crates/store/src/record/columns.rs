//! The columns of a batch as they are being gathered, a page at a time.

use arrow::array::ArrayRef;
use arrow::buffer::{BooleanBuffer, NullBuffer};

use super::expand::ColumnError;
use super::kind::Kind;
use super::layout::{Layout, Position};
use super::values::{FixedSource, Values};
use super::{COMPLEX, FORWARDED_STATUS, HAS_VARIABLE, LargeValueSource, TYPE_BITS, convert, u16_at};
use crate::page::PAGE_BYTES;

/// Uncompressed records of one page that were checked: their parts lie within the page.
#[derive(Debug, Clone, Copy)]
pub struct CheckedRows<'p> {
    /// Bytes of the page.
    pub bytes: &'p [u8; PAGE_BYTES],
    /// Offset of each record in the page.
    pub starts: &'p [u16],
    /// All NULL bitmaps combined: a bit that is not set is null in no row.
    pub nulls: &'p [u8],
}

/// Column of a batch that is being built.
#[derive(Debug)]
pub struct ColumnBuilder {
    kind: Kind,
    position: Position,
    /// Byte of the record and bit in it that say that the value is null; byte of the bitmap.
    null: Option<NullBit>,
    /// Offset of the variable part.
    variable_part: usize,
    values: Values,
    /// True for each value that is not null; None: no value is null.
    valid: Option<Vec<bool>>,
    rows: usize,
}

#[derive(Debug, Clone, Copy)]
struct NullBit {
    place: usize,
    bitmap_byte: usize,
    mask: u8,
}

impl ColumnBuilder {
    /// Creates a builder for column `index` of a layout, with room for about this many rows and bytes of
    /// text. None if there is no such column.
    pub fn new(layout: &Layout, index: usize, rows: usize, text_bytes: usize) -> Option<Self> {
        let (column, position) = (layout.columns.get(index)?, layout.positions.get(index)?);
        let null = column.nullable.then_some(NullBit {
            place: layout.fixed_bytes + 2 + index / 8,
            bitmap_byte: index / 8,
            mask: 1 << (index % 8),
        });
        Some(Self {
            kind: column.kind,
            position: *position,
            null,
            variable_part: layout.bitmap_end(),
            values: Values::with_capacity(column.kind, rows, text_bytes),
            valid: None,
            rows: 0,
        })
    }

    /// Counts the bytes of text so far.
    pub fn text_bytes(&self) -> usize {
        if let Values::Variable { data, .. } = &self.values { data.len() } else { 0 }
    }

    /// Adds the values of a page's rows. The number of a damaged row counts from the first of the batch.
    pub fn append(&mut self, rows: CheckedRows<'_>, large: &dyn LargeValueSource) -> Result<(), ColumnError> {
        let null =
            self.null.filter(|null| rows.nulls.get(null.bitmap_byte).is_some_and(|all| all & null.mask != 0));
        self.note_nulls(rows, null);
        let first = self.rows;
        self.rows += rows.starts.len();
        match self.position {
            Position::Bit { offset, bit } => {
                if let Values::Bits(bits) = &mut self.values {
                    let source = InPage { rows, offset };
                    bits.extend(source.values().map(|[byte]| byte & (1 << bit) != 0));
                }
                Ok(())
            }
            Position::Fixed { offset, width } => match (self.kind, &mut self.values) {
                (Kind::Char(_) | Kind::NChar(_) | Kind::Binary(_), Values::Variable { data, ends }) => {
                    let utf16 = matches!(self.kind, Kind::NChar(_));
                    for (row, start) in rows.starts.iter().enumerate() {
                        let place = usize::from(*start) + offset;
                        if !null.is_some_and(|null| null.is_set(rows, row)) {
                            let value = rows.bytes.get(place..place + width);
                            value
                                .and_then(|value| push(data, value, utf16))
                                .ok_or(ColumnError::Damaged { row: first + row })?;
                        }
                        ends.push(data.len() as i32);
                    }
                    Ok(())
                }
                (kind, values) => match values.append_fixed(kind, &InPage { rows, offset }) {
                    true => Ok(()),
                    false => refuse_damaged(kind, rows, offset, null)
                        .map_err(|row| ColumnError::Damaged { row: first + row }),
                },
            },
            Position::Variable { index, .. } => {
                let Values::Variable { data, ends } = &mut self.values else { return Ok(()) };
                let utf16 = matches!(self.kind, Kind::NVarChar(_));
                append_variable(rows, self.variable_part, index, utf16, data, ends, large).map_err(|error| {
                    match error {
                        ColumnError::Damaged { row } => ColumnError::Damaged { row: first + row },
                        other => other,
                    }
                })
            }
        }
    }

    /// Builds the array.
    pub fn finish(self) -> Result<ArrayRef, ColumnError> {
        let nulls = self.valid.map(|valid| {
            NullBuffer::new(BooleanBuffer::collect_bool(valid.len(), |row| valid.get(row) != Some(&false)))
        });
        self.values.finish(self.kind, nulls)
    }

    fn note_nulls(&mut self, rows: CheckedRows<'_>, null: Option<NullBit>) {
        match (null, &mut self.valid) {
            (None, None) => {}
            (None, Some(valid)) => valid.resize(valid.len() + rows.starts.len(), true),
            (Some(null), valid) => {
                let valid = valid.get_or_insert_with(|| vec![true; self.rows]);
                let bitmaps = InPage { rows, offset: null.place };
                valid.extend(bitmaps.values().map(|[byte]| byte & null.mask == 0));
            }
        }
    }
}

impl NullBit {
    fn is_set(self, rows: CheckedRows<'_>, row: usize) -> bool {
        let start = rows.starts.get(row).copied().map_or(0, usize::from);
        rows.bytes.get(start + self.place).is_some_and(|byte| byte & self.mask != 0)
    }
}

/// Bytes at the same place of every record.
#[derive(Clone, Copy)]
struct InPage<'p> {
    rows: CheckedRows<'p>,
    offset: usize,
}

impl FixedSource for InPage<'_> {
    #[inline]
    fn values<const WIDTH: usize>(&self) -> impl Iterator<Item = [u8; WIDTH]> {
        let (bytes, offset) = (self.rows.bytes, self.offset);
        self.rows.starts.iter().map(move |start| {
            let place = usize::from(*start) + offset;
            bytes.get(place..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; WIDTH])
        })
    }
}

/// Refuses the first row whose bytes are no value and that is not null; bytes under a null may be anything.
fn refuse_damaged(
    kind: Kind,
    rows: CheckedRows<'_>,
    offset: usize,
    null: Option<NullBit>,
) -> Result<(), usize> {
    for (row, start) in rows.starts.iter().enumerate() {
        let one = CheckedRows { starts: std::slice::from_ref(start), ..rows };
        let good = Values::with_capacity(kind, 1, 0).append_fixed(kind, &InPage { rows: one, offset });
        if !good && !null.is_some_and(|null| null.is_set(rows, row)) {
            return Err(row);
        }
    }
    Ok(())
}

/// Adds value `index` of each row's variable part.
fn append_variable(
    rows: CheckedRows<'_>,
    part: usize,
    index: usize,
    utf16: bool,
    data: &mut Vec<u8>,
    ends: &mut Vec<i32>,
    large: &dyn LargeValueSource,
) -> Result<(), ColumnError> {
    let mut scratch = Vec::new();
    for (row, start) in rows.starts.iter().enumerate() {
        let record = rows.bytes.get(usize::from(*start)..).ok_or(ColumnError::Damaged { row })?;
        if let Some((value, is_pointer)) = variable_value(record, part, index) {
            let value = if is_pointer {
                scratch.clear();
                large.read(value, &mut scratch)?;
                scratch.as_slice()
            } else {
                value
            };
            push(data, value, utf16).ok_or(ColumnError::Damaged { row })?;
        }
        ends.push(data.len() as i32);
    }
    Ok(())
}

#[inline]
fn push(data: &mut Vec<u8>, value: &[u8], utf16: bool) -> Option<()> {
    match utf16 {
        true => convert::utf8(value, data),
        false => {
            data.extend_from_slice(value);
            Some(())
        }
    }
}

/// Returns value `index` of the variable part, which begins at `part`, and true if it is a pointer; None if
/// the record has fewer.
#[inline]
fn variable_value(record: &[u8], part: usize, index: usize) -> Option<(&[u8], bool)> {
    let status = *record.first()?;
    let count = usize::from(u16_at(record, part)?);
    // The last entry of a forwarded row is its home address. Without nulls at the end, it stands where a null would.
    let values = count.saturating_sub(usize::from(status & TYPE_BITS == FORWARDED_STATUS));
    if status & HAS_VARIABLE == 0 || index >= values {
        return None;
    }
    // Before the first end stands the number of ends.
    let entries = record.get(part + 2 * index..)?.first_chunk::<4>()?;
    let [low, high, end_low, end_high] = *entries;
    let start = match index {
        0 => part + 2 + 2 * count,
        _ => usize::from(u16::from_le_bytes([low, high]) & !COMPLEX),
    };
    let end = u16::from_le_bytes([end_low, end_high]);
    Some((record.get(start..usize::from(end & !COMPLEX))?, end & COMPLEX != 0))
}
