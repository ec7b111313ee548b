//! A short load of some rows into a temporary table like the target: how fast link and server are.

use std::time::{Duration, Instant};

use arrow::record_batch::RecordBatch;

use super::definition::Definition;
use crate::{
    client::Client,
    error::Error,
    load::load,
    plan::LoadPlan,
    stage::{Script, TableShape},
    table_name::TableName,
};

/// A probe ends after so long.
const TIME_MAX: Duration = Duration::from_secs(2);
/// Rows of its first load, which is not counted: it makes the server's caches and extents.
const WARM_ROWS: usize = 256;

/// A load of some rows into a temporary table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Rows.
    pub rows: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
}

impl Probe {
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
        file_group: None,
        large_value_file_group: None,
        indexes: definition
            .shape
            .indexes
            .iter()
            .map(|index| crate::stage::IndexShape { file_group: None, ..index.clone() })
            .collect(),
        ..definition.shape.clone()
    };
    let script = Script { shape: &shape, table, suffix: "_bulkwire_probe" };
    client.execute(&script.create())?;
    for index in script.indexes() {
        client.execute(&index)?;
    }
    let plan = LoadPlan { table: table.clone(), ..plan.clone() };
    let Some(first) = batches.first() else { return Err(Error::internal("a probe without rows")) };
    let mut probe = Probe { rows: 0, bytes: 0, elapsed: Duration::ZERO };
    let warm = first.slice(0, WARM_ROWS.min(first.num_rows()));
    let keys_are_unique = shape.indexes.iter().any(|index| index.is_unique);
    if !keys_are_unique {
        load_some(client, &plan, std::slice::from_ref(&warm))?;
        client.execute(&format!("TRUNCATE TABLE {table}"))?;
    }
    for batch in batches.chunks(batches.len().div_ceil(4).max(1)) {
        let report = load_some(client, &plan, batch)?;
        probe.rows += report.rows;
        probe.bytes += report.bytes_on_wire;
        probe.elapsed += report.elapsed;
        if begun.elapsed() > TIME_MAX {
            break;
        }
    }
    Ok(probe)
}

fn load_some(
    client: &mut Client,
    plan: &LoadPlan,
    batches: &[RecordBatch],
) -> Result<crate::report::LoadReport, Error> {
    let rows = batches.iter().cloned().map(Ok::<_, std::io::Error>);
    load(client, plan, rows, &mut |_| {}).map_err(|error| error.source)
}
