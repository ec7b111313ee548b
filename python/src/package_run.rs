//! `bulkwire.run_package`: the words of `bulkwire run`, run by the command's own code.

use std::sync::{Arc, Mutex, PoisonError};

use bulkwire_transform::Transformer;
use load::Interruption;
use pyo3::prelude::*;

use crate::copying::raised;
use crate::interrupt;

/// Runs or plans a package with the words of the command; the report as JSON. `on_event` gets every event as JSON.
#[pyfunction]
pub(crate) fn run_package_words(
    py: Python<'_>,
    words: Vec<String>,
    on_event: Option<Py<PyAny>>,
) -> PyResult<String> {
    let interruption = Interruption::default();
    let events = Mutex::new(Vec::new());
    let events = || events.lock().unwrap_or_else(PoisonError::into_inner);
    let is_heard = on_event.is_some();
    let heard = |event: String| {
        if is_heard {
            events().push(event);
        }
    };
    let ran = interrupt::run(
        py,
        || bulkwire_cli::run_package(&words, &heard, &interruption, Some(Arc::new(Transformer))),
        || interruption.interrupt(),
        |py| {
            let Some(call) = &on_event else { return Ok(()) };
            let happened = std::mem::take(&mut *events());
            happened.into_iter().try_for_each(|event| call.call1(py, (event,)).map(drop))
        },
    )?;
    ran.map_err(|error| raised(py, error))
}
