//! The first rows of a delimited file, as cells.

use std::io::Cursor;

use arrow::array::{Array, AsArray};
use formats::bcp::Rejects;
use formats::csv::CsvReader;
use formats::{BatchReader, FormatError};

use super::dialect::{self, ChoiceError};
use super::text_file::TextFile;
use crate::draft::TextChoices;

/// The first rows of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, in the file's order.
    pub rows: Vec<LookRow>,
    /// The error by which the reader stopped.
    pub problem: Option<String>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookRow {
    /// The number of the row in the file, from 1, without the header.
    pub number: u64,
    /// The cells of the row; none of a row that cannot be read.
    pub cells: Vec<Cell>,
    /// The fault of the row, and its text in the file.
    pub fault: Option<(String, String)>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A text.
    Text(String),
}

impl Look {
    /// Rows that are shown.
    pub const ROWS: usize = 50;
    /// Characters of a cell that are shown.
    pub const CELL_CHARS: usize = 200;

    /// Divides the head of a file by the choices.
    ///
    /// # Errors
    /// A choice makes no sense by itself. What does not fit the file is a problem of the look.
    pub fn of(file: &TextFile, choices: &TextChoices) -> Result<Self, ChoiceError> {
        let options = dialect::csv_options(choices, &file.name)?;
        let head = Cursor::new(file.whole_lines(options.encoding).to_vec());
        let mut reader = match CsvReader::new(head, &file.name, &options, Self::ROWS) {
            Ok(reader) => reader,
            Err(error) => return Ok(Self { problem: Some(error.to_string()), ..Self::default() }),
        };
        let columns = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut look = Self { columns, ..Self::default() };
        let rejects = reader.rejects();
        while look.rows.len() < Self::ROWS {
            let next = reader.next();
            let has_ended = next.is_none();
            look.problem = look.take(next, &mut reader, rejects.as_ref());
            if has_ended || look.problem.is_some() {
                break;
            }
        }
        // The head may end within quotes.
        if !file.head.is_complete && look.rows.len() < Self::ROWS && look.rows.len() > 1 {
            look.rows.pop_if(|row| row.fault.is_some());
        }
        look.rows.truncate(Self::ROWS);
        Ok(look)
    }

    /// Adds the rows of a batch, and those that could not be read.
    fn take(
        &mut self,
        next: Option<Result<arrow::array::RecordBatch, FormatError>>,
        reader: &mut CsvReader,
        rejects: Option<&Rejects>,
    ) -> Option<String> {
        let before = self.rows.len();
        let mut problem = None;
        match next {
            Some(Ok(batch)) => {
                let positions = reader.positions();
                for index in 0..batch.num_rows() {
                    let number =
                        positions.as_ref().map_or((before + index + 1) as u64, |found| found.row(index));
                    let cell = |column: &arrow::array::ArrayRef| match column.as_string_opt::<i32>() {
                        Some(texts) if texts.is_valid(index) => {
                            Cell::Text(shown(texts.value(index), Self::CELL_CHARS))
                        }
                        _ => Cell::Null,
                    };
                    let cells = batch.columns().iter().map(cell).collect();
                    self.rows.push(LookRow { number, cells, fault: None });
                }
            }
            Some(Err(error)) => problem = Some(error.to_string()),
            None => {}
        }
        for row in rejects.map(Rejects::take).unwrap_or_default() {
            let raw = String::from_utf8_lossy(&row.raw);
            let fault =
                Some((row.reason.to_string(), shown(raw.trim_end_matches(['\r', '\n']), Self::CELL_CHARS)));
            self.rows.push(LookRow { number: row.row, cells: Vec::new(), fault });
        }
        self.rows.sort_by_key(|row| row.number);
        problem
    }

    /// Rows that cannot be read.
    pub fn faults(&self) -> usize {
        self.rows.iter().filter(|row| row.fault.is_some()).count()
    }
}

/// Shortens a text to `length` characters, on one line.
pub fn shown(text: &str, length: usize) -> String {
    let mut plain: String = text
        .chars()
        .take(length)
        .map(|character| match character {
            '\n' | '\r' => '↵',
            '\t' => '→',
            other if other.is_control() => '·',
            other => other,
        })
        .collect();
    if text.chars().nth(length).is_some() {
        plain.push('…');
    }
    plain
}
