//! One verified run: SELECT INTO the variant's file group.

use std::collections::BTreeMap;
use std::time::Instant;

use formats::Checksum;
use load::{Client, TableName};
use serde::Serialize;

use super::{Settings, Variant, file_group};
use crate::experiment::{
    FileIo, LogMark, LogUse, Outcome, Space, Target, Told, Wait, file_io, plant_wrong_row, space, verify,
    waits,
};

/// Figures of a run; its rows were read back and are those of the source.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Number of rows copied.
    pub rows: u64,
    /// Wall-clock time of the statement.
    pub seconds: f64,
    /// Processor time of the embedded server meanwhile.
    pub server_cpu_seconds: Option<f64>,
    /// Space of the table.
    pub space: Told<Space>,
    /// Log that it took, by operation and context.
    pub log: LogUse,
    /// Input and output of data files and log.
    pub io: Told<BTreeMap<&'static str, FileIo>>,
    /// Waits by type, of the whole server.
    pub waits: Told<BTreeMap<String, Wait>>,
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
    pub(super) fn run(&mut self, variant: &Variant, settings: &Settings) -> Outcome<Run> {
        self.client.execute(&format!("DROP TABLE IF EXISTS {}", self.copy))?;
        file_group::choose(self.client, variant)?;
        let waited = waits(self.client)?;
        let mark = LogMark::set(self.client)?;
        let cpu_before = self.target.server_cpu_seconds();
        let started = Instant::now();
        let done = self.client.execute(&format!(
            "SELECT * INTO {} FROM {} OPTION (MAXDOP {})",
            self.copy, self.source, variant.max_dop
        ))?;
        let seconds = started.elapsed().as_secs_f64();
        let cpu_after = self.target.server_cpu_seconds();
        let waits = match waited {
            Told::Value(before) => waits(self.client)?.map(|after| Wait::between(&before, &after)),
            unavailable => unavailable,
        };
        let log = mark.measure(self.client)?;
        let io = FileIo::all_since(mark.io(), file_io(self.client)?);
        if done.rows_affected != self.sent.rows {
            return Err(format!(
                "the server says that it copied {} rows of {}",
                done.rows_affected, self.sent.rows
            )
            .into());
        }
        file_group::choose_primary(self.client)?;
        if settings.plant_wrong_row {
            plant_wrong_row(self.client, self.copy, "id")?;
        }
        verify(self.client, self.copy, self.sent)?;
        Ok(Run {
            rows: self.sent.rows,
            seconds,
            server_cpu_seconds: cpu_before.zip(cpu_after).map(|(before, after)| after - before),
            space: space(self.client, self.copy)?,
            log,
            io,
            waits,
        })
    }
}
