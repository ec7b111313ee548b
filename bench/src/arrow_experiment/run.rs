//! Runs of a variant, each verified.

use std::collections::BTreeMap;
use std::time::Instant;

use load::{Client, LoadOptions, LoadPlan, TableName};
use serde::Serialize;

use super::variant::{Method, Variant};
use super::{Outcome, row_by_row};
use crate::eleven_columns;
use crate::experiment::verify;
use crate::server_process::ServerProcess;
use crate::source::Source;

/// Figures of a run; its rows were read back and are those that were sent.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Number of rows sent.
    pub rows: u64,
    /// Bytes of data, without what the protocol adds.
    pub data_bytes: u64,
    /// Bytes written to the socket.
    pub bytes_on_wire: u64,
    /// Wall-clock seconds of the load, the build of a key after it included.
    pub seconds: f64,
    /// Parts of the time. `read`, `encode`, `send` and `wait` of a bulk load overlap; `key` stands alone.
    pub phase_seconds: BTreeMap<&'static str, f64>,
    /// CPU time of the client's threads that did the load.
    pub client_cpu_seconds: Option<f64>,
    /// CPU time of the embedded server; `None` for a target of one's own.
    pub server_cpu_seconds: Option<f64>,
}

/// Connection, table and rows of the runs.
pub(super) struct Session<'a> {
    pub(super) client: &'a mut Client,
    pub(super) table: &'a TableName,
    pub(super) source: &'a Source,
    pub(super) server: Option<&'a ServerProcess>,
}

impl Session<'_> {
    /// Drops and creates the table, loads the first rows of the source, and checks what arrived.
    pub(super) fn run(&mut self, variant: &Variant, rows: u64) -> Outcome<Run> {
        drop_table(self.client, self.table)?;
        self.client.execute(&variant.create_table(self.table))?;
        let server_before = self.server_cpu();
        let mut run = match variant.method {
            Method::Bulk => self.load(variant, rows)?,
            Method::RowByRow => {
                row_by_row::insert(self.client, self.table, variant.batch_rows, self.source, rows)?
            }
        };
        if let Some(statement) = variant.add_key(self.table) {
            let started = Instant::now();
            self.client.execute(&statement)?;
            let seconds = started.elapsed().as_secs_f64();
            run.phase_seconds.insert("key", seconds);
            run.seconds += seconds;
        }
        run.server_cpu_seconds =
            server_before.zip(self.server_cpu()).map(|(before, after)| (after - before).max(0.0));
        run.data_bytes = self.source.data_bytes(rows)?;
        verify(self.client, self.table, self.source.checksum(rows)?)?;
        Ok(run)
    }

    fn load(&mut self, variant: &Variant, rows: u64) -> Outcome<Run> {
        let target = self.client.describe(self.table)?;
        let options = LoadOptions {
            batch_rows: Some(variant.batch_rows),
            table_lock: Some(variant.table_lock),
            ..LoadOptions::default()
        };
        let plan = LoadPlan::new(self.client, &target, &eleven_columns::schema(), &options)?;
        let report = load::load(self.client, &plan, self.source.first(rows), &mut |_| {})?;
        let phases = report.phases;
        Ok(Run {
            rows: report.rows,
            data_bytes: 0,
            bytes_on_wire: report.bytes_on_wire,
            seconds: report.elapsed.as_secs_f64(),
            phase_seconds: BTreeMap::from([
                ("read", phases.read.as_secs_f64()),
                ("encode", phases.encode.as_secs_f64()),
                ("send", phases.send.as_secs_f64()),
                ("wait", phases.wait.as_secs_f64()),
            ]),
            client_cpu_seconds: report.client_cpu.map(|time| time.as_secs_f64()),
            server_cpu_seconds: None,
        })
    }

    fn server_cpu(&self) -> Option<f64> {
        Some(self.server?.usage()?.cpu.as_secs_f64())
    }
}

/// Drops the table if it exists.
pub(super) fn drop_table(client: &mut Client, table: &TableName) -> Outcome<()> {
    client.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
    Ok(())
}
