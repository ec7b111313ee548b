//! `bulkwire load`.

use copy::file_format;
use formats::{Finding, Format, InferredColumn, InferredSchema};
use load::report::grouped;
use load::{
    Beginning, Client, Ledger, LoadState, LoadWay, TableLoad, TableName, create_table_statement,
    roomy_length, roomy_schema, unsized_advice,
};
use rows::mapping::{CreateOptions, StringType};
use tds::Isolation;

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
    if arguments.text.types.is_some() && !arguments.create {
        return Err(Failure::Usage("--types is for the table that --create makes".to_owned()));
    }
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
    let is_rehearsal = arguments.create && arguments.dry_run;
    if is_rehearsal {
        // Only a table that is there can be planned for: it is made, and rolled back.
        client.begin(Isolation::Current)?;
    }
    let done = into_target(&mut client, &table, way, &mut sources, (ledger, arguments, beginning));
    if is_rehearsal && !client.is_broken() && client.in_transaction() {
        client.rollback()?;
    }
    done
}

/// What a load goes by beside its table and its files: the record of committed rows, the command line, and the retry rules.
type Rules<'a> = (Option<&'a Ledger>, &'a LoadArgs, Beginning<'a>);

/// Makes the table if it is to be made, and loads the files.
fn into_target(
    client: &mut Client,
    table: &TableName,
    way: LoadWay,
    sources: &mut [Source],
    (ledger, arguments, beginning): Rules<'_>,
) -> Result<Outcome, Failure> {
    let made = make_target(client, table, sources, arguments, &beginning);
    let made = made.map_err(Failure::before_rows)?;
    let is_made = made.is_some() && !arguments.dry_run;
    let rejects = ledger::open_rejects(sources, ledger, arguments)?;
    let rejects = rejects.as_ref();
    let is_alone = arguments.bulk.sole_writer || arguments.create;
    let mut load = TableLoad::new(table.clone(), way, ledger).alone(is_alone);
    let files = Files {
        table,
        sources,
        ledger,
        rejects,
        arguments,
        beginning,
        watch: LoadWatch::default(),
        unsized_advice: made.filter(|advice| !advice.is_empty()).map(|advice| advice.join("; ")),
    };
    let mut files_done = 0;
    let done = files.load(client, &mut load, &mut files_done);
    if let Err(failure) = done {
        if is_made && ledger.is_none() && files_done == 0 && loads_nothing(&failure) {
            drop_again(client, table, arguments);
        }
        return Err(given_up(client, &load, failure));
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
    if !arguments.create {
        return Ok(None);
    }
    for source in sources.iter_mut() {
        // The source is read twice: once to size the columns, once to load it.
        source.location = source.location.spool()?;
    }
    if exists {
        // The rows are read as they were when the table was made.
        return measure(sources, arguments).map(|_| None);
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
    sources: &mut [Source],
    arguments: &LoadArgs,
) -> Result<Vec<String>, Failure> {
    let (measured, is_text) = measure(sources, arguments)?;
    let schema = if is_text { roomy_schema(&measured.schema()) } else { measured.schema() };
    let without_vectors = client.server_info().vectors == 0;
    let statement = create_table_statement(table, &schema, |index, _| CreateOptions {
        without_vectors,
        ..create_options(&measured, index, arguments)
    })?;
    if !arguments.quiet {
        let script = load::creation_script(client, table, &statement)?;
        say!("{script}");
        for Finding { column, decision, reason } in measured.columns.iter().flat_map(InferredColumn::findings)
        {
            say!("note: column {column:?}: {decision}: {reason}");
        }
    }
    if let Some(schema) = load::create_schema_statement(client, table) {
        change(client, &schema)?;
    }
    change(client, &statement)?;
    let advice = schema.fields().iter().enumerate().filter_map(|(index, field)| {
        let longest = longest(&measured, index)?;
        unsized_advice(field, &create_options(&measured, index, arguments), longest)
    });
    Ok(advice.collect())
}

/// Reads the files for the types of their columns, and has text columns read as their values are spelled. True for text files.
fn measure(sources: &mut [Source], arguments: &LoadArgs) -> Result<(InferredSchema, bool), Failure> {
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
    let is_text = matches!(format, Format::Csv(_));
    if arguments.keep_text && !is_text {
        return Err(Failure::Usage("--keep-text is for text files; this one has types".to_owned()));
    }
    // Rows that will be refused have no say in the columns.
    let mut measured = formats::measure_all(&typed, tolerates_rows(arguments))?;
    if arguments.keep_text {
        measured = measured.into_text();
    }
    if let Some(types) = arguments.text.column_types()? {
        types.apply(&mut measured)?;
    }
    let readings = measured.readings();
    for source in sources {
        if let Kind::Typed(format) = &mut source.kind {
            *format = format.clone().with_readings(readings.clone());
        }
    }
    Ok((measured, is_text))
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
