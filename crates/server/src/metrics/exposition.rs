//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

/// Kinds of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

/// A page of metrics.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// Begins a metric; its samples follow.
    pub fn metric(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.put(format_args!("# HELP {name} {}\n# TYPE {name} {kind}\n", Escaped(help, false)));
    }

    /// Adds a value.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.put(format_args!("{name}"));
        for (at, (label, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            self.put(format_args!("{before}{label}=\"{}\"", Escaped(text, true)));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        self.put(format_args!("{end} {value}\n"));
    }

    /// Adds a metric of one value.
    pub fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.metric(name, kind, help);
        self.sample(name, &[], value);
    }

    /// Returns the whole text.
    pub fn into_text(self) -> String {
        self.text
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = self.text.write_fmt(text);
    }
}

/// A text within the format; in a label's value, quotes are escaped too.
struct Escaped<'t>(&'t str, bool);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '"' if self.1 => f.write_str("\\\"")?,
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut page = Page::default();
        page.metric("m", Kind::Gauge, "a \"b\"\nc\\");
        page.sample("m", &[("database", "x\"\\\n"), ("status", "é")], 1.5);
        page.sample("m", &[], u64::MAX);
        assert_eq!(
            page.into_text(),
            "# HELP m a \"b\"\\nc\\\\\n# TYPE m gauge\nm{database=\"x\\\"\\\\\\n\",status=\"é\"} 1.5\nm 18446744073709551615\n"
        );
    }
}
