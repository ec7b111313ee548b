//! Records to batch, column by column.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::types::{
    Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt64Type,
};
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, Int64Array, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Schema};

use super::super::compress::cell::Cell;
use super::super::compress::grid::{CellView, Grid};
use super::super::compress::record::{self, CdRecord};
use super::super::compress::{self, PageInformation};
use super::super::error::EngineError;
use super::super::key::KeyLayout;
use super::super::kind::{Kind, Place};
use super::super::layout::{Layout, Position, RecordForm};
use super::super::page::{self, Page, PageId, RowId};
use super::super::stored::PageRows;
use super::expand::{self, ColumnError};
use super::{COMPLEX, HAS_BITMAP, HAS_VARIABLE, LargeValueSource, RecordType, convert, record_type, u16_at};

/// Gathers rows from pages, then makes a batch of them.
#[derive(Debug)]
pub struct RowGatherer<'a> {
    layout: &'a Layout,
    pages: Vec<Span>,
    /// Start of each record in its page.
    offsets: Vec<u16>,
    slots: Vec<u16>,
}

#[derive(Debug)]
struct Span {
    page: Arc<Page>,
    id: PageId,
    /// Rows of the batch that the page ends at.
    end: usize,
}

impl<'a> RowGatherer<'a> {
    /// For rows of this form.
    pub fn new(layout: &'a Layout) -> Self {
        Self { layout, pages: Vec::new(), offsets: Vec::new(), slots: Vec::new() }
    }

    /// Rows gathered so far.
    pub fn rows(&self) -> usize {
        self.offsets.len()
    }

    /// Takes all rows of a page, but for forwarding stubs: a row is read where it lies. Each record is checked here, so that
    /// [`finish`](Self::finish) can trust its offsets.
    pub fn push_page(&mut self, page: &Arc<Page>) -> Result<(), EngineError> {
        self.push_rows(page, 0..page.slot_count())
    }

    /// Takes the rows in these slots of a page.
    pub fn push_rows(
        &mut self,
        page: &Arc<Page>,
        slots: impl Iterator<Item = u16>,
    ) -> Result<(), EngineError> {
        let id = page.id();
        for slot in slots {
            let Some(offset) = page.row_offset(slot) else { continue };
            let bytes = page.bytes().get(offset..).unwrap_or_default();
            let status = bytes.first().copied().unwrap_or(0);
            match record_type(status) {
                Some(RecordType::Primary | RecordType::Forwarded) if self.layout.form == RecordForm::Row => {}
                Some(RecordType::ForwardingStub) if self.layout.form == RecordForm::Row => continue,
                Some(RecordType::Index) if self.layout.form == RecordForm::IndexLeaf => {}
                _ => return Err(damaged(id, offset, &format!("status byte {status:#04x}"))),
            }
            if self.layout.is_compressed() != compress::record::is_compressed(bytes) {
                return Err(damaged(id, offset, "the record has the form of another compression"));
            }
            // The parts of a CD record are found, and checked, when its values are read.
            if !self.layout.is_compressed() {
                check(self.layout, status, bytes).map_err(|reason| damaged(id, offset, reason))?;
            }
            self.offsets.push(offset as u16);
            self.slots.push(slot);
        }
        self.pages.push(Span { page: Arc::clone(page), id, end: self.offsets.len() });
        Ok(())
    }

    /// The address of each row taken so far: where it was first put, also if it was forwarded since.
    pub fn addresses(&self) -> Vec<RowId> {
        let mut addresses = Vec::with_capacity(self.rows());
        let mut first = 0;
        for span in &self.pages {
            let rows = self.offsets.get(first..span.end).unwrap_or_default();
            for (offset, slot) in rows.iter().zip(self.slots.get(first..).unwrap_or_default()) {
                let record = span.page.bytes().get(usize::from(*offset)..).unwrap_or_default();
                addresses.push(super::forwarded_from(record).unwrap_or(RowId { page: span.id, slot: *slot }));
            }
            first = span.end;
        }
        addresses
    }

    /// The rows taken so far as a batch of the columns in `projection`, which are indexes from 0.
    pub fn finish(
        &mut self,
        projection: &[usize],
        large: &dyn LargeValueSource,
    ) -> Result<RecordBatch, EngineError> {
        let mut columns = Vec::with_capacity(projection.len());
        let cells = if self.layout.is_compressed() { Some(self.cells(projection)?) } else { None };
        let mut fields: Vec<Arc<Field>> = Vec::with_capacity(projection.len());
        for (place, column) in projection.iter().enumerate() {
            fields.push(match (self.layout.schema.fields().get(*column), self.layout.columns.get(*column)) {
                (Some(field), _) => Arc::clone(field),
                // A hidden one.
                (None, Some(column)) => {
                    Arc::new(Field::new(&column.name, column.kind.data_type(), column.nullable))
                }
                (None, None) => {
                    return Err(EngineError::Schema { reason: format!("no column {column}") });
                }
            });
            columns.push(match &cells {
                Some(cells) => self.expanded(*column, cells.view(place), large)?,
                None => self.column(*column, large)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows()));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        self.pages.clear();
        self.offsets.clear();
        self.slots.clear();
        Ok(batch)
    }

    /// The keys of the rows taken so far.
    pub(crate) fn keys(&self, key: &KeyLayout) -> Option<Vec<Vec<u8>>> {
        let mut keys = Vec::with_capacity(self.rows());
        let mut first = 0;
        for span in &self.pages {
            let rows = PageRows::new(&span.page)?;
            for slot in self.slots.get(first..span.end).unwrap_or_default() {
                keys.push(key.of_row(self.layout, rows.row(*slot)?)?);
            }
            first = span.end;
        }
        Some(keys)
    }

    /// Calls `each` for every record, with the bytes from its start to the end of its page.
    fn for_each<'s>(&'s self, mut each: impl FnMut(&'s [u8])) {
        let mut first = 0;
        for span in &self.pages {
            let bytes = span.page.bytes();
            for offset in self.offsets.get(first..span.end).unwrap_or_default() {
                each(bytes.get(usize::from(*offset)..).unwrap_or_default());
            }
            first = span.end;
        }
    }

    /// The cells of the columns in `projection`, whole values.
    fn cells(&self, projection: &[usize]) -> Result<Grid, EngineError> {
        let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); self.layout.columns.len()];
        for (place, column) in projection.iter().enumerate() {
            if let Some(wanted) = wanted.get_mut(*column) {
                wanted.push(place);
            }
        }
        let mut grid = Grid::new(projection.len());
        let Grid { columns, data, .. } = &mut grid;
        for column in columns.iter_mut() {
            column.codes.reserve(self.rows());
            column.words.reserve(self.rows());
        }
        let mut first = 0;
        for span in &self.pages {
            let information = match span.page.is_compressed() {
                true => Some(
                    PageInformation::read(span.page.bytes())
                        .ok_or_else(|| damaged(span.id, page::HEADER_BYTES, "compression information"))?,
                ),
                false => None,
            };
            for offset in self.offsets.get(first..span.end).unwrap_or_default() {
                let bytes = span.page.bytes().get(usize::from(*offset)..).unwrap_or_default();
                let record = CdRecord::parse(bytes)
                    .filter(|record| record.columns == wanted.len())
                    .ok_or_else(|| damaged(span.id, (*offset).into(), "no CD record of this table"))?;
                let mut known = true;
                record.for_each(|column, cell, long| {
                    for place in wanted.get(column).into_iter().flatten() {
                        let cell = match &information {
                            Some(information) => information.expand(column, cell, long, data),
                            None => Some(record::owned(cell, long, data)),
                        };
                        known &= cell.is_some();
                        if let Some(column) = columns.get_mut(*place) {
                            column.push(cell.unwrap_or(Cell::NULL));
                        }
                    }
                });
                if !known {
                    return Err(damaged(
                        span.id,
                        (*offset).into(),
                        "it names nothing in its page's information",
                    ));
                }
            }
            first = span.end;
        }
        Ok(grid)
    }

    fn expanded(
        &self,
        index: usize,
        view: CellView<'_>,
        large: &dyn LargeValueSource,
    ) -> Result<ArrayRef, EngineError> {
        let Some(column) = self.layout.columns.get(index) else {
            return Err(EngineError::Schema { reason: format!("no column {index}") });
        };
        expand::column(column.kind, column.nullable, view, large).map_err(|error| match error {
            ColumnError::Engine(error) => error,
            ColumnError::Damaged { row } => {
                self.damaged_row(row, &format!("no value of type {}", column.kind))
            }
        })
    }

    fn column(&self, index: usize, large: &dyn LargeValueSource) -> Result<ArrayRef, EngineError> {
        let (Some(column), Some(position)) =
            (self.layout.columns.get(index), self.layout.positions.get(index))
        else {
            return Err(EngineError::Schema { reason: format!("no column {index}") });
        };
        let nulls = if column.nullable { self.nulls(index) } else { None };
        let kind = column.kind;
        let array: ArrayRef = match *position {
            Position::Bit { offset, bit } => {
                let mut bits = Vec::with_capacity(self.rows());
                self.for_each(|row| bits.push(row.get(offset).is_some_and(|byte| byte & (1 << bit) != 0)));
                Arc::new(BooleanArray::new(BooleanBuffer::from(bits), nulls))
            }
            Position::Fixed { offset, width } => match kind {
                Kind::TinyInt => self.primitive::<UInt8Type, 1>(offset, nulls, u8::from_le_bytes),
                Kind::SmallInt => self.primitive::<Int16Type, 2>(offset, nulls, i16::from_le_bytes),
                Kind::Int => self.primitive::<Int32Type, 4>(offset, nulls, i32::from_le_bytes),
                Kind::BigInt => self.primitive::<Int64Type, 8>(offset, nulls, i64::from_le_bytes),
                Kind::Real => self.primitive::<Float32Type, 4>(offset, nulls, f32::from_le_bytes),
                Kind::Float => self.primitive::<Float64Type, 8>(offset, nulls, f64::from_le_bytes),
                Kind::RowVersion => self.primitive::<UInt64Type, 8>(offset, nulls, u64::from_be_bytes),
                _ => {
                    let values = InRecords {
                        gatherer: self,
                        kind,
                        place: offset..offset + width,
                        nulls: nulls.clone(),
                    };
                    converted(kind, nulls, &values)?
                }
            },
            Position::Variable { index, .. } => self.variable(kind, index, nulls, large)?,
        };
        Ok(array)
    }

    fn nulls(&self, column: usize) -> Option<NullBuffer> {
        let (place, bit) = (self.layout.fixed_bytes + 2 + column / 8, 1 << (column % 8));
        let mut valid = Vec::with_capacity(self.rows());
        let mut any = false;
        self.for_each(|row| {
            let null = row.get(place).is_some_and(|byte| byte & bit != 0);
            any |= null;
            valid.push(!null);
        });
        any.then(|| NullBuffer::from(valid))
    }

    fn primitive<T: ArrowPrimitiveType, const WIDTH: usize>(
        &self,
        offset: usize,
        nulls: Option<NullBuffer>,
        value: impl Fn([u8; WIDTH]) -> T::Native,
    ) -> ArrayRef {
        let mut values = Vec::with_capacity(self.rows());
        self.for_each(|row| values.push(value(array_at(row, offset))));
        Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
    }

    fn variable(
        &self,
        kind: Kind,
        index: usize,
        nulls: Option<NullBuffer>,
        large: &dyn LargeValueSource,
    ) -> Result<ArrayRef, EngineError> {
        let array = self.layout.bitmap_end();
        let (mut data, mut ends) = (Vec::new(), Vec::with_capacity(self.rows() + 1));
        ends.push(0);
        let mut failure = None;
        let mut row_number = 0;
        let mut scratch = Vec::new();
        self.for_each(|row| {
            let valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row_number));
            if valid && failure.is_none() {
                let (value, complex) = variable_value(row, array, index);
                let value = if complex {
                    scratch.clear();
                    match large.read(value, &mut scratch) {
                        Ok(()) => scratch.as_slice(),
                        Err(error) => {
                            failure = Some(error);
                            &[]
                        }
                    }
                } else {
                    value
                };
                match kind {
                    Kind::NVarChar(_) => {
                        if convert::utf8(value, &mut data).is_none() && failure.is_none() {
                            failure = Some(self.damaged_row(row_number, "no UTF-16"));
                        }
                    }
                    _ => data.extend_from_slice(value),
                }
            }
            ends.push(data.len());
            row_number += 1;
        });
        match failure {
            Some(error) => Err(error),
            None => strings(kind, data, &ends, nulls),
        }
    }

    fn damaged_row(&self, row: usize, reason: &str) -> EngineError {
        let id = self.pages.iter().find(|span| span.end > row).map_or(PageId::NONE, |span| span.id);
        damaged(id, self.offsets.get(row).copied().unwrap_or(0).into(), reason)
    }
}

/// Values of a fixed width as their bytes in an uncompressed record.
pub(super) trait FixedValues {
    /// Why they cannot be read.
    type Error: From<EngineError>;

    /// Number of rows.
    fn rows(&self) -> usize;

    /// Calls `take` with the bytes of every row, or None for a null; it gives None for bytes that are no value.
    fn each(&self, take: impl FnMut(Option<&[u8]>) -> Option<()>) -> Result<(), Self::Error>;
}

/// Bytes at the same place of every record.
struct InRecords<'g> {
    gatherer: &'g RowGatherer<'g>,
    kind: Kind,
    place: Range<usize>,
    nulls: Option<NullBuffer>,
}

impl FixedValues for InRecords<'_> {
    type Error = EngineError;

    fn rows(&self) -> usize {
        self.gatherer.rows()
    }

    fn each(&self, mut take: impl FnMut(Option<&[u8]>) -> Option<()>) -> Result<(), EngineError> {
        let (mut row, mut bad) = (0, None);
        self.gatherer.for_each(|record| {
            // Under a null the bytes mean nothing.
            let valid = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let value = if valid { record.get(self.place.clone()) } else { None };
            if (valid && value.is_none() || take(value).is_none()) && bad.is_none() {
                bad = Some(row);
            }
            row += 1;
        });
        match bad {
            Some(row) => Err(self.gatherer.damaged_row(row, &format!("no value of type {}", self.kind))),
            None => Ok(()),
        }
    }
}

/// The array of values whose bytes differ from Arrow's.
pub(super) fn converted<V: FixedValues>(
    kind: Kind,
    nulls: Option<NullBuffer>,
    values_of: &V,
) -> Result<ArrayRef, V::Error> {
    let width = if let Place::Fixed(width) = kind.place() { width } else { 0 };
    let arrow = |error| V::Error::from(EngineError::from(error));
    let array: ArrayRef = match kind {
        Kind::Decimal { .. } | Kind::Money | Kind::SmallMoney => {
            let mut values = Vec::<i128>::with_capacity(values_of.rows());
            values_of.each(|bytes| {
                values.push(match (bytes, kind) {
                    (None, _) => 0,
                    (Some(bytes), Kind::Decimal { .. }) => convert::decimal(bytes)?,
                    (Some(bytes), _) => convert::integer(kind, bytes)?.into(),
                });
                Some(())
            })?;
            let array = PrimitiveArray::<Decimal128Type>::new(ScalarBuffer::from(values), nulls);
            Arc::new(array.with_data_type(kind.data_type()))
        }
        Kind::DateTime2 { scale: 7 } | Kind::DateTimeOffset { .. } | Kind::UniqueIdentifier => {
            let size = if let DataType::FixedSizeBinary(size) = kind.data_type() { size } else { 16 };
            let mut values = Vec::<u8>::with_capacity(values_of.rows() * size as usize);
            values_of.each(|bytes| match (bytes, kind) {
                (None, _) => {
                    values.resize(values.len() + size as usize, 0);
                    Some(())
                }
                (Some(bytes), Kind::UniqueIdentifier) => {
                    values.extend_from_slice(&convert::guid(*bytes.first_chunk()?));
                    Some(())
                }
                (Some(bytes), _) => convert::ticks(kind, bytes, &mut values),
            })?;
            Arc::new(FixedSizeBinaryArray::try_new(size, Buffer::from(values), nulls).map_err(arrow)?)
        }
        Kind::Char(_) | Kind::NChar(_) | Kind::Binary(_) => {
            let mut data = Vec::with_capacity(values_of.rows() * width);
            let mut ends = Vec::with_capacity(values_of.rows() + 1);
            ends.push(0);
            values_of.each(|bytes| {
                match (bytes, kind) {
                    (None, _) => {}
                    (Some(bytes), Kind::NChar(_)) => convert::utf8(bytes, &mut data)?,
                    (Some(bytes), _) => data.extend_from_slice(bytes),
                }
                ends.push(data.len());
                Some(())
            })?;
            strings(kind, data, &ends, nulls)?
        }
        _ => {
            let mut values = Vec::<i64>::with_capacity(values_of.rows());
            values_of.each(|bytes| {
                values.push(match bytes {
                    None => 0,
                    Some(bytes) => convert::integer(kind, bytes)?,
                });
                Some(())
            })?;
            let integers: ArrayRef = Arc::new(Int64Array::new(ScalarBuffer::from(values), nulls));
            match kind.data_type() {
                narrow @ (DataType::Time32(_) | DataType::Date32) => {
                    cast(&cast(&integers, &DataType::Int32).map_err(arrow)?, &narrow).map_err(arrow)?
                }
                wide => cast(&integers, &wide).map_err(arrow)?,
            }
        }
    };
    Ok(array)
}

fn damaged(page: PageId, offset: usize, reason: &str) -> EngineError {
    EngineError::DamagedRow { page, offset, reason: reason.to_owned() }
}

/// Whether a record has this layout's form and lies within its page.
fn check(layout: &Layout, status: u8, bytes: &[u8]) -> Result<(), &'static str> {
    if status & HAS_BITMAP == 0 {
        return Err("no NULL bitmap");
    }
    if layout.form == RecordForm::Row && u16_at(bytes, 2) != Some(layout.fixed_bytes as u16) {
        return Err("the fixed part has another length");
    }
    // A record may be older than the last columns, if its NULL bitmap has bits for them, which are set.
    let columns = u16_at(bytes, layout.fixed_bytes).map_or(0, usize::from);
    if columns > layout.columns.len() || columns.div_ceil(8) != layout.bitmap_bytes() {
        return Err("another number of columns");
    }
    let mut end = layout.bitmap_end();
    if status & HAS_VARIABLE != 0 {
        let count = usize::from(u16_at(bytes, end).ok_or("the record runs over the page")?);
        // A forwarded row has its old address behind its columns.
        let extra = usize::from(record_type(status) == Some(RecordType::Forwarded));
        if count == 0 || count > layout.variable_count + extra {
            return Err("the number of variable columns");
        }
        let array = bytes.get(end + 2..end + 2 + 2 * count).ok_or("the record runs over the page")?;
        let mut previous = end + 2 + 2 * count;
        for entry in array.as_chunks::<2>().0 {
            let next = usize::from(u16::from_le_bytes(*entry) & !COMPLEX);
            if next < previous {
                return Err("the offsets of the variable columns do not rise");
            }
            previous = next;
        }
        end = previous;
    }
    if end > bytes.len() { Err("the record runs over the page") } else { Ok(()) }
}

/// Value `index` of the variable part and whether it is a pointer; empty if the record has fewer.
fn variable_value(record: &[u8], array: usize, index: usize) -> (&[u8], bool) {
    if record.first().is_none_or(|status| status & HAS_VARIABLE == 0) {
        return (&[], false);
    }
    let count = usize::from(u16_at(record, array).unwrap_or(0));
    if index >= count {
        return (&[], false);
    }
    let entry = u16_at(record, array + 2 + 2 * index).unwrap_or(0);
    let start = match index {
        0 => array + 2 + 2 * count,
        _ => usize::from(u16_at(record, array + 2 * index).unwrap_or(0) & !COMPLEX),
    };
    (record.get(start..usize::from(entry & !COMPLEX)).unwrap_or_default(), entry & COMPLEX != 0)
}

pub(super) fn strings(
    kind: Kind,
    data: Vec<u8>,
    ends: &[usize],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, EngineError> {
    let too_large = || EngineError::Schema { reason: "more than 2 GiB in one batch".to_owned() };
    let ends: Vec<i32> =
        ends.iter().map(|end| i32::try_from(*end).map_err(|_| too_large())).collect::<Result<_, _>>()?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    Ok(match kind.data_type() {
        DataType::Binary => Arc::new(BinaryArray::try_new(offsets, Buffer::from(data), nulls)?),
        _ => Arc::new(StringArray::try_new(offsets, Buffer::from(data), nulls)?),
    })
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}
