//! A short load of some rows into a temporary table like the target: how fast link and server are.

use std::time::{Duration, Instant};

use arrow::record_batch::RecordBatch;

use super::definition::Definition;
use crate::{
    client::Client,
    error::Error,
    load::load,
    plan::LoadPlan,
    report::LoadReport,
    stage::{IndexShape, Script, Stage, TableShape},
    table_name::TableName,
};

/// A probe ends after so long.
const TIME_MAX: Duration = Duration::from_secs(2);
/// The part of the rows in a probe's first load (one in 8), and their largest number.
const FIRST_PART: usize = 8;
const FIRST_ROWS: usize = 4096;

/// A load of some rows into a temporary table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Rows.
    pub rows: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// The duration of the probe.
    pub elapsed: Duration,
}

impl Probe {
    fn of(report: &LoadReport) -> Self {
        Self { rows: report.rows, bytes: report.bytes_on_wire, elapsed: report.elapsed }
    }

    /// Rows a second.
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Loads the rows, or the first of them; the error says why that cannot be had.
pub(super) fn run(
    client: &mut Client,
    definition: &Definition,
    plan: &LoadPlan,
    batches: &[RecordBatch],
) -> Result<Probe, String> {
    let begun = Instant::now();
    let table =
        TableName { database: None, schema: None, name: format!("#bulkwire_probe_{}", std::process::id()) };
    let done = probe(client, definition, plan, batches, &table, begun);
    // A table that was not made needs no dropping, and the session's end drops it all the same.
    let _ = client.execute(&format!("IF OBJECT_ID(N'tempdb..{table}') IS NOT NULL DROP TABLE {table}"));
    done.map_err(|error| format!("the server refuses a probe: {error}"))
}

fn probe(
    client: &mut Client,
    definition: &Definition,
    plan: &LoadPlan,
    batches: &[RecordBatch],
    table: &TableName,
    begun: Instant,
) -> Result<Probe, Error> {
    let shape = TableShape {
        space: None,
        large_value_file_group: None,
        indexes: definition
            .shape
            .indexes
            .iter()
            .map(|index| IndexShape { space: None, ..index.clone() })
            .collect(),
        ..definition.shape.clone()
    };
    // Names of constraints are those of all sessions in tempdb.
    let suffix = format!("_bulkwire_probe_{}", Stage::new_load_id());
    let script = Script { shape: &shape, table, suffix: &suffix };
    client.execute(&script.create())?;
    for index in script.indexes() {
        client.execute(&index)?;
    }
    let plan = LoadPlan { table: table.clone(), ..plan.clone() };
    let all: usize = batches.iter().map(RecordBatch::num_rows).sum();
    // A first load, of which little is known, is small; it also makes what the server makes only once.
    let mut rows = all.div_ceil(FIRST_PART).clamp(1, FIRST_ROWS);
    loop {
        let report = load_some(client, &plan, &first_rows(batches, rows))?;
        let Ok(more) = usize::try_from(rows_within(TIME_MAX.saturating_sub(begun.elapsed()), &report)) else {
            return Ok(Probe::of(&report));
        };
        if rows == all || more <= rows {
            return Ok(Probe::of(&report));
        }
        // Trees take rows otherwise when they have some.
        client.execute(&format!("TRUNCATE TABLE {table}"))?;
        rows = more.min(all);
    }
}

/// Rows that the server takes in so much time, as fast as it took the last ones.
fn rows_within(time: Duration, report: &LoadReport) -> u64 {
    (time.as_secs_f64() * report.rows_per_second()) as u64
}

/// Takes the first of some rows.
fn first_rows(batches: &[RecordBatch], rows: usize) -> Vec<RecordBatch> {
    let mut left = rows;
    let mut first = Vec::new();
    for batch in batches {
        let taken = left.min(batch.num_rows());
        if taken == 0 {
            break;
        }
        first.push(batch.slice(0, taken));
        left -= taken;
    }
    first
}

fn load_some(client: &mut Client, plan: &LoadPlan, batches: &[RecordBatch]) -> Result<LoadReport, Error> {
    let rows = batches.iter().cloned().map(Ok::<_, std::io::Error>);
    load(client, plan, rows, &mut |_| {}).map_err(|error| error.source)
}
