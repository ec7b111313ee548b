//! The results as one page that needs nothing else: headings, tables, and charts drawn in it.

use std::fmt::Write;

use super::Table;
use crate::statistics::Spread;

/// Style sheet of the pages.
pub const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .7rem;border-bottom:1px solid #ccc;text-align:right}\
    th:first-child,td:first-child{text-align:left}svg text{font:12px system-ui,sans-serif}.key span{margin-right:1rem}";
/// Colours that are told apart without colour vision.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#000000"];
/// Where bars begin, and how long the longest is, in pixels.
const BAR_LEFT: f64 = 340.0;
const BAR_WIDTH: f64 = 440.0;
/// The box of a line chart, in pixels.
const PLOT: (f64, f64) = (620.0, 260.0);
const PLOT_MARGIN: f64 = 60.0;

/// A page that grows from top to bottom.
#[derive(Debug, Clone)]
pub struct Page(String);

/// A bar: a name, and a figure with its spread.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// How long it is; a line goes from the smallest to the largest.
    pub value: Spread,
    /// What stands behind it.
    pub label: String,
}

/// A line of points, in the order of `x`.
#[derive(Debug, Clone)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// Points.
    pub points: Vec<(f64, f64)>,
}

impl Page {
    /// A page with a title and a first paragraph.
    pub fn new(title: &str, introduction: &str) -> Page {
        let title = escaped(title);
        Page(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\
             <body>\n<h1>{title}</h1>\n<p>{}</p>\n",
            escaped(introduction)
        ))
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        // Writing to a string cannot fail; so below.
        let _ = writeln!(self.0, "<p>{}</p>", escaped(text));
    }

    /// A table, unless it is empty.
    pub fn table(&mut self, table: &Table) {
        if !table.is_empty() {
            self.0.push_str(&table.html());
        }
    }

    /// Horizontal bars, each with its spread.
    pub fn bars(&mut self, title: &str, bars: &[Bar]) {
        if bars.is_empty() {
            return;
        }
        let longest = bars.iter().map(|bar| bar.value.max).fold(0.0, f64::max);
        let width = |value: f64| if longest > 0.0 { value / longest * BAR_WIDTH } else { 0.0 };
        let height = bars.len() * 24 + 4;
        let _ = writeln!(
            self.0,
            "<h2>{}</h2>\n<svg width=\"960\" height=\"{height}\" role=\"img\">",
            escaped(title)
        );
        for (index, bar) in bars.iter().enumerate() {
            let y = index * 24 + 4;
            let _ = writeln!(
                self.0,
                "<text x=\"0\" y=\"{text}\">{name}</text><rect x=\"{BAR_LEFT}\" y=\"{y}\" width=\"{length:.1}\" height=\"16\" \
                 fill=\"{colour}\"/><line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{middle}\" y2=\"{middle}\" stroke=\"#000\"/>\
                 <text x=\"{after:.1}\" y=\"{text}\">{label}</text>",
                text = y + 12,
                name = escaped(&bar.name),
                length = width(bar.value.median),
                colour = COLOURS.first().copied().unwrap_or("#000"),
                from = BAR_LEFT + width(bar.value.min),
                to = BAR_LEFT + width(bar.value.max),
                middle = y + 8,
                after = BAR_LEFT + 6.0 + width(bar.value.max),
                label = escaped(&bar.label),
            );
        }
        self.0.push_str("</svg>\n");
    }

    /// Lines over a common axis that begins at zero.
    pub fn lines(&mut self, title: &str, x_name: &str, y_name: &str, lines: &[Line]) {
        let points = || lines.iter().flat_map(|line| &line.points);
        let largest = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
        let (x_max, y_max) = (largest(|point| point.0), largest(|point| point.1));
        if x_max <= 0.0 || y_max <= 0.0 {
            return;
        }
        let place =
            |(x, y): (f64, f64)| (PLOT_MARGIN + x / x_max * PLOT.0, 10.0 + (1.0 - y / y_max) * PLOT.1);
        let _ = writeln!(self.0, "<h2>{}</h2>\n<p class=\"key\">", escaped(title));
        for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
            let _ = write!(
                self.0,
                "<span><b style=\"color:{colour}\">&#9632;</b> {}</span>",
                escaped(&line.name)
            );
        }
        let (left, top) = place((0.0, y_max));
        let (right, bottom) = place((x_max, 0.0));
        let _ = writeln!(
            self.0,
            "</p>\n<svg width=\"{}\" height=\"{}\" role=\"img\"><path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#999\"/>\
             <text x=\"4\" y=\"{}\">{}</text><text x=\"{left}\" y=\"{}\">0</text><text x=\"{}\" y=\"{}\">{} {}</text>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            right + PLOT_MARGIN,
            bottom + 40.0,
            top + 4.0,
            axis(y_max),
            bottom + 18.0,
            right - 60.0,
            bottom + 18.0,
            axis(x_max),
            escaped(x_name),
            left + 8.0,
            top + 4.0,
            escaped(y_name),
        );
        for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
            let places: Vec<String> = line
                .points
                .iter()
                .map(|point| {
                    let (x, y) = place(*point);
                    format!("{x:.1},{y:.1}")
                })
                .collect();
            let _ = writeln!(
                self.0,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                places.join(" ")
            );
            for at in &places {
                if let Some((x, y)) = at.split_once(',') {
                    let _ = write!(self.0, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>");
                }
            }
        }
        self.0.push_str("</svg>\n");
    }

    /// The whole page.
    pub fn finish(mut self) -> String {
        self.0.push_str("</body></html>\n");
        self.0
    }
}

/// A figure at the end of an axis.
fn axis(value: f64) -> String {
    match value {
        value if value >= 100.0 => load::report::grouped(value.round() as u64),
        value => format!("{value:.2}"),
    }
}

/// Text that HTML shows as it is.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_complete_and_fetches_nothing() {
        let mut page = Page::new("A <title>", "and \"more\"");
        let value = Spread { min: 1.0, median: 2.0, max: 4.0 };
        page.bars("Bars", &[Bar { name: "first".to_owned(), value, label: "2 s".to_owned() }]);
        let points = vec![(0.0, 0.0), (10.0, 5.0)];
        page.lines("Lines", "seconds", "MB", &[Line { name: "line".to_owned(), points }]);
        page.lines("Nothing", "seconds", "MB", &[]);
        let text = page.finish();
        // Half of the largest is half of the width, and the last point lies in the corner of the box.
        for expected in ["A &lt;title&gt;", "width=\"220.0\"", "680.0,10.0"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        for foreign in ["http", "src=", "<script", "Nothing"] {
            assert!(!text.contains(foreign), "{foreign}");
        }
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
}
