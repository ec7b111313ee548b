//! Keys of a tree: columns, order, and the records of the upper levels.

use crate::error::EngineError;
use crate::page::PageId;
use crate::record::compress::cell::Cell;
use crate::record::compress::grid::Grid;
use crate::record::compress::record::{CdRecord, is_compressed, mark_index, owned};
use crate::record::compress::row::ROW_BUFFER_BYTES;
use crate::record::compress::writer::write_row;
use crate::record::kind::Kind;
use crate::record::layout::{Layout, Position};
use crate::record::stored::{StoredRow, expanded};
use crate::record::{HAS_BITMAP, HAS_VARIABLE, INDEX_STATUS, u16_at};

/// Maximum number of bytes of a clustered key (SQL Server's limit).
pub const KEY_LIMIT_BYTES: usize = 900;
/// Maximum number of bytes of the key of a nonclustered index (SQL Server's limit since 2016).
pub const INDEX_KEY_LIMIT_BYTES: usize = 1700;

const CHILD_BYTES: usize = 6;

/// Gives text the bytes that order it as a collation does.
///
/// `write(collation, text, out)` appends them to `out`: texts order as these byte strings do, and are equal if they are. The same
/// collation must give the same bytes for as long as a database exists. False if the bytes are not valid text, so that there is no key.
#[derive(Clone, Copy)]
pub struct TextOrder {
    /// Function that appends the bytes of a text.
    pub write: fn(collation: &str, text: KeyText<'_>, out: &mut Vec<u8>) -> bool,
}

/// Text of a key column with a collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyText<'a> {
    /// Text of a text column, without trailing blanks.
    Unicode(&'a str),
    /// Text that the caller keeps in a column of bytes, as they are.
    Bytes(&'a [u8]),
}

impl std::fmt::Debug for TextOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TextOrder")
    }
}

/// A column of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// Index of the column in its table, from 0.
    pub column: usize,
    /// True if greater values come first.
    pub descending: bool,
    /// Collation of a text column, or of bytes that are text, for [`TextOrder`]; None: by the bytes (`char`, `binary`) or code units
    /// (`nchar`).
    pub collation: Option<String>,
}

impl KeyColumn {
    /// Creates an ascending column, with text ordered by its bytes.
    pub fn new(column: usize) -> Self {
        Self { column, descending: false, collation: None }
    }

    /// Creates a descending column, with text ordered by its bytes.
    pub fn descending(column: usize) -> Self {
        Self { descending: true, ..Self::new(column) }
    }

    /// Creates key columns of these columns, all ascending.
    pub fn all(columns: &[usize]) -> Vec<Self> {
        columns.iter().map(|column| Self::new(*column)).collect()
    }
}

/// The key of a tree: columns in order. A null comes first, or last if the column is descending; trailing blanks of text do not count.
#[derive(Debug, Clone)]
pub struct KeyLayout {
    /// Columns of the rows in the leaves.
    pub columns: Vec<KeyColumn>,
    /// Header, fixed key columns, child: the fixed part of an index record.
    pub fixed_bytes: usize,
    places: Vec<IndexPlace>,
    has_nullable: bool,
    variable_count: usize,
    order: Option<TextOrder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexPlace {
    Fixed { offset: usize, width: usize },
    Variable { index: usize },
}

impl KeyLayout {
    /// Creates the key over these columns of rows of this form.
    pub fn new(
        layout: &Layout,
        columns: &[KeyColumn],
        order: Option<TextOrder>,
    ) -> Result<Self, EngineError> {
        let refuse = |reason: String| Err(EngineError::Schema { reason });
        let (mut offset, mut variable_count, mut places) = (1, 0, Vec::new());
        let mut has_nullable = false;
        for key in columns {
            let index = key.column;
            let (Some(column), Some(position)) = (layout.columns.get(index), layout.positions.get(index))
            else {
                return refuse(format!("no column {index}"));
            };
            if let (Some(collation), None) = (&key.collation, order) {
                return refuse(format!("the database was opened without an order for collation {collation}"));
            }
            has_nullable |= column.nullable;
            places.push(match *position {
                Position::Fixed { width, .. } => {
                    offset += width;
                    IndexPlace::Fixed { offset: offset - width, width }
                }
                Position::Bit { .. } => {
                    offset += 1;
                    IndexPlace::Fixed { offset: offset - 1, width: 1 }
                }
                Position::Variable { .. } => {
                    variable_count += 1;
                    IndexPlace::Variable { index: variable_count - 1 }
                }
            });
        }
        let fixed_bytes = offset + CHILD_BYTES;
        Ok(Self { columns: columns.to_vec(), fixed_bytes, places, has_nullable, variable_count, order })
    }

    /// Returns the key's first columns, to read them from rows alone.
    pub(crate) fn first(&self, columns: usize) -> Self {
        Self { columns: self.columns.iter().take(columns).cloned().collect(), ..self.clone() }
    }

    /// Checks a declaration: 1 to 32 columns, none twice, none of a large type, and fixed columns of at most `limit_bytes`
    /// together. Whether variable columns fit the limit is checked when rows are added.
    pub fn check(layout: &Layout, columns: &[KeyColumn], limit_bytes: usize) -> Result<(), EngineError> {
        let refuse = |reason: String| Err(EngineError::Schema { reason });
        if columns.is_empty() || columns.len() > 32 {
            return refuse(format!("a key of {} columns; it has 1 to 32", columns.len()));
        }
        let mut bytes = 0;
        for (number, key) in columns.iter().enumerate() {
            let index = key.column;
            let (Some(column), Some(position)) = (layout.visible().get(index), layout.positions.get(index))
            else {
                return refuse(format!("no column {index}"));
            };
            if columns.iter().take(number).any(|other| other.column == index) {
                return refuse(format!("column {:?} is twice in the key", column.name));
            }
            bytes += match *position {
                Position::Fixed { width, .. } => width,
                Position::Bit { .. } => 1,
                Position::Variable { limit_bytes: Some(_), .. } => 0,
                Position::Variable { limit_bytes: None, .. } => {
                    let (name, kind) = (&column.name, column.kind);
                    return refuse(format!("column {name:?} of type {kind} cannot be in a key"));
                }
            };
        }
        if bytes > limit_bytes {
            return refuse(format!("a key of {bytes} bytes or more, the limit is {limit_bytes}"));
        }
        Ok(())
    }

    /// Returns the order of the key's text by its collation; None: text orders by its bytes.
    pub fn order(&self) -> Option<TextOrder> {
        self.order
    }

    /// Lists the indexes of the key's columns.
    pub fn column_indexes(&self) -> Vec<usize> {
        self.columns.iter().map(|key| key.column).collect()
    }

    /// Returns the key of a row as bytes that order as the key does.
    pub(crate) fn of_row(&self, layout: &Layout, row: StoredRow<'_>) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        self.write_of_row(layout, row, &mut key)?;
        Some(key)
    }

    /// Appends the key of a row.
    pub(crate) fn write_of_row(&self, layout: &Layout, row: StoredRow<'_>, key: &mut Vec<u8>) -> Option<()> {
        let row = row.columns(layout)?;
        for column in &self.columns {
            let kind = layout.columns.get(column.column)?.kind;
            row.with_value(column.column, |value| self.write_column(column, kind, value, key))?;
        }
        Some(())
    }

    /// Appends the key of an index record.
    pub fn write_of_index(&self, layout: &Layout, record: &[u8], key: &mut Vec<u8>) -> Option<()> {
        let cells = match is_compressed(record) {
            true => Some(self.parse_entry(record)?),
            false => None,
        };
        for (number, (column, place)) in self.columns.iter().zip(&self.places).enumerate() {
            let kind = layout.columns.get(column.column)?.kind;
            match &cells {
                Some(cells) => {
                    let (cell, long) = cells.cell(number)?;
                    let mut data = Vec::new();
                    let value = expanded(kind, owned(cell, long, &mut data), &data)?;
                    self.write_column(column, kind, value.as_deref(), key)?;
                }
                None => self.write_column(column, kind, self.index_value(record, number, *place)?, key)?,
            }
        }
        Some(())
    }

    fn write_column(
        &self,
        column: &KeyColumn,
        kind: Kind,
        value: Option<&[u8]>,
        key: &mut Vec<u8>,
    ) -> Option<()> {
        let start = key.len();
        let collation = column.collation.as_deref().zip(self.order);
        let collation = collation.filter(|_| kind.is_text() || kind.is_bytes());
        match (collation, value) {
            (Some((collation, order)), Some(value)) => {
                let mut sort_key = Vec::new();
                let written = match kind.is_text() {
                    true => (order.write)(collation, KeyText::Unicode(&text(kind, value)?), &mut sort_key),
                    false => (order.write)(collation, KeyText::Bytes(value), &mut sort_key),
                };
                written.then_some(())?;
                key.push(1);
                escape(sort_key.into_iter(), key);
            }
            _ => normalize(kind, value, key)?,
        }
        if column.descending {
            key.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
        }
        Some(())
    }

    /// Returns the page that an index record leads to.
    pub fn child(&self, record: &[u8]) -> Option<PageId> {
        if is_compressed(record) {
            let (cell, _) = self.parse_entry(record)?.cell(self.columns.len())?;
            let bytes = cell.word.to_le_bytes();
            let bytes = bytes.first_chunk().filter(|_| cell.short_bytes() == CHILD_BYTES)?;
            return Some(PageId::from_bytes(*bytes));
        }
        record.get(self.fixed_bytes - CHILD_BYTES..)?.first_chunk().map(|bytes| PageId::from_bytes(*bytes))
    }

    /// Makes the index record with the key of a row and this child, in the form of the row's own.
    pub(crate) fn index_record(&self, layout: &Layout, row: StoredRow<'_>, child: PageId) -> Option<Vec<u8>> {
        let row = row.columns(layout)?;
        if !layout.is_compressed() {
            let values: Vec<_> =
                self.columns.iter().map(|key| row.value(key.column)).collect::<Option<_>>()?;
            return self.build(&values.iter().map(Option::as_deref).collect::<Vec<_>>(), child);
        }
        let mut grid = Grid::new(self.columns.len() + 1);
        let Grid { columns, data, .. } = &mut grid;
        for (key, column) in self.columns.iter().zip(columns) {
            column.push(row.cell(key.column, data)?.filter(|cell| !cell.is_complex())?);
        }
        Some(entry(grid, child))
    }

    /// Builds an index record of the same key that leads to another child.
    pub fn index_record_of(&self, record: &[u8], child: PageId) -> Option<Vec<u8>> {
        if is_compressed(record) {
            let cells = self.parse_entry(record)?;
            let mut grid = Grid::new(self.columns.len() + 1);
            let Grid { columns, data, .. } = &mut grid;
            for (number, column) in columns.iter_mut().take(self.columns.len()).enumerate() {
                let (cell, long) = cells.cell(number)?;
                column.push(owned(cell, long, data));
            }
            return Some(entry(grid, child));
        }
        let values = self.places.iter().enumerate();
        let values = values.map(|(number, place)| self.index_value(record, number, *place));
        self.build(&values.collect::<Option<Vec<_>>>()?, child)
    }

    /// Parses the CD record of an entry: the key's columns, then the child.
    fn parse_entry<'r>(&self, record: &'r [u8]) -> Option<CdRecord<'r>> {
        CdRecord::parse(record).filter(|parsed| parsed.columns == self.columns.len() + 1)
    }

    fn build(&self, values: &[Option<&[u8]>], child: PageId) -> Option<Vec<u8>> {
        let mut record = vec![0; self.fixed_bytes];
        let (mut bitmap, mut variable) = (vec![0_u8; values.len().div_ceil(8)], Vec::new());
        for (number, (value, place)) in values.iter().zip(&self.places).enumerate() {
            if value.is_none() {
                *bitmap.get_mut(number / 8)? |= 1 << (number % 8);
            }
            match (*place, value) {
                (IndexPlace::Fixed { offset, width }, Some(value)) => {
                    record.get_mut(offset..offset + width)?.copy_from_slice(value.get(..width)?);
                }
                (IndexPlace::Fixed { .. }, None) => {}
                // A NULL has no bytes; the bitmap distinguishes it from an empty value.
                (IndexPlace::Variable { .. }, value) => variable.push(value.unwrap_or_default()),
            }
        }
        let mut status = INDEX_STATUS;
        record.get_mut(self.fixed_bytes - CHILD_BYTES..)?.copy_from_slice(&child.to_bytes());
        if self.has_nullable {
            status |= HAS_BITMAP;
            record.extend_from_slice(&(values.len() as u16).to_le_bytes());
            record.extend_from_slice(&bitmap);
        }
        if self.variable_count > 0 {
            status |= HAS_VARIABLE;
            record.extend_from_slice(&(variable.len() as u16).to_le_bytes());
            let mut end = record.len() + 2 * variable.len();
            for value in &variable {
                end += value.len();
                record.extend_from_slice(&(end as u16).to_le_bytes());
            }
            variable.iter().for_each(|value| record.extend_from_slice(value));
        }
        *record.first_mut()? = status;
        Some(record)
    }

    /// Returns the bytes of a key column of an index record; the inner None: null.
    fn index_value<'r>(
        &self,
        record: &'r [u8],
        number: usize,
        place: IndexPlace,
    ) -> Option<Option<&'r [u8]>> {
        let mut at = self.fixed_bytes;
        if self.has_nullable {
            if record.get(at + 2 + number / 8)? & (1 << (number % 8)) != 0 {
                return Some(None);
            }
            at += 2 + self.places.len().div_ceil(8);
        }
        match place {
            IndexPlace::Fixed { offset, width } => record.get(offset..offset + width).map(Some),
            IndexPlace::Variable { index } => {
                let start = match index {
                    0 => at + 2 + 2 * self.variable_count,
                    _ => usize::from(u16_at(record, at + 2 * index)?),
                };
                record.get(start..usize::from(u16_at(record, at + 2 + 2 * index)?)).map(Some)
            }
        }
    }
}

/// Makes the CD record of an entry from the cells of its key.
fn entry(mut grid: Grid, child: PageId) -> Vec<u8> {
    if let Some(last) = grid.columns.last_mut() {
        last.push(Cell::short(&child.to_bytes()));
    }
    let mut record = vec![0; ROW_BUFFER_BYTES];
    let length = write_row(&grid.views(), 0, &mut record);
    record.truncate(length);
    mark_index(&mut record);
    record
}

/// Decodes text without trailing blanks from its bytes in a record.
fn text(kind: Kind, value: &[u8]) -> Option<String> {
    let text = match kind {
        Kind::NChar(_) | Kind::NVarChar(_) => {
            let units: Vec<u16> =
                value.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
            String::from_utf16(&units).ok()?
        }
        _ => std::str::from_utf8(value).ok()?.to_owned(),
    };
    Some(text.trim_end_matches(' ').to_owned())
}

/// Appends the bytes of a value so that keys order as byte strings.
fn normalize(kind: Kind, value: Option<&[u8]>, key: &mut Vec<u8>) -> Option<()> {
    let Some(value) = value else {
        key.push(0);
        return Some(());
    };
    key.push(1);
    let reversed = |key: &mut Vec<u8>, bytes: &[u8]| key.extend(bytes.iter().rev());
    let signed = |key: &mut Vec<u8>, bytes: &[u8]| {
        let start = key.len();
        key.extend(bytes.iter().rev());
        if let Some(first) = key.get_mut(start) {
            *first ^= 0x80;
        }
    };
    match kind {
        Kind::SmallInt | Kind::Int | Kind::BigInt | Kind::SmallMoney | Kind::Money => signed(key, value),
        Kind::Bit | Kind::TinyInt | Kind::RowVersion => key.extend_from_slice(value),
        Kind::Real | Kind::Float => {
            let negative = value.last()? & 0x80 != 0;
            let flip = if negative { 0xFF } else { 0 };
            let start = key.len();
            key.extend(value.iter().rev().map(|byte| byte ^ flip));
            if !negative {
                *key.get_mut(start)? ^= 0x80;
            }
        }
        Kind::Decimal { .. } => {
            let (sign, magnitude) = value.split_first()?;
            let zero = magnitude.iter().all(|byte| *byte == 0);
            let negative = *sign == 0 && !zero;
            key.push(u8::from(!negative));
            let flip = if negative { 0xFF } else { 0 };
            key.extend(magnitude.iter().rev().map(|byte| byte ^ flip));
        }
        Kind::Date | Kind::Time { .. } => reversed(key, value),
        Kind::SmallDateTime => {
            let (time, date) = value.split_at_checked(2)?;
            reversed(key, date);
            reversed(key, time);
        }
        Kind::DateTime => {
            let (time, date) = value.split_at_checked(4)?;
            signed(key, date);
            reversed(key, time);
        }
        Kind::DateTime2 { .. } => {
            let (time, date) = value.split_at_checked(value.len().checked_sub(3)?)?;
            reversed(key, date);
            reversed(key, time);
        }
        Kind::DateTimeOffset { .. } => {
            // Two values of the same instant are equal, even with different offsets.
            let (instant, _) = value.split_at_checked(value.len().checked_sub(2)?)?;
            let (time, date) = instant.split_at_checked(instant.len().checked_sub(3)?)?;
            reversed(key, date);
            reversed(key, time);
        }
        Kind::UniqueIdentifier => {
            // SQL Server's order: the last six bytes first.
            let [a, b, c, d, e, f, g, h, i, j, rest @ ..] = *value.first_chunk::<16>()?;
            key.extend_from_slice(&rest);
            key.extend_from_slice(&[i, j, g, h, e, f, a, b, c, d]);
        }
        Kind::Char(_) | Kind::VarChar(_) => {
            let end = value.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            escape(value.get(..end)?.iter().copied(), key);
        }
        Kind::NChar(_) | Kind::NVarChar(_) => {
            let units = value.as_chunks::<2>().0;
            let end = units.iter().rposition(|unit| *unit != [b' ', 0]).map_or(0, |last| last + 1);
            escape(units.get(..end)?.iter().flat_map(|[low, high]| [*high, *low]), key);
        }
        Kind::Binary(_) => escape(value.iter().copied(), key),
        Kind::VarBinary(_) => {
            // The shorter of two values is compared as if zeros followed it.
            let end = value.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            escape(value.get(..end)?.iter().copied(), key);
        }
    }
    Some(())
}

/// Appends bytes of any length, so that no key is the beginning of another: zero becomes 00 FF, and 00 00
/// ends it.
fn escape(bytes: impl Iterator<Item = u8>, key: &mut Vec<u8>) {
    for byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(0xFF);
        }
    }
    key.extend_from_slice(&[0, 0]);
}
