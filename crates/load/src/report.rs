//! The report of a load, with the time of each phase.

use std::{fmt, time::Duration};

/// Time spent by the four activities of a load. They overlap, so the sum may exceed the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Waiting for the source: reading and parsing files.
    pub read: Duration,
    /// Casting, checking and encoding rows.
    pub encode: Duration,
    /// Writing to the socket; includes waiting for a slow receiver.
    pub send: Duration,
    /// Waiting for the server's answers.
    pub wait: Duration,
}

/// The result of a finished load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Rows committed; the server's count agrees.
    pub rows: u64,
    /// Rows of these that the server has dropped, since an index with IGNORE_DUP_KEY had their keys.
    pub rows_ignored: u64,
    /// Batches committed.
    pub batches: u64,
    /// Bytes written to the socket, packet headers and TLS included.
    pub bytes_on_wire: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// The time spent in each phase.
    pub phases: Phases,
    /// CPU time of the load's own threads; `None` where the platform does not provide it.
    pub client_cpu: Option<Duration>,
    /// Messages that the server sent along (PRINT, warnings), in order, at most [`MESSAGES_MAX`].
    pub messages: Vec<String>,
}

/// Server messages that a report keeps.
pub const MESSAGES_MAX: usize = 100;

impl LoadReport {
    /// Rows that this load has added to the table.
    pub fn rows_stored(&self) -> u64 {
        self.rows.saturating_sub(self.rows_ignored)
    }

    /// Rows per second of wall-clock time.
    pub fn rows_per_second(&self) -> f64 {
        per_second(self.rows, self.elapsed)
    }

    /// Bytes on the wire per second of wall-clock time.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes_on_wire, self.elapsed)
    }
}

/// The result of a finished export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportReport {
    /// Rows received.
    pub rows: u64,
    /// Record batches handed to the sink.
    pub batches: u64,
    /// Bytes read from the socket, packet headers and TLS included.
    pub bytes_on_wire: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Time in which the decoder waited for the server.
    pub wait: Duration,
    /// Time spent decoding rows to columns.
    pub decode: Duration,
    /// Time spent in the sink.
    pub write: Duration,
    /// CPU time of the export's own threads; `None` where the platform does not provide it.
    pub client_cpu: Option<Duration>,
}

impl ExportReport {
    /// Rows per second of wall-clock time.
    pub fn rows_per_second(&self) -> f64 {
        per_second(self.rows, self.elapsed)
    }

    /// Bytes on the wire per second of wall-clock time.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes_on_wire, self.elapsed)
    }
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    match elapsed.as_secs_f64() {
        seconds if seconds > 0.0 => count as f64 / seconds,
        _ => 0.0,
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.batches == 1 { "" } else { "es" };
        writeln!(
            f,
            "{} {} in {} batch{plural}, {:.3} s",
            grouped(self.rows_stored()),
            row_words(self.rows_stored()).0,
            grouped(self.batches),
            self.elapsed.as_secs_f64()
        )?;
        if self.rows_ignored > 0 {
            writeln!(
                f,
                "{} {} with keys that were there already (IGNORE_DUP_KEY)",
                grouped(self.rows_ignored),
                if self.rows_ignored == 1 { "row was dropped" } else { "rows were dropped" }
            )?;
        }
        writeln!(
            f,
            "{} on the wire, {} rows/s, {}/s",
            bytes(self.bytes_on_wire as f64),
            grouped(self.rows_per_second().round() as u64),
            bytes(self.bytes_per_second())
        )?;
        let Phases { read, encode, send, wait } = self.phases;
        write!(
            f,
            "read {:.3} s, encode {:.3} s, send {:.3} s, wait {:.3} s (overlapping)",
            read.as_secs_f64(),
            encode.as_secs_f64(),
            send.as_secs_f64(),
            wait.as_secs_f64()
        )?;
        write_cpu(f, self.client_cpu, self.rows)
    }
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, _) = row_words(self.rows);
        writeln!(f, "{} {noun}, {:.3} s", grouped(self.rows), self.elapsed.as_secs_f64())?;
        writeln!(
            f,
            "{} on the wire, {} rows/s, {}/s",
            bytes(self.bytes_on_wire as f64),
            grouped(self.rows_per_second().round() as u64),
            bytes(self.bytes_per_second())
        )?;
        write!(
            f,
            "wait {:.3} s, decode {:.3} s, write {:.3} s (overlapping)",
            self.wait.as_secs_f64(),
            self.decode.as_secs_f64(),
            self.write.as_secs_f64()
        )?;
        write_cpu(f, self.client_cpu, self.rows)
    }
}

fn write_cpu(f: &mut fmt::Formatter<'_>, cpu: Option<Duration>, rows: u64) -> fmt::Result {
    let Some(cpu) = cpu else { return Ok(()) };
    write!(f, "; client CPU {:.3} s", cpu.as_secs_f64())?;
    match rows {
        // Start-up costs more than so few rows.
        0..ROWS_TELLING => Ok(()),
        rows => write!(f, ", {:.0} ns a row", cpu.as_secs_f64() * 1e9 / rows as f64),
    }
}

/// With fewer rows than this, the time of one says nothing.
const ROWS_TELLING: u64 = 1_000;

/// Returns the noun and the verb for a number of rows, such as `row` and `is` for one.
pub fn row_words(rows: u64) -> (&'static str, &'static str) {
    if rows == 1 { ("row", "is") } else { ("rows", "are") }
}

/// Writes `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes a byte count in decimal units, three significant digits.
pub fn bytes(count: f64) -> String {
    let mut value = count;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 {
            let decimals = if unit == "B" || value >= 99.95 { 0 } else { if value >= 9.995 { 1 } else { 2 } };
            return format!("{value:.decimals$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.2} TB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn byte_counts_keep_three_digits() {
        let cases = [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.00 kB"),
            (12_345.0, "12.3 kB"),
            (143e6, "143 MB"),
            (1.5e12, "1.50 TB"),
        ];
        for (count, text) in cases {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn a_report_prints_its_rates() {
        let report = LoadReport {
            rows: 1_000_000,
            rows_ignored: 0,
            batches: 10,
            bytes_on_wire: 143_000_000,
            elapsed: Duration::from_millis(200),
            phases: Phases { encode: Duration::from_millis(80), ..Phases::default() },
            client_cpu: Some(Duration::from_millis(150)),
            messages: Vec::new(),
        };
        let expected = "1,000,000 rows in 10 batches, 0.200 s\n143 MB on the wire, 5,000,000 rows/s, 715 MB/s\n\
                        read 0.000 s, encode 0.080 s, send 0.000 s, wait 0.000 s (overlapping); client CPU 0.150 s, 150 ns a row";
        assert_eq!(report.to_string(), expected);
        let dropped = LoadReport { rows: 3, rows_ignored: 1, ..report };
        let said = dropped.to_string();
        assert!(said.starts_with("2 rows in 10 batches, 0.200 s\n1 row was dropped with keys that were there already (IGNORE_DUP_KEY)\n"), "{said}");
    }
}
