//! The forecast of a load, as a dictionary.

use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use load::forecast::{Batches, Circumstances, Forecast, Forecaster, Measured};
use load::{Client, Error, LoadPlan};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::source::BoxedError;

/// Reads the data, and says what loading it as planned will take.
pub(crate) fn of(
    client: &mut Client,
    plan: &LoadPlan,
    mut batches: impl Iterator<Item = Result<RecordBatch, BoxedError>>,
    empties: bool,
) -> Result<Forecast, Error> {
    let mut forecaster = Forecaster::new(client, plan)?;
    let (mut reading, mut rows) = (Duration::ZERO, 0_u64);
    let mut is_enough = false;
    loop {
        let started = Instant::now();
        let next = batches.next();
        reading += started.elapsed();
        let Some(batch) = next else { break };
        let batch = batch.map_err(Error::Source)?;
        rows += batch.num_rows() as u64;
        // The rest is counted: nothing else says how long the data is.
        is_enough = is_enough || !forecaster.take(&batch);
    }
    let rows_total = is_enough.then_some(rows);
    let circumstances = Circumstances {
        rows_total,
        batches: Batches::Fixed(plan.batch_rows),
        empties,
        reading,
        may_probe: true,
    };
    Ok(forecaster.forecast(client, &circumstances))
}

/// Converts a forecast to a dictionary.
pub(crate) fn as_dict<'py>(py: Python<'py>, forecast: &Forecast) -> PyResult<Bound<'py, PyDict>> {
    let mut structures = Vec::new();
    for structure in &forecast.structures {
        let one = PyDict::new(py);
        one.set_item("name", &structure.name)?;
        one.set_item("kind", structure.kind)?;
        one.set_item("compression", format!("{:?}", structure.compression).to_uppercase())?;
        one.set_item("rows", structure.rows)?;
        one.set_item("pages", structure.pages())?;
        one.set_item("bytes", structure.bytes())?;
        structures.push(one);
    }
    let all = PyDict::new(py);
    all.set_item("rows", forecast.rows)?;
    all.set_item("sample_rows", forecast.sample_rows)?;
    all.set_item("rows_unfit", forecast.rows_unfit)?;
    all.set_item("structures", structures)?;
    all.set_item("pages", forecast.pages())?;
    all.set_item("bytes", forecast.bytes())?;
    all.set_item("log_bytes", forecast.log_bytes)?;
    all.set_item("recovery_model", forecast.recovery_model.map(|model| model.to_string()))?;
    all.set_item("minimally_logged", forecast.is_minimally_logged)?;
    all.set_item("seconds", forecast.time.as_ref().map(|time| time.expected.as_secs_f64()))?;
    let measured = forecast.time.as_ref().map(|time| match time.measured {
        Measured::Probe(_) => "probe",
        Measured::Reading { .. } => "reading",
    });
    all.set_item("measured", measured)?;
    all.set_item("notes", forecast.notes.clone())?;
    Ok(all)
}
