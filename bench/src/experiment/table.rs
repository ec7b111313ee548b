//! A table of figures, for the terminal and for the page.

use std::fmt;
use std::fmt::Write;

use super::escaped;

/// A title, headings and rows of text.
#[derive(Debug, Clone, Default)]
pub struct Table {
    title: String,
    note: String,
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(title: &str, headings: &[&str]) -> Table {
        Table {
            title: title.to_owned(),
            headings: headings.iter().map(|heading| (*heading).to_owned()).collect(),
            ..Table::default()
        }
    }

    /// Puts a sentence below the title.
    #[must_use]
    pub fn with_note(mut self, note: &str) -> Table {
        self.note = note.to_owned();
        self
    }

    /// Adds a row: a text for each heading.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table as HTML.
    pub fn html(&self) -> String {
        let mut html = format!("<h2>{}</h2>\n", escaped(&self.title));
        // Writing to a string cannot fail; so below.
        if !self.note.is_empty() {
            let _ = writeln!(html, "<p>{}</p>", escaped(&self.note));
        }
        let line = |html: &mut String, tag: &str, cells: &[String]| {
            html.push_str("<tr>");
            for cell in cells {
                let _ = write!(html, "<{tag}>{}</{tag}>", escaped(cell));
            }
            html.push_str("</tr>\n");
        };
        html.push_str("<table>\n");
        line(&mut html, "th", &self.headings);
        for row in &self.rows {
            line(&mut html, "td", row);
        }
        html.push_str("</table>\n");
        html
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize, row: &[String]| row.get(column).map_or(0, |cell| cell.chars().count());
        (0..self.headings.len())
            .map(|column| {
                let widest = self.rows.iter().map(|row| width(column, row)).max().unwrap_or(0);
                widest.max(width(column, &self.headings))
            })
            .collect()
    }
}

/// Formats a figure as a cell, or a dash.
pub fn or_dash<T>(figure: Option<T>, print: impl Fn(T) -> String) -> String {
    figure.map_or_else(|| "-".to_owned(), print)
}

impl fmt::Display for Table {
    /// Prints the table with aligned columns, and as Markdown has it: the first column left, the others right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        if !self.note.is_empty() {
            writeln!(f, "{}\n", self.note)?;
        }
        let widths = self.widths();
        let mut line = |cells: &[String]| {
            for (index, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                match index {
                    0 => write!(f, "| {cell:<width$} ")?,
                    _ => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")
        };
        line(&self.headings)?;
        let rule = |(index, width): (usize, &usize)| match index {
            0 => "-".repeat(*width),
            _ => format!("{}:", "-".repeat(width.saturating_sub(1))),
        };
        line(&widths.iter().enumerate().map(rule).collect::<Vec<_>>())?;
        self.rows.iter().try_for_each(|row| line(row))
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_are_aligned_and_html_is_escaped() {
        let mut table = Table::new("Times", &["what", "s"]);
        table.row(["a < b".to_owned(), "1.25".to_owned()]);
        assert_eq!(table.to_string(), "Times\n\n| what  |    s |\n| ----- | ---: |\n| a < b | 1.25 |\n");
        assert!(table.html().contains("<td>a &lt; b</td><td>1.25</td>"));
    }
}
