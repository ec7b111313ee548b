//! `bulkwire convert`.

use std::io;

use formats::bcp::{RejectedRow, declare};
use formats::{ConvertOptions, FileSpec, Format, FormatError, Location};
use load::TableName;
use load::report::{bytes, grouped, row_words};
use tds::Column;

use crate::args::{ConvertArgs, FileOptions, FormatName};
use crate::connection;
use crate::event_log::warns;
use crate::failure::Failure;
use crate::verbs::load::command::Outcome;
use copy::options::given;
use copy::rejects;
use copy::rejects::{Rejects, check_apart};
use copy::{HostLayout, file_format};
use rows::text::spelling::TextSpelling;

/// Reads one file and writes the other.
pub fn run(arguments: &ConvertArgs) -> Result<Outcome, Failure> {
    let columns = columns(arguments)?;
    let text = arguments.text.spelling()?;
    let source_layout = HostLayout::of(&arguments.source_flags())?.map(|layout| layout.spelled(text));
    if columns.is_none() && source_layout.as_ref().is_some_and(HostLayout::needs_columns) {
        return Err(Failure::Usage(
            "this file says nothing of its columns: --declare them, name a --table, or describe them by --from-format-file"
                .to_owned(),
        ));
    }
    let source =
        spec(Location::source(&arguments.source), &arguments.source_flags(), source_layout, &columns)?;
    let source_flags = arguments.source_flags();
    file_format::look_at(&source.location, &source.format, source.compression, &source_flags, warns)?;
    let target_layout = HostLayout::of(&arguments.target_flags())?;
    let target =
        spec(Location::target(&arguments.target), &arguments.target_flags(), target_layout, &columns)?;
    let files = [source.location.path(), target.location.path()];
    check_apart(arguments.rejects.as_ref(), files.into_iter().flatten())?;
    let rejects = rejects(arguments)?;
    let name = source.location.to_string();
    let mut refuse = |row: RejectedRow| refuse(&name, &row, rejects.as_ref());
    let refuse: Option<&mut dyn FnMut(RejectedRow) -> Result<(), FormatError>> =
        if rejects.is_some() { Some(&mut refuse) } else { None };
    let spelling = spelling(arguments, columns.is_some())?;
    let source = FileSpec { format: source.format.spelled(spelling), ..source };
    let options = ConvertOptions { columns, spelling, ..ConvertOptions::default() };
    let converted = formats::convert(&source, &target, &options, refuse);
    let refused = rejects.as_ref().map_or(0, Rejects::count);
    if let Some(rejects) = &rejects {
        rejects.finish().map_err(|source| rejects_failure(arguments, source))?;
    }
    let converted = converted?;
    for suffered in &converted.suffered {
        say!("warning: {name}: {suffered}");
    }
    if !arguments.quiet {
        let refused = if refused > 0 { format!(", {} refused", grouped(refused)) } else { String::new() };
        say!(
            "{}: {} {}{refused}, {}",
            target.location,
            grouped(converted.rows),
            row_words(converted.rows).0,
            bytes(converted.bytes as f64)
        );
    }
    Ok(if refused > 0 { Outcome::RowsRefused } else { Outcome::Whole })
}

/// Returns the spelling of numbers and dates in the source, which counts where columns have types.
fn spelling(arguments: &ConvertArgs, has_columns: bool) -> Result<TextSpelling, Failure> {
    if arguments.text.types.is_some() {
        return Err(Failure::Usage(
            "--types is for `bulkwire load` and `copy`; here --declare gives the columns their types"
                .to_owned(),
        ));
    }
    let is_host = arguments.from_format_file.is_some() || arguments.from.is_some_and(FormatName::is_host);
    match given(&arguments.text).first().filter(|_| !has_columns && !is_host) {
        Some(option) => Err(Failure::Usage(format!(
            "--{} says how numbers and dates are spelled, and no column has a type here: --declare them, or name a --table",
            option.name
        ))),
        None => Ok(arguments.text.spelling()?),
    }
}

fn columns(arguments: &ConvertArgs) -> Result<Option<Vec<Column>>, Failure> {
    if let Some(text) = &arguments.declare {
        return declare(text).map(Some).map_err(|error| Failure::Usage(format!("--declare: {error}")));
    }
    let Some(table) = &arguments.table else { return Ok(None) };
    let table: TableName = table.parse().map_err(|error: load::Error| Failure::Usage(error.to_string()))?;
    let target = connection::open(&arguments.connection)?.describe(&table)?;
    Ok(Some(target.columns.into_iter().map(|column| column.column).collect()))
}

fn spec(
    location: Location,
    flags: &FileOptions,
    layout: Option<HostLayout>,
    columns: &Option<Vec<Column>>,
) -> Result<FileSpec, Failure> {
    let format = match layout {
        Some(layout) => Format::Host(Box::new(layout.with_columns(columns.clone())?)),
        None => file_format::of(&location, flags)?.0,
    };
    let compression = file_format::compression(&location, flags);
    Ok(FileSpec { location, format, compression })
}

/// Opens the file of refused rows; `None` if the first one ends the conversion.
fn rejects(arguments: &ConvertArgs) -> Result<Option<Rejects>, Failure> {
    if arguments.rejects.is_none() && arguments.max_errors.is_none() {
        return Ok(None);
    }
    let opened = Rejects::open(arguments.rejects.as_ref(), arguments.max_errors);
    opened.map(Some).map_err(|source| rejects_failure(arguments, source))
}

fn rejects_failure(arguments: &ConvertArgs, source: io::Error) -> Failure {
    let file = arguments.rejects.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    Failure::Rejects { file, source, committed: None }
}

fn refuse(file: &str, row: &RejectedRow, rejects: Option<&Rejects>) -> Result<(), FormatError> {
    let rejected = rejects::of_file(file, row);
    match rejects.is_none_or(|rejects| rejects.take(&rejected).is_break()) {
        true => {
            Err(io::Error::other(format!("too many rows were refused, the last at row {}", row.row)).into())
        }
        false => Ok(()),
    }
}
