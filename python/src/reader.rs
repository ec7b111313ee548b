//! The rows of a query as a stream of record batches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use load::{LentClient, Query, RowStream, Waited};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader, PySchema};
use rows::mapping::{Form, GuidForm, OffsetForm, ReadOptions, Scale7};

use crate::failure;
use crate::row_source::{Rows, Wanted};

/// The interval at which signals are checked.
const PULSE: Duration = Duration::from_millis(100);

/// A result that is being read. The connection is busy until it is read to its end or closed.
#[pyclass(frozen, module = "bulkwire")]
pub(crate) struct Reader {
    schema: SchemaRef,
    rows: Mutex<Option<Rows>>,
    failed: Failed,
    plan: Option<String>,
}

/// The error that ended a stream which was handed on: Arrow's consumers turn it into one of their own.
type Failed = Arc<Mutex<Option<load::Error>>>;

/// Returns the form of the rows, from the keywords of `read`.
pub(crate) fn form(py: Python<'_>, guid: &str, datetimeoffset: &str, datetime2_7: &str) -> PyResult<Form> {
    let unknown = |keyword: &str, value: &str, known: &str| {
        failure::usage(py, format!("{keyword} must be {known}, not \"{value}\""))
    };
    let options = ReadOptions {
        guid: match guid {
            "bytes" => GuidForm::Bytes,
            "text" => GuidForm::Text,
            other => return Err(unknown("guid", other, "\"bytes\" or \"text\"")),
        },
        date_time_offset: match datetimeoffset {
            "utc" => OffsetForm::Instant,
            "text" => OffsetForm::Text,
            other => return Err(unknown("datetimeoffset", other, "\"utc\" or \"text\"")),
        },
        scale_7: match datetime2_7 {
            "ns" => Scale7::Nanoseconds,
            "us" => Scale7::Microseconds,
            "cut" => Scale7::CutMicroseconds,
            "text" => Scale7::Text,
            other => return Err(unknown("datetime2_7", other, "\"ns\", \"us\", \"cut\" or \"text\"")),
        },
    };
    Ok(Form::Arrow(options))
}

impl Reader {
    /// Sends the query and waits for its columns.
    pub(crate) fn start(py: Python<'_>, client: LentClient, query: Query) -> PyResult<Self> {
        let mut rows = RowStream::start(client, query)?;
        loop {
            match py.detach(|| rows.schema(PULSE)) {
                Ok(Waited::Ready(schema)) => {
                    return Ok(Self::new(schema, Rows::One(rows), None));
                }
                Ok(Waited::NotYet) => {
                    if let Err(raised) = py.check_signals() {
                        py.detach(|| drop(rows));
                        return Err(raised);
                    }
                }
                Err(error) => return Err(failure::from_error(py, error)),
            }
        }
    }

    /// Plans a read over several connections, starts it and waits for its columns.
    pub(crate) fn start_readers(py: Python<'_>, client: LentClient, wanted: Wanted) -> PyResult<Self> {
        let (mut rows, plan) = wanted.start(py, client)?;
        loop {
            match py.detach(|| rows.columns(Some(PULSE))) {
                Ok(Waited::Ready((_, schema))) => {
                    return Ok(Self::new(schema, Rows::Several(rows), Some(plan)));
                }
                Ok(Waited::NotYet) => {
                    if let Err(raised) = py.check_signals() {
                        py.detach(|| drop(rows));
                        return Err(raised);
                    }
                }
                Err(error) => {
                    py.detach(|| drop(rows));
                    return Err(failure::from_error(py, error));
                }
            }
        }
    }

    fn new(schema: SchemaRef, rows: Rows, plan: Option<String>) -> Self {
        Self { schema, rows: Mutex::new(Some(rows)), failed: Failed::default(), plan }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Rows>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next batch; other Python threads run meanwhile, and a signal cancels the query.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            // Waits without Python's lock, which another holder of this reader may need.
            let waited = py.detach(|| self.lock().as_mut().map(|rows| rows.next_within(PULSE)));
            match waited {
                None => return Err(taken(py)),
                Some(Waited::Ready(next)) => {
                    return next.transpose().map_err(|error| failure::from_error(py, error));
                }
                Some(Waited::NotYet) => {
                    if let Err(raised) = py.check_signals() {
                        self.close(py);
                        return Err(raised);
                    }
                }
            }
        }
    }

    fn stream(&self, py: Python<'_>) -> PyResult<PyRecordBatchReader> {
        let rows = self.lock().take().ok_or_else(|| taken(py))?;
        let failed = Arc::clone(&self.failed);
        let stream = Stream { schema: Arc::clone(&self.schema), rows, failed };
        Ok(PyRecordBatchReader::new(Box::new(stream)))
    }
}

/// Returns the result of `consume` on the reader's stream. An error of the stream becomes our own, whatever the
/// consumer made of it.
fn consumed<'py>(
    reader: &Bound<'py, Reader>,
    consume: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = reader.py();
    consume().map_err(|raised| {
        let failed = reader.get().failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failed {
            Some(error) => {
                let own = failure::from_error(py, error);
                own.set_cause(py, Some(raised));
                own
            }
            None => raised,
        }
    })
}

fn taken(py: Python<'_>) -> PyErr {
    failure::usage(py, "the reader is closed, or its rows were taken by another consumer")
}

#[pymethods]
impl Reader {
    /// Returns the columns, as an object with `__arrow_c_schema__`.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema::new(Arc::clone(&self.schema))
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the plan of a read over several connections, each choice with its reason; `None` for a read over this
    /// one.
    #[getter]
    fn plan(&self) -> Option<&str> {
        self.plan.as_deref()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.schema().into_pyobject(py)?.call_method0("__arrow_c_schema__")
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.stream(py)?.into_pyobject(py)?;
        stream.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyRecordBatch>> {
        Ok(self.next_batch(py)?.map(PyRecordBatch::new))
    }

    /// Reads the rest into a `pyarrow.Table`.
    fn to_arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = library(slf.py(), "pyarrow", "to_arrow")?;
        consumed(&slf.clone(), || {
            let reader = pyarrow.getattr("RecordBatchReader")?.call_method1("from_stream", (slf,))?;
            reader.call_method0("read_all")
        })
    }

    /// Reads the rest into a `polars.DataFrame`.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let polars = library(slf.py(), "polars", "to_polars")?;
        consumed(&slf.clone(), || polars.call_method1("DataFrame", (slf,)))
    }

    /// Reads the rest into a `pandas.DataFrame`; keywords go to `pyarrow.Table.to_pandas`.
    #[pyo3(signature = (**options))]
    fn to_pandas<'py>(
        slf: Bound<'py, Self>,
        options: Option<&Bound<'py, pyo3::types::PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pandas", "to_pandas")?;
        library(slf.py(), "pyarrow", "to_pandas")?;
        Self::to_arrow(slf)?.call_method("to_pandas", (), options)
    }

    /// Stops reading: the query is cancelled and the connection is free again.
    fn close(&self, py: Python<'_>) {
        let rows = self.lock().take();
        py.detach(|| drop(rows));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let columns: Vec<String> = self
            .schema
            .fields()
            .iter()
            .map(|field| format!("{}: {}", field.name(), field.data_type()))
            .collect();
        format!("Reader({})", columns.join(", "))
    }
}

/// The stream as the Arrow C interface hands it on. Runs on the consumer's thread, whichever that is.
struct Stream {
    schema: SchemaRef,
    rows: Rows,
    failed: Failed,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.rows.next_blocking()?;
        Some(next.map_err(|error| {
            let text = error.to_string();
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            ArrowError::ExternalError(text.into())
        }))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn library<'py>(py: Python<'py>, name: &str, method: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let missing =
            PyImportError::new_err(format!("{method}() needs the package {name}, which is not installed"));
        missing.set_cause(py, Some(error));
        missing
    })
}
