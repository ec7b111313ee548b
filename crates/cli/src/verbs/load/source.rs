//! The files of a command line: what they are, how they are opened, and what options say of their rows.

use std::io;

use formats::bcp::HostReader;
use formats::objects::is_object_url;
use formats::{Compression, CsvOptions, Format, Location, RowLines};
use load::{Client, LoadOptions, TableName};
use rows::Mapping;
use tds::{ColumnFlags, Value};

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::interrupt;
use copy::loaded_file::Reader;
use copy::rejects::Rejects;
pub(crate) use copy::rejects::{REJECTS_SHOWN_MAX, described};
use copy::{HostLayout, file_format};

/// Rows of a batch as it is read from a file.
const READ_BATCH_ROWS: usize = 65_536;

/// A file of the command line.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) kind: Kind,
    pub(crate) compression: Compression,
}

/// The kind of a file.
pub(crate) enum Kind {
    /// A file whose format has types or names.
    Typed(Format),
    /// A bcp file, which the table's columns describe.
    Host(HostLayout),
}

/// Opens the file of refused rows; `None` if the first one ends the load.
pub(crate) fn rejects(arguments: &LoadArgs) -> Result<Option<Rejects>, Failure> {
    if !tolerates_rows(arguments) {
        return Ok(None);
    }
    let limit = match (arguments.refusals.max_errors, &arguments.refusals.rejects) {
        (Some(limit), _) => Some(limit),
        (None, Some(_)) => None,
        (None, None) => Some(0),
    };
    let opened = Rejects::open(arguments.refusals.rejects.as_ref(), limit);
    opened.map(Some).map_err(|source| rejects_failure(arguments, source))
}

/// Returns true if rows may be refused without ending the load at once.
pub(crate) fn tolerates_rows(arguments: &LoadArgs) -> bool {
    arguments.refusals.rejects.is_some()
        || arguments.refusals.max_errors.is_some()
        || arguments.refusals.bisect
}

pub(crate) fn rejects_failure(arguments: &LoadArgs, source: io::Error) -> Failure {
    let file = arguments.refusals.rejects.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    Failure::Rejects { file, source, committed: None }
}

/// Opens a file and lets it go: one that is missing or of another kind is found before the table is touched. A pipe is
/// left alone, since it can be opened only once.
pub(crate) fn check(source: &Source) -> Result<(), Failure> {
    let may_open = match &source.location {
        Location::Path(path) => path.is_file() || !path.exists(),
        Location::Object(_) => true,
        Location::Stdin | Location::Stdout | Location::Spooled(_) => false,
    };
    if let (true, Kind::Typed(format)) = (may_open, &source.kind) {
        formats::open(&source.location, format, source.compression, READ_BATCH_ROWS)?;
    }
    Ok(())
}

/// Lists the files of the command line; a URL may be that of a folder, or a pattern.
pub(crate) fn sources(arguments: &LoadArgs) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for file in &arguments.files {
        let locations = match is_object_url(file) {
            true => copy::files_of(file)?,
            false => vec![Location::source(file)],
        };
        for location in locations {
            sources.push(source(location, arguments)?);
        }
    }
    if sources.len() > 1 {
        let locations: Vec<Location> = sources.iter().map(|source| source.location.clone()).collect();
        copy::refuse_lakes(&locations)?;
    }
    Ok(sources)
}

fn source(location: Location, arguments: &LoadArgs) -> Result<Source, Failure> {
    let compression = file_format::compression(&location, &arguments.format);
    if let Some(layout) = HostLayout::of(&arguments.format)? {
        let layout = layout.spelled(arguments.text.spelling()?);
        if arguments.create || arguments.max_row_bytes.is_some() {
            return Err(Failure::Usage("--create and --max-row-bytes are not for bcp's formats".to_owned()));
        }
        return Ok(Source { name: location.to_string(), location, kind: Kind::Host(layout), compression });
    }
    let format = file_format::of(&location, &arguments.format)?.0.spelled(arguments.text.spelling()?);
    let format = match (format, arguments.max_row_bytes) {
        (Format::Csv(options), Some(max_row_bytes)) => Format::Csv(CsvOptions { max_row_bytes, ..options }),
        (_, Some(_)) => return Err(Failure::Usage("--max-row-bytes is for CSV files only".to_owned())),
        (format, None) => format,
    };
    Ok(Source { name: location.to_string(), location, kind: Kind::Typed(format), compression })
}

/// Counts the table's rows, if nobody else changes them.
pub(crate) fn rows_before(
    client: &mut Client,
    table: &TableName,
    arguments: &LoadArgs,
) -> Result<Option<u64>, Failure> {
    if arguments.create || arguments.modes.truncates() {
        return Ok(Some(0));
    }
    if !arguments.bulk.sole_writer || arguments.dry_run {
        return Ok(None);
    }
    let counted = client.query_values(&format!("SELECT COUNT_BIG(*) FROM {table}"))?;
    let count = load::first_value(&counted);
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

/// Returns the line of the file that a bad value's row starts in.
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
    let target = client.describe_recent(table).map_err(|error| unfit(source, table, error))?;
    let columns = target.columns.iter().map(|column| column.column.clone()).collect();
    let mut host = layout.with_columns(Some(columns))?;
    for (number, column) in (1..).zip(&target.columns) {
        if column.is_computed || column.is_rowversion || (column.is_identity && !arguments.bulk.keep_identity)
        {
            host.format_file.skip_column(number);
        }
    }
    host.read.keep_raw_rows = arguments.refusals.rejects.is_some();
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

pub(crate) fn options(arguments: &LoadArgs, kind: &Kind) -> Result<LoadOptions, Failure> {
    let has_names = match kind {
        Kind::Typed(format) => file_format::has_names(format),
        Kind::Host(_) => true,
    };
    let LoadArgs { bulk, columns, conversions, writers, text, .. } = arguments;
    // A load that a time limit ends must keep the rows that have arrived.
    let may_stage = !arguments.create
        && !bulk.autocommit
        && !bulk.sole_writer
        && !arguments.refusals.bisect
        && writers.time_limit.is_none();
    let options = LoadOptions {
        may_stage,
        ..copy::load_options(bulk, columns, conversions, writers, text.spelling()?)
    };
    Ok(match options.mapping {
        Mapping::ByName if !has_names => LoadOptions { mapping: Mapping::ByPosition, ..options },
        _ => options,
    })
}

/// Makes the failure of a file whose columns do not fit the table.
pub(crate) fn unfit(source: &Source, table: &TableName, error: load::Error) -> Failure {
    Failure::Plan { file: source.name.clone(), table: table.to_string(), error: Box::new(error) }
}
