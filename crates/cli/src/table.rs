//! Aligned text tables: names above, numbers to the right, text to the left.

use std::io::{self, Write};

/// Bytes and rows that a table holds for its widths; what follows them is aligned by these.
const HELD_BYTES: usize = 16 << 20;
const HELD_ROWS: usize = 20_000;

/// A table. Columns are aligned over the rows that it holds when it is first written.
pub struct Table {
    names: Vec<String>,
    right_aligned: Vec<bool>,
    rows: Vec<Vec<String>>,
    held_bytes: usize,
    /// Widths of the columns, once the names are written.
    widths: Option<Vec<usize>>,
}

impl Table {
    /// Makes a table with these columns; `right_aligned` for numbers.
    pub fn new(columns: impl IntoIterator<Item = (String, bool)>) -> Table {
        let (names, right_aligned) =
            columns.into_iter().map(|(name, is_number)| (on_one_line(name), is_number)).unzip();
        Table { names, right_aligned, rows: Vec::new(), held_bytes: 0, widths: None }
    }

    /// Adds a row; control characters are shown as escapes, so that a value stays on its line.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        let row: Vec<String> = row.into_iter().map(on_one_line).collect();
        self.held_bytes += row.iter().map(|cell| cell.len() + size_of::<String>()).sum::<usize>();
        self.rows.push(row);
    }

    /// Returns true if the table has reached its limit and must be written.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= HELD_ROWS || self.held_bytes >= HELD_BYTES
    }

    /// Writes the rows that it holds, below the names the first time, and lets go of them.
    pub fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        self.held_bytes = 0;
        let is_first = self.widths.is_none();
        let widths = self.widths.take().unwrap_or_else(|| self.widths_over(&rows));
        if is_first {
            self.write_line(out, &self.names, &widths)?;
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            self.write_line(out, &rules, &widths)?;
        }
        let written = rows.iter().try_for_each(|row| self.write_line(out, row, &widths));
        self.widths = Some(widths);
        written
    }

    fn widths_over(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let columns = self.names.iter().enumerate();
        let widths = columns.map(|(column, name)| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell));
            cells.fold(width(name), usize::max)
        });
        widths.collect()
    }

    fn write_line(&self, out: &mut impl Write, cells: &[String], widths: &[usize]) -> io::Result<()> {
        let mut line = String::new();
        for (column, (cell, wanted)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let padding = " ".repeat(wanted.saturating_sub(width(cell)));
            if self.right_aligned.get(column).copied().unwrap_or(false) {
                line.push_str(&padding);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&padding);
            }
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// Columns that a text takes on a terminal (wide East Asian characters take two).
fn width(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD)
}

fn on_one_line(text: String) -> String {
    if !text.chars().any(char::is_control) {
        return text;
    }
    text.chars().fold(String::new(), |mut line, c| {
        if c.is_control() {
            line.extend(c.escape_default())
        } else {
            line.push(c)
        }
        line
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{HELD_BYTES, Table};

    #[test]
    fn aligns_numbers_right_and_text_left_and_keeps_rows_on_one_line() {
        let mut table = Table::new([("id".to_owned(), true), ("name".to_owned(), false)]);
        table.push(["7".to_owned(), "Åsa\nB".to_owned()]);
        table.push(["1200".to_owned(), "日本".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let expected = "  id  name\n----  ------\n   7  Åsa\\nB\n1200  日本\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn rows_behind_the_first_are_aligned_by_them_and_are_not_held() {
        let mut table = Table::new([("n".to_owned(), true), ("text".to_owned(), false)]);
        let mut out = Vec::new();
        table.push(["1".to_owned(), "x".repeat(6)]);
        assert!(!table.is_full());
        table.write(&mut out).unwrap();
        table.push(["200".to_owned(), "y".to_owned()]);
        table.push(["3".to_owned(), "z\n".to_owned()]);
        table.write(&mut out).unwrap();
        let written = String::from_utf8(out).unwrap();
        assert_eq!(written, "n  text\n-  ------\n1  xxxxxx\n200  y\n3  z\\n\n");
        table.push(["x".repeat(HELD_BYTES), String::new()]);
        assert!(table.is_full());
        table.write(&mut Vec::new()).unwrap();
        assert!(!table.is_full());
    }
}
