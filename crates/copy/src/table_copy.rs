//! The copy of one table, file or query: from its first look at both ends to the comparison of counts.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use load::{RejectedRow, Tolerance};

use crate::{
    copy_report::{CopyReport, FailedCopy},
    destination::{Destination, Landed},
    error::CopyError,
    places::Place,
    row_stream::RowStream,
    source::{Repeat, Source},
    watch::Control,
};

/// The settings of a copy's course.
#[derive(Debug, Clone, Copy, Default)]
pub struct CopySettings {
    /// Look at both ends, and say what would be done.
    pub is_dry: bool,
    /// Another run must be able to continue it, so that the source must yield the same rows in the same order.
    pub is_resumable: bool,
}

/// Shows the plan between the look at both ends and the first row.
pub type Announce<'a> = &'a mut dyn FnMut(&CopyReport);

/// Copies all rows of a source. `announce` is called when both ends are known and before the first row moves.
///
/// # Errors
/// What went wrong, after the destination has removed what it promised to remove.
pub fn copy_table(
    source: &mut dyn Source,
    destination: &mut dyn Destination,
    settings: CopySettings,
    control: &Control<'_>,
    announce: Announce<'_>,
) -> Result<CopyReport, Box<FailedCopy>> {
    let started = Instant::now();
    let mut report =
        CopyReport { source: source.name(), destination: destination.name(), ..CopyReport::default() };
    let done = run(source, destination, settings, control, &mut report, announce);
    report.elapsed = started.elapsed();
    match done {
        Ok(()) => Ok(report),
        Err(mut error) => {
            let mut left = destination.abort(&error);
            if let CopyError::Load { source_name, error } = &mut error {
                source_name.clone_from(&report.source);
                if let Some(row) = row_of(&error.source) {
                    let Place { name, row, line, .. } = source.places().of(row, &report.source);
                    let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
                    left.insert(0, format!("it is row {} of {name}{line}", row.saturating_add(1)));
                }
            }
            let CopyReport { source, destination, rows_written, .. } = report;
            Err(Box::new(FailedCopy { source, destination, rows_written, error, left }))
        }
    }
}

/// Returns the row that ended a load, if it was one.
fn row_of(error: &load::Error) -> Option<u64> {
    match error {
        load::Error::Cell(cell) => Some(cell.row),
        load::Error::Source(error) => match error.downcast_ref::<CopyError>() {
            Some(CopyError::Row { row, .. }) => Some(*row),
            _ => None,
        },
        _ => None,
    }
}

fn run(
    source: &mut dyn Source,
    destination: &mut dyn Destination,
    settings: CopySettings,
    control: &Control<'_>,
    report: &mut CopyReport,
    announce: Announce<'_>,
) -> Result<(), CopyError> {
    if control.tolerance.is_some() {
        source.collect_unread();
    }
    let form = destination.form()?;
    if settings.is_resumable
        && let Repeat::No(reason) = source.repeat()?
    {
        return Err(CopyError::Usage(format!("--resume cannot continue {}: {reason}", source.name())));
    }
    let prepared = destination.prepare(source, settings.is_dry)?;
    report.plan = prepared.plan;
    report.plan.extend(source.findings());
    report.created_by = prepared.created_by;
    report.rows_skipped = prepared.rows_before;
    report.rows_refused_before = prepared.refused_before;
    report.was_done = prepared.is_done;
    announce(report);
    if settings.is_dry {
        return Ok(());
    }
    if prepared.is_done {
        report.notes = destination.finish(Landed::default(), control)?.notes;
        return Ok(());
    }
    let rows = source.open(form)?;
    let read = Arc::new(AtomicU64::new(0));
    let refused = AtomicU64::new(0);
    let reject = |row: RejectedRow| match control.tolerance {
        Some(tolerance) => {
            refused.fetch_add(1, Ordering::Relaxed);
            (tolerance.reject)(row)
        }
        None => ControlFlow::Break(()),
    };
    let counted = control.tolerance.map(|tolerance| Tolerance {
        reject: &reject,
        bisect: tolerance.bisect,
        keep: tolerance.keep,
        keep_open_batch: tolerance.keep_open_batch,
    });
    let control = Control { watch: control.watch, commits: control.commits, tolerance: counted.as_ref() };
    let landed = destination.write(counted_rows(rows, Arc::clone(&read)), &control)?;
    if control.tolerance.is_some_and(|tolerance| (tolerance.keep)().is_err()) {
        return Err(CopyError::TooManyRefused);
    }
    report.rows_read = read.load(Ordering::Relaxed);
    report.rows_refused = refused.load(Ordering::Relaxed);
    check_counts(report, &landed, "nothing of it is kept where it could be undone")?;
    report.rows_written = landed.rows.saturating_sub(landed.rows_ignored);
    let landed = destination.finish(landed, &control)?;
    check_counts(report, &landed, "what was written is there")?;
    report.rows_written = landed.rows.saturating_sub(landed.rows_ignored);
    // The counts of skipped rows include refused ones.
    report.rows_skipped = landed.rows_skipped.saturating_sub(report.rows_refused_before);
    report.bytes_read = source.bytes_read().map(|bytes| bytes.load(Ordering::Relaxed));
    report.bytes_written = landed.bytes;
    report.writers = landed.writers;
    report.actions = landed.actions;
    report.notes = landed.notes;
    Ok(())
}

/// Counts rows as they are handed on, those that could not be read included.
fn counted_rows(rows: RowStream, read: Arc<AtomicU64>) -> RowStream {
    let batches = rows.batches.inspect(move |batch| {
        if let Ok(batch) = batch {
            read.fetch_add((batch.rows() + batch.unread().len()) as u64, Ordering::Relaxed);
        }
    });
    RowStream { schema: rows.schema, batches: Box::new(batches) }
}

/// Refuses a count at the destination that is not what was read.
fn check_counts(report: &CopyReport, landed: &Landed, kept: &'static str) -> Result<(), CopyError> {
    let read = report.rows_read.saturating_sub(report.rows_refused).saturating_sub(landed.rows_idle);
    let written = landed.rows.saturating_add(landed.rows_skipped);
    match written == read {
        true => Ok(()),
        false => {
            let destination = report.destination.clone();
            Err(CopyError::Count { destination, read, written, kept })
        }
    }
}
