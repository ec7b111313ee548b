//! A bulkwire server's own account of a load's logging. SQL Server has no such view.

use std::sync::{Mutex, MutexGuard, PoisonError};

use load::report::grouped;
use load::{Client, CommitWatch, CommittedBatch, RetryNote};
use serde_json::{Value as Json, json};
use tds::Value;

use crate::event_log::Batches;

/// Watches the loads of a command: notes commits for the message of an interruption, and asks each writer's session at its end how its
/// rows were logged.
#[derive(Default)]
pub struct LoadWatch {
    seen: Mutex<Seen>,
    batches: Batches,
}

#[derive(Default)]
struct Seen {
    /// Loads up to here are those of earlier files.
    last_load: i64,
    /// The last load that was heard of.
    newest_load: i64,
    logged: Vec<Logged>,
}

/// Batches of a load that were logged alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The number of batches.
    pub batches: i64,
    /// Rows of all of them.
    pub rows: i64,
    /// True if pages of rows were minimally logged.
    pub minimal: bool,
    /// Recovery model.
    pub model: String,
    /// Conditions of minimal logging that did not hold.
    pub failed: String,
}

impl CommitWatch for LoadWatch {
    fn begins(&self, rows: u64) {
        self.batches.begins(rows);
    }

    fn ended(&self, rows: u64, committed: bool) {
        self.batches.ended(rows, committed);
    }

    fn batch(&self, batch: &CommittedBatch) {
        self.batches.batch(batch);
    }

    fn tries_again(&self, number: u64, note: &RetryNote) {
        self.batches.tries_again(number, note);
    }

    fn writer_begins(&self) {
        self.batches.writer_begins();
    }

    fn writer_ends(&self, client: Option<&mut Client>) {
        self.batches.writer_ends(None);
        let Some(client) = client else { return };
        let last_load = self.lock().last_load;
        let (newest, logged) = logged_by(client, last_load);
        let mut seen = self.lock();
        seen.newest_load = seen.newest_load.max(newest);
        for logged in logged {
            seen.add(logged);
        }
    }
}

impl LoadWatch {
    /// Takes the reports of the writers' sessions since the last call; most batches first.
    pub fn take(&self) -> Vec<Logged> {
        let mut seen = self.lock();
        seen.last_load = seen.newest_load;
        let mut logged = std::mem::take(&mut seen.logged);
        logged.sort_by_key(|logged| std::cmp::Reverse(logged.batches));
        logged
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn add(&mut self, added: Logged) {
        let alike = self.logged.iter_mut().find(|logged| {
            logged.minimal == added.minimal && logged.model == added.model && logged.failed == added.failed
        });
        match alike {
            Some(logged) => {
                logged.batches = logged.batches.saturating_add(added.batches);
                logged.rows = logged.rows.saturating_add(added.rows);
            }
            None => self.logged.push(added),
        }
    }
}

/// Asks for the loads of this session behind number `last_load`, and the number of the last. None if the server has no
/// such view or does not answer: a load does not depend on it.
fn logged_by(client: &mut Client, last_load: i64) -> (i64, Vec<Logged>) {
    // The number of a session that has ended is given to another. Plain rows of one view are what a server answers without a
    // plan for joins and groups, which took longer than a small load.
    let query = format!(
        "IF OBJECT_ID(N'sys.dm_bulkwire_loads') IS NOT NULL BEGIN DECLARE @since datetime; \
         SELECT @since = login_time FROM sys.dm_exec_sessions WHERE session_id = @@SPID; \
         SELECT load_id, row_count, is_data_minimally_logged, recovery_model_desc, failed_conditions \
         FROM sys.dm_bulkwire_loads WHERE session_id = @@SPID AND command = 'INSERT BULK' AND load_id > {last_load} \
         AND start_time >= @since AND recovery_model_desc IS NOT NULL AND table_name NOT LIKE N'%#bulkwire[_]probe%' END"
    );
    let Ok(tables) = client.query_values(&query) else { return (0, Vec::new()) };
    let mut newest = 0;
    let mut all = Vec::new();
    for row in tables.iter().flat_map(|table| &table.rows) {
        let [load, rows, minimal, model, failed] = row.as_slice() else { continue };
        newest = newest.max(number(load));
        all.push(Logged {
            batches: 1,
            rows: number(rows),
            minimal: matches!(minimal, Value::Bit(true)),
            model: text(model),
            failed: text(failed),
        });
    }
    (newest, all)
}

impl Logged {
    /// Writes a line for people: `2 batches, 1,000 rows: minimally logged (SIMPLE)`.
    pub fn line(&self) -> String {
        let Self { batches, rows, minimal, model, failed } = self;
        let plural = if *batches == 1 { "" } else { "es" };
        let count = |number: i64| grouped(u64::try_from(number).unwrap_or(0));
        let how = match (minimal, failed.is_empty()) {
            (true, true) => "minimally logged".to_owned(),
            (true, false) => format!("rows minimally logged, indexes not: {}", reasons(failed)),
            (false, _) => format!("fully logged: {}", reasons(failed)),
        };
        let noun = if *rows == 1 { "row" } else { "rows" };
        format!("{} batch{plural}, {} {noun}, {model}: {how}", count(*batches), count(*rows))
    }

    /// Converts the figures of [the line](Self::line) to JSON, for programs.
    pub fn json(&self) -> Json {
        let failed: Vec<&str> = self.failed.split(", ").filter(|name| !name.is_empty()).collect();
        json!({
            "batches": self.batches,
            "rows": self.rows,
            "minimally_logged": self.minimal,
            "recovery_model": self.model,
            "failed_conditions": failed,
        })
    }
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => i64::from(*number),
        Value::BigInt(number) => *number,
        _ => 0,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}

/// Words the conditions of `sys.dm_bulkwire_loads`; an unknown one keeps its name.
fn reasons(failed: &str) -> String {
    let words = failed.split(", ").map(|name| match name {
        "RECOVERY_MODEL" => "the recovery model is FULL",
        "TABLE_LOCK" => "no TABLOCK",
        "EMPTY_TABLE" => "the table has an index and has held rows",
        "MANY_ROWS" => "too few rows for extents of their own",
        other => other,
    });
    words.collect::<Vec<_>>().join(", ")
}
