//! Exports: the answer is decoded on one thread and written on another.

use std::{
    thread,
    time::{Duration, Instant},
};

use arrow::record_batch::RecordBatch;
use crossbeam_channel::{Sender, bounded};

use crate::{
    error::Error,
    platform::CpuWatch,
    report::ExportReport,
    result::ResultStream,
    table_name::{TableName, quoted},
};

/// Record batches between decoder and sink.
const BATCHES_MAX: usize = 2;

/// Writes the query that exports a table: all columns, or those named, in that order.
pub fn table_query(table: &TableName, columns: Option<&[String]>) -> String {
    let list = match columns {
        Some(columns) => columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", "),
        None => "*".to_owned(),
    };
    format!("SELECT {list} FROM {table}")
}

/// Writes the current result set of a query to a sink. A slow sink slows the server down; a failing one cancels the query. A
/// query with a second result set is an error, [`Error::SeveralResults`], since that set would be lost. The sink runs on the
/// calling thread; at most two batches are decoded ahead of it.
pub fn export<E>(
    mut stream: ResultStream<'_>,
    mut sink: impl FnMut(RecordBatch) -> Result<(), E>,
) -> Result<ExportReport, Error>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let started = stream.started();
    let cpu = CpuWatch::start();
    let (sender, batches) = bounded(BATCHES_MAX);
    let mut report = ExportReport {
        rows: 0,
        batches: 0,
        bytes_on_wire: 0,
        elapsed: Duration::ZERO,
        wait: Duration::ZERO,
        decode: Duration::ZERO,
        write: Duration::ZERO,
        client_cpu: None,
    };
    let (written, decoded) = thread::scope(|scope| {
        let decoder = scope.spawn(|| decode_all(&mut stream, sender));
        let mut written = Ok(());
        for batch in batches {
            let started = Instant::now();
            report.rows += batch.num_rows() as u64;
            report.batches += 1;
            written = sink(batch).map_err(|error| Error::Sink(error.into()));
            report.write += started.elapsed();
            if written.is_err() {
                // Leaving the loop drops the queue, which stops the decoder.
                break;
            }
        }
        (written, decoder.join())
    });
    written?;
    let decoded = decoded.map_err(|_| Error::Worker { worker: "decoding" })?;
    decoded.outcome?;
    report.bytes_on_wire = stream.bytes_received();
    report.elapsed = started.elapsed();
    report.wait = stream.waited();
    report.decode = decoded.busy.saturating_sub(report.wait);
    report.client_cpu = [cpu.elapsed(), decoded.cpu, Some(stream.helpers_cpu())].into_iter().sum();
    Ok(report)
}

struct Decoded {
    outcome: Result<(), Error>,
    busy: Duration,
    cpu: Option<Duration>,
}

fn decode_all(stream: &mut ResultStream<'_>, batches: Sender<RecordBatch>) -> Decoded {
    let cpu = CpuWatch::start();
    let mut busy = Duration::ZERO;
    let outcome = loop {
        let started = Instant::now();
        let next = stream.next_batch();
        busy += started.elapsed();
        match next {
            Ok(Some(batch)) => {
                if batches.send(batch).is_err() {
                    // Without a sink the query is cancelled when the stream is dropped.
                    break Ok(());
                }
            }
            Ok(None) => {
                break match stream.next_result() {
                    Ok(false) => Ok(()),
                    Ok(true) => Err(Error::SeveralResults),
                    Err(error) => Err(error),
                };
            }
            Err(error) => break Err(error),
        }
    };
    Decoded { outcome, busy, cpu: cpu.elapsed() }
}
