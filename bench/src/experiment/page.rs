//! The results as one page that needs nothing else: headings, tables, and charts drawn in it.

use std::fmt::Write;

use super::Table;
use super::chart::{self, Bar, Line};

/// Style sheet of the pages.
pub const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .7rem;border-bottom:1px solid #ccc;text-align:right}\
    th:first-child,td:first-child{text-align:left}svg text{font:12px system-ui,sans-serif}.key span{margin-right:1rem}";
/// A page that grows from top to bottom.
#[derive(Debug, Clone)]
pub struct Page(String);

impl Page {
    /// Begins a page with a title and a first paragraph.
    pub fn new(title: &str, introduction: &str) -> Page {
        let title = escaped(title);
        Page(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\
             <body>\n<h1>{title}</h1>\n<p>{}</p>\n",
            escaped(introduction)
        ))
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        // Writing to a string cannot fail; so below.
        let _ = writeln!(self.0, "<p>{}</p>", escaped(text));
    }

    /// Adds a table, unless it is empty.
    pub fn table(&mut self, table: &Table) {
        if !table.is_empty() {
            self.0.push_str(&table.html());
        }
    }

    /// Adds horizontal bars, each with its spread.
    pub fn bars(&mut self, title: &str, bars: &[Bar]) {
        if bars.is_empty() {
            return;
        }
        let _ = writeln!(self.0, "<h2>{}</h2>\n{}", escaped(title), chart::bars(bars));
    }

    /// Adds lines over a common axis that begins at zero.
    pub fn lines(&mut self, title: &str, x_name: &str, y_name: &str, lines: &[Line]) {
        let points = || lines.iter().flat_map(|line| &line.points);
        let largest = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
        let (x_max, y_max) = (largest(|point| point.0), largest(|point| point.1));
        if x_max <= 0.0 || y_max <= 0.0 {
            return;
        }
        let _ = writeln!(self.0, "<h2>{}</h2>\n{}", escaped(title), chart::lines(x_name, y_name, lines));
    }

    /// Returns the whole page.
    pub fn finish(mut self) -> String {
        self.0.push_str("</body></html>\n");
        self.0
    }
}

/// Escapes text so that HTML shows it as it is.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Spread;

    #[test]
    fn the_page_is_complete_and_fetches_nothing() {
        let mut page = Page::new("A <title>", "and \"more\"");
        let value = Spread { min: 1.0, median: 2.0, max: 4.0 };
        page.bars("Bars", &[Bar { name: "first".to_owned(), value, label: "2 s".to_owned() }]);
        let points = vec![(0.0, 0.0), (10.0, 5.0)];
        page.lines("Lines", "seconds", "MB", &[Line { name: "line".to_owned(), points }]);
        page.lines("Nothing", "seconds", "MB", &[]);
        let text = page.finish();
        for expected in ["A &lt;title&gt;", "first", "2 s", "seconds"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        for foreign in ["href", "src=", "<script", "Nothing"] {
            assert!(!text.contains(foreign), "{foreign}");
        }
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
}
