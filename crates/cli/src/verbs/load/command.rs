//! `bulkwire load`.

use arrow::datatypes::DataType;
use copy::file_format;
use copy::hints::stands_for_null;
use formats::{Evidence, Format, InferredColumn, InferredSchema};
use load::report::grouped;
use load::{
    Beginning, Client, Ledger, LoadState, TableLoad, TableName, create_table_statement, roomy_length,
    roomy_schema, unsized_advice,
};
use rows::mapping::{CreateOptions, StringType};

use crate::args::LoadArgs;
use crate::connection;
use crate::event_log::warns;
use crate::failure::Failure;
use crate::server_log::LoadWatch;
use crate::verbs::load::files::Files;
use crate::verbs::load::source::{Kind, Source, change, check, sources, tolerates_rows};
use crate::verbs::load::{ledger, options, report, server_side, way};

/// Loads the files. `command` is what continues the load, if it breaks. A failure has been said to programs that read the report.
pub fn run(arguments: &LoadArgs, command: Option<String>) -> Result<Outcome, Failure> {
    let done = load(arguments, command);
    if let Err(failure) = &done {
        report::show_failure(failure, arguments);
    }
    done
}

fn load(arguments: &LoadArgs, command: Option<String>) -> Result<Outcome, Failure> {
    let table: TableName =
        arguments.table.parse().map_err(|error: load::Error| Failure::Usage(error.to_string()))?;
    refuse_temporary(&table, arguments.create)?;
    let way = way::of(arguments)?;
    if arguments.server_side {
        return server_side::run(&table, arguments).map(|()| Outcome::Whole);
    }
    let mut sources = sources(arguments)?;
    for source in &sources {
        if let Kind::Typed(format) = &source.kind {
            let (location, compression) = (&source.location, source.compression);
            file_format::look_at(location, format, compression, &arguments.format, warns)?;
        }
    }
    for later in sources.iter().skip(1) {
        check(later)?;
    }
    let hears = |error: &load::Error| {
        if !arguments.quiet {
            options::hears(error);
        }
    };
    let beginning = Beginning { retry: arguments.writers.retry(), hears: &hears };
    let mut client = connection::open_by(&arguments.connection, &beginning)?;
    let ledger = ledger::open(&mut client, &table, &sources, &way, arguments, command, &beginning);
    let ledger = ledger.map_err(Failure::before_rows)?;
    let ledger = ledger.as_ref();
    if let Some(ledger) = ledger.filter(|ledger| ledger.state() == LoadState::Done) {
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        report::show_done(ledger, &names, arguments);
        return Ok(Outcome::Whole);
    }
    let rows_before = ledger.map_or(0, Ledger::rows_before);
    if rows_before > 0 && !arguments.quiet {
        say!("load continues behind {} rows that are committed", grouped(rows_before));
    }
    if !arguments.create && !arguments.writers.is_asked() {
        // A load that failed has no further use for its connection, unless the new table is to go again.
        client.close_failed_loads();
    }
    let made = make_target(&mut client, &table, &mut sources, arguments, &beginning);
    let made = made.map_err(Failure::before_rows)?;
    let is_made = made.is_some();
    let rejects = ledger::open_rejects(&sources, ledger, arguments)?;
    let rejects = rejects.as_ref();
    let is_alone = arguments.bulk.sole_writer || arguments.create;
    let mut load = TableLoad::new(table.clone(), way, ledger).alone(is_alone);
    let files = Files {
        table: &table,
        sources: &sources,
        ledger,
        rejects,
        arguments,
        beginning,
        watch: LoadWatch::default(),
        unsized_advice: made.filter(|advice| !advice.is_empty()).map(|advice| advice.join("; ")),
    };
    let mut files_done = 0;
    let done = files.load(&mut client, &mut load, &mut files_done);
    if let Err(failure) = done {
        if is_made && ledger.is_none() && files_done == 0 && loads_nothing(&failure) {
            drop_again(&mut client, &table, arguments);
        }
        return Err(given_up(&mut client, &load, failure));
    }
    Ok(if rejects.is_some_and(|rejects| rejects.count() > 0) { Outcome::RowsRefused } else { Outcome::Whole })
}

/// Refuses a table that ends with the connection of this command: nobody would ever see its rows.
fn refuse_temporary(table: &TableName, is_made: bool) -> Result<(), Failure> {
    let is_shared = table.name.starts_with("##") && !is_made;
    match table.is_temporary() && !is_shared {
        true => Err(Failure::Usage(format!(
            "{table} is a temporary table: it ends with the connection of this command, and its rows with it"
        ))),
        false => Ok(()),
    }
}

/// Drops the stage of a failed load, and adds to the failure what the load has done to the table.
fn given_up(client: &mut Client, load: &TableLoad<'_>, failure: Failure) -> Failure {
    if let Some(table) = load.staged_target().filter(|_| !load.is_noted()) {
        if failure.is_in_doubt() {
            return failure;
        }
        let left = load.give_up(client, false).map(|stage| stage.to_string());
        return Failure::Staged { table: table.to_string(), left, failure: Box::new(failure) };
    }
    match load.has_emptied() {
        true => Failure::Emptied { table: load.table().to_string(), failure: Box::new(failure) },
        false => failure,
    }
}

/// Makes the table if it is to be made, and then says which of its (max) columns could have a length. A load that is continued
/// finds the one that it has made.
fn make_target(
    client: &mut Client,
    table: &TableName,
    sources: &mut [Source],
    arguments: &LoadArgs,
    beginning: &Beginning<'_>,
) -> Result<Option<Vec<String>>, Failure> {
    let exists = match arguments.create && arguments.writers.is_resumable() {
        true => match beginning.run(client, &mut |client| client.describe(table)) {
            Ok(_) => true,
            Err(load::Error::NoTable { .. }) => false,
            Err(error) => return Err(error.into()),
        },
        false => false,
    };
    if !arguments.create || exists {
        return Ok(None);
    }
    for source in sources.iter_mut() {
        // The source is read twice: once to size the columns, once to load it.
        source.location = source.location.spool()?;
    }
    create(client, table, sources, arguments).map(Some)
}

/// Returns true if a load failed before the server could have had a row: by the file, a value, or the plan.
fn loads_nothing(failure: &Failure) -> bool {
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
fn drop_again(client: &mut Client, table: &TableName, arguments: &LoadArgs) {
    let statement = format!("IF NOT EXISTS (SELECT * FROM {table}) DROP TABLE {table}");
    // The error to be reported is the load's.
    if client.execute(&statement).is_ok() && !arguments.quiet {
        say!("note: {table} was made by --create and is dropped again, since no row was loaded");
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

fn create(
    client: &mut Client,
    table: &TableName,
    sources: &[Source],
    arguments: &LoadArgs,
) -> Result<Vec<String>, Failure> {
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
    let measured = match (arguments.keep_text, format) {
        (true, Format::Csv(_)) => measured.into_text(),
        (true, _) => {
            return Err(Failure::Usage("--keep-text is for text files; this one has types".to_owned()));
        }
        (false, _) => measured,
    };
    let schema = match format {
        Format::Csv(_) => roomy_schema(&measured.schema()),
        Format::Parquet(_) | Format::ArrowIpc(_) | Format::Host(_) => measured.schema(),
    };
    let without_vectors = client.server_info().vectors == 0;
    let statement = create_table_statement(table, &schema, |index, _| CreateOptions {
        without_vectors,
        ..create_options(&measured, index, arguments)
    })?;
    if !arguments.quiet {
        say!("{statement}");
        measured.columns.iter().filter_map(fell_to_text).for_each(|note| say!("note: {note}"));
    }
    if !arguments.dry_run {
        change(client, &statement)?;
    } else {
        return Err(Failure::Usage(
            "--dry-run cannot plan a load into a table that is yet to be made".to_owned(),
        ));
    }
    let advice = schema.fields().iter().enumerate().filter_map(|(index, field)| {
        let longest = longest(&measured, index)?;
        unsized_advice(field, &create_options(&measured, index, arguments), longest)
    });
    Ok(advice.collect())
}

/// Words the value that made a column text instead of another type, with the reason.
fn fell_to_text(column: &InferredColumn) -> Option<String> {
    let evidence = column.evidence.as_ref()?;
    if *column.field.data_type() != DataType::Utf8 {
        return None;
    }
    let Evidence { value, row, file, before } = evidence;
    let why = why_text(value);
    let place = if *file > 0 { format!("row {row} of file {}", file + 1) } else { format!("row {row}") };
    let reason = why.map(|why| format!(" ({why})")).unwrap_or_default();
    match before.as_deref().filter(|before| *before != "text") {
        Some(before) => Some(format!(
            "column \"{}\" is text because of {place}: {value:?}{reason}; it was {before} until then",
            column.name
        )),
        None => why.map(|why| format!("column \"{}\" is text: {why} ({place}: {value:?})", column.name)),
    }
}

/// Says why a value that looks like a number or a date is none.
fn why_text(value: &str) -> Option<&'static str> {
    let trimmed = value.trim();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = trimmed.trim_start_matches(['-', '+']);
    let is_number = |text: &str| text.split(['.', ',']).all(digits);
    if stands_for_null(trimmed) {
        return Some("--null-text says which text stands for NULL");
    }
    if !trimmed.starts_with(|c: char| c.is_ascii_digit() || "-+$€£.".contains(c)) {
        return None;
    }
    let parts: Vec<&str> = trimmed.split(['/', '.', '-']).collect();
    if let [first, second, year] = parts.as_slice()
        && [first, second, year].iter().all(|part| digits(part))
        && matches!((first.len(), second.len(), year.len()), (1..=2, 1..=2, 2 | 4) | (4, 1..=2, 1..=2))
    {
        return Some("a date that is not yyyy-mm-dd; a date column takes it, with --date-order");
    }
    if trimmed != value {
        return Some("blanks around it");
    }
    if digits(unsigned) && unsigned.len() > 1 && unsigned.starts_with('0') {
        return Some("leading zeros");
    }
    if trimmed.starts_with('+') && is_number(unsigned) {
        return Some("a plus sign");
    }
    if trimmed.starts_with(['$', '€', '£']) {
        return Some("a currency sign");
    }
    if trimmed.strip_suffix('%').is_some_and(|rest| is_number(rest.trim_start_matches('-'))) {
        return Some("a percent sign");
    }
    (unsigned.contains(',') && is_number(unsigned)).then_some("a comma in a number")
}

/// Returns the measured length of a column's longest value, in the units of its type.
fn longest(measured: &InferredSchema, index: usize) -> Option<u64> {
    let column = measured.columns.get(index)?;
    Some(column.max_binary_bytes.unwrap_or(column.max_utf16_units))
}

/// Makes sized types: the measured length, rounded up so that a little growth fits.
fn create_options(measured: &InferredSchema, index: usize, arguments: &LoadArgs) -> CreateOptions {
    CreateOptions {
        max_length: longest(measured, index).map(roomy_length),
        strings: StringType::NVarChar,
        nested_as_json: arguments.conversions.nested_as_json,
        ..CreateOptions::default()
    }
}
