//! The cells of a sheet that hold something. One far below and to the right costs no more than itself.

use std::fmt;
use std::io::{Read, Seek};

use calamine::{Data, DataRef, Range, Reader as _, Sheets};

/// Bytes that the cells of a sheet may take.
const HELD_BYTES_MAX: u64 = 4 << 30;
/// Cells that a sheet may stand for, empty ones counted, if hardly any of them holds something.
const SPARSE_CELLS_MAX: u64 = 200_000_000;
/// The share of cells below which a sheet counts as sparse: one in this many holds something.
const SPARSE: u64 = 20;

/// A cell that holds something.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// A value.
    Value(Data),
    /// A formula whose result is not in the file.
    NoResult,
}

/// The cells of a sheet, by row and column.
#[derive(Debug, Default)]
pub struct SheetCells {
    /// Rows with cells, from the top.
    rows: Vec<SheetRow>,
    first_column: u32,
    width: usize,
    bytes: u64,
}

#[derive(Debug)]
struct SheetRow {
    /// The number of the row in the sheet, from 0.
    number: u32,
    /// Columns of the sheet, rising.
    cells: Vec<(u32, Held)>,
}

impl SheetCells {
    /// Reads a sheet.
    ///
    /// # Errors
    /// It is damaged, or needs more memory than a sheet may take.
    pub fn read<R: Read + Seek>(workbook: &mut Sheets<R>, name: &str) -> Result<Self, String> {
        let mut cells = Self::default();
        match workbook {
            Sheets::Xlsx(workbook) => {
                let mut reader = workbook.worksheet_cells_reader(name).map_err(|error| text(&error))?;
                while let Some(cell) =
                    reader.next_cell_with_formula_metadata().map_err(|error| text(&error))?
                {
                    let has_formula = cell.formula.is_some();
                    cells.add(cell.pos, cell.value, has_formula)?;
                }
            }
            Sheets::Xlsb(workbook) => {
                let mut reader = workbook.worksheet_cells_reader(name).map_err(|error| text(&error))?;
                while let Some(cell) = reader.next_cell().map_err(|error| text(&error))? {
                    let position = cell.get_position();
                    cells.add(position, cell.get_value().clone(), false)?;
                }
            }
            Sheets::Ods(workbook) => {
                let values = workbook.worksheet_range(name).map_err(|error| text(&error))?;
                let formulas = workbook.worksheet_formula(name).map_err(|error| text(&error))?;
                cells.add_range(&values)?;
                cells.add_unresolved(&values, &formulas)?;
            }
            Sheets::Xls(workbook) => {
                cells.add_range(&workbook.worksheet_range(name).map_err(|error| text(&error))?)?;
            }
        }
        cells.end()
    }

    /// Collects the cells of a range.
    ///
    /// # Errors
    /// They need more memory than a sheet may take.
    #[cfg(test)]
    pub fn of_range(range: &Range<Data>) -> Result<Self, String> {
        let mut cells = Self::default();
        cells.add_range(range)?;
        cells.end()
    }

    fn add_range(&mut self, range: &Range<Data>) -> Result<(), String> {
        let (first_row, first_column) = range.start().unwrap_or_default();
        for (row, column, value) in range.used_cells() {
            let at = (first_row + to_u32(row), first_column + to_u32(column));
            self.hold(at, Held::Value(value.clone()))?;
        }
        Ok(())
    }

    /// Adds the formulas that have no value.
    fn add_unresolved(&mut self, values: &Range<Data>, formulas: &Range<String>) -> Result<(), String> {
        let (first_row, first_column) = formulas.start().unwrap_or_default();
        for (row, column, _) in formulas.used_cells() {
            let at = (first_row + to_u32(row), first_column + to_u32(column));
            if values.get_value(at).is_none_or(|value| *value == Data::Empty) {
                self.hold(at, Held::NoResult)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, at: (u32, u32), value: DataRef<'_>, has_formula: bool) -> Result<(), String> {
        match value {
            DataRef::Empty if has_formula => self.hold(at, Held::NoResult),
            DataRef::Empty => Ok(()),
            value => self.hold(at, Held::Value(value.into())),
        }
    }

    /// Keeps a cell.
    pub fn hold(&mut self, (row, column): (u32, u32), held: Held) -> Result<(), String> {
        let own = match &held {
            Held::Value(Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text)) => text.len(),
            _ => 0,
        };
        self.bytes += (own + size_of::<(u32, Held)>()) as u64;
        if self.bytes > HELD_BYTES_MAX {
            return Err(format!("the cells of the sheet take more than {} GB", HELD_BYTES_MAX >> 30));
        }
        let place = match self.rows.last() {
            Some(last) if last.number == row => self.rows.len() - 1,
            Some(last) if last.number > row => match self.rows.binary_search_by_key(&row, |row| row.number) {
                Ok(place) => place,
                Err(place) => {
                    self.rows.insert(place, SheetRow { number: row, cells: Vec::new() });
                    place
                }
            },
            _ => {
                self.rows.push(SheetRow { number: row, cells: Vec::new() });
                self.rows.len() - 1
            }
        };
        if let Some(row) = self.rows.get_mut(place) {
            row.cells.push((column, held));
        }
        Ok(())
    }

    /// Puts the cells of each row in order, and looks at how far they are from each other.
    pub fn end(mut self) -> Result<Self, String> {
        for row in &mut self.rows {
            if !row.cells.is_sorted_by(|(one, _), (other, _)| one < other) {
                // Of two cells of one place the last counts.
                row.cells.reverse();
                row.cells.sort_by_key(|(column, _)| *column);
                row.cells.dedup_by_key(|(column, _)| *column);
            }
        }
        let columns = || self.rows.iter().flat_map(|row| row.cells.iter().map(|(column, _)| *column));
        let (Some(first), Some(last)) = (columns().min(), columns().max()) else { return Ok(self) };
        let held = columns().count() as u64;
        (self.first_column, self.width) = (first, (last - first) as usize + 1);
        let all = self.width as u64 * self.rows.len() as u64;
        if all > SPARSE_CELLS_MAX && all / SPARSE > held {
            let row =
                self.rows.iter().find(|row| row.cells.last().is_some_and(|(column, _)| *column == last));
            let far = cell_name(row.map_or(0, |row| row.number), last);
            return Err(format!(
                "{far} is far away from the other cells: the sheet would have {} rows of {} columns, and {held} of these cells hold something; clear the columns that are not meant",
                self.rows.len(),
                self.width
            ));
        }
        Ok(self)
    }

    /// Returns true if nothing is in the sheet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of the first row with a cell, from 0.
    pub fn first_row(&self) -> u32 {
        self.rows.first().map_or(0, |row| row.number)
    }

    /// Rows from the first to the last one with a cell.
    pub fn height(&self) -> usize {
        self.rows.last().map_or(0, |row| (row.number - self.first_row()) as usize + 1)
    }

    /// Columns from the first to the last one with a cell.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the rows that have cells, from the `from`th on of those that [`height`](Self::height) counts.
    pub fn rows_from(&self, from: usize) -> impl Iterator<Item = FilledRow<'_>> {
        let first = self.first_row();
        let from = first.saturating_add(u32::try_from(from).unwrap_or(u32::MAX));
        let start = self.rows.partition_point(|row| row.number < from);
        self.rows.get(start..).unwrap_or_default().iter().map(move |row| FilledRow {
            index: (row.number - first) as usize,
            first_column: self.first_column,
            width: self.width,
            cells: &row.cells,
        })
    }

    /// Returns the cells of one row.
    pub fn row(&self, index: usize) -> Option<FilledRow<'_>> {
        self.rows_from(index).next().filter(|row| row.index == index)
    }

    /// Returns the name of a cell, as the sheet shows it: `B7`.
    pub fn cell_name(&self, row: usize, column: usize) -> String {
        cell_name(self.first_row().saturating_add(to_u32(row)), self.first_column + to_u32(column))
    }
}

/// A row with at least one cell.
#[derive(Clone, Copy)]
pub struct FilledRow<'a> {
    /// The place of the row among those that [`SheetCells::height`] counts.
    pub index: usize,
    first_column: u32,
    width: usize,
    cells: &'a [(u32, Held)],
}

impl<'a> FilledRow<'a> {
    /// Returns all columns; `None` for an empty cell.
    pub fn columns(self) -> impl Iterator<Item = Option<&'a Held>> {
        let mut cells = self.cells.iter().peekable();
        (0..self.width).map(move |at| {
            let column = self.first_column + to_u32(at);
            cells.next_if(|(place, _)| *place == column).map(|(_, held)| held)
        })
    }

    /// Returns the cells that hold something, with their columns from 0.
    pub fn held(self) -> impl Iterator<Item = (usize, &'a Held)> {
        self.cells.iter().map(move |(column, held)| ((column - self.first_column) as usize, held))
    }
}

fn cell_name(row: u32, column: u32) -> String {
    let mut left = column + 1;
    let mut letters = Vec::new();
    while left > 0 {
        let digit = u8::try_from((left - 1) % 26).unwrap_or_default();
        letters.push(char::from(b'A' + digit));
        left = (left - 1) / 26;
    }
    format!("{}{}", letters.into_iter().rev().collect::<String>(), u64::from(row) + 1)
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn text(error: &dyn fmt::Display) -> String {
    error.to_string()
}
