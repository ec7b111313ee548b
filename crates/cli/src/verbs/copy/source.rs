//! The source of a copy by itself, for those who look at rows before they copy them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::Parser;
use copy::{CopyError, Endpoint, FileFormats, FirstRows, ServerDestination, Source, TransformEngine};

use crate::args::{Arguments, Command, CopyArgs};
use crate::verbs::copy::command::one_line;
use crate::verbs::copy::endpoints;
use crate::verbs::copy::transformation::CopyTransformation;

/// A source, and the number of its rows that have been read.
pub type CountedSource = (Box<dyn Source>, Arc<AtomicU64>);

/// The words behind `bulkwire copy`, taken apart.
///
/// # Errors
/// They are none.
pub(crate) fn parsed(words: &[String]) -> Result<Box<CopyArgs>, CopyError> {
    let words = ["bulkwire", "copy", "--quiet"].into_iter().map(str::to_owned).chain(words.iter().cloned());
    let parsed =
        Arguments::try_parse_from(words).map_err(|error| CopyError::Usage(one_line(&error.to_string())))?;
    match parsed.command {
        Command::Copy(arguments) => Ok(arguments),
        _ => Err(CopyError::Usage("these are not the words of a copy".to_owned())),
    }
}

/// The source that the words of a copy name, its transformation included: to look at its columns.
///
/// # Errors
/// The words are wrong, or the source is not there.
pub fn source_of(
    words: &[String],
    engine: Option<Arc<dyn TransformEngine>>,
) -> Result<Box<dyn Source>, CopyError> {
    let arguments = parsed(words)?;
    let ends = endpoints::ends(&arguments)?;
    let settings = endpoints::source_settings(&arguments, &ends)?;
    let source = ends.source.source(&settings)?;
    match CopyTransformation::of(&arguments, &settings.read.form, engine.as_ref())? {
        Some(transformation) => Ok(transformation.over(source)?),
        None => Ok(source),
    }
}

/// The first `rows` rows of the source of a copy, transformed as its words say.
///
/// # Errors
/// The words are wrong, or the source is.
pub fn first_rows(
    words: &[String],
    engine: Option<Arc<dyn TransformEngine>>,
    rows: u64,
) -> Result<CountedSource, CopyError> {
    let arguments = parsed(words)?;
    let ends = endpoints::ends(&arguments)?;
    let settings = endpoints::source_settings(&arguments, &ends)?;
    let first = FirstRows::new(ends.source.source(&settings)?, rows);
    let counter = first.counter();
    let source: Box<dyn Source> = Box::new(first);
    Ok(match CopyTransformation::of(&arguments, &settings.read.form, engine.as_ref())? {
        Some(transformation) => (transformation.over(source)?, counter),
        None => (source, counter),
    })
}

/// How rows of the source of a copy go into the table of SQL Server that its words name, if it is there: to look at rows before they
/// are copied.
///
/// # Errors
/// The words are wrong, an end cannot be reached, or the columns do not fit.
pub fn fit_of(
    words: &[String],
    source: &mut dyn Source,
    engine: Option<&Arc<dyn TransformEngine>>,
) -> Result<Option<rows::Plan>, CopyError> {
    let arguments = parsed(words)?;
    let ends = endpoints::ends(&arguments)?;
    let Endpoint::SqlServer(endpoint) = &ends.destination else { return Ok(None) };
    // The words of a transformation are checked with those of the source.
    let form = endpoints::source_settings(&arguments, &ends)?.read.form;
    CopyTransformation::of(&arguments, &form, engine)?;
    let settings = endpoints::destination_settings(&arguments, &ends, None)?;
    ServerDestination::new((**endpoint).clone(), settings.server)?.fit(source)
}

/// The formats in which a copy reads the files of its source.
///
/// # Errors
/// The words are wrong.
pub fn source_formats(words: &[String]) -> Result<FileFormats, CopyError> {
    let arguments = parsed(words)?;
    let ends = endpoints::ends(&arguments)?;
    Ok(endpoints::source_settings(&arguments, &ends)?.formats)
}
