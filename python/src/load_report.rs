//! The report of a load, as Python sees it.

use load::report::{bytes, grouped};
use load::stage::How;
use load::{LoadReport as Report, TableName, WholeReport};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::pickled::pickled;

/// The report of a load, with the time of each phase. The four phases overlap, so their sum may exceed `seconds`.
#[pyclass(frozen, get_all, module = "bulkwire")]
pub(crate) struct LoadReport {
    /// Target table.
    table: String,
    /// Rows committed (rows loaded, inside a transaction of the caller's); the server's count agrees.
    rows: u64,
    /// Batches.
    batches: u64,
    /// Bytes written to the socket.
    bytes: u64,
    /// Wall-clock time.
    seconds: f64,
    /// Waiting for the source.
    read_seconds: f64,
    /// Casting, checking and encoding.
    encode_seconds: f64,
    /// Writing to the socket.
    send_seconds: f64,
    /// Waiting for the server's answers.
    wait_seconds: f64,
    /// CPU time of the load's own threads, `None` where the platform does not tell.
    client_cpu_seconds: Option<f64>,
    /// Messages that the server sent along.
    warnings: Vec<String>,
    /// Every choice of the plan with its reason: (setting, value, reason).
    plan: Vec<(String, String, String)>,
    /// Rows that a stage brought and the table did not have; `None` for a load into the table itself.
    inserted: Option<u64>,
    /// Rows of the table that were changed by their key.
    updated: Option<u64>,
    /// Rows that were there already and stay as they are.
    unchanged: Option<u64>,
    /// The way in which the stage came into the table: "switch", "rename" or "merge".
    published_by: Option<String>,
    /// Connections that loaded.
    writers: usize,
    /// The number of retries.
    retries: u64,
    /// Rows that an earlier run of the same load had committed.
    rows_committed_before: u64,
    /// The limit of the load's speed; `None` for an upsert, and where nothing was left to load.
    limited_by: Option<String>,
}

/// Returns the word for the way in which rows came from a stage into the table.
pub(crate) fn way(how: &How) -> &'static str {
    match how {
        How::Switched => "switch",
        How::Renamed { .. } => "rename",
        How::Merged | How::Directed => "merge",
        How::Inserted { .. } => "insert",
    }
}

impl LoadReport {
    /// Makes the report of a load.
    pub(crate) fn whole(done: WholeReport) -> Self {
        let WholeReport { table, plan, loaded, published } = done;
        let Some(loaded) = loaded else { return Self::staged(&table, Report::default()) };
        let choices =
            plan.choices.into_iter().map(|choice| (choice.setting.to_owned(), choice.value, choice.reason));
        let published = published.as_ref();
        Self {
            writers: loaded.writers,
            retries: loaded.retries,
            rows_committed_before: loaded.rows_skipped,
            limited_by: Some(loaded.limit.to_string()),
            plan: choices.collect(),
            inserted: published.map(|published| published.inserted),
            updated: published.map(|published| published.updated),
            unchanged: published.map(|published| published.unchanged),
            published_by: published.map(|published| way(&published.how).to_owned()),
            ..Self::staged(&table, loaded.load)
        }
    }

    /// Makes the report of a load whose plan is not shown.
    pub(crate) fn staged(table: &TableName, report: Report) -> Self {
        Self {
            table: table.to_string(),
            rows: report.rows_stored(),
            batches: report.batches,
            bytes: report.bytes_on_wire,
            seconds: report.elapsed.as_secs_f64(),
            read_seconds: report.phases.read.as_secs_f64(),
            encode_seconds: report.phases.encode.as_secs_f64(),
            send_seconds: report.phases.send.as_secs_f64(),
            wait_seconds: report.phases.wait.as_secs_f64(),
            client_cpu_seconds: report.client_cpu.map(|cpu| cpu.as_secs_f64()),
            warnings: report.messages,
            plan: Vec::new(),
            inserted: None,
            updated: None,
            unchanged: None,
            published_by: None,
            writers: 1,
            retries: 0,
            rows_committed_before: 0,
            limited_by: None,
        }
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let batches = if self.batches == 1 { "batch" } else { "batches" };
        let phases = [
            ("read", self.read_seconds),
            ("encode", self.encode_seconds),
            ("send", self.send_seconds),
            ("wait", self.wait_seconds),
        ];
        let phases = phases.map(|(name, seconds)| format!("{name} {seconds:.3} s")).join(", ");
        let mut lines = vec![
            ("rows", format!("{} in {} {batches}", grouped(self.rows), grouped(self.batches))),
            (
                "time",
                format!(
                    "{:.3} s, {} rows/s",
                    self.seconds,
                    grouped(self.per_second(self.rows).round() as u64)
                ),
            ),
            ("wire", format!("{}, {}/s", bytes(self.bytes as f64), bytes(self.per_second(self.bytes)))),
            ("phases", format!("{phases} (overlapping)")),
        ];
        if let (Some(inserted), Some(updated), Some(unchanged), Some(how)) =
            (self.inserted, self.updated, self.unchanged, &self.published_by)
        {
            let counts = [(inserted, "inserted"), (updated, "updated"), (unchanged, "unchanged")];
            let counts = counts.map(|(count, word)| format!("{} {word}", grouped(count))).join(", ");
            lines.push(("stage", format!("{counts}, by {how}")));
        }
        lines
    }
}

pickled!(LoadReport {
    table,
    rows,
    batches,
    bytes,
    seconds,
    read_seconds,
    encode_seconds,
    send_seconds,
    wait_seconds,
    client_cpu_seconds,
    warnings,
    plan,
    inserted,
    updated,
    unchanged,
    published_by,
    writers,
    retries,
    rows_committed_before,
    limited_by,
});

/// Rebuilds a report; pickle calls it.
#[pyfunction]
pub(crate) fn _load_report(fields: &Bound<'_, PyDict>) -> PyResult<LoadReport> {
    LoadReport::of_fields(fields)
}

#[pymethods]
impl LoadReport {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let restore = py.import("bulkwire._bulkwire")?.getattr("_load_report")?;
        Ok((restore, (self.fields(py)?,)))
    }

    /// Rows per second of wall-clock time.
    #[getter]
    fn rows_per_second(&self) -> f64 {
        self.per_second(self.rows)
    }

    fn __str__(&self) -> String {
        let mut text = self.table.clone();
        for (name, value) in self.lines() {
            text.push_str(&format!("\n  {name:7} {value}"));
        }
        for warning in &self.warnings {
            text.push_str(&format!("\n  server  {warning}"));
        }
        text
    }

    fn __repr__(&self) -> String {
        let Self { table, rows, batches, bytes, seconds, .. } = self;
        format!(
            "LoadReport(table='{table}', rows={rows}, batches={batches}, bytes={bytes}, seconds={seconds:.3})"
        )
    }

    fn _repr_html_(&self) -> String {
        let row = |name: &str, value: &str| {
            format!(
                "<tr><th style=\"text-align:left\">{}</th><td>{}</td></tr>",
                escaped(name),
                escaped(value)
            )
        };
        let mut rows = row("table", &self.table);
        for (name, value) in self.lines() {
            rows.push_str(&row(name, &value));
        }
        for warning in &self.warnings {
            rows.push_str(&row("server", warning));
        }
        format!("<table>{rows}</table>")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
