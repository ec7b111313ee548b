//! The output of a load before and after its rows: the plan, the report, and the end of its stage.

use load::report::grouped;
use load::stage::How;
use load::{Ledger, LoadError, LoadPlan, ParallelReport, Published, RetryPolicy, Writers};
use serde_json::json;

use crate::args::LoadArgs;
use crate::event_log;
use crate::failure::Failure;
use crate::json_report;
use crate::report_page;
use crate::server_log::Logged;
use crate::verbs::load::observation::{self, Afterword};

/// The terms of the writers' work, where the command line has options for it.
pub struct Terms<'a> {
    /// Connections.
    pub writers: Writers,
    /// The errors that are retried, and the time limit.
    pub retry: RetryPolicy,
    /// The record of committed rows.
    pub ledger: Option<&'a Ledger>,
}

/// The results of a load.
pub struct Loaded<'a> {
    /// The files.
    pub name: &'a str,
    /// The load itself.
    pub report: &'a ParallelReport,
    /// The observations and the forecast of the load.
    pub afterword: &'a Afterword,
    /// The server's logging of the load.
    pub logged: &'a [Logged],
    /// Rows that were refused.
    pub refused: u64,
    /// The ledger, if there is one.
    pub ledger: Option<&'a Ledger>,
}

/// Writes the plan, with the choices for several connections in place of those for one.
pub fn plan_text(plan: &LoadPlan, terms: &Terms<'_>) -> String {
    let &Terms { writers, retry, ledger } = terms;
    let mut shown = plan.clone();
    shown.choices.retain(|choice| choice.setting != "writers");
    let mut choose = |setting, value: String, reason: String| {
        shown.choices.push(load::Choice { setting, value, reason });
    };
    let (value, reason) = match writers {
        Writers::Fixed(writers) => (writers.to_string(), "as asked".to_owned()),
        Writers::Auto(1) => ("1".to_owned(), plan.writers_reason.to_owned()),
        Writers::Auto(most) => (
            format!("auto, up to {most}"),
            format!("{}; more are added while throughput rises", plan.writers_reason),
        ),
    };
    choose("writers", value, reason);
    match retry.patience.as_secs() {
        0 => choose("retry", "off".to_owned(), "as asked".to_owned()),
        seconds => choose("retry", format!("{seconds} s"), "transient errors are tried again".to_owned()),
    }
    match ledger {
        Some(ledger) => choose(
            "ledger",
            "on".to_owned(),
            format!("each batch notes its rows; load \"{}\"", ledger.load_id()),
        ),
        None => choose(
            "ledger",
            "off".to_owned(),
            "a commit whose answer is lost ends the load; --resume resolves it".to_owned(),
        ),
    }
    shown.to_string()
}

/// Says that there was nothing to do.
pub fn show_done(ledger: &Ledger, names: &[&str], arguments: &LoadArgs) {
    let id = ledger.load_id();
    let line = json!({
        "file": names.join(", "),
        "done_before": true,
        "load_id": id,
        "rows": 0,
        "rows_committed_before": ledger.rows_before(),
    });
    if arguments.json {
        json_report::print(&line);
    }
    event_log::write("loaded", line);
    if !arguments.quiet {
        say!("load \"{id}\" is done already, and nothing was loaded; --load-id gives it another name");
    }
}

/// Says what a load did. `is_asked`: the command line says something of writers, so that the report does too.
pub fn show(loaded: &Loaded<'_>, is_asked: bool, arguments: &LoadArgs) {
    let Loaded { name, report, afterword, logged, refused, .. } = *loaded;
    if arguments.report.report.is_some() {
        report_page::note(&report_page::Section {
            name,
            load: &report.load,
            afterword,
            writers: is_asked.then(|| (report.writers, report.limit.to_string())),
            retries: &report.retry_notes,
            refused,
            logging: logged.iter().map(Logged::line).collect(),
        });
    }
    if event_log::is_on() {
        event_log::write("loaded", report_json(loaded));
    }
    if arguments.json {
        json_report::print(&report_json(loaded));
    } else if !arguments.quiet {
        match is_asked {
            true => say!("{name}: {report}"),
            false => say!("{name}: {}", report.load),
        }
        for (message, count) in counted(&report.load.messages) {
            let times = if count == 1 { String::new() } else { format!(" ({} times)", grouped(count)) };
            say!("message: {message}{times}");
        }
        for logged in logged {
            say!("logging: {}", logged.line());
        }
        observation::print(afterword, report.load.rows);
        if refused > 0 {
            let were = if refused == 1 { "row was" } else { "rows were" };
            say!("{name}: {} {were} refused", grouped(refused));
        }
    }
}

/// Counts the different messages of the server, in the order of their first appearance.
fn counted(messages: &[String]) -> Vec<(&str, u64)> {
    let mut all: Vec<(&str, u64)> = Vec::new();
    for message in messages.iter().map(|message| message.trim_end()) {
        match all.iter_mut().find(|(known, _)| *known == message) {
            Some((_, count)) => *count += 1,
            None => all.push((message, 1)),
        }
    }
    all
}

/// Makes the report of a load.
fn report_json(loaded: &Loaded<'_>) -> serde_json::Value {
    let Loaded { name, report, afterword, logged, refused, ledger } = *loaded;
    let phases = report.load.phases;
    let mut line = json!({
        "file": name,
        "done_before": false,
        "load_id": ledger.map(Ledger::load_id),
        "rows": report.load.rows_stored(),
        "rows_ignored": report.load.rows_ignored,
        "rejected": refused,
        "batches": report.load.batches,
        "bytes_on_wire": report.load.bytes_on_wire,
        "seconds": report.load.elapsed.as_secs_f64(),
        "phase_seconds": {
            "read": phases.read.as_secs_f64(),
            "encode": phases.encode.as_secs_f64(),
            "send": phases.send.as_secs_f64(),
            "wait": phases.wait.as_secs_f64(),
        },
        "client_cpu_seconds": report.load.client_cpu.map(|cpu| cpu.as_secs_f64()),
        "messages": report.load.messages,
        "writers": report.writers,
        "writer_steps": report.steps.iter().map(|step| json!({
            "at_seconds": step.at.as_secs_f64(),
            "writers": step.writers,
            "bytes_per_second": step.bytes_per_second,
            "kept": step.kept,
        })).collect::<Vec<_>>(),
        "rows_committed_before": report.rows_skipped,
        "retries": report.retries,
        "retry_notes": report.retry_notes.iter().map(|note| json!({
            "at_seconds": note.at.as_secs_f64(),
            "writer": note.writer,
            "reason": note.reason,
            "error": note.error,
            "waited_seconds": note.waited.as_secs_f64(),
        })).collect::<Vec<_>>(),
        "limited_by": report.limit.to_string(),
        "logging": logged.iter().map(Logged::json).collect::<Vec<_>>(),
    });
    observation::add_json(&mut line, afterword);
    line
}

/// Says how a stage came into its table.
pub fn show_published(published: &Published, table: &str, mode: &str, arguments: &LoadArgs) {
    let how = match &published.how {
        How::Switched => "switch",
        How::Renamed { .. } => "rename",
        How::Merged | How::Directed => "merge",
        How::Inserted { .. } => "insert",
    };
    let line = json!({
        "table": table,
        "mode": mode,
        "published_by": how,
        "inserted": published.inserted,
        "updated": published.updated,
        "unchanged": published.unchanged,
    });
    if event_log::is_on() {
        event_log::write("published", line.clone());
    }
    if arguments.json {
        json_report::print(&line);
    } else if !arguments.quiet {
        say!("{table}: {published}");
    }
}

/// Prints a load that failed, as `--json` has it. A command line that is wrong is no load.
pub fn show_failure(failure: &Failure, arguments: &LoadArgs) {
    if failure.is_usage() {
        return;
    }
    let is_in_doubt = failure.is_in_doubt();
    let (file, error, committed, in_doubt) = match failure.load() {
        Some(load) => {
            let LoadError { rows_committed, rows_in_doubt, .. } = load.error;
            (load.file.clone(), load.error.to_string(), Some(rows_committed), Some(rows_in_doubt))
        }
        // The server's own batches are known to the server alone.
        None if arguments.server_side => {
            let has_batches = arguments.bulk.batch_rows.is_some();
            let committed = (!has_batches && !is_in_doubt).then_some(0);
            (arguments.files.join(", "), failure.to_string(), committed, (!is_in_doubt).then_some(0))
        }
        None => (arguments.files.join(", "), failure.to_string(), Some(0), Some(0)),
    };
    let line = json!({
        "file": file,
        "error": error,
        "rows_committed": committed,
        "rows_in_doubt": in_doubt,
        "in_doubt": is_in_doubt,
    });
    event_log::write("load_failed", line.clone());
    if arguments.json {
        json_report::print(&line);
    }
}
