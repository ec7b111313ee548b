//! The server's figures of a load, as text and as JSON.

use load::report::{bytes, grouped};
use load::{Client, CommitWatch, LoadPlan, Observation, Observed};
use serde_json::{Value as Json, json};

/// Waits that are printed; JSON has all of them.
const WAITS_SHOWN: usize = 3;
/// A shorter file is loaded before there is anything to tell, and is not worth the questions.
const BYTES_MIN: u64 = 1 << 20;

/// Watches the load of files with this many bytes; `None` if the size is not known.
pub fn of<'a>(bytes_total: Option<u64>, inner: &'a dyn CommitWatch) -> Observation<'a> {
    Observation::new(inner, bytes_total.is_none_or(|bytes| bytes >= BYTES_MIN))
}

/// The target's database.
pub fn database(client: &Client, plan: &LoadPlan) -> String {
    match (&plan.table.database, plan.table.is_temporary()) {
        (_, true) => "tempdb".to_owned(),
        (Some(name), false) => name.clone(),
        (None, false) => client.database().to_owned(),
    }
}

/// Prints what the server says.
pub fn print(observed: &Observed, rows: u64) {
    lines(observed, rows).iter().for_each(|line| eprintln!("{line}"));
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
pub fn add_json(line: &mut Json, observed: &Observed) {
    let waits = observed.waits.as_ref().map(|waits| {
        waits.iter().map(|wait| {
            json!({ "wait_type": wait.wait_type, "count": wait.count, "milliseconds": wait.milliseconds })
        })
    });
    let writers = observed
        .writers
        .iter()
        .map(|change| json!({ "at_seconds": change.at.as_secs_f64(), "writers": change.writers }));
    if let Some(line) = line.as_object_mut() {
        line.insert("server_log_bytes".to_owned(), json!(observed.log_bytes));
        line.insert("server_waits".to_owned(), json!(waits.map(Iterator::collect::<Vec<_>>)));
        line.insert("writer_changes".to_owned(), writers.collect());
    }
}
