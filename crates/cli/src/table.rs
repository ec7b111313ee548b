//! Aligned text tables: names above, numbers to the right, text to the left.

use std::io::{self, Write};

/// A table held in memory. Columns are aligned over the rows that it holds.
pub struct Table {
    names: Vec<String>,
    right_aligned: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns; `right_aligned` for numbers.
    pub fn new(columns: impl IntoIterator<Item = (String, bool)>) -> Table {
        let (names, right_aligned) =
            columns.into_iter().map(|(name, is_number)| (on_one_line(name), is_number)).unzip();
        Table { names, right_aligned, rows: Vec::new() }
    }

    /// Adds a row; control characters are shown as escapes, so that a value stays on its line.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().map(on_one_line).collect());
    }

    /// Writes the table.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.names.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell));
                cells.chain(self.names.get(column).map(|name| width(name))).max().unwrap_or(0)
            })
            .collect();
        self.write_line(out, &self.names, &widths)?;
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        self.write_line(out, &rules, &widths)?;
        self.rows.iter().try_for_each(|row| self.write_line(out, row, &widths))
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
    use super::Table;

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
}
