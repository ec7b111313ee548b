//! A forecast as people read it.

use std::fmt;

use super::{Forecast, Measured, StructureForecast, TimeForecast};
use crate::report::{bytes, grouped, row_words};
use crate::stage::Compression;

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![[
            "forecast".to_owned(),
            "name".to_owned(),
            "compression".to_owned(),
            "rows".to_owned(),
            "pages".to_owned(),
            "size".to_owned(),
        ]];
        lines.extend(self.structures.iter().map(line));
        if self.structures.len() > 1 {
            let (pages, size) = (grouped(self.pages()), bytes(self.bytes() as f64));
            lines.push(["all".to_owned(), String::new(), String::new(), String::new(), pages, size]);
        }
        let width = |column: usize| {
            lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..6).map(width).collect();
        for line in &lines {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    0..3 => format!("{cell:width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        let log = if self.is_minimally_logged { "minimally logged" } else { "fully logged" };
        let model = self.recovery_model.map(|model| format!(", {model}")).unwrap_or_default();
        write!(f, "log: {} ({log}{model})", bytes(self.log_bytes as f64))?;
        if let Some((low, high)) = self.log_range_bytes {
            let (low, high) = (bytes(low as f64), bytes(high as f64));
            write!(f, ", from {low} to {high} by how batches of several writers come")?;
        }
        match &self.time {
            Some(time) => write!(f, "\ntime: {time}")?,
            None => write!(f, "\ntime: not known, since the source has no rows")?,
        }
        let (noun, _) = row_words(self.sample_rows);
        match self.sample_rows == self.rows {
            true => write!(f, "\nfrom all {} {noun} of the source", grouped(self.rows))?,
            false => write!(
                f,
                "\nfrom the first {} {noun} of about {}",
                grouped(self.sample_rows),
                grouped(self.rows)
            )?,
        }
        if self.rows_unfit > 0 {
            let (noun, _) = row_words(self.rows_unfit);
            write!(f, "\nnote: {} {noun} more cannot be loaded as they are", grouped(self.rows_unfit))?;
        }
        for note in &self.notes {
            write!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

fn line(of: &StructureForecast) -> [String; 6] {
    let compression = match of.compression {
        Compression::None if of.name.is_empty() => "",
        Compression::None => "NONE",
        Compression::Row => "ROW",
        Compression::Page => "PAGE",
        Compression::Archive => "ARCHIVE",
    };
    let rows = if of.rows == 0 && of.name.is_empty() { String::new() } else { grouped(of.rows) };
    [
        of.kind.to_owned(),
        of.name.clone(),
        compression.to_owned(),
        rows,
        grouped(of.pages()),
        bytes(of.bytes() as f64),
    ]
}

impl fmt::Display for TimeForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s over one connection", self.expected.as_secs_f64())?;
        match &self.measured {
            Measured::Probe(probe) => write!(
                f,
                "; a probe of {} {} took {:.3} s, {}/s",
                grouped(probe.rows),
                row_words(probe.rows).0,
                probe.elapsed.as_secs_f64(),
                bytes(probe.bytes_per_second())
            ),
            Measured::Reading { rows_per_second, reason } => write!(
                f,
                " at least: the source is read at {} rows/s, and {reason}",
                grouped(rows_per_second.round() as u64)
            ),
        }
    }
}
