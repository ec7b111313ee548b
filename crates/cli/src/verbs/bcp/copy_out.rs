//! `bcp … out` and `queryout`: a table or a query's first result into a host file. `bcp … format`: only its description.

use std::fmt;
use std::time::Instant;

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use formats::bcp::{FormatFile, HostWriteOptions, HostWriter, UnmappableText};
use formats::{BatchWriter, Compression, FormatError, Location, Reason};
use load::{Client, TableDescription, TableName, table_query};
use rows::Form;
use tds::Column;

use super::arguments::{Direction, Job, Layout};
use super::console::{Console, Progress};
use super::diagnostic::Diagnostic;
use super::{End, dialogue, layout, session};

/// Runs the copy.
pub fn run(job: &Job, console: &Console) -> Result<(), End> {
    let mut client = session::connect(job)?;
    let query = query(job)?;
    let asked = asked_layout(job, &mut client, &query)?;
    let table = described_table(job, &mut client)?;
    let mut stream = client.query(&query, Form::Exact)?;
    let columns = stream.columns().to_vec();
    let columns = table.map_or(columns.clone(), |table| table.refined(columns));
    if columns.is_empty() {
        return Err(End::words("HY000", "BCP host-files must contain at least one column"));
    }
    console.line("\nStarting copy...");
    let started = Instant::now();
    let described = match asked {
        Some(file) => Ok(file),
        None => described_layout(job, &columns),
    };
    let location = Location::target(&job.file);
    let schema = stream.schema();
    let writer =
        described.and_then(|file| writer(job, &location, &file, &columns, &schema)).map_err(End::of_copy)?;
    let messages = stream.take_messages();
    let mut sink = Sink { writer, first: job.first_row - 1, last: job.last_row, seen: 0, written: 0 };
    let mut progress = Progress::new(console, job);
    let exported = load::export(stream, |batch| {
        let outcome = sink.write(&batch);
        progress.reached(sink.written);
        outcome
    });
    for message in &messages {
        console.diagnostic(&Diagnostic::server(message));
    }
    let several = match exported {
        Ok(_) => false,
        Err(load::Error::SeveralResults) => true,
        Err(load::Error::Sink(source))
            if source.downcast_ref::<SinkError>().is_some_and(SinkError::is_enough) =>
        {
            false
        }
        Err(error) => return Err(End::from(error).of_copy()),
    };
    let rows = sink.written;
    for suffered in sink.writer.suffered() {
        console.warn(&format!("{location}: {suffered}"));
    }
    Box::new(sink.writer).finish().map_err(|error| End::client("HY000", error).of_copy())?;
    console.summary(rows, client.server_info().packet_size_bytes, started.elapsed());
    if several {
        console.warn("the query returned more than one result; only the first is in the file");
        if job.strict {
            return Err(End::quiet());
        }
    }
    Ok(())
}

/// Writes a format file.
pub fn run_format(job: &Job, console: &Console) -> Result<(), End> {
    let mut client = session::connect(job)?;
    let table: TableName = job.source.parse().map_err(|error: load::Error| End::client("37000", error))?;
    let target = client.describe(&table)?;
    let columns: Vec<Column> = target.columns.into_iter().map(|column| column.column).collect();
    let file = match job.layout {
        Layout::Dialogue => dialogue::Dialogue::open(job)?.layout(&columns)?,
        _ => layout::of_letters(job, &columns)?,
    };
    let text = match job.xml {
        true => file.to_xml(&columns).map_err(layout::LayoutError::from)?,
        false => file.to_text_for(layout::code_page(job.code_page)?),
    };
    let path = job.format_file.as_deref().unwrap_or_default();
    std::fs::write(path, text).map_err(|error| End::client("HY000", format!("{path}: {error}")))?;
    console.line("");
    Ok(())
}

/// Describes the table by the catalogue; `None` for a query, or if the login may not look at it.
fn described_table(job: &Job, client: &mut Client) -> Result<Option<TableDescription>, End> {
    let Some(table) = (job.direction == Direction::Out).then(|| job.source.parse().ok()).flatten() else {
        return Ok(None);
    };
    match client.describe(&table) {
        Ok(table) => Ok(Some(table)),
        Err(error) if client.is_broken() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

fn query(job: &Job) -> Result<String, End> {
    if job.direction == Direction::QueryOut {
        return Ok(job.source.clone());
    }
    let table: TableName = job.source.parse().map_err(|error: load::Error| End::client("37000", error))?;
    Ok(table_query(&table, None))
}

/// Returns the layout of the dialogue, which takes place before the copy starts.
fn asked_layout(job: &Job, client: &mut Client, query: &str) -> Result<Option<FormatFile>, End> {
    if job.layout != Layout::Dialogue {
        return Ok(None);
    }
    let columns = {
        let stream = client.query(query, Form::Exact)?;
        stream.columns().to_vec()
    };
    let mut dialogue = dialogue::Dialogue::open(job)?;
    let answered = dialogue.layout(&columns)?;
    dialogue.save(&answered)?;
    Ok(Some(answered))
}

fn described_layout(job: &Job, columns: &[Column]) -> Result<FormatFile, End> {
    let Some(path) = job.format_file.as_ref().filter(|_| job.layout == Layout::FormatFile) else {
        return Ok(layout::of_letters(job, columns)?);
    };
    let file = layout::of_format_file(job, path)?;
    file.check(path, columns.len()).map_err(layout::LayoutError::from)?;
    Ok(file)
}

fn writer(
    job: &Job,
    location: &Location,
    file: &FormatFile,
    columns: &[Column],
    schema: &Schema,
) -> Result<HostWriter, End> {
    let compression = location.path().map_or(Compression::None, |path| Compression::from_path(path).0);
    let options = HostWriteOptions {
        code_page: layout::code_page(job.code_page)?,
        native_version: layout::native_version(job),
        byte_order_mark: job.layout == Layout::UnicodeCharacter,
        unmappable: if job.strict { UnmappableText::Refuse } else { UnmappableText::Vendor },
        refuse_terminators: job.strict,
        ..HostWriteOptions::default()
    };
    HostWriter::create(location, compression, file, columns, schema, &options).map_err(|error| {
        match *error.reason {
            Reason::Io(_) => End::words("HY000", "Unable to open BCP host data-file"),
            _ => End::client("HY000", error),
        }
    })
}

/// Writes the rows from `-F` to `-L`.
struct Sink {
    writer: HostWriter,
    first: u64,
    last: Option<u64>,
    seen: u64,
    written: u64,
}

impl Sink {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), SinkError> {
        let rows = batch.num_rows() as u64;
        let start = self.first.saturating_sub(self.seen).min(rows);
        let end = self.last.map_or(rows, |last| last.saturating_sub(self.seen).min(rows)).max(start);
        self.seen += rows;
        if end > start {
            // Both are at most the batch's length.
            self.writer
                .write(&batch.slice(start as usize, (end - start) as usize))
                .map_err(SinkError::Format)?;
            self.written += end - start;
        }
        match self.last {
            Some(last) if self.seen >= last => Err(SinkError::Enough),
            _ => Ok(()),
        }
    }
}

/// The reason why no more rows are wanted.
#[derive(Debug)]
enum SinkError {
    /// The last row that was asked for is written.
    Enough,
    Format(FormatError),
}

impl SinkError {
    fn is_enough(&self) -> bool {
        matches!(self, Self::Enough)
    }
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enough => f.write_str("the last row that was asked for is written"),
            Self::Format(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SinkError {}
