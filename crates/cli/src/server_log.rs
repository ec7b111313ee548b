//! How a bulkwire server logged this session's loads. SQL Server has no such view.

use load::Client;
use load::report::grouped;
use serde_json::{Value as Json, json};
use tds::Value;

/// The last load of a session, so that later loads can be distinguished.
pub struct ServerLog {
    last_load: i64,
}

/// Batches of a load that were logged alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// How many.
    pub batches: i64,
    /// Rows of all of them.
    pub rows: i64,
    /// Whether pages of rows were minimally logged.
    pub minimal: bool,
    /// Recovery model.
    pub model: String,
    /// Conditions of minimal logging that did not hold.
    pub failed: String,
}

impl ServerLog {
    /// Looks for the view. `None` if the server lacks it or does not answer, since a load does not depend on it.
    pub fn open(client: &mut Client) -> Option<ServerLog> {
        let found = client.query_values("SELECT OBJECT_ID(N'sys.dm_bulkwire_loads') AS id").ok()?;
        matches!(cell(&found, 0, 0)?, Value::Int(_)).then_some(())?;
        let last = client
            .query_values("SELECT CAST(MAX(load_id) AS bigint) AS last FROM sys.dm_bulkwire_loads")
            .ok()?;
        Some(ServerLog { last_load: number(cell(&last, 0, 0)?) })
    }

    /// The server's figures of the session's loads since then.
    pub fn since(&self, client: &mut Client) -> Vec<Logged> {
        let query = format!(
            "SELECT COUNT_BIG(*) AS batches, SUM(row_count) AS row_count, is_data_minimally_logged AS minimal, \
             recovery_model_desc AS model, failed_conditions AS failed FROM sys.dm_bulkwire_loads \
             WHERE session_id = @@SPID AND command = 'INSERT BULK' AND load_id > {} AND recovery_model_desc IS NOT NULL \
             AND table_name NOT LIKE N'%#bulkwire[_]probe%' \
             GROUP BY is_data_minimally_logged, recovery_model_desc, failed_conditions ORDER BY 1 DESC",
            self.last_load
        );
        let Ok(tables) = client.query_values(&query) else { return Vec::new() };
        let rows = tables.into_iter().flat_map(|table| table.rows);
        let logged = rows.filter_map(|row| {
            let [batches, rows, minimal, model, failed] = row.as_slice() else { return None };
            Some(Logged {
                batches: number(batches),
                rows: number(rows),
                minimal: matches!(minimal, Value::Bit(true)),
                model: text(model),
                failed: text(failed),
            })
        });
        logged.collect()
    }
}

impl Logged {
    /// A line for people: `2 batches, 1,000 rows: minimally logged (SIMPLE)`.
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

    /// The figures of [the line](Self::line) as JSON, for programs.
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

fn cell(tables: &[load::ValueTable], row: usize, column: usize) -> Option<&Value> {
    tables.first()?.rows.get(row)?.get(column)
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

/// The conditions of `sys.dm_bulkwire_loads` in words; what is not known here keeps its name.
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
