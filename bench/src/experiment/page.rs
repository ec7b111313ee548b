//! The results as one page that needs nothing else: headings, tables, and charts drawn in it.

use std::fmt::Write;

use super::Table;
use super::chart::{self, Bar, Line};
use super::origin;

/// Style sheet of the pages.
pub const STYLE: &str = ":root{color-scheme:light dark;--text:#1c1e21;--back:#fff;--faint:#6b7280;--rule:#d5d9e0}\
    @media(prefers-color-scheme:dark){:root{--text:#e6e8eb;--back:#14171a;--faint:#9aa3ad;--rule:#3a4048}}\
    body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:var(--text);background:var(--back)}\
    table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .7rem;border-bottom:1px solid var(--rule);text-align:right}\
    th:first-child,td:first-child{text-align:left}svg{background:#fff;border-radius:6px;max-width:100%;height:auto}\
    svg text{font:12px system-ui,sans-serif}.key span{margin-right:1rem}.origin{color:var(--faint);font-size:13px}\
    @media print{body{margin:0;max-width:none}svg,table{break-inside:avoid}}";

/// Rows below which a run is over before the server has warmed to it.
pub const ROWS_TELLING: u64 = 100_000;

/// Warns of runs so short that they measure how work begins.
pub fn few_rows(rows: u64) -> Option<String> {
    let few = load::report::grouped(rows);
    (rows < ROWS_TELLING).then(|| {
        format!(
            "{few} rows measure how a run begins rather than how it goes on: take {} or more to compare.",
            load::report::grouped(ROWS_TELLING)
        )
    })
}
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
        let _ = writeln!(self.0, "<p class=\"origin\">{}</p>\n</body></html>", escaped(&origin::line()));
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
