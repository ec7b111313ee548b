//! Loads over several connections, with repeated tries, records in the database, and continuation.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use formats::{Encoding, Location, RowLines};
use indicatif::ProgressBar;
use load::report::grouped;
use load::{
    Client, Ledger, LedgerPlace, LoadIdentity, LoadPlan, LoadState, Observation, ParallelOptions,
    ParallelReport, ParallelSource, RejectedRow, RetryPolicy, SourceIdentity, Stage, TableName, Tolerance,
    Writers,
};
use serde_json::json;

use crate::args::{LoadArgs, WriterCount};
use crate::failure::{FailedLoad, Failure};
use crate::load_command::{self, Outcome, REJECTS_SHOWN_MAX, Source};
use crate::load_observation::Afterword;
use crate::loaded_file::{LoadedFile, Reader};
use crate::rejects::{Rejected, Rejects};
use crate::staged_load::{StagedLoad, Way};
use crate::{forecast_command, interrupt, load_observation, progress, rejects, report_page};

/// Time for which transient errors are tried again, if it is not given.
const RETRY_FOR: Duration = Duration::from_secs(300);

/// Loads all files as one load.
pub fn run(
    client: &mut Client,
    table: &TableName,
    mut sources: Vec<Source>,
    way: &Way,
    arguments: &LoadArgs,
    command: Option<String>,
) -> Result<Outcome, Failure> {
    let ledger = open_ledger(client, table, &sources, way, arguments, command)?;
    if let Some(ledger) = ledger.as_ref().filter(|ledger| ledger.state() == LoadState::Done) {
        show_done(ledger, &sources, arguments)?;
        return Ok(Outcome::Whole);
    }
    let ledger = ledger.as_ref();
    let rows_before = ledger.map_or(0, Ledger::rows_before);
    if rows_before > 0 && !arguments.quiet {
        eprintln!("load continues behind {} rows that are committed", grouped(rows_before));
    }
    let is_made = make_target(client, table, &mut sources, arguments)?;
    let done = load_all(client, table, &sources, way, ledger, arguments);
    if let Err(failure) = &done
        && is_made
        && ledger.is_none()
        && load_command::loads_nothing(failure)
    {
        load_command::drop_again(client, table, arguments);
    }
    done
}

/// Loads the files into the table, which is there.
fn load_all(
    client: &mut Client,
    table: &TableName,
    sources: &[Source],
    way: &Way,
    ledger: Option<&Ledger>,
    arguments: &LoadArgs,
) -> Result<Outcome, Failure> {
    let rejects = open_rejects(sources, ledger, arguments)?;
    let rejects = rejects.as_ref();
    let mut staged = None;
    let opened = open_all(client, table, sources, way, ledger, &mut staged, rejects.is_some(), arguments);
    let (mut files, readers) = match (opened, &staged, ledger) {
        (Err(failure), Some(staged), None) => return Err(staged.give_up(client, failure)),
        (opened, ..) => opened?,
    };
    let empties = arguments.modes.truncates() && ledger.is_none_or(|ledger| ledger.rows_before() == 0);
    if empties && !arguments.dry_run {
        // Only now: a file that does not fit the table must not cost its rows.
        load_command::change(client, &format!("TRUNCATE TABLE {table}"))?;
    }
    let done = (|| {
        if empties && !arguments.dry_run {
            // The empty table has plans of its own.
            for ((file, reader), source) in files.iter_mut().zip(&readers).zip(sources) {
                let options = load_command::options(arguments, &source.kind);
                file.plan = load_command::plan(client, table, source, &reader.schema(), &options)?;
            }
        }
        if ledger.is_none()
            && let Some(first) = files.first_mut()
        {
            first.plan.rows_before = load_command::rows_before(client, table, arguments)?;
        }
        load_opened(client, &files, readers, staged.as_ref(), ledger, rejects, arguments)
    })();
    done.map_err(|failure| match empties && !arguments.dry_run {
        true => Failure::Emptied { table: table.to_string(), failure: Box::new(failure) },
        false => failure,
    })
}

/// Opens the files, and plans each of them; a stage is made with the first.
#[expect(
    clippy::too_many_arguments,
    reason = "the arguments of load_all, and the stage, which outlives a failure"
)]
fn open_all<'a>(
    client: &mut Client,
    table: &TableName,
    sources: &'a [Source],
    way: &Way,
    ledger: Option<&Ledger>,
    staged: &mut Option<StagedLoad>,
    collects_rejects: bool,
    arguments: &LoadArgs,
) -> Result<(Vec<LoadedSource<'a>>, Vec<Reader>), Failure> {
    let mut files = Vec::new();
    let mut readers = Vec::new();
    for source in sources {
        let mut reader = load_command::open(client, table, source, arguments)?;
        reader.use_threads(formats::reading_threads(sources.len()));
        if collects_rejects {
            reader.collect_rejects();
        }
        let options = load_command::options(arguments, &source.kind);
        let mut choices = Vec::new();
        if files.is_empty() {
            let stage_id = ledger.map_or_else(Stage::new_load_id, |ledger| ledger.load_id().to_owned());
            let chosen = way.choose(client, table, &reader.schema(), &options, &stage_id);
            (*staged, choices) = chosen.map_err(|error| unfit(source, table, error))?;
        }
        let plan = match (staged.as_mut(), ledger) {
            (Some(staged), ledger) => {
                match ledger {
                    Some(ledger) => staged.make_or_continue(client, ledger, arguments)?,
                    None => staged.make(client, arguments)?,
                }
                staged
                    .plan(client, &reader.schema(), &options)
                    .map_err(|error| unfit(source, table, error))?
            }
            (None, _) => {
                let mut plan = load_command::plan(client, table, source, &reader.schema(), &options)?;
                plan.choices.splice(1..1, choices);
                plan
            }
        };
        let forecast = forecast_command::beforehand(client, &plan, source, arguments)?;
        files.push(LoadedSource {
            forecast,
            name: &source.name,
            plan,
            lines: reader.lines(),
            encoding: reader.text_encoding(),
            bytes_total: reader.bytes_total(),
            bytes_read: Arc::default(),
        });
        readers.push(reader);
    }
    Ok((files, readers))
}

/// Loads files that are open, and publishes their stage.
fn load_opened(
    client: &mut Client,
    files: &[LoadedSource<'_>],
    readers: Vec<Reader>,
    staged: Option<&StagedLoad>,
    ledger: Option<&Ledger>,
    rejects: Option<&Rejects>,
    arguments: &LoadArgs,
) -> Result<Outcome, Failure> {
    let retry = retry(arguments);
    let Some(first) = files.first() else { return Ok(Outcome::Whole) };
    let writers = writers(&first.plan, arguments);
    if !arguments.quiet {
        eprintln!("{}", shown_plan(&first.plan, writers, retry, ledger));
    }
    if arguments.dry_run {
        for (file, reader) in files.iter().zip(readers).filter(|_| arguments.report.forecast) {
            forecast_command::run(client, &file.plan, file.name, reader, arguments)?;
        }
        return Ok(Outcome::Whole);
    }
    let bytes_total = files.iter().map(|file| file.bytes_total).sum::<Option<u64>>();
    let forecast = files.iter().find_map(|file| file.forecast.clone());
    let (observation, expected) =
        load_observation::begin(client, &first.plan, bytes_total, forecast, &interrupt::Commits, arguments);
    let options = ParallelOptions {
        writers,
        retry,
        ledger,
        time_limit: arguments.writers.time_limit.map(|seconds| Duration::from_secs(seconds.into())),
        watch: &observation,
    };
    let loaded = transfer(client, files, readers, &options, &observation, rejects, arguments);
    let afterword = loaded.as_ref().ok().map(|report| expected.end(client, observation, &report.load));
    let afterword = &afterword.unwrap_or_default();
    // Also after a failure: the refused rows are known.
    if let Some(rejects) = rejects {
        rejects.finish().map_err(|source| load_command::rejects_failure(arguments, source))?;
    }
    if let Err(failure) = &loaded {
        load_command::show_failure(failure, arguments)?;
    }
    let refused = rejects.map_or(0, Rejects::count);
    match (staged, ledger, loaded) {
        (Some(staged), Some(ledger), loaded) => {
            let report = loaded?;
            show(&report, afterword, refused, Some(ledger), files, arguments)?;
            staged.publish_noted(client, ledger, retry, arguments)?;
        }
        (Some(staged), None, Ok(report)) => {
            show(&report, afterword, refused, ledger, files, arguments)?;
            let published = staged.publish(client, arguments);
            published.map_err(|failure| staged.give_up(client, failure))?;
        }
        (Some(staged), None, Err(failure)) => return Err(staged.give_up(client, failure)),
        (None, Some(ledger), loaded) => {
            let report = loaded?;
            ledger.finish(client, retry)?;
            show(&report, afterword, refused, Some(ledger), files, arguments)?;
        }
        (None, None, loaded) => show(&loaded?, afterword, refused, ledger, files, arguments)?,
    }
    Ok(if refused > 0 { Outcome::RowsRefused } else { Outcome::Whole })
}

fn unfit(source: &Source, table: &TableName, error: load::Error) -> Failure {
    Failure::Plan { file: source.name.clone(), table: table.to_string(), error: Box::new(error) }
}

/// A file that is loaded.
struct LoadedSource<'a> {
    name: &'a str,
    plan: LoadPlan,
    lines: Option<RowLines>,
    encoding: Option<Encoding>,
    bytes_total: Option<u64>,
    bytes_read: Arc<AtomicU64>,
    forecast: Option<load::Forecast>,
}

impl LoadedSource<'_> {
    /// Shows a refused row and writes it down.
    fn refuse(
        &self,
        row: &RejectedRow,
        rejects: &Rejects,
        bar: &ProgressBar,
        quiet: bool,
    ) -> ControlFlow<()> {
        let line = self.lines.as_ref().and_then(|lines| lines.line_of_row(row.origin.row + 1));
        let rejected = Rejected { line, ..rejects::of_load(self.name, self.encoding, row) };
        if !quiet && rejects.count() < REJECTS_SHOWN_MAX {
            bar.suspend(|| eprintln!("refused: {}", load_command::described(&rejected)));
        }
        rejects.take(&rejected)
    }
}

fn transfer(
    client: &mut Client,
    files: &[LoadedSource<'_>],
    readers: Vec<Reader>,
    options: &ParallelOptions<'_>,
    observation: &Observation<'_>,
    rejects: Option<&Rejects>,
    arguments: &LoadArgs,
) -> Result<ParallelReport, Failure> {
    let bytes_total = files.iter().map(|file| file.bytes_total).sum::<Option<u64>>();
    let bar = progress::bar(&label(files), bytes_total, arguments.quiet);
    let refuse: Vec<_> = files
        .iter()
        .map(|file| {
            let bar = &bar;
            move |row: RejectedRow| match rejects {
                Some(rejects) => file.refuse(&row, rejects, bar, arguments.quiet),
                None => ControlFlow::Break(()),
            }
        })
        .collect();
    let keep = || rejects.map_or(Ok(()), Rejects::keep);
    let tolerances: Vec<Tolerance<'_>> = refuse
        .iter()
        .map(|reject| Tolerance { reject, bisect: arguments.bisect, keep: &keep, keep_open_batch: false })
        .collect();
    let sources =
        files.iter().zip(readers).zip(&tolerances).map(|((file, reader), tolerance)| ParallelSource {
            plan: file.plan.clone(),
            tolerance: rejects.map(|_| tolerance),
            batches: Box::new(
                LoadedFile::new(file.name, reader, Arc::clone(&file.bytes_read))
                    .map(|batch| batch.map_err(load::BoxError::from)),
            ),
        });
    let loaded = load::load_parallel(client, sources.collect(), options, &mut |progress| {
        observation.note(progress);
        bar.set_position(files.iter().map(|file| file.bytes_read.load(Ordering::Relaxed)).sum());
        bar.set_message(format!("{} rows", grouped(progress.rows_committed.max(progress.rows_sent))));
    });
    bar.finish_and_clear();
    loaded.map_err(|error| {
        let file = error.batch.as_ref().and_then(|batch| files.get(batch.source)).or(files.first());
        let line = file.and_then(|file| load_command::line_of(&error.source, file.lines.as_ref()));
        let file = file.map_or_else(|| label(files), |file| file.name.to_owned());
        Failure::Load(Box::new(FailedLoad { file, error, line }))
    })
}

fn label(files: &[LoadedSource<'_>]) -> String {
    match files {
        [file] => file.name.to_owned(),
        files => format!("{} files", files.len()),
    }
}

fn retry(arguments: &LoadArgs) -> RetryPolicy {
    let patience =
        arguments.writers.retry_for.map_or(RETRY_FOR, |seconds| Duration::from_secs(seconds.into()));
    if patience.is_zero() { RetryPolicy::NONE } else { RetryPolicy::lasting(patience) }
}

/// How many connections load: as asked, or else as the target allows.
fn writers(plan: &LoadPlan, arguments: &LoadArgs) -> Writers {
    match arguments.writers.writers {
        Some(WriterCount::Fixed(writers)) => Writers::Fixed(writers.into()),
        Some(WriterCount::Auto) => Writers::Auto(plan.writers_max),
        None => Writers::Fixed(1),
    }
}

/// Enters the load into the ledger, if it is to be continued when it breaks.
fn open_ledger(
    client: &mut Client,
    table: &TableName,
    sources: &[Source],
    way: &Way,
    arguments: &LoadArgs,
    command: Option<String>,
) -> Result<Option<Ledger>, Failure> {
    let asked = &arguments.writers;
    if !asked.is_resumable() || arguments.dry_run {
        return Ok(None);
    }
    if arguments.autocommit {
        return Err(Failure::Usage(
            "--resume notes rows in the transaction that commits them: not with --autocommit".to_owned(),
        ));
    }
    let mut identities = Vec::new();
    for source in sources {
        let fingerprint = formats::fingerprint(&source.location)
            .map_err(|error| Failure::Unreadable { file: source.name.clone(), source: error })?;
        if fingerprint.is_none() && asked.load_id.is_none() {
            return Err(Failure::Usage(format!(
                "--resume cannot tell {} from another that is called so: name the load by --load-id",
                source.name
            )));
        }
        let name = full_name(source);
        identities.push(SourceIdentity { name, fingerprint: fingerprint.unwrap_or_default() });
    }
    let target = client.full_name(table)?;
    let load_id = match &asked.load_id {
        Some(name) => name.clone(),
        None => default_load_id(&target, &identities),
    };
    let identity = LoadIdentity {
        load_id,
        target,
        mode: way.words(),
        sources: identities,
        command: command.unwrap_or_default(),
    };
    let place = LedgerPlace::beside(table, &asked.ledger_schema);
    Ok(Some(Ledger::open(client, place, identity)?))
}

/// Table and files, shortened by a checksum where they are too long for a name.
fn default_load_id(target: &TableName, sources: &[SourceIdentity]) -> String {
    const LENGTH_MAX: usize = 128;
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    // Most servers do not tell capitals apart in names.
    let whole = format!("{} <- {}", target.to_string().to_lowercase(), names.join(", "));
    if whole.encode_utf16().count() <= LENGTH_MAX {
        return whole;
    }
    let checksum = formats::checksum_of(whole.as_bytes());
    let kept: String = whole.chars().take(LENGTH_MAX / 2).collect();
    format!("{kept}... {checksum:08x}")
}

/// A file's name from the root; the same file is then the same from every folder.
fn full_name(source: &Source) -> String {
    match &source.location {
        Location::Path(path) => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned()
        }
        _ => source.name.clone(),
    }
}

/// Makes the table if it is to be made, and says whether it was. A load that is continued finds the one that it has made.
fn make_target(
    client: &mut Client,
    table: &TableName,
    sources: &mut [Source],
    arguments: &LoadArgs,
) -> Result<bool, Failure> {
    let exists = arguments.create && arguments.writers.is_resumable() && client.describe(table).is_ok();
    if !arguments.create || exists {
        return Ok(false);
    }
    for source in sources.iter_mut() {
        // The source is read twice: once to size the columns, once to load it.
        source.location = source.location.spool()?;
    }
    load_command::create(client, table, sources, arguments)?;
    Ok(true)
}

/// The file of refused rows; one of an earlier run is continued.
fn open_rejects(
    sources: &[Source],
    ledger: Option<&Ledger>,
    arguments: &LoadArgs,
) -> Result<Option<Rejects>, Failure> {
    let (Some(ledger), Some(path)) = (ledger, &arguments.rejects) else {
        return load_command::rejects(arguments);
    };
    let committed: Vec<_> = (0..sources.len()).map(|source| ledger.committed_rows(source)).collect();
    let keeps = |file: &str, row: u64| {
        let index = sources.iter().position(|source| source.name == file);
        index.and_then(|index| committed.get(index)).is_some_and(|rows| rows.contains(row))
    };
    let opened = Rejects::reopen(path, arguments.max_errors, keeps);
    opened.map(Some).map_err(|source| load_command::rejects_failure(arguments, source))
}

/// The plan, with what is chosen for several connections in place of what stands for one.
fn shown_plan(plan: &LoadPlan, writers: Writers, retry: RetryPolicy, ledger: Option<&Ledger>) -> String {
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
fn show_done(ledger: &Ledger, sources: &[Source], arguments: &LoadArgs) -> Result<(), Failure> {
    let id = ledger.load_id();
    if arguments.json {
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        let line = json!({
            "file": names.join(", "),
            "done_before": true,
            "load_id": id,
            "rows": 0,
            "rows_committed_before": ledger.rows_before(),
        });
        print_json(&line)?;
    }
    if !arguments.quiet {
        eprintln!("load \"{id}\" is done already, and nothing was loaded; --load-id gives it another name");
    }
    Ok(())
}

fn print_json(line: &serde_json::Value) -> Result<(), Failure> {
    writeln!(io::stdout(), "{line}").map_err(|source| Failure::Stream { stream: "output", source })
}

fn show(
    report: &ParallelReport,
    afterword: &Afterword,
    refused: u64,
    ledger: Option<&Ledger>,
    files: &[LoadedSource<'_>],
    arguments: &LoadArgs,
) -> Result<(), Failure> {
    let name = label(files);
    if arguments.report.report.is_some() {
        report_page::note(&report_page::Section {
            name: &name,
            load: &report.load,
            afterword,
            writers: Some((report.writers, report.limit.to_string())),
            retries: &report.retry_notes,
            refused,
            logging: Vec::new(),
        });
    }
    if arguments.json {
        let phases = report.load.phases;
        let mut line = json!({
            "file": name,
            "done_before": false,
            "load_id": ledger.map(Ledger::load_id),
            "rows": report.load.rows,
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
        });
        load_observation::add_json(&mut line, afterword);
        print_json(&line)?;
    } else if !arguments.quiet {
        eprintln!("{name}: {report}");
        load_observation::print(afterword, report.load.rows);
        if refused > 0 {
            let were = if refused == 1 { "row was" } else { "rows were" };
            eprintln!("{name}: {} {were} refused", grouped(refused));
        }
    }
    Ok(())
}
