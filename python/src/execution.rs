//! The result of a statement.

use load::ExecuteResult;
use pyo3::prelude::*;

use crate::failure;

/// The result of `Connection.execute`.
#[pyclass(frozen, module = "bulkwire")]
pub(crate) struct Execution {
    /// Rows that the statements counted, all together: changed by DML, returned by SELECT.
    #[pyo3(get)]
    rows_affected: u64,
    /// Messages of the server (PRINT, warnings) as `ServerMessage` objects.
    #[pyo3(get)]
    messages: Vec<Py<PyAny>>,
}

impl Execution {
    pub(crate) fn new(py: Python<'_>, result: &ExecuteResult) -> PyResult<Self> {
        let messages = result.messages.iter().map(|one| Ok(failure::message(py, one)?.unbind()));
        Ok(Self { rows_affected: result.rows_affected, messages: messages.collect::<PyResult<_>>()? })
    }
}

#[pymethods]
impl Execution {
    fn __repr__(&self) -> String {
        format!("Execution(rows_affected={}, messages={})", self.rows_affected, self.messages.len())
    }
}
