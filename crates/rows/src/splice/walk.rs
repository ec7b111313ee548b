//! The way over a row whose cells all go out as they came.

use std::ops::Range;

use tds::LengthClass;

use super::cell::Cell;
use crate::decode::walk::{Resume, Stop, row_end};

/// Columns that follow one another and are walked alike.
#[derive(Debug)]
enum Run {
    /// Cells of one length each: fixed ones, and those with a length byte. Where none of them is NULL, they take `bytes`, and the
    /// length bytes stand at these places.
    Sized { marks: Vec<(usize, u8)>, bytes: usize, cells: Range<usize> },
    /// A cell of any other kind.
    Other(usize),
}

/// The walk over the rows of an answer.
#[derive(Debug)]
pub(super) struct Walk {
    runs: Vec<Run>,
    columns: usize,
}

impl Walk {
    pub(super) fn new(cells: &[Cell]) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            if !cell.is_sized() {
                runs.push(Run::Other(index));
                continue;
            }
            if !matches!(runs.last(), Some(Run::Sized { .. })) {
                runs.push(Run::Sized { marks: Vec::new(), bytes: 0, cells: index..index });
            }
            let Some(Run::Sized { marks, bytes, cells }) = runs.last_mut() else { continue };
            match cell.class {
                LengthClass::Fixed(width) => *bytes += usize::from(width),
                _ => {
                    marks.push((*bytes, cell.width));
                    *bytes += 1 + usize::from(cell.width);
                }
            }
            cells.end = index + 1;
        }
        Self { runs, columns: cells.len() }
    }

    /// Returns the end of the ROW token at `start`; `None` if a cell of it must be rewritten.
    ///
    /// # Errors
    /// A cell is malformed, or the bytes end inside the row.
    #[inline]
    pub(super) fn row(
        &self,
        cells: &[Cell],
        bytes: &[u8],
        start: usize,
        resume: &mut Option<Resume>,
    ) -> Result<Option<usize>, Stop> {
        let mut at = start + 1;
        for run in &self.runs {
            match run {
                Run::Sized { marks, bytes: length, .. } if are_values(bytes, at, marks, *length) => {
                    at += length
                }
                Run::Sized { cells: range, .. } => {
                    for index in range.clone() {
                        let Some(cell) = cells.get(index) else { continue };
                        let found = cell.check(bytes, start, at, index, resume)?;
                        if !found.passes {
                            return Ok(None);
                        }
                        at = found.end;
                    }
                }
                Run::Other(index) => {
                    let Some(cell) = cells.get(*index) else { continue };
                    if cell.class == LengthClass::UShortLen
                        && let Some(end) = short_value(cell, bytes, at)
                    {
                        at = end;
                        continue;
                    }
                    let found = cell.check(bytes, start, at, *index, resume)?;
                    if !found.passes {
                        return Ok(None);
                    }
                    at = found.end;
                }
            }
        }
        row_end(bytes, at, self.columns).map(Some)
    }
}

/// Returns true if the cells at `at` are all values.
#[inline]
fn are_values(bytes: &[u8], at: usize, marks: &[(usize, u8)], length: usize) -> bool {
    let Some(window) = bytes.get(at..at + length) else { return false };
    // Without an exit, so that no byte waits for the one before.
    marks.iter().fold(true, |all, (place, width)| all & (window.get(*place) == Some(width)))
}

/// Returns the end of a value with a length of two bytes, if it is one that needs no other look.
#[inline]
fn short_value(cell: &Cell, bytes: &[u8], at: usize) -> Option<usize> {
    let length = usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    (!cell.is_rewritten && cell.check_length(length).is_ok()).then_some(at + 2 + length)
}
