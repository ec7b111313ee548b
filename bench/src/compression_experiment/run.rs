//! One verified run: the table rebuilt empty, the rows inserted, counted and compared.

use std::collections::BTreeMap;
use std::time::Instant;

use formats::Checksum;
use load::{Client, LoadOptions, LoadPlan, TableName, literal};
use serde::Serialize;
use tds::Value;

use super::variant::{Compression, Variant};
use super::{Settings, orders};
use crate::experiment::{
    FileIo, LogMark, LogUse, Outcome, Physical, Space, Target, Told, answer, file_io, number, physical,
    plant_wrong_row, space, verify,
};

/// Figures of a run; its rows were read back and are those of the source.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Number of rows inserted.
    pub rows: u64,
    /// Wall-clock time of the INSERT.
    pub seconds: f64,
    /// Processor time of the embedded server meanwhile.
    pub server_cpu_seconds: Option<f64>,
    /// Pages of rows, and how full they are.
    pub physical: Told<Physical>,
    /// Space of the table.
    pub space: Told<Space>,
    /// Log that it took.
    pub log: LogUse,
    /// Input and output of data files and log.
    pub io: Told<BTreeMap<&'static str, FileIo>>,
}

/// Sizes that `sp_estimate_data_compression_savings` foretells, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Size as it is.
    pub current_bytes: u64,
    /// Size with the other setting.
    pub requested_bytes: u64,
}

/// Connection and tables of the runs.
pub(super) struct Place<'a> {
    pub(super) target: &'a Target,
    pub(super) client: &'a mut Client,
    pub(super) source: &'a TableName,
    pub(super) copy: &'a TableName,
    pub(super) sent: Checksum,
}

impl Place<'_> {
    /// Makes the source table, loads it, and reads it once, so that it is in every cache that holds it.
    pub(super) fn prepare(&mut self, rows: u64) -> Outcome<()> {
        self.client.execute(&format!("CREATE TABLE {} ({})", self.source, orders::COLUMNS))?;
        let target = self.client.describe(self.source)?;
        let options = LoadOptions { table_lock: Some(true), ..LoadOptions::default() };
        let plan = LoadPlan::new(self.client, &target, &orders::schema(), &options)?;
        load::load(self.client, &plan, orders::batches(rows), &mut |_| {})?;
        verify(self.client, self.source, self.sent)
    }

    pub(super) fn run(&mut self, variant: &Variant, settings: &Settings) -> Outcome<Run> {
        self.client.execute(&format!("DROP TABLE IF EXISTS {}", self.copy))?;
        self.client.execute(&variant.create_table(self.copy))?;
        let mark = LogMark::set(self.client)?;
        let cpu_before = self.target.server_cpu_seconds();
        let started = Instant::now();
        let done = self.client.execute(&variant.insert(self.copy, self.source, settings.max_dop))?;
        let seconds = started.elapsed().as_secs_f64();
        let cpu_after = self.target.server_cpu_seconds();
        let log = mark.measure(self.client)?;
        let io = FileIo::all_since(mark.io(), file_io(self.client)?);
        if done.rows_affected != self.sent.rows {
            return Err(format!(
                "the server says that it inserted {} rows of {}",
                done.rows_affected, self.sent.rows
            )
            .into());
        }
        if settings.plant_wrong_row {
            plant_wrong_row(self.client, self.copy, "quantity")?;
        }
        verify(self.client, self.copy, self.sent)?;
        Ok(Run {
            rows: self.sent.rows,
            seconds,
            server_cpu_seconds: cpu_before.zip(cpu_after).map(|(before, after)| after - before),
            physical: physical(self.client, self.copy)?,
            space: space(self.client, self.copy)?,
            log,
            io,
        })
    }

    /// Asks the server to foretell the size of the copy, as it is now, with another compression.
    pub(super) fn estimate(&mut self, requested: Compression) -> Outcome<Told<Estimate>> {
        let name = literal(&self.copy.name);
        let sql =
            format!("EXEC sp_estimate_data_compression_savings 'dbo', {name}, NULL, NULL, '{requested}'");
        let read = |rows: Vec<Vec<Value>>| {
            let row = rows.first()?;
            let bytes = |column: usize| Some(number(row.get(column)?)? as u64 * 1024);
            Some(Estimate { current_bytes: bytes(4)?, requested_bytes: bytes(5)? })
        };
        Ok(answer(self.client, &sql)?
            .and_then(read, "sp_estimate_data_compression_savings has no row for the table"))
    }
}
