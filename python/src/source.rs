//! Anything that holds Arrow data, as a stream of record batches.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use formats::objects::is_object_url;
use formats::sniff::{Contradiction, contradiction};
use formats::{BatchReader, ColumnReading, Format, FormatError, InferredSchema, Location};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};
use pyo3_arrow::input::AnyRecordBatch;
use rows::CheckedReader;
use rows::text::spelling::TextSpelling;

use crate::{failure, frame};

/// Rows of a batch as it is read from a file.
const FILE_BATCH_ROWS: usize = 65_536;
/// Rows of a slice of a data frame.
const FRAME_SLICE_ROWS: usize = 50_000;

/// Any error of a source.
pub(crate) type BoxedError = Box<dyn Error + Send + Sync>;
/// A stream of batches.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, BoxedError>> + Send>;

/// Data to load. Nothing of it is held but the batch under way.
pub(crate) struct Source {
    /// The batches' columns.
    pub(crate) schema: SchemaRef,
    /// The batches.
    pub(crate) batches: Batches,
    /// True if columns have names of their own; else they are matched by position.
    pub(crate) has_names: bool,
    /// True if all values are text, whose types are a guess.
    pub(crate) is_text: bool,
    /// Bytes of a file, if that is known.
    pub(crate) bytes: Option<u64>,
}

/// Opens a path, an object with the Arrow PyCapsule interface (stream or array), or an iterable of such objects.
pub(crate) fn open(data: &Bound<'_, PyAny>) -> PyResult<Source> {
    open_read(data, None)
}

/// Opens data as [`open`] does. The values of a text file are read as was found when it was measured.
pub(crate) fn open_read(data: &Bound<'_, PyAny>, readings: Option<Arc<[ColumnReading]>>) -> PyResult<Source> {
    if let Some(location) = location_of(data)? {
        return open_file(data.py(), location, readings);
    }
    frame::whole(data)?;
    if let Some(slices) = frame_slices(data)? {
        return open_items(slices);
    }
    if let Some(reader) = arrow_reader(data)? {
        let schema = reader.schema();
        return Ok(typed(schema, Box::new(reader.map(|batch| batch.map_err(cause)))));
    }
    if data.is_instance_of::<PyDict>() {
        let text =
            "a dict is no Arrow data: make a table of it, pyarrow.table(data) or polars.DataFrame(data)";
        return Err(failure::usage(data.py(), text));
    }
    let Ok(items) = data.try_iter() else {
        return Err(failure::usage(
            data.py(),
            format!(
                "data of type {} is neither Arrow data (no __arrow_c_stream__ or __arrow_c_array__), nor an iterable of it, \
                 nor a path",
                data.get_type().name()?
            ),
        ));
    };
    open_items(items)
}

/// Measures the data for CREATE TABLE, if that does not use it up: a file, or an object that knows its length and is no
/// iterator. `None` for a stream that can be read once only.
pub(crate) fn measured(data: &Bound<'_, PyAny>, spelling: TextSpelling) -> PyResult<Option<InferredSchema>> {
    let py = data.py();
    if let Some(location) = location_of(data)? {
        let (format, compression) = format_of(py, &location)?;
        let format = format.spelled(spelling);
        let measured = py.detach(|| formats::measure(&location, &format, compression));
        return measured.map(Some).map_err(|error| failure::named(py, "SourceError", error.to_string()));
    }
    if data.hasattr("__next__")? || !data.hasattr("__len__")? {
        return Ok(None);
    }
    let Some(reader) = arrow_reader(data)? else { return Ok(None) };
    let schema = reader.schema();
    let measured =
        py.detach(|| formats::measure_batches(&schema, reader.map(|batch| batch.map_err(FormatError::from))));
    measured.map(Some).map_err(|error| failure::named(py, "SourceError", error.to_string()))
}

/// Returns the name and the fingerprint of data: a file by its path and content, anything else by neither.
pub(crate) fn identity(data: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let Some(location) = location_of(data)? else { return Ok(("data".to_owned(), String::new())) };
    let fingerprint = data.py().detach(|| formats::fingerprint(&location));
    let fingerprint = fingerprint
        .map_err(|error| failure::named(data.py(), "SourceError", format!("{location}: {error}")))?;
    let name = match &location {
        Location::Path(path) => formats::true_name(path),
        other => other.to_string(),
    };
    Ok((name, fingerprint.unwrap_or_default()))
}

fn typed(schema: SchemaRef, batches: Batches) -> Source {
    Source { schema, batches, has_names: true, is_text: false, bytes: None }
}

/// Returns the location of a `str` or a `PathLike`; a `str` may be the URL of an object.
pub(crate) fn location_of(data: &Bound<'_, PyAny>) -> PyResult<Option<Location>> {
    let is_text = data.is_instance_of::<pyo3::types::PyString>();
    if !is_text && !data.hasattr("__fspath__")? {
        return Ok(None);
    }
    if is_text
        && let Ok(text) = data.extract::<&str>()
        && is_object_url(text)
    {
        return Ok(Some(Location::source(text)));
    }
    data.extract::<PathBuf>().map(|path| Some(Location::Path(path)))
}

fn format_of(py: Python<'_>, location: &Location) -> PyResult<(Format, formats::Compression)> {
    Format::of(location).map_err(|error| failure::named(py, "SourceError", error.to_string()))
}

/// Makes a reader of a file, of which no batch has been read.
pub(crate) fn reader(location: &Location) -> Result<Box<dyn BatchReader>, FormatError> {
    let (format, compression) = Format::of(location)?;
    formats::open(location, &format, compression, FILE_BATCH_ROWS)
}

fn open_file(py: Python<'_>, location: Location, readings: Option<Arc<[ColumnReading]>>) -> PyResult<Source> {
    let (format, compression) = format_of(py, &location)?;
    let format = format.with_readings(readings);
    if let Format::Csv(options) = &format
        && let Some(found) = py
            .detach(|| contradiction(&location, compression, options))
            .map_err(|error| failure::named(py, "SourceError", error.to_string()))?
        && !matches!(found, Contradiction::FirstRow { is_certain: false, .. })
    {
        let text = format!("{location}: {found}; bulkwire.copy has options for such a file");
        return Err(failure::named(py, "SourceError", text));
    }
    let mut reader: Box<dyn BatchReader> = py
        .detach(|| formats::open(&location, &format, compression, FILE_BATCH_ROWS))
        .map_err(|error| failure::named(py, "SourceError", error.to_string()))?;
    reader.use_threads(formats::reading_threads(1));
    let (has_names, is_text) = match &format {
        Format::Csv(options) => (options.header || options.columns.is_some(), true),
        Format::Parquet(_) | Format::ArrowIpc(_) | Format::Host(_) => (true, false),
    };
    let schema = reader.schema();
    let bytes = reader.bytes_total();
    let batches = reader.map(|batch| batch.map_err(BoxedError::from));
    Ok(Source { schema, batches: Box::new(batches), has_names, is_text, bytes })
}

/// Returns the batches of an object that holds Arrow data; `None` for any other.
pub(crate) fn arrow_reader(data: &Bound<'_, PyAny>) -> PyResult<Option<Box<dyn RecordBatchReader + Send>>> {
    let data = &frame::whole(data)?;
    // A stream first: what has both (a record batch) gives the same either way.
    for method in ["__arrow_c_stream__", "__arrow_c_array__"] {
        if data.hasattr(method)? {
            let reader = data.extract::<AnyRecordBatch>()?.into_reader()?;
            return Ok(Some(Box::new(CheckedReader::new(reader))));
        }
    }
    Ok(None)
}

/// Slices a Polars frame of several chunks: as one stream it would first copy all of itself into one chunk.
fn frame_slices<'py>(data: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyIterator>>> {
    if !data.hasattr("iter_slices")? || !data.hasattr("n_chunks")? {
        return Ok(None);
    }
    if data.call_method0("n_chunks")?.extract::<usize>()? < 2 || data.len()? == 0 {
        return Ok(None);
    }
    data.call_method1("iter_slices", (FRAME_SLICE_ROWS,))?.try_iter().map(Some)
}

/// Opens an iterator of items. The first item has the schema, which all others must have.
fn open_items(items: Bound<'_, PyIterator>) -> PyResult<Source> {
    let py = items.py();
    let mut items =
        Items { iterator: items.unbind(), current: None, schema: Arc::new(Schema::empty()), index: 0 };
    match items.advance(py)? {
        Some(first) => {
            items.schema = first.schema();
            items.current = Some(first);
        }
        None => {
            let text = "data is an iterable without a single item, so that not even its columns are known";
            return Err(failure::usage(py, text));
        }
    }
    Ok(typed(Arc::clone(&items.schema), Box::new(items)))
}

/// The items of a Python iterable, each of them Arrow data.
struct Items {
    iterator: Py<PyIterator>,
    current: Option<Box<dyn RecordBatchReader + Send>>,
    schema: SchemaRef,
    /// Items taken so far.
    index: usize,
}

impl Items {
    fn advance(&mut self, py: Python<'_>) -> PyResult<Option<Box<dyn RecordBatchReader + Send>>> {
        let Some(item) = self.iterator.bind(py).clone().next() else { return Ok(None) };
        let item = item?;
        let reader = arrow_reader(&item)?.ok_or_else(|| {
            let name = item.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            failure::usage(py, format!("item {} of data is a {name}, which is no Arrow data", self.index))
        })?;
        self.index += 1;
        Ok(Some(reader))
    }

    fn next_reader(&mut self) -> Result<bool, BoxedError> {
        let next = Python::attach(|py| self.advance(py)).map_err(BoxedError::from)?;
        let Some(reader) = next else { return Ok(false) };
        if !same_columns(&reader.schema(), &self.schema) {
            let text = format!("item {} of data has other columns than the first one", self.index - 1);
            return Err(ArrowError::SchemaError(text).into());
        }
        self.current = Some(reader);
        Ok(true)
    }
}

impl Iterator for Items {
    type Item = Result<RecordBatch, BoxedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next) {
                return Some(batch.map_err(cause));
            }
            match self.next_reader() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Returns the cause of a reader's error, without Arrow's words for "somebody else's error".
fn cause(error: ArrowError) -> BoxedError {
    match error {
        ArrowError::ExternalError(cause) => cause,
        error => error.into(),
    }
}

fn same_columns(a: &Schema, b: &Schema) -> bool {
    let columns = |schema: &Schema| -> Vec<_> {
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    columns(a) == columns(b)
}
