//! `bulkwire load`.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::{Field, Schema};
use formats::bcp::HostReader;
use formats::{Compression, CsvOptions, Format, InferredSchema, Location, RowLines};
use load::report::{grouped, row_words};
use load::{
    BatchTransaction, Client, CommitWatch, LoadError, LoadOptions, LoadPlan, LoadReport, RejectedRow,
    TableName, Tolerance, create_table_statement, roomy_length, roomy_schema,
};
use rows::mapping::{CreateOptions, StringType};
use rows::text::DateOrder;
use rows::{CastOptions, Mapping};
use serde_json::json;
use tds::{ColumnFlags, Value};

use crate::args::{Choice, LoadArgs, WriterCount};
use crate::failure::{FailedLoad, Failure};
use crate::host_file::HostLayout;
use crate::load_observation::Afterword;
use crate::loaded_file::{LoadedFile, Reader};
use crate::rejects::{Rejected, Rejects};
use crate::server_log::{Logged, ServerLog};
use crate::staged_load::{StagedLoad, Way};
use crate::{
    connection, file_format, forecast_command, interrupt, load_observation, parallel_load, progress, rejects,
    report_page, server_side,
};

/// Rows of a batch as it is read from a file.
const READ_BATCH_ROWS: usize = 65_536;

/// One file of the command line.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) kind: Kind,
    pub(crate) compression: Compression,
}

/// What a file is.
pub(crate) enum Kind {
    /// A file whose format has types or names.
    Typed(Format),
    /// A bcp file, which the table's columns describe.
    Host(HostLayout),
}

/// Refused rows that are shown; the file of `--rejects` has all of them.
pub(crate) const REJECTS_SHOWN_MAX: u64 = 10;

/// Loads the files one after another. `command` is what continues the load, if it breaks.
pub fn run(arguments: &LoadArgs, command: Option<String>) -> Result<Outcome, Failure> {
    let table: TableName =
        arguments.table.parse().map_err(|error: load::Error| Failure::Usage(error.to_string()))?;
    let way = Way::of(arguments)?;
    if arguments.server_side {
        return server_side::run(&table, arguments).map(|()| Outcome::Whole);
    }
    let mut sources =
        arguments.files.iter().map(|file| source(file, arguments)).collect::<Result<Vec<_>, _>>()?;
    for source in &sources {
        if let Kind::Typed(format) = &source.kind {
            file_format::look_at(&source.location, format, source.compression, &arguments.format)?;
        }
    }
    for later in sources.iter().skip(1) {
        check(later)?;
    }
    let mut client = connection::open(&arguments.connection)?;
    if arguments.writers.is_asked() {
        return parallel_load::run(&mut client, &table, sources, &way, arguments, command);
    }
    if !arguments.create {
        // A load that failed has no further use for its connection, unless the new table is to go again.
        client.close_failed_loads();
    }
    if arguments.create {
        for source in &mut sources {
            // The source is read twice: once to size the columns, once to load it.
            source.location = source.location.spool()?;
        }
        create(&mut client, &table, &sources, arguments)?;
    }
    let rejects = rejects(arguments)?;
    let mut refused_before = 0;
    let mut rows_before = rows_before(&mut client, &table, arguments)?;
    let mut staged = None;
    for (index, source) in sources.iter().enumerate() {
        let truncate = arguments.modes.truncates() && index == 0;
        let server_log = if arguments.dry_run { None } else { ServerLog::open(&mut client) };
        let way = (index == 0).then_some(&way);
        let target = Target { table: &table, truncate, rows_before, way };
        let loaded = load_file(&mut client, &target, &mut staged, source, arguments, rejects.as_ref());
        let loaded = loaded.map_err(|failure| given_up(&mut client, staged.as_ref(), failure));
        // Also after a failure: the refused rows are known.
        let refused = rejects.as_ref().map_or(0, Rejects::count);
        if let Some(rejects) = &rejects {
            rejects.finish().map_err(|source| rejects_failure(arguments, source))?;
        }
        if let Err(failure) = &loaded {
            show_failure(failure, arguments)?;
        }
        if let Err(failure) = &loaded
            && arguments.create
            && index == 0
            && loads_nothing(failure)
        {
            drop_again(&mut client, &table, arguments);
        }
        if let Some((report, afterword)) = loaded? {
            if staged.is_none() {
                interrupt::note_file(report.rows);
            }
            rows_before = rows_before.and_then(|rows| rows.checked_add(report.rows));
            let logged = server_log.map(|log| log.since(&mut client)).unwrap_or_default();
            show(&report, &afterword, &logged, refused - refused_before, source, arguments)?;
        }
        refused_before = refused;
    }
    if let Some(staged) = staged.as_ref().filter(|_| !arguments.dry_run) {
        let published = staged.publish(&mut client, arguments);
        published.map_err(|failure| staged.give_up(&mut client, failure))?;
    }
    Ok(if refused_before > 0 { Outcome::RowsRefused } else { Outcome::Whole })
}

/// A failure of a load, after its stage is gone if it had one.
fn given_up(client: &mut Client, staged: Option<&StagedLoad>, failure: Failure) -> Failure {
    match staged {
        Some(staged) => staged.give_up(client, failure),
        None => failure,
    }
}

/// Whether a load failed before the server could have had a row: by the file, a value, or the plan.
pub(crate) fn loads_nothing(failure: &Failure) -> bool {
    match failure {
        Failure::Plan { .. } | Failure::Format(_) => true,
        Failure::Load(load) => {
            let by_client = matches!(
                load.error.source,
                load::Error::Cell(_) | load::Error::Source(_) | load::Error::RejectLimit
            );
            by_client && load.error.rows_committed == 0
        }
        _ => false,
    }
}

/// Drops the table that `--create` made, if nothing is in it. A table left behind would stop the next try.
pub(crate) fn drop_again(client: &mut Client, table: &TableName, arguments: &LoadArgs) {
    let statement = format!("IF NOT EXISTS (SELECT * FROM {table}) DROP TABLE {table}");
    // The error to be reported is the load's.
    if client.execute(&statement).is_ok() && !arguments.quiet {
        eprintln!("note: {table} was made by --create and is dropped again, since no row was loaded");
    }
}

/// The result of a load that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every row is in the table.
    Whole,
    /// Rows were refused, but not more than allowed.
    RowsRefused,
}

/// Where refused rows go; nothing if the first one is to end the load.
pub(crate) fn rejects(arguments: &LoadArgs) -> Result<Option<Rejects>, Failure> {
    if !tolerates_rows(arguments) {
        return Ok(None);
    }
    let limit = match (arguments.max_errors, &arguments.rejects) {
        (Some(limit), _) => Some(limit),
        (None, Some(_)) => None,
        (None, None) => Some(0),
    };
    let opened = Rejects::open(arguments.rejects.as_ref(), limit);
    opened.map(Some).map_err(|source| rejects_failure(arguments, source))
}

/// Whether rows may be refused without ending the load at once.
fn tolerates_rows(arguments: &LoadArgs) -> bool {
    arguments.rejects.is_some() || arguments.max_errors.is_some() || arguments.bisect
}

pub(crate) fn rejects_failure(arguments: &LoadArgs, source: io::Error) -> Failure {
    let file = arguments.rejects.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    Failure::Rejects { file, source }
}

/// Opens a file and lets it go: one that is missing or of another kind is found before the table is touched. A pipe is
/// left alone, since it can be opened only once.
pub(crate) fn check(source: &Source) -> Result<(), Failure> {
    match &source.location {
        Location::Path(path) if path.is_file() || !path.exists() => {
            if let Kind::Typed(format) = &source.kind {
                formats::open(&source.location, format, source.compression, READ_BATCH_ROWS)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

pub(crate) fn source(file: &str, arguments: &LoadArgs) -> Result<Source, Failure> {
    let location = Location::source(file);
    let compression = file_format::compression(&location, &arguments.format);
    if let Some(layout) = HostLayout::of(&arguments.format)? {
        if arguments.create || arguments.max_row_bytes.is_some() {
            return Err(Failure::Usage("--create and --max-row-bytes are not for bcp's formats".to_owned()));
        }
        return Ok(Source { name: location.to_string(), location, kind: Kind::Host(layout), compression });
    }
    let format = file_format::of(&location, &arguments.format)?.0;
    let format = match (format, arguments.max_row_bytes) {
        (Format::Csv(options), Some(max_row_bytes)) => Format::Csv(CsvOptions { max_row_bytes, ..options }),
        (_, Some(_)) => return Err(Failure::Usage("--max-row-bytes is for CSV files only".to_owned())),
        (format, None) => format,
    };
    Ok(Source { name: location.to_string(), location, kind: Kind::Typed(format), compression })
}

pub(crate) fn create(
    client: &mut Client,
    table: &TableName,
    sources: &[Source],
    arguments: &LoadArgs,
) -> Result<(), Failure> {
    let typed: Option<Vec<_>> = sources
        .iter()
        .map(|source| match &source.kind {
            Kind::Typed(format) => Some((&source.location, format, source.compression)),
            Kind::Host(_) => None,
        })
        .collect();
    let typed = typed.unwrap_or_default();
    let Some((_, format, _)) = typed.first() else {
        return Err(Failure::Usage("--create needs a file that says what is in it".to_owned()));
    };
    // Rows that will be refused have no say in the columns.
    let measured = formats::measure_all(&typed, tolerates_rows(arguments))?;
    let schema = match format {
        Format::Csv(_) => roomy_schema(&measured.schema()),
        Format::Parquet(_) | Format::ArrowIpc(_) | Format::Host(_) => measured.schema(),
    };
    let without_vectors = client.server_info().vectors == 0;
    let statement = create_table_statement(table, &schema, |index, field| CreateOptions {
        without_vectors,
        ..create_options(&measured, index, field, arguments)
    })?;
    if !arguments.quiet {
        eprintln!("{statement}");
    }
    if !arguments.dry_run {
        change(client, &statement)?;
    } else {
        return Err(Failure::Usage(
            "--dry-run cannot plan a load into a table that is yet to be made".to_owned(),
        ));
    }
    Ok(())
}

/// Sized types: the measured length, rounded up so that a little growth fits.
fn create_options(
    measured: &InferredSchema,
    index: usize,
    _field: &Field,
    arguments: &LoadArgs,
) -> CreateOptions {
    let column = measured.columns.get(index);
    let longest = column.map(|column| column.max_binary_bytes.unwrap_or(column.max_utf16_units));
    CreateOptions {
        max_length: longest.map(roomy_length),
        strings: StringType::NVarChar,
        nested_as_json: arguments.nested_as_json,
        ..CreateOptions::default()
    }
}

/// Where a file goes.
struct Target<'a> {
    table: &'a TableName,
    /// It is emptied before.
    truncate: bool,
    /// Its rows, if they change by this command alone.
    rows_before: Option<u64>,
    /// How the first file comes into it; the others follow.
    way: Option<&'a Way>,
}

/// The table's rows, if nobody else changes them.
pub(crate) fn rows_before(
    client: &mut Client,
    table: &TableName,
    arguments: &LoadArgs,
) -> Result<Option<u64>, Failure> {
    if arguments.create || arguments.modes.truncates() {
        return Ok(Some(0));
    }
    if !arguments.sole_writer || arguments.dry_run {
        return Ok(None);
    }
    let counted = client.query_values(&format!("SELECT COUNT_BIG(*) FROM {table}"))?;
    let count = counted.first().and_then(|result| result.rows.first()).and_then(|row| row.first());
    Ok(count.and_then(|value| match value {
        Value::BigInt(rows) => u64::try_from(*rows).ok(),
        _ => None,
    }))
}

/// Runs a statement that comes with the load; the error names it.
pub(crate) fn change(client: &mut Client, statement: &str) -> Result<(), Failure> {
    let done = interrupt::during_statement(|| client.execute(statement));
    let named = |error| Failure::Statement { statement: statement.to_owned(), error: Box::new(error) };
    done.map(drop).map_err(named)
}

fn load_file(
    client: &mut Client,
    target: &Target<'_>,
    staged: &mut Option<StagedLoad>,
    source: &Source,
    arguments: &LoadArgs,
    rejects: Option<&Rejects>,
) -> Result<Option<(LoadReport, Afterword)>, Failure> {
    let &Target { table, truncate, rows_before, way } = target;
    let reader = open(client, table, source, arguments)?;
    let options = options(arguments, &source.kind);
    let unfit =
        |error| Failure::Plan { file: source.name.clone(), table: table.to_string(), error: Box::new(error) };
    let mut choices = Vec::new();
    if let Some(way) = way {
        (*staged, choices) = way
            .choose(client, table, &reader.schema(), &options, &load::Stage::new_load_id())
            .map_err(unfit)?;
    }
    if let Some(staged) = staged {
        staged.make(client, arguments)?;
        let mut plan = staged.plan(client, &reader.schema(), &options).map_err(unfit)?;
        plan.rows_before = None;
        return transfer(client, &plan, source, reader, arguments, rejects, true);
    }
    let mut plan = plan(client, table, source, &reader.schema(), &options)?;
    let empties = truncate && !arguments.dry_run;
    if empties {
        // Only now: a file that does not fit the table must not cost its rows.
        change(client, &format!("TRUNCATE TABLE {table}"))?;
    }
    let loaded = (|| {
        if empties {
            // The empty table has a plan of its own.
            plan = self::plan(client, table, source, &reader.schema(), &options)?;
        }
        plan.rows_before = rows_before;
        plan.choices.splice(1..1, choices);
        transfer(client, &plan, source, reader, arguments, rejects, false)
    })();
    loaded.map_err(|failure| match empties {
        true => Failure::Emptied { table: table.to_string(), failure: Box::new(failure) },
        false => failure,
    })
}

/// Loads the rows of a file as planned.
fn transfer(
    client: &mut Client,
    plan: &LoadPlan,
    source: &Source,
    mut reader: Reader,
    arguments: &LoadArgs,
    rejects: Option<&Rejects>,
    into_stage: bool,
) -> Result<Option<(LoadReport, Afterword)>, Failure> {
    if !arguments.quiet {
        eprintln!("{plan}");
    }
    if arguments.dry_run {
        if arguments.report.forecast {
            forecast_command::run(client, plan, &source.name, reader, arguments)?;
        }
        return Ok(None);
    }
    let forecast = forecast_command::beforehand(client, plan, source, arguments)?;
    let lines = reader.lines();
    let bytes_total = reader.bytes_total();
    let bar = progress::bar(&source.name, bytes_total, arguments.quiet);
    let read = Arc::new(AtomicU64::new(0));
    let encoding = reader.text_encoding();
    if rejects.is_some() {
        reader.collect_rejects();
    }
    reader.use_threads(formats::reading_threads(1));
    let batches = LoadedFile::new(&source.name, reader, Arc::clone(&read));
    let refuse = |row: RejectedRow| match rejects {
        Some(rejects) => {
            let line = lines.as_ref().and_then(|lines| lines.line_of_row(row.origin.row + 1));
            let rejected = Rejected { line, ..rejects::of_load(&source.name, encoding, &row) };
            if !arguments.quiet && rejects.count() < REJECTS_SHOWN_MAX {
                bar.suspend(|| eprintln!("refused: {}", described(&rejected)));
            }
            rejects.take(&rejected)
        }
        None => ControlFlow::Break(()),
    };
    let tolerance =
        Tolerance { reject: &refuse, bisect: arguments.bisect, keep: &|| Ok(()), keep_open_batch: false };
    let tolerance = rejects.map(|_| &tolerance);
    let (observation, expected) =
        load_observation::begin(client, plan, bytes_total, forecast, &(), arguments);
    observation.writer_begins();
    let loaded = load::load_tolerant(client, plan, batches, tolerance, &mut |progress| {
        observation.note(progress);
        if !into_stage {
            interrupt::note(progress);
        }
        bar.set_position(read.load(Ordering::Relaxed));
        let rows = progress.rows_committed.max(progress.rows_sent);
        bar.set_message(format!("{} {}", grouped(rows), row_words(rows).0));
    });
    bar.finish_and_clear();
    let loaded = loaded.map(|report| {
        observation.writer_ends(Some(client));
        let afterword = expected.end(client, observation, &report);
        Some((report, afterword))
    });
    loaded.map_err(|error| {
        let error = match into_stage {
            // What is in the stage is in no table.
            true => LoadError { rows_committed: 0, rows_in_doubt: 0, look: None, ..error },
            false => error,
        };
        let line = line_of(&error.source, lines.as_ref());
        Failure::Load(Box::new(FailedLoad { file: source.name.clone(), error, line }))
    })
}

pub(crate) fn plan(
    client: &mut Client,
    table: &TableName,
    source: &Source,
    schema: &Schema,
    options: &LoadOptions,
) -> Result<LoadPlan, Failure> {
    let unfit =
        |error| Failure::Plan { file: source.name.clone(), table: table.to_string(), error: Box::new(error) };
    let target = client.describe(table).map_err(unfit)?;
    LoadPlan::new(client, &target, schema, options).map_err(unfit)
}

/// The line of the file that a bad value's row starts in.
pub(crate) fn line_of(error: &load::Error, lines: Option<&RowLines>) -> Option<u64> {
    match error {
        load::Error::Cell(cell) => lines?.line_of_row(cell.row + 1),
        _ => None,
    }
}

/// Opens a file; one of bcp's formats has the table's columns, but for those that the server makes.
pub(crate) fn open(
    client: &mut Client,
    table: &TableName,
    source: &Source,
    arguments: &LoadArgs,
) -> Result<Reader, Failure> {
    let layout = match &source.kind {
        Kind::Typed(format) => {
            let reader = formats::open(&source.location, format, source.compression, READ_BATCH_ROWS)?;
            return Ok(Reader::typed(reader));
        }
        Kind::Host(layout) => layout,
    };
    let unfit =
        |error| Failure::Plan { file: source.name.clone(), table: table.to_string(), error: Box::new(error) };
    let target = client.describe(table).map_err(unfit)?;
    let columns = target.columns.iter().map(|column| column.column.clone()).collect();
    let mut host = layout.with_columns(Some(columns))?;
    for (number, column) in (1..).zip(&target.columns) {
        if column.is_computed || column.is_rowversion || (column.is_identity && !arguments.keep_identity) {
            host.format_file.skip_column(number);
        }
    }
    host.read.keep_raw_rows = arguments.rejects.is_some();
    // NULL where there is a default is the server's business.
    for (column, described) in host.columns.iter_mut().zip(&target.columns) {
        if described.has_default {
            column.flags.0 |= ColumnFlags::NULLABLE;
        }
    }
    let reader =
        HostReader::open(&source.location, source.compression, &host.format_file, &host.columns, &host.read)?;
    Ok(Reader::Host(Box::new(reader)))
}

pub(crate) fn options(arguments: &LoadArgs, kind: &Kind) -> LoadOptions {
    let has_names = match kind {
        Kind::Typed(format) => file_format::has_names(format),
        Kind::Host(_) => true,
    };
    let mapping = match (arguments.map.is_empty(), arguments.by_position || !has_names) {
        (false, _) => Mapping::Explicit(arguments.map.clone()),
        (true, true) => Mapping::ByPosition,
        (true, false) => Mapping::ByName,
    };
    LoadOptions {
        mapping,
        cast: CastOptions {
            allow_truncate: arguments.allow_truncate,
            allow_rounding: arguments.allow_rounding,
            replacement: arguments.replacement,
            nested_as_json: arguments.nested_as_json,
            drop_time_zone: arguments.drop_time_zone,
            date_order: arguments.date_order.map(DateOrder::from),
            ..CastOptions::default()
        },
        batch_rows: arguments.batch_rows,
        table_lock: arguments.table_lock.map(|choice| choice == Choice::On),
        keep_identity: arguments.keep_identity,
        keep_nulls: arguments.keep_nulls,
        check_constraints: arguments.check_constraints,
        fire_triggers: arguments.fire_triggers,
        transaction: match arguments.autocommit {
            true => BatchTransaction::Autocommit,
            false => BatchTransaction::Explicit,
        },
        order: arguments.order.clone(),
        ..LoadOptions::default()
    }
    .with_writers(match arguments.writers.writers {
        Some(WriterCount::Fixed(writers)) => Some(writers.into()),
        Some(WriterCount::Auto) => None,
        None => Some(1),
    })
}

/// A refused row for people.
pub(crate) fn described(rejected: &Rejected<'_>) -> String {
    let mut place = format!("{}, row {}", rejected.file, rejected.row);
    if let Some(line) = rejected.line {
        place += &format!(" (line {line})");
    }
    match (rejected.column, rejected.value) {
        (Some(column), Some(value)) => {
            format!("{place}, column {column:?}: {} (value: {value})", rejected.reason)
        }
        _ => format!("{place}: {}", rejected.reason),
    }
}

/// A load that failed, as `--json` has it.
pub(crate) fn show_failure(failure: &Failure, arguments: &LoadArgs) -> Result<(), Failure> {
    let Some(load) = failure.load() else { return Ok(()) };
    if !arguments.json {
        return Ok(());
    }
    let line = json!({
        "file": load.file,
        "error": load.error.to_string(),
        "rows_committed": load.error.rows_committed,
        "rows_in_doubt": load.error.rows_in_doubt,
    });
    writeln!(io::stdout(), "{line}").map_err(|source| Failure::Stream { stream: "output", source })
}

fn show(
    report: &LoadReport,
    afterword: &Afterword,
    logged: &[Logged],
    refused: u64,
    source: &Source,
    arguments: &LoadArgs,
) -> Result<(), Failure> {
    if arguments.report.report.is_some() {
        report_page::note(&report_page::Section {
            name: &source.name,
            load: report,
            afterword,
            writers: None,
            retries: &[],
            refused,
            logging: logged.iter().map(Logged::line).collect(),
        });
    }
    if arguments.json {
        let phases = report.phases;
        let mut line = json!({
            "file": source.name,
            "rows": report.rows,
            "rejected": refused,
            "batches": report.batches,
            "bytes_on_wire": report.bytes_on_wire,
            "seconds": report.elapsed.as_secs_f64(),
            "phase_seconds": {
                "read": phases.read.as_secs_f64(),
                "encode": phases.encode.as_secs_f64(),
                "send": phases.send.as_secs_f64(),
                "wait": phases.wait.as_secs_f64(),
            },
            "client_cpu_seconds": report.client_cpu.map(|cpu| cpu.as_secs_f64()),
            "messages": report.messages,
            "logging": logged.iter().map(Logged::json).collect::<Vec<_>>(),
        });
        load_observation::add_json(&mut line, afterword);
        writeln!(io::stdout(), "{line}").map_err(|source| Failure::Stream { stream: "output", source })?;
    } else if !arguments.quiet {
        eprintln!("{}: {report}", source.name);
        for logged in logged {
            eprintln!("logging: {}", logged.line());
        }
        load_observation::print(afterword, report.rows);
        if refused > 0 {
            let were = if refused == 1 { "row was" } else { "rows were" };
            eprintln!("{}: {} {were} refused", source.name, grouped(refused));
        }
    }
    Ok(())
}
