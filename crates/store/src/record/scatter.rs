//! Converts a batch to records, column by column.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use arrow::array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt64Type,
};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::cells::{self, CellColumn};
use super::compress;
use super::kind::Kind;
use super::layout::{Layout, Position, RecordForm};
use super::uniquifier::growth_bytes;
use super::{
    COMPLEX, HAS_BITMAP, HAS_VARIABLE, INDEX_STATUS, LargeUse, LargeValueSink, POINTER_BYTES, Records,
    convert,
};
use crate::error::EngineError;
use crate::page::ROW_LIMIT_BYTES;
use crate::record::compress::grid::CellView;
use crate::record::compress::writer::{RowWriter, Stage};

/// Longest value that stays in its row.
pub(super) const IN_ROW_LIMIT_BYTES: usize = 8000;

/// Bytes of records that are written column by column before the next: about half of a first cache.
pub(super) const CACHED_BYTES: usize = 24 << 10;

/// A checked batch: every value has its bytes, and every row its length.
#[derive(Debug)]
pub struct BoundBatch<'a> {
    layout: &'a Layout,
    columns: Vec<Source<'a>>,
    /// Length of each row's record.
    lengths: Vec<u16>,
    /// Entries of each row's offset array: trailing nulls are left out.
    variable_counts: Vec<u16>,
    /// Pointers that rows keep instead of values stored outside them, by (column, row).
    moved: BTreeMap<(usize, usize), Vec<u8>>,
    template: Vec<u8>,
    /// The columns of CD records, which take the place of `columns`.
    cells: Vec<CellColumn<'a>>,
}

#[derive(Debug)]
pub(super) struct Source<'a> {
    pub values: Values<'a>,
    pub nulls: Option<&'a NullBuffer>,
}

#[derive(Debug)]
pub(super) enum Values<'a> {
    Bits(&'a BooleanArray),
    Bytes1(&'a [u8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// Integers for compressed records: the bytes of an uncompressed record, read as numbers.
    Integers(Vec<i64>),
    /// `width` bytes per row.
    Converted(Vec<u8>),
    /// Row r is `data[ends[r]..ends[r + 1]]`.
    Variable {
        data: Cow<'a, [u8]>,
        ends: Cow<'a, [i32]>,
    },
}

impl<'a> BoundBatch<'a> {
    /// Checks every value. Values that do not stay in their rows are stored through `sink` at once.
    pub fn new(
        layout: &'a Layout,
        batch: &'a RecordBatch,
        sink: &mut dyn LargeValueSink,
    ) -> Result<Self, EngineError> {
        if batch.num_columns() != layout.columns.len() {
            let reason = format!("{} columns, the table has {}", batch.num_columns(), layout.columns.len());
            return Err(EngineError::Schema { reason });
        }
        let columns = (0..layout.columns.len())
            .map(|index| bind(layout, index, batch.column(index)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut bound = Self {
            layout,
            columns,
            lengths: Vec::new(),
            variable_counts: Vec::new(),
            moved: BTreeMap::new(),
            template: template(layout),
            cells: Vec::new(),
        };
        bound.measure(batch.num_rows(), sink)?;
        if layout.is_compressed() {
            let sources = std::mem::take(&mut bound.columns).into_iter().zip(layout.columns.iter());
            let cells = sources.enumerate().map(|(index, (source, column))| {
                let moved = bound.moved.range((index, 0)..(index + 1, 0));
                let moved = moved.map(|((_, row), pointer)| (*row, pointer.as_slice()));
                CellColumn::new(column.kind, source, batch.num_rows(), moved)
            });
            bound.cells = cells.collect();
            let lengths = compress::row::lengths(&bound.cells(), batch.num_rows());
            let longest = usize::from(lengths.iter().fold(0, |most: u16, length| most.max(*length)));
            if longest > ROW_LIMIT_BYTES {
                return Err(EngineError::RowTooLarge { bytes: longest, limit_bytes: ROW_LIMIT_BYTES });
            }
            bound.lengths = lengths;
        }
        Ok(bound)
    }

    /// Counts the rows.
    pub fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the length of each row's record in bytes.
    pub fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// Returns the columns of CD records; none if the layout is not compressed.
    pub fn cells(&self) -> Vec<CellView<'_>> {
        self.cells.iter().map(CellColumn::view).collect()
    }

    /// Makes the record of one row.
    pub fn record(&self, row: usize) -> Vec<u8> {
        let mut out = vec![0; self.lengths.get(row).copied().unwrap_or(0).into()];
        self.write(row..row + 1, &[0], &mut out);
        out
    }

    /// Puts the records of `rows` in the place of those in `out`.
    pub(crate) fn write_records(&self, rows: Range<usize>, out: &mut Records) {
        out.clear();
        out.lengths.extend_from_slice(self.lengths.get(rows.clone()).unwrap_or_default());
        let mut end = 0;
        let offsets: Vec<u32> = out
            .lengths
            .iter()
            .map(|length| {
                end += u32::from(*length);
                end - u32::from(*length)
            })
            .collect();
        out.bytes.resize(end as usize, 0);
        self.write(rows, &offsets, &mut out.bytes);
    }

    /// Writes the records of `rows`; `offsets` says where in `out` each of them starts. Offsets that leave no room for the
    /// record are a fault of the caller, and nothing is written there.
    pub fn write(&self, rows: Range<usize>, offsets: &[u32], out: &mut [u8]) {
        if self.layout.is_compressed() {
            return self.write_compressed(rows, offsets, out);
        }
        // All columns of some rows, then those of the next: they stay in the processor's first cache meanwhile.
        let span = match (offsets.first(), offsets.last()) {
            (Some(first), Some(last)) => (last - first) as usize / offsets.len(),
            _ => return,
        };
        let rows_at_once = (CACHED_BYTES / span.max(1)).max(1);
        for (index, offsets) in offsets.chunks(rows_at_once).enumerate() {
            let first = rows.start + index * rows_at_once;
            self.write_rows(first..first + offsets.len(), offsets, out);
        }
    }

    fn write_rows(&self, rows: Range<usize>, offsets: &[u32], out: &mut [u8]) {
        for offset in offsets {
            if let Some(place) = out.get_mut(*offset as usize..*offset as usize + self.template.len()) {
                place.copy_from_slice(&self.template);
            }
        }
        for (index, (source, position)) in self.columns.iter().zip(self.layout.positions.iter()).enumerate() {
            match *position {
                Position::Fixed { offset, width } => {
                    scatter_fixed(&source.values, offset, width, &rows, offsets, out)
                }
                Position::Bit { offset, bit } => {
                    let Values::Bits(bits) = &source.values else { continue };
                    for (row, start) in rows.clone().zip(offsets) {
                        if bits.value(row)
                            && source.nulls.is_none_or(|nulls| nulls.is_valid(row))
                            && let Some(place) = out.get_mut(*start as usize + offset)
                        {
                            *place |= 1 << bit;
                        }
                    }
                }
                Position::Variable { .. } => {}
            }
            if let Some(nulls) = source.nulls {
                let place = self.layout.fixed_bytes + 2 + index / 8;
                for (row, start) in rows.clone().zip(offsets) {
                    if nulls.is_null(row)
                        && let Some(place) = out.get_mut(*start as usize + place)
                    {
                        *place |= 1 << (index % 8);
                    }
                }
            }
        }
        if self.layout.variable_count > 0 {
            self.write_variable(rows, offsets, out);
        }
    }

    fn write_compressed(&self, rows: Range<usize>, offsets: &[u32], out: &mut [u8]) {
        let views = self.cells();
        let in_index = self.layout.form == RecordForm::IndexLeaf;
        let mut offsets = offsets.iter();
        RowWriter::new(&views, rows, in_index).write(&mut Stage::default(), out, 0, |end| {
            offsets.next().map_or(end, |offset| *offset as usize)
        });
    }

    fn write_variable(&self, rows: Range<usize>, offsets: &[u32], out: &mut [u8]) {
        let array = self.layout.bitmap_end();
        // Offset in `out` of each row's next value.
        let mut cursors: Vec<usize> = Vec::with_capacity(offsets.len());
        for (row, start) in rows.clone().zip(offsets) {
            let (start, count) = (*start as usize, self.variable_counts.get(row).copied().unwrap_or(0));
            if count > 0 {
                put(out, start, &[status(self.layout) | HAS_VARIABLE]);
                put(out, start + array, &count.to_le_bytes());
            }
            cursors.push(start + array + 2 + 2 * usize::from(count));
        }
        for (column, (source, position)) in self.columns.iter().zip(self.layout.positions.iter()).enumerate()
        {
            let (Position::Variable { index, .. }, Values::Variable { data, ends }) =
                (*position, &source.values)
            else {
                continue;
            };
            let any_moved = self.moved.range((column, 0)..(column + 1, 0)).next().is_some();
            let counts = self.variable_counts.get(rows.clone()).unwrap_or_default();
            let entry = array + 2 + 2 * index;
            if !any_moved && source.nulls.is_none() && counts.iter().all(|count| usize::from(*count) > index)
            {
                // The common case: every row has a value.
                let ends = ends.get(rows.start..=rows.end).unwrap_or_default();
                for ((start, cursor), pair) in offsets.iter().zip(&mut cursors).zip(ends.windows(2)) {
                    let [first, end] = *pair else { continue };
                    let value = data.get(first as usize..end as usize).unwrap_or_default();
                    put_short(out, *cursor, value);
                    *cursor += value.len();
                    let start = *start as usize;
                    if let Some(place) = out.get_mut(start + entry..).and_then(<[u8]>::first_chunk_mut) {
                        *place = ((*cursor - start) as u16).to_le_bytes();
                    }
                }
                continue;
            }
            for (((row, start), cursor), count) in rows.clone().zip(offsets).zip(&mut cursors).zip(counts) {
                if index >= usize::from(*count) {
                    continue;
                }
                let mut flag = 0;
                let moved = if any_moved { self.moved.get(&(column, row)) } else { None };
                let value = match moved {
                    Some(pointer) => {
                        flag = COMPLEX;
                        pointer.as_slice()
                    }
                    None => value_of(data, ends, row),
                };
                if source.nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                    put(out, *cursor, value);
                    *cursor += value.len();
                }
                let end = (*cursor - *start as usize) as u16 | flag;
                put(out, *start as usize + entry, &end.to_le_bytes());
            }
        }
    }

    /// Computes the lengths of the rows, and moves out values of rows that are too long.
    fn measure(&mut self, rows: usize, sink: &mut dyn LargeValueSink) -> Result<(), EngineError> {
        let fixed = self.layout.bitmap_end();
        if self.layout.variable_count == 0 {
            self.lengths = vec![fixed as u16; rows];
            return Ok(());
        }
        let limit_bytes = IN_ROW_LIMIT_BYTES.min(self.comfortable_bytes());
        if self.layout.is_compressed() {
            // Only values that must leave their rows are of interest. There are none if the longest values of
            // all columns fit one row.
            let longest = self.columns.iter().map(|source| match &source.values {
                Values::Variable { ends, .. } => longest(ends),
                _ => 0,
            });
            if self.layout.row_bytes(self.layout.variable_count, longest.sum()) <= limit_bytes {
                return Ok(());
            }
        }
        let (mut bytes, mut counts) = (vec![0_u32; rows], vec![0_u16; rows]);
        for (source, position) in self.columns.iter().zip(self.layout.positions.iter()) {
            let (Position::Variable { index, .. }, Values::Variable { ends, .. }) =
                (*position, &source.values)
            else {
                continue;
            };
            let entries = bytes.iter_mut().zip(counts.iter_mut()).zip(ends.windows(2)).enumerate();
            for (row, ((bytes, count), pair)) in entries {
                if source.nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                    *count = index as u16 + 1;
                    if let [start, end] = pair {
                        *bytes = bytes.saturating_add((end - start).max(0) as u32);
                    }
                }
            }
        }
        self.variable_counts = counts;
        let mut lengths = Vec::with_capacity(rows);
        for row in 0..rows {
            let count = usize::from(self.variable_counts.get(row).copied().unwrap_or(0));
            let mut length = self.layout.row_bytes(count, bytes.get(row).copied().unwrap_or(0) as usize);
            if length > limit_bytes {
                length = self.move_values(row, length, sink)?;
            }
            lengths.push(length as u16);
        }
        self.lengths = lengths;
        Ok(())
    }

    /// Returns the bytes of a row that leave room for the number that may be put into it later.
    fn comfortable_bytes(&self) -> usize {
        self.layout.row_limit_bytes.saturating_sub(growth_bytes(self.layout))
    }

    /// Moves values out of a row, large ones that never stay first, then the longest, until it fits. Returns its length.
    fn move_values(
        &mut self,
        row: usize,
        mut length: usize,
        sink: &mut dyn LargeValueSink,
    ) -> Result<usize, EngineError> {
        let mut candidates = Vec::new();
        for (column, (source, position)) in self.columns.iter().zip(self.layout.positions.iter()).enumerate()
        {
            let (Position::Variable { limit_bytes, .. }, Values::Variable { data, ends }) =
                (*position, &source.values)
            else {
                continue;
            };
            let bytes = value_of(data, ends, row).len();
            if self.layout.pinned.contains(&column) {
                continue;
            }
            if source.nulls.is_none_or(|nulls| nulls.is_valid(row)) && bytes > POINTER_BYTES {
                candidates.push((bytes > IN_ROW_LIMIT_BYTES, bytes, column, limit_bytes));
            }
        }
        candidates.sort_by(|left, right| right.cmp(left));
        for (must_move, bytes, column, limit_bytes) in candidates {
            if length <= self.comfortable_bytes() && !must_move {
                break;
            }
            let purpose = if limit_bytes.is_some() { LargeUse::Overflow } else { LargeUse::Large };
            let Some(Source { values: Values::Variable { data, ends }, .. }) = self.columns.get(column)
            else {
                continue;
            };
            let pointer = sink.store(purpose, value_of(data, ends, row))?;
            length = length - bytes + pointer.len();
            self.moved.insert((column, row), pointer);
        }
        let limit_bytes = self.layout.row_limit_bytes;
        if length > limit_bytes {
            return Err(EngineError::RowTooLarge { bytes: length, limit_bytes });
        }
        Ok(length)
    }
}

/// Returns the first byte of a record without variable columns.
pub(super) fn status(layout: &Layout) -> u8 {
    match layout.form {
        RecordForm::Row => HAS_BITMAP,
        RecordForm::IndexLeaf => HAS_BITMAP | INDEX_STATUS,
    }
}

/// Makes the bytes that every record begins as: header, zeros, column count, bitmap with the unused bits set.
pub(super) fn template(layout: &Layout) -> Vec<u8> {
    let mut template = vec![0; layout.bitmap_end()];
    put(&mut template, 0, &[status(layout)]);
    if layout.form == RecordForm::Row {
        put(&mut template, 2, &(layout.fixed_bytes as u16).to_le_bytes());
    }
    put(&mut template, layout.fixed_bytes, &(layout.columns.len() as u16).to_le_bytes());
    let used = layout.columns.len() % 8;
    if let (Some(last), true) = (template.last_mut(), used > 0) {
        *last = 0xFF << used;
    }
    template
}

/// Makes `width` bytes for each of `rows` rows, as `convert` writes them; rows that are null are left out.
///
/// # Errors
/// Number of the first row that `convert` refuses, and its reason.
fn converted<'a>(
    (width, rows, nulls): (usize, usize, Option<&NullBuffer>),
    convert: impl Fn(usize, &mut [u8]) -> Result<(), &'static str>,
) -> Result<Values<'a>, (usize, &'static str)> {
    let mut out = vec![0; width * rows];
    if width > 0 {
        for (row, place) in out.chunks_exact_mut(width).enumerate() {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                convert(row, place).map_err(|reason| (row, reason))?;
            }
        }
    }
    Ok(Values::Converted(out))
}

/// Converts a column of ASCII text to UTF-16 and its ends, all at once; None: it is not ASCII, or too long
/// for that.
fn ascii_as_utf16(values: &StringArray) -> Option<(Vec<u8>, Vec<i32>)> {
    let offsets = values.offsets();
    let (first, last) = (*offsets.first()?, *offsets.last()?);
    let bytes = values.value_data().get(first as usize..last as usize).filter(|bytes| bytes.is_ascii())?;
    i32::try_from(bytes.len().checked_mul(2)?).ok()?;
    let mut data = vec![0; 2 * bytes.len()];
    for (unit, byte) in data.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *unit = [*byte, 0];
    }
    Some((data, offsets.iter().map(|offset| 2 * (offset - first)).collect()))
}

fn bind<'a>(layout: &Layout, index: usize, array: &'a ArrayRef) -> Result<Source<'a>, EngineError> {
    let (Some(column), Some(position)) = (layout.columns.get(index), layout.positions.get(index)) else {
        return Err(EngineError::Schema { reason: format!("no column {index}") });
    };
    if array.data_type() != &column.kind.data_type() {
        let reason = format!(
            "column {:?} is {}, the table's is {}",
            column.name,
            array.data_type(),
            column.kind.data_type()
        );
        return Err(EngineError::Schema { reason });
    }
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let refuse = |row: usize, reason: String| EngineError::Value { row, column: column.name.clone(), reason };
    if let (Some(nulls), false) = (nulls, column.nullable) {
        let row = nulls.iter().position(|valid| !valid).unwrap_or(0);
        return Err(refuse(row, "null in a column that allows none".to_owned()));
    }
    let width = match *position {
        Position::Fixed { width, .. } => width,
        Position::Bit { .. } | Position::Variable { .. } => 0,
    };
    let fixed = (width, array.len(), nulls);
    let told = |(row, reason): (usize, &'static str)| refuse(row, reason.to_owned());
    let integers = |array: &ArrayRef| -> Result<ArrayRef, EngineError> { Ok(cast(array, &DataType::Int64)?) };
    let values = match column.kind {
        Kind::Bit => Values::Bits(array.as_boolean()),
        Kind::TinyInt => Values::Bytes1(array.as_primitive::<UInt8Type>().values()),
        Kind::SmallInt => Values::I16(array.as_primitive::<Int16Type>().values()),
        Kind::Int => Values::I32(array.as_primitive::<Int32Type>().values()),
        Kind::BigInt => Values::I64(array.as_primitive::<Int64Type>().values()),
        Kind::Real => Values::F32(array.as_primitive::<Float32Type>().values()),
        Kind::Float => Values::F64(array.as_primitive::<Float64Type>().values()),
        Kind::SmallMoney | Kind::Money | Kind::DateTime if layout.is_compressed() => {
            let integers = cells::integers(column.kind, array, nulls);
            integers.map_err(|(row, reason)| refuse(row, reason.to_owned()))?
        }
        Kind::SmallMoney | Kind::Money => {
            let values = array.as_primitive::<Decimal128Type>();
            converted(fixed, |row, out| {
                let value = i64::try_from(values.value(row))
                    .map_err(|_| "the value is outside the range of its type")?;
                convert::put_integer(column.kind, value, out)
            })
            .map_err(told)?
        }
        Kind::Decimal { precision, .. } => {
            let values = array.as_primitive::<Decimal128Type>();
            let limit = 10_i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX);
            converted(fixed, |row, out| match values.value(row) {
                value if value > -limit && value < limit => convert::put_decimal(value, out),
                _ => Err("the value has more digits than its type"),
            })
            .map_err(told)?
        }
        Kind::Date => {
            let values = array.as_primitive::<Date32Type>();
            converted(fixed, |row, out| convert::put_integer(Kind::Date, values.value(row).into(), out))
                .map_err(told)?
        }
        Kind::DateTime2 { scale: 7 } | Kind::DateTimeOffset { .. } => {
            let values = array.as_fixed_size_binary();
            converted(fixed, |row, out| convert::put_ticks(column.kind, values.value(row), out))
                .map_err(told)?
        }
        Kind::Time { .. } | Kind::SmallDateTime | Kind::DateTime | Kind::DateTime2 { .. } => {
            let integers = integers(array)?;
            let values = integers.as_primitive::<Int64Type>();
            converted(fixed, |row, out| convert::put_integer(column.kind, values.value(row), out))
                .map_err(told)?
        }
        Kind::UniqueIdentifier => {
            let values = array.as_fixed_size_binary();
            converted(fixed, |row, out| {
                let value = values.value(row).first_chunk().ok_or("the value is too short")?;
                out.copy_from_slice(&convert::guid(*value));
                Ok(())
            })
            .map_err(told)?
        }
        Kind::RowVersion => {
            let values = array.as_primitive::<UInt64Type>();
            converted(fixed, |row, out| {
                out.copy_from_slice(&values.value(row).to_be_bytes());
                Ok(())
            })
            .map_err(told)?
        }
        Kind::Char(length) if layout.is_compressed() => {
            let values = array.as_string::<i32>();
            let too_long = |row: &usize| {
                values.value_length(*row) > i32::from(length)
                    && nulls.is_none_or(|nulls| nulls.is_valid(*row))
            };
            if let Some(row) = (0..array.len()).find(too_long) {
                return Err(refuse(row, "the value is longer than its column".to_owned()));
            }
            Values::Variable { data: values.value_data().into(), ends: (&**values.offsets()).into() }
        }
        Kind::Char(_) => {
            let values = array.as_string::<i32>();
            converted(fixed, |row, out| pad(values.value(row).as_bytes(), b" ", out)).map_err(told)?
        }
        Kind::NChar(_) => {
            let values = array.as_string::<i32>();
            converted(fixed, |row, out| {
                let mut units = Vec::with_capacity(out.len());
                convert::utf16(values.value(row), &mut units);
                pad(&units, b" \0", out)
            })
            .map_err(told)?
        }
        Kind::Binary(_) => {
            let values = array.as_binary::<i32>();
            converted(fixed, |row, out| pad(values.value(row), &[0], out)).map_err(told)?
        }
        Kind::VarChar(_) => {
            let values = array.as_string::<i32>();
            Values::Variable { data: values.value_data().into(), ends: (&**values.offsets()).into() }
        }
        Kind::VarBinary(_) => {
            let values = array.as_binary::<i32>();
            Values::Variable { data: values.value_data().into(), ends: (&**values.offsets()).into() }
        }
        Kind::NVarChar(_) => {
            let values = array.as_string::<i32>();
            let (data, ends) = match ascii_as_utf16(values) {
                Some(converted) => converted,
                None => {
                    let mut data = Vec::with_capacity(2 * values.value_data().len());
                    let mut ends = Vec::with_capacity(array.len() + 1);
                    ends.push(0);
                    for row in 0..array.len() {
                        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                            convert::utf16(values.value(row), &mut data);
                        }
                        let end = i32::try_from(data.len());
                        ends.push(end.map_err(|_| refuse(row, "more than 2 GiB in one batch".to_owned()))?);
                    }
                    (data, ends)
                }
            };
            Values::Variable { data: data.into(), ends: ends.into() }
        }
    };
    if let (Position::Variable { limit_bytes: Some(limit), .. }, Values::Variable { ends, .. }) =
        (*position, &values)
        && longest(ends) > limit
    {
        for (row, pair) in ends.windows(2).enumerate() {
            if let [start, end] = pair
                && (end - start) as usize > limit
                && nulls.is_none_or(|nulls| nulls.is_valid(row))
            {
                return Err(refuse(row, format!("{} bytes, the limit is {limit}", end - start)));
            }
        }
    }
    Ok(Source { values, nulls })
}

/// Returns the bytes of the longest value, also if it is that of a null.
fn longest(ends: &[i32]) -> usize {
    let lengths = ends.iter().zip(ends.get(1..).unwrap_or_default()).map(|(start, end)| end - start);
    // The loop has no branch, so that the compiler compares many lengths at once.
    lengths.fold(0, |most, length| length.max(most)) as usize
}

fn scatter_fixed(
    values: &Values<'_>,
    offset: usize,
    width: usize,
    rows: &Range<usize>,
    starts: &[u32],
    out: &mut [u8],
) {
    match values {
        Values::Bytes1(values) => scatter(values, rows, starts, offset, out, |value| [*value]),
        Values::I16(values) => scatter(values, rows, starts, offset, out, |value| value.to_le_bytes()),
        Values::I32(values) => scatter(values, rows, starts, offset, out, |value| value.to_le_bytes()),
        Values::I64(values) => scatter(values, rows, starts, offset, out, |value| value.to_le_bytes()),
        Values::F32(values) => scatter(values, rows, starts, offset, out, |value| value.to_le_bytes()),
        Values::F64(values) => scatter(values, rows, starts, offset, out, |value| value.to_le_bytes()),
        Values::Converted(bytes) => match width {
            3 => scatter(bytes.as_chunks::<3>().0, rows, starts, offset, out, |value| *value),
            4 => scatter(bytes.as_chunks::<4>().0, rows, starts, offset, out, |value| *value),
            5 => scatter(bytes.as_chunks::<5>().0, rows, starts, offset, out, |value| *value),
            8 => scatter(bytes.as_chunks::<8>().0, rows, starts, offset, out, |value| *value),
            9 => scatter(bytes.as_chunks::<9>().0, rows, starts, offset, out, |value| *value),
            16 => scatter(bytes.as_chunks::<16>().0, rows, starts, offset, out, |value| *value),
            _ => {
                let bytes = bytes.get(rows.start * width..).unwrap_or_default();
                for (value, start) in bytes.chunks_exact(width).zip(starts) {
                    put(out, *start as usize + offset, value);
                }
            }
        },
        Values::Bits(_) | Values::Integers(_) | Values::Variable { .. } => {}
    }
}

fn scatter<T, const WIDTH: usize>(
    values: &[T],
    rows: &Range<usize>,
    starts: &[u32],
    offset: usize,
    out: &mut [u8],
    bytes: impl Fn(&T) -> [u8; WIDTH],
) {
    for (value, start) in values.get(rows.clone()).unwrap_or_default().iter().zip(starts) {
        if let Some(place) = out.get_mut(*start as usize + offset..).and_then(<[u8]>::first_chunk_mut) {
            *place = bytes(value);
        }
    }
}

pub(super) fn value_of<'a>(data: &'a [u8], ends: &[i32], row: usize) -> &'a [u8] {
    match ends.get(row..row + 2) {
        Some([start, end]) => data.get(*start as usize..*end as usize).unwrap_or_default(),
        _ => &[],
    }
}

fn pad(value: &[u8], padding: &[u8], out: &mut [u8]) -> Result<(), &'static str> {
    let (head, tail) = out.split_at_mut_checked(value.len()).ok_or("the value is longer than its column")?;
    head.copy_from_slice(value);
    tail.iter_mut().zip(padding.iter().cycle()).for_each(|(place, byte)| *place = *byte);
    Ok(())
}

/// Writes like [`put`], but without a call for short values: it stores their first and last bytes, which may overlap.
#[inline]
pub(super) fn put_short(out: &mut [u8], at: usize, value: &[u8]) {
    let Some(place) = out.get_mut(at..at + value.len()) else { return };
    let copied = match value.len() {
        8..16 => put_ends::<8>(place, value),
        16..32 => put_ends::<16>(place, value),
        32..=64 => put_ends::<32>(place, value),
        _ => None,
    };
    if copied.is_none() {
        place.copy_from_slice(value);
    }
}

#[inline]
fn put_ends<const COUNT: usize>(place: &mut [u8], value: &[u8]) -> Option<()> {
    *place.first_chunk_mut::<COUNT>()? = *value.first_chunk()?;
    *place.last_chunk_mut::<COUNT>()? = *value.last_chunk()?;
    Some(())
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
