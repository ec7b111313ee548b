//! Single values of rows in pages, for every form of row and page.

use std::borrow::Cow;

use super::compress::PageInformation;
use super::kind::{Kind, Place};
use super::layout::{Column, Layout, Position};
use super::{COMPLEX, HAS_VARIABLE, u16_at};
use crate::page::Page;
use crate::record::compress::cell::{Cell, EMPTY, LONG, NULL, TRUE};
use crate::record::compress::grid::Grid;
use crate::record::compress::record::{CdRecord, is_compressed, owned};
use crate::record::compress::scsu;
use crate::record::compress::value::expand_fixed;

/// The bytes that an uncompressed record has for a value; None: null.
pub(crate) type ValueBytes<'a> = Option<Cow<'a, [u8]>>;

/// A row's record, and what its page leaves out of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredRow<'a> {
    record: &'a [u8],
    information: Option<&'a PageInformation<'a>>,
}

impl<'a> StoredRow<'a> {
    /// Reads a row that is in no page, or in one that is not compressed.
    pub fn whole(record: &'a [u8]) -> Self {
        Self { record, information: None }
    }

    /// Reads a row of a page with this information; None: the page is not compressed.
    pub fn within(record: &'a [u8], information: Option<&'a PageInformation<'a>>) -> Self {
        Self { record, information }
    }

    /// Returns the complete record, independent of its page. None if it is damaged.
    pub fn record(self) -> Option<Cow<'a, [u8]>> {
        match self.information.filter(|_| is_compressed(self.record)) {
            Some(information) => information.expand_record(self.record).map(Cow::Owned),
            None => Some(Cow::Borrowed(self.record)),
        }
    }

    /// Adds the complete row to a grid of as many columns. None if it is damaged, or no CD record.
    pub fn push_to(self, grid: &mut Grid) -> Option<()> {
        let record = CdRecord::parse(self.record).filter(|record| record.columns == grid.columns.len())?;
        let Some(information) = self.information else {
            record.push_to(grid);
            return Some(());
        };
        let Grid { columns, data, .. } = grid;
        let mut columns = columns.iter_mut();
        let mut is_damaged = false;
        record.for_each(|column, cell, long| {
            let cell = information.expand(column, cell, long, data);
            is_damaged |= cell.is_none();
            if let Some(column) = columns.next() {
                column.push(cell.unwrap_or(Cell::NULL));
            }
        });
        (!is_damaged).then_some(())
    }

    /// Returns the columns. None if the record is damaged.
    pub fn columns(self, layout: &'a Layout) -> Option<RowColumns<'a>> {
        let form = match is_compressed(self.record) {
            true => {
                let record = CdRecord::parse(self.record);
                let record = record.filter(|record| record.columns == layout.columns.len())?;
                Form::Cells(record, self.information)
            }
            false => Form::Fixed(self.record),
        };
        Some(RowColumns { layout, form })
    }
}

/// The columns of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowColumns<'a> {
    layout: &'a Layout,
    form: Form<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    Fixed(&'a [u8]),
    Cells(CdRecord<'a>, Option<&'a PageInformation<'a>>),
}

impl<'a> RowColumns<'a> {
    /// Returns the value of a column. None if the record is damaged, or the value is outside of the row.
    pub fn value(&self, column: usize) -> Option<ValueBytes<'a>> {
        match self.form {
            Form::Fixed(record) => uncompressed(self.layout, record, column),
            Form::Cells(..) => {
                let mut data = Vec::new();
                let cell = self.cell(column, &mut data)??;
                expanded(self.layout.columns.get(column)?.kind, cell, &data)
            }
        }
    }

    /// Hands the value of a column to `take`; a value of fixed width needs no memory of its own. None if the record is damaged, the
    /// value is outside of the row, or `take` says so.
    #[inline]
    pub fn with_value<T>(&self, column: usize, take: impl FnOnce(Option<&[u8]>) -> Option<T>) -> Option<T> {
        if let Form::Cells(..) = self.form
            && let Some(Column { kind, .. }) = self.layout.columns.get(column)
            && let Place::Fixed(width) = kind.place()
        {
            let mut data = Vec::new();
            let cell = self.cell(column, &mut data)??;
            let mut out = [0; FIXED_LIMIT_BYTES];
            if let Some(out) = out.get_mut(..width)
                && cell.code != NULL
            {
                fixed(*kind, cell, &data, out)?;
                return take(Some(&*out));
            }
        }
        take(self.value(column)?.as_deref())
    }

    /// Reads the whole cell of a column of a CD record; bytes of a long one are appended to `data`. None if
    /// the record is damaged; the inner None if it is not a CD record.
    pub fn cell(&self, column: usize, data: &mut Vec<u8>) -> Option<Option<Cell>> {
        let Form::Cells(record, information) = self.form else { return Some(None) };
        let (cell, long) = record.cell(column)?;
        match information {
            Some(information) => information.expand(column, cell, long, data).map(Some),
            None => Some(Some(owned(cell, long, data))),
        }
    }
}

/// Bytes of the widest value that [`RowColumns::with_value`] expands in place.
const FIXED_LIMIT_BYTES: usize = 32;

/// Writes the value of fixed width of a cell that is not null.
fn fixed(kind: Kind, cell: Cell, data: &[u8], out: &mut [u8]) -> Option<()> {
    if cell.is_complex() || !(EMPTY..=LONG).contains(&cell.code) {
        return None;
    }
    let short = cell.word.to_le_bytes();
    expand_fixed(kind, cell, content(cell, &short, data)?, out)
}

/// Returns the bytes of a cell from [`EMPTY`] to [`LONG`]: those of its word, or long ones in `data`.
fn content<'c>(cell: Cell, short: &'c [u8], data: &'c [u8]) -> Option<&'c [u8]> {
    if cell.code != LONG {
        return short.get(..cell.short_bytes());
    }
    let (start, length) = cell.place();
    data.get(start..start.checked_add(length)?)
}

/// Expands a whole cell, whose long bytes are in `data`, to its value. None: the column cannot have it, or it
/// is stored outside the row.
pub(crate) fn expanded(kind: Kind, cell: Cell, data: &[u8]) -> Option<ValueBytes<'static>> {
    if cell.code == NULL {
        return Some(None);
    }
    if cell.is_complex() {
        return None;
    }
    let short = cell.word.to_le_bytes();
    let bytes = match cell.code {
        EMPTY..=LONG => content(cell, &short, data)?,
        TRUE => &[],
        _ => return None,
    };
    let value: Cow<'static, [u8]> = match (kind.place(), kind) {
        (Place::Bit, _) => match cell.code {
            TRUE => Cow::Borrowed(&[1]),
            EMPTY => Cow::Borrowed(&[0]),
            _ => return None,
        },
        _ if cell.code == TRUE => return None,
        (Place::Fixed(width), _) => {
            let mut out = vec![0; width];
            expand_fixed(kind, cell, bytes, &mut out)?;
            Cow::Owned(out)
        }
        (Place::Variable { .. }, Kind::NVarChar(Some(_))) if scsu::is_compressed(bytes) => {
            let mut out = Vec::with_capacity(2 * bytes.len());
            scsu::expand_utf16(bytes, &mut out)?;
            Cow::Owned(out)
        }
        (Place::Variable { .. }, _) => Cow::Owned(bytes.to_vec()),
    };
    Some(Some(value))
}

/// Reads the value of a column of an uncompressed record.
fn uncompressed<'r>(layout: &Layout, record: &'r [u8], column: usize) -> Option<ValueBytes<'r>> {
    let bitmap = record.get(layout.fixed_bytes + 2 + column / 8)?;
    if bitmap & (1 << (column % 8)) != 0 {
        return Some(None);
    }
    let bytes: &[u8] = match *layout.positions.get(column)? {
        Position::Fixed { offset, width } => record.get(offset..offset + width)?,
        Position::Bit { offset, bit } => {
            if (record.get(offset)? >> bit) & 1 == 1 {
                &[1]
            } else {
                &[0]
            }
        }
        Position::Variable { index, .. } => {
            let array = layout.bitmap_end();
            let count = match record.first()? & HAS_VARIABLE {
                0 => 0,
                _ => usize::from(u16_at(record, array)?),
            };
            if index >= count {
                return Some(Some(Cow::Borrowed(&[])));
            }
            let end = u16_at(record, array + 2 + 2 * index)?;
            if end & COMPLEX != 0 {
                return None;
            }
            let start = match index {
                0 => array + 2 + 2 * count,
                _ => usize::from(u16_at(record, array + 2 * index)? & !COMPLEX),
            };
            record.get(start..usize::from(end))?
        }
    };
    Some(Some(Cow::Borrowed(bytes)))
}

/// The rows of a page.
#[derive(Debug)]
pub(crate) struct PageRows<'p> {
    page: &'p Page,
    information: Option<PageInformation<'p>>,
}

impl<'p> PageRows<'p> {
    /// Prepares the reading of a page; None: its compression information cannot be read.
    pub fn new(page: &'p Page) -> Option<Self> {
        let information = match page.is_compressed() {
            true => Some(PageInformation::read(page.bytes())?),
            false => None,
        };
        Some(Self { page, information })
    }

    /// Returns the row in a slot; None if there is none, or its length is wrong.
    pub fn row(&self, slot: u16) -> Option<StoredRow<'_>> {
        Some(StoredRow::within(self.page.row(slot)?, self.information.as_ref()))
    }
}

#[cfg(test)]
mod tests;
