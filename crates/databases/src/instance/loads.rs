//! Recent loads: number of tasks, logging, and reasons (`sys.dm_bulkwire_loads`).

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::Mutex;
use query::SerialReason;

use crate::catalogue::TableDefinition;
use crate::storage::LoadLogging;

/// Loads that are remembered.
const LOADS_MAX: usize = 1000;

/// A load that has ended well.
#[derive(Clone, Debug)]
pub struct FinishedLoad {
    /// Number of the load from 1, in the order in which loads ended.
    pub id: i64,
    /// Id of the session.
    pub spid: u16,
    /// Name of the database of the table.
    pub database: String,
    /// `object_id` of the table.
    pub object_id: i32,
    /// The table as `schema.name`.
    pub table: String,
    /// Statement of the load: `INSERT BULK`, `BULK INSERT`, `INSERT SELECT` or `SELECT INTO`.
    pub command: &'static str,
    /// Ticks of 100 ns since 0001-01-01 UTC when it began.
    pub began: i64,
    /// Duration of the load, in ticks of 100 ns.
    pub took: i64,
    /// Way in which the rows were written.
    pub writing: Writing,
}

/// Way in which the rows of a load were written.
#[derive(Clone, Debug)]
pub struct Writing {
    /// Number of rows.
    pub rows: u64,
    /// Tasks that wrote them.
    pub degree: usize,
    /// Reason why a single task wrote the rows.
    pub serial: Option<SerialReason>,
    /// Pages that were minimally logged; None: the table's store has no minimal logging.
    pub logging: Option<LoadLogging>,
    /// Storing of wire rows; None if the rows came from a query or a file.
    pub wire: Option<WireNote>,
}

/// Storing of the rows of an INSERT BULK.
#[derive(Clone, Debug)]
pub struct WireNote {
    /// Rows that were copied into pages.
    pub copied: u64,
    /// Reason why the other rows were decoded; None: all rows were copied.
    pub reason: Option<&'static str>,
}

impl Writing {
    /// Returns true if `sys.dm_bulkwire_loads` lists the load. A query's few rows that are added row by row,
    /// without TABLOCK, are not a load.
    pub fn is_load(&self, table_lock: bool) -> bool {
        use crate::storage::LoggingCondition::ManyRows;
        let row_by_row = self.logging.as_ref().is_none_or(|logging| logging.failed.contains(&ManyRows));
        table_lock || !row_by_row
    }
}

/// The loads that ended last.
#[derive(Debug, Default)]
pub struct RecentLoads(Mutex<(i64, VecDeque<FinishedLoad>)>);

impl RecentLoads {
    /// Lists the loads, oldest first.
    pub fn all(&self) -> Vec<FinishedLoad> {
        self.0.lock().1.iter().cloned().collect()
    }

    /// Returns the last load of a session.
    pub fn last_of(&self, spid: u16) -> Option<FinishedLoad> {
        self.0.lock().1.iter().rev().find(|load| load.spid == spid).cloned()
    }

    /// Adds one, and gives it its number.
    pub fn add(&self, mut load: FinishedLoad) {
        let (last, loads) = &mut *self.0.lock();
        *last += 1;
        load.id = *last;
        if loads.len() == LOADS_MAX {
            loads.pop_front();
        }
        loads.push_back(load);
    }
}

/// A load under way.
#[derive(Clone, Debug)]
pub struct LoadClock {
    /// Id of the session.
    pub spid: u16,
    /// Statement of the load, as in [`FinishedLoad::command`].
    pub command: &'static str,
    /// Ticks of 100 ns since 0001-01-01 UTC when it began.
    pub began: i64,
    /// The same moment for its duration, which no change of the clock alters.
    pub since: Instant,
}

impl LoadClock {
    /// Returns the load as it is remembered now that it has ended.
    pub fn finished(&self, table: &TableDefinition, writing: Writing) -> FinishedLoad {
        FinishedLoad {
            id: 0,
            spid: self.spid,
            database: table.database.clone(),
            object_id: table.object_id,
            table: table.qualified_name(),
            command: self.command,
            began: self.began,
            took: i64::try_from(self.since.elapsed().as_nanos() / 100).unwrap_or(i64::MAX),
            writing,
        }
    }
}

impl FinishedLoad {
    /// Writes the message of SET STATISTICS BULK ON.
    pub fn message(&self) -> String {
        let Writing { rows, degree, serial, logging, .. } = &self.writing;
        let mut text = format!("Load of {rows} rows into '{}' by {degree} task", self.table);
        text.push_str(if *degree == 1 { "" } else { "s" });
        if let Some(serial) = serial {
            text.push_str(&format!(" ({})", serial.name()));
        }
        match logging {
            None => text.push_str("; its store has no minimal logging."),
            Some(logging) => {
                let how = |minimal| if minimal { "minimally" } else { "fully" };
                text.push_str(&format!("; data pages {} logged", how(logging.data_pages)));
                if logging.index_pages != logging.data_pages {
                    text.push_str(&format!(", index pages {} logged", how(logging.index_pages)));
                }
                let reasons: Vec<&str> = logging.failed.iter().map(|condition| condition.reason()).collect();
                if !reasons.is_empty() {
                    text.push_str(&format!(": {}", reasons.join("; ")));
                }
                text.push('.');
            }
        }
        text
    }
}
