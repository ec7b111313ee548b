//! `bcp … in`: a host file into a table.

use std::fs::{self, File};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use formats::bcp::{
    ByteOrderMark, FormatFile, HostReadOptions, HostReader, Suffered, Tolerance as FileTolerance, terminator,
};
use formats::{Compression, FormatError, Location, Reason};
use load::report::row_words;
use load::{
    BoxError, Client, LoadPlan, ParallelOptions, ParallelSource, SourceBatch, TableDescription, TableName,
    Tolerance,
};
use rows::{BulkHints, CastOptions, Mapping, Plan};
use tds::{Column, ColumnFlags, TypeInfo};

use super::arguments::{Job, Layout};
use super::console::{Console, Progress};
use super::diagnostic::Diagnostic;
use super::refusals::Refusals;
use super::{End, dialogue, layout, locale, session};
use crate::interrupt;
use copy::loaded_file::{FileOrigins, unread};

/// Runs the copy.
pub fn run(job: &Job, console: &Console) -> Result<(), End> {
    let table: TableName = job.source.parse().map_err(|error: load::Error| End::client("37000", error))?;
    let mut client = session::connect(job)?;
    let location = Location::source(&job.file);
    check_data_file(&location)?;
    let refusals = Refusals::open(console, job)?;
    let target = client.describe(&table)?;
    let columns: Vec<Column> = target.columns.iter().map(|column| column.column.clone()).collect();
    let answered = match job.layout {
        Layout::Dialogue => {
            let mut dialogue = dialogue::Dialogue::open(job)?;
            let answered = dialogue.layout(&columns)?;
            dialogue.save(&answered)?;
            Some(answered)
        }
        _ => None,
    };
    console.line("\nStarting copy...");
    let described = match answered {
        Some(answered) => answered,
        None => described_layout(job, &columns, console).map_err(End::of_copy)?,
    };
    let copy = Copy { job, console, target: &target, location: &location, refusals: &refusals };
    copy.run(&mut client, described, &columns).map_err(End::of_copy)
}

/// Checks that the data file exists, before anything else happens.
fn check_data_file(location: &Location) -> Result<(), End> {
    let Location::Path(path) = location else { return Ok(()) };
    let usable = fs::metadata(path).is_ok_and(|metadata| {
        // A pipe can be opened only once.
        !metadata.is_dir() && (!metadata.is_file() || File::open(path).is_ok())
    });
    match usable {
        true => Ok(()),
        false => Err(End::words("HY000", "Unable to open BCP host data-file")),
    }
}

/// Returns the layout of a file that a format file or a letter describes.
fn described_layout(job: &Job, columns: &[Column], console: &Console) -> Result<FormatFile, End> {
    let Some(path) = job.format_file.as_ref().filter(|_| job.layout == Layout::FormatFile) else {
        return Ok(layout::of_letters(job, columns)?);
    };
    let file = layout::of_format_file(job, path)?;
    file.check(path, columns.len()).map_err(layout::LayoutError::from)?;
    if file.fields.iter().any(|field| field.host_type.is_text() && !field.terminator.is_empty()) {
        console.diagnostic(&Diagnostic::client("HY000", EMPTY_STRINGS));
    }
    Ok(file)
}

/// The warning that the original prints for every delimited format file.
const EMPTY_STRINGS: &str =
    "Warning: BCP import with a format file will convert empty strings in delimited columns to NULL.";

/// A copy whose parts are all there.
struct Copy<'a> {
    job: &'a Job,
    console: &'a Console,
    target: &'a TableDescription,
    location: &'a Location,
    refusals: &'a Refusals<'a>,
}

impl Copy<'_> {
    fn run(&self, client: &mut Client, mut file: FormatFile, columns: &[Column]) -> Result<(), End> {
        let started = Instant::now();
        let job = self.job;
        for (number, column) in (1..).zip(&self.target.columns) {
            let generated =
                column.is_computed || column.is_rowversion || (column.is_identity && !job.keep_identity);
            if generated {
                file.skip_column(number);
            }
        }
        let receiving: Vec<Column> = columns.iter().map(receiving).collect();
        let mut reader =
            HostReader::open(self.location, self.compression(), &file, &receiving, &self.read_options()?)
                .map_err(|error| End::reading(&error))?;
        reader.use_threads(formats::reading_threads(1));
        let loaded: Vec<Column> =
            reader.table_columns().iter().filter_map(|index| receiving.get(*index).cloned()).collect();
        let plan = Plan::new(&reader.schema(), &loaded, &Mapping::ByPosition, CastOptions::default())
            .map_err(load::Error::from)?;
        let plan = LoadPlan::decided(self.target, plan, job.batch_rows.unwrap_or(u64::MAX), self.hints());
        let shared = Mutex::new(Ended::default());
        let source = HostRows { reader, file: &job.file, shared: &shared, over: false };
        let refuse = |row: load::RejectedRow| self.refusals.of_load(&row);
        let tolerance =
            Tolerance { reject: &refuse, bisect: job.bisect, keep: &|| Ok(()), keep_open_batch: true };
        let mut progress = Progress::new(self.console, job);
        let batches = Box::new(source.map(|batch| batch.map_err(BoxError::from)));
        let source = ParallelSource { plan, tolerance: Some(&tolerance), batches };
        let options = ParallelOptions { watch: &interrupt::Commits, ..ParallelOptions::default() };
        let outcome = load::load_parallel(client, vec![source], &options, &mut |done| {
            progress.reached(done.rows_sent);
        });
        let ended = std::mem::take(&mut *lock(&shared));
        for suffered in &ended.suffered {
            self.console.warn(&format!("{}: {suffered}", self.location));
        }
        // Also after a failure: the refused rows are known.
        let finished = self.refusals.finish();
        let report = outcome.map_err(End::from)?.load;
        let (noun, verb) = row_words(report.rows);
        let left = Some(format!("{} {noun} {verb} committed", report.rows));
        for message in &report.messages {
            self.console.diagnostic(&Diagnostic::information(message));
        }
        finished.map_err(|error| End { left: left.clone(), ..End::client("HY000", error) })?;
        let cut_off = match &ended.failure {
            Some(error) if matches!(*error.reason, Reason::UnexpectedEnd) => {
                self.console.diagnostic(&Diagnostic::client("HY000", UNEXPECTED_EOF));
                self.console.warn(&format!("{error}; the rows before it are loaded"));
                true
            }
            Some(error) => return Err(End { left, ..End::reading(error) }),
            None => false,
        };
        let packet_size_bytes = client.server_info().packet_size_bytes;
        self.console.summary(report.rows, packet_size_bytes, started.elapsed());
        self.judge(cut_off)
    }

    /// Decides the exit of a copy that the original would end with code 0: a warning, or with `--strict` a failure.
    fn judge(&self, cut_off: bool) -> Result<(), End> {
        let refused = self.refusals.count();
        if refused > 0 {
            let (rows, are) = row_words(refused);
            let were = if refused == 1 { "was" } else { "were" };
            self.console.warn(&format!("{refused} {rows} {were} refused and {are} not in the table"));
        }
        match self.job.strict && (refused > 0 || cut_off) {
            true => Err(End::quiet()),
            false => Ok(()),
        }
    }

    fn compression(&self) -> Compression {
        self.location.path().map_or(Compression::None, |path| Compression::from_path(path).0)
    }

    fn read_options(&self) -> Result<HostReadOptions, End> {
        let job = self.job;
        let field_terminator = match (&job.field_terminator, job.layout) {
            (Some(text), Layout::Character) => Some(layout::field_terminator(text)?),
            (Some(text), Layout::UnicodeCharacter) => {
                Some(terminator::widen(&layout::field_terminator(text)?))
            }
            _ => None,
        };
        Ok(HostReadOptions {
            field_terminator,
            code_page: layout::code_page(job.code_page)?,
            native_version: layout::native_version(job),
            byte_order_mark: match job.layout {
                Layout::UnicodeCharacter => ByteOrderMark::Strip,
                _ => ByteOrderMark::Vendor,
            },
            first_row: job.first_row,
            last_row: job.last_row,
            regional: match job.regional {
                true => Some(locale::regional_format().map_err(|error| End::client("HY000", error))?),
                false => None,
            },
            tolerance: if job.strict { FileTolerance::strict() } else { FileTolerance::vendor() },
            keep_raw_rows: job.rejects_file.is_some() || job.error_file.is_some() || job.bisect,
            ..HostReadOptions::default()
        })
    }

    /// Returns the hints of bcp: `-b` announces the size of its batches, `-k` keeps NULLs, `-h` is passed on as
    /// written.
    fn hints(&self) -> BulkHints {
        BulkHints {
            keep_nulls: self.job.keep_nulls,
            rows_per_batch: self.job.batch_rows,
            as_written: self.job.hints.clone().filter(|hints| !hints.trim().is_empty()),
            ..BulkHints::default()
        }
    }
}

const UNEXPECTED_EOF: &str = "Unexpected EOF encountered in BCP data-file";

/// Describes a column as it is sent: NULL can always be sent, and the server answers with the column's default or an
/// error.
fn receiving(column: &Column) -> Column {
    let flags = ColumnFlags(column.flags.0 | ColumnFlags::NULLABLE);
    let xml_schema = column.type_info.xml_schema.clone();
    let type_info = TypeInfo::new(column.sql_type().clone(), true, column.type_info.collation);
    Column { flags, type_info: TypeInfo { xml_schema, ..type_info }, ..column.clone() }
}

/// The end of reading, for the thread that reports it.
#[derive(Default)]
struct Ended {
    failure: Option<FormatError>,
    suffered: Vec<Suffered>,
}

fn lock(shared: &Mutex<Ended>) -> MutexGuard<'_, Ended> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rows of the file. An error that ends them early is no error of the load: the rows before it are committed.
struct HostRows<'a> {
    reader: HostReader,
    file: &'a str,
    shared: &'a Mutex<Ended>,
    over: bool,
}

impl Iterator for HostRows<'_> {
    type Item = Result<SourceBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = if self.over { None } else { self.reader.next() };
        lock(self.shared).suffered = self.reader.suffered().to_vec();
        match next {
            Some(Ok(batch)) => {
                let origins = Arc::new(FileOrigins(batch.positions));
                let unread = unread(self.file, batch.rejected);
                let cpu = self.reader.take_helpers_cpu();
                let batch = SourceBatch::new(batch.batch, origins).with_unread(unread);
                return Some(Ok(batch.with_helpers_cpu(cpu)));
            }
            Some(Err(error)) => lock(self.shared).failure = Some(error),
            None => {}
        }
        self.over = true;
        None
    }
}
