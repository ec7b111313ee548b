//! `load --dry-run --forecast`.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use load::forecast::{Batches, Circumstances, Forecast, Forecaster, Measured, TimeForecast};
use load::{Client, LoadPlan};
use serde_json::{Value as Json, json};

use crate::args::{LoadArgs, ModeName};
use crate::failure::Failure;
use crate::verbs::load::source::{self, Source};
use copy::loaded_file::{LoadedFile, Reader};

/// Refuses a forecast that cannot be had, before anything is done.
pub fn check(arguments: &LoadArgs) -> Result<(), Failure> {
    let asked = &arguments.report;
    if asked.forecast && !arguments.dry_run && asked.report.is_none() {
        return Err(Failure::Usage("--forecast is for --dry-run, or for the page of --report".to_owned()));
    }
    let merges = matches!(arguments.modes.mode, Some(ModeName::Upsert | ModeName::InsertNew));
    if asked.forecast && merges {
        return Err(Failure::Usage(
            "--forecast is for loads that append, truncate or replace: what a merge changes is not known before".to_owned(),
        ));
    }
    Ok(())
}

/// Reads a file, and prints what its load will take.
pub fn run(
    client: &mut Client,
    plan: &LoadPlan,
    name: &str,
    reader: Reader,
    arguments: &LoadArgs,
) -> Result<(), Failure> {
    let forecast = forecast(client, plan, name, reader, arguments)?;
    if arguments.json {
        let line = json!({ "file": name, "table": plan.table.to_string(), "forecast": as_json(&forecast) });
        return writeln!(io::stdout(), "{line}")
            .map_err(|source| Failure::Stream { stream: "output", source });
    }
    writeln!(io::stdout(), "{forecast}").map_err(|source| Failure::Stream { stream: "output", source })
}

/// Forecasts the load of a file before it begins, for the page of `--report`. The file is read twice.
pub fn beforehand(
    client: &mut Client,
    plan: &LoadPlan,
    source: &Source,
    arguments: &LoadArgs,
) -> Result<Option<Forecast>, Failure> {
    if !arguments.report.forecast || arguments.dry_run {
        return Ok(None);
    }
    if !source.location.is_rereadable() || arguments.files.len() > 1 {
        return Err(Failure::Usage(
            "--forecast with --report reads one file twice: not a pipe, and not several files".to_owned(),
        ));
    }
    let reader = source::open(client, &plan.table, source, arguments)?;
    forecast(client, plan, &source.name, reader, arguments).map(Some)
}

fn forecast(
    client: &mut Client,
    plan: &LoadPlan,
    name: &str,
    reader: Reader,
    arguments: &LoadArgs,
) -> Result<Forecast, Failure> {
    let unfit = |error| Failure::Plan {
        file: name.to_owned(),
        table: plan.table.to_string(),
        error: Box::new(error),
    };
    // A stage is like its target, and need not be there yet.
    let plan = &LoadPlan { table: arguments.table.parse().map_err(unfit)?, ..plan.clone() };
    let mut forecaster = Forecaster::new(client, plan).map_err(unfit)?;
    let bytes_total = reader.bytes_total();
    let read = Arc::new(AtomicU64::new(0));
    let mut batches = LoadedFile::new(name, reader, Arc::clone(&read));
    let mut reading = Duration::ZERO;
    let rows_total = loop {
        let started = Instant::now();
        let next = batches.next();
        reading += started.elapsed();
        let Some(batch) = next else { break None };
        if !forecaster.take(batch?.batch()) {
            let read = read.load(std::sync::atomic::Ordering::Relaxed);
            break rows_total(forecaster.rows(), read, bytes_total);
        }
    };
    let is_growing = arguments.writers.is_asked() && !plan.keeps_batch_rows;
    let circumstances = Circumstances {
        rows_total,
        batches: if is_growing { Batches::Growing } else { Batches::Fixed(plan.batch_rows) },
        empties: arguments.modes.truncates() || arguments.modes.mode == Some(ModeName::Replace),
        reading,
        may_probe: true,
    };
    Ok(forecaster.forecast(client, &circumstances))
}

/// Estimates the rows of a file of which `bytes_read` bytes were read; those that were, if its length is not known.
fn rows_total(rows: u64, bytes_read: u64, bytes_total: Option<u64>) -> Option<u64> {
    let share = bytes_total? as f64 / bytes_read.max(1) as f64;
    Some((rows as f64 * share.max(1.0)).round() as u64)
}

/// Converts a forecast to JSON for programs.
pub fn as_json(forecast: &Forecast) -> Json {
    let structures = forecast.structures.iter().map(|structure| {
        json!({
            "name": structure.name,
            "kind": structure.kind,
            "compression": format!("{:?}", structure.compression).to_uppercase(),
            "rows": structure.rows,
            "leaf_pages": structure.leaf_pages,
            "upper_pages": structure.upper_pages,
            "map_pages": structure.map_pages,
            "compressed_pages": structure.compressed_pages,
            "pages": structure.pages(),
            "bytes": structure.bytes(),
        })
    });
    json!({
        "rows": forecast.rows,
        "sample_rows": forecast.sample_rows,
        "rows_unfit": forecast.rows_unfit,
        "structures": structures.collect::<Vec<_>>(),
        "pages": forecast.pages(),
        "bytes": forecast.bytes(),
        "log_bytes": forecast.log_bytes,
        "log_bytes_least": forecast.log_range_bytes.map(|(least, _)| least),
        "log_bytes_most": forecast.log_range_bytes.map(|(_, most)| most),
        "recovery_model": forecast.recovery_model.map(|model| model.to_string()),
        "minimally_logged": forecast.is_minimally_logged,
        "seconds": forecast.time.as_ref().map(|time| time.expected.as_secs_f64()),
        "time_basis": forecast.time.as_ref().map(basis),
        "notes": forecast.notes,
    })
}

fn basis(time: &TimeForecast) -> Json {
    match &time.measured {
        Measured::Probe(probe) => json!({
            "measured": "probe",
            "rows": probe.rows,
            "bytes": probe.bytes,
            "seconds": probe.elapsed.as_secs_f64(),
        }),
        Measured::Reading { rows_per_second, reason } => json!({
            "measured": "reading",
            "rows_per_second": rows_per_second,
            "reason": reason,
        }),
    }
}
