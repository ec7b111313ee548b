//! The figures of a load, as text, as JSON and for the page of `--report`.

use load::report::{bytes, grouped};
use load::{
    Choice, Client, CommitWatch, Forecast, LoadPlan, LoadReport, Observation, Observed, literal, quoted,
};
use serde_json::{Value as Json, json};
use tds::Value;

use crate::args::LoadArgs;

/// Waits that are printed; JSON has all of them.
const WAITS_SHOWN: usize = 3;
/// A shorter file is loaded before there is anything to tell, and is not worth the questions.
const BYTES_MIN: u64 = 1 << 20;

/// The observations of a load, beside its plan and forecast.
#[derive(Debug, Default)]
pub struct Afterword {
    pub observed: Observed,
    /// The target.
    pub table: String,
    pub choices: Vec<Choice>,
    pub forecast: Option<Forecast>,
    /// The number of pages by which the table and its indexes grew, if that was forecast; all of them, if the table was
    /// empty.
    pub pages_grown: Option<u64>,
}

/// The facts about a load that are known before it, for the observation and the report.
pub struct Expected<'a> {
    database: String,
    plan: &'a LoadPlan,
    forecast: Option<Forecast>,
    pages_before: Option<u64>,
}

/// Begins to watch the load of files of so many bytes; `None`: it is not known how many.
pub fn begin<'a>(
    client: &mut Client,
    plan: &'a LoadPlan,
    bytes_total: Option<u64>,
    forecast: Option<Forecast>,
    inner: &'a dyn CommitWatch,
    arguments: &LoadArgs,
) -> (Observation<'a>, Expected<'a>) {
    let asks = arguments.report.report.is_some() || bytes_total.is_none_or(|bytes| bytes >= BYTES_MIN);
    let mut observation = Observation::new(inner, asks);
    let database = database(client, plan);
    let pages_before = forecast.as_ref().and_then(|_| pages_before(client, plan));
    observation.begin(client, &database);
    (observation, Expected { database, plan, forecast, pages_before })
}

impl Expected<'_> {
    /// Ends with the load.
    pub fn end(self, client: &mut Client, observation: Observation<'_>, report: &LoadReport) -> Afterword {
        let observed = observation.end(client, &self.database, report);
        let pages = self.pages_before.and_then(|before| used_pages(client, self.plan)?.checked_sub(before));
        Afterword {
            observed,
            table: self.plan.table.to_string(),
            choices: self.plan.choices.clone(),
            forecast: self.forecast,
            pages_grown: pages,
        }
    }
}

/// Returns the target's database.
fn database(client: &Client, plan: &LoadPlan) -> String {
    match (&plan.table.database, plan.table.is_temporary()) {
        (_, true) => "tempdb".to_owned(),
        (Some(name), false) => name.clone(),
        (None, false) => client.database().to_owned(),
    }
}

/// Pages of the target and its indexes before its load: an empty table's own are part of what is forecast.
fn pages_before(client: &mut Client, plan: &LoadPlan) -> Option<u64> {
    let pages = used_pages(client, plan)?;
    let has_rows = client.query_values(&format!("SELECT TOP 1 1 FROM {}", plan.table)).ok()?;
    Some(if has_rows.first()?.rows.is_empty() { 0 } else { pages })
}

/// Pages of the target and its indexes; `None` if the server does not tell.
fn used_pages(client: &mut Client, plan: &LoadPlan) -> Option<u64> {
    let database = plan.table.database.as_ref().map(|name| format!("{}.", quoted(name))).unwrap_or_default();
    let sql = format!(
        "SELECT SUM(used_page_count) FROM {database}sys.dm_db_partition_stats WHERE object_id = OBJECT_ID({})",
        literal(&plan.table.to_string())
    );
    match client.query_values(&sql).ok()?.first()?.rows.first()?.first()? {
        Value::BigInt(pages) => u64::try_from(*pages).ok(),
        Value::Int(pages) => u64::try_from(*pages).ok(),
        _ => None,
    }
}

/// Prints what the server says.
pub fn print(afterword: &Afterword, rows: u64) {
    lines(&afterword.observed, rows).iter().for_each(|line| say!("{line}"));
    let truth = afterword.observed.log_bytes;
    if let Some(forecast) = &afterword.forecast {
        let pages = afterword.pages_grown.map_or_else(|| "not known".to_owned(), grouped);
        let log = truth.map_or_else(|| "not known".to_owned(), |log| bytes(log as f64));
        say!(
            "forecast: {} pages (truth {pages}), log {} (truth {log})",
            grouped(forecast.pages()),
            bytes(forecast.log_bytes as f64)
        );
    }
}

fn lines(observed: &Observed, rows: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(logged) = observed.log_bytes {
        let each = match rows {
            0 => String::new(),
            rows => format!(", {:.0} bytes a row", logged as f64 / rows as f64),
        };
        lines.push(format!(
            "server log: {}{each}, with what others logged in the database",
            bytes(logged as f64)
        ));
    }
    if let Some(waits) = &observed.waits {
        let longest = waits.iter().take_while(|wait| wait.milliseconds > 0).take(WAITS_SHOWN);
        let longest: Vec<String> = longest
            .map(|wait| {
                format!("{} {} ms ({})", wait.wait_type, grouped(wait.milliseconds), grouped(wait.count))
            })
            .collect();
        let shown = if longest.is_empty() { "none of a millisecond".to_owned() } else { longest.join(", ") };
        lines.push(format!("server waits: {shown}"));
    }
    lines
}

/// Adds what the server says to the report of a load.
pub fn add_json(line: &mut Json, afterword: &Afterword) {
    let observed = &afterword.observed;
    let waits = observed.waits.as_ref().map(|waits| {
        waits.iter().map(
            |wait| json!({ "wait_type": wait.wait_type, "count": wait.count, "milliseconds": wait.milliseconds }),
        )
    });
    let writers = observed
        .writers
        .iter()
        .map(|change| json!({ "at_seconds": change.at.as_secs_f64(), "writers": change.writers }));
    if let Some(line) = line.as_object_mut() {
        line.insert("server_log_bytes".to_owned(), json!(observed.log_bytes));
        line.insert("server_waits".to_owned(), json!(waits.map(Iterator::collect::<Vec<_>>)));
        line.insert("writer_changes".to_owned(), writers.collect());
        if let Some(forecast) = &afterword.forecast {
            line.insert("forecast".to_owned(), crate::verbs::load::forecast::as_json(forecast));
            line.insert("pages_grown".to_owned(), json!(afterword.pages_grown));
        }
    }
}
