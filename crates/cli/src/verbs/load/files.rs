//! The files of a load on their way into the table: opened, planned, loaded, and the end of all of them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use formats::bcp::Deviation;
use formats::{Encoding, RowLines};
use indicatif::ProgressBar;
use load::report::{grouped, row_words};
use load::{
    Beginning, Client, Ending, Ledger, LoadOptions, LoadPlan, Observation, ParallelOptions, ParallelReport,
    ParallelSource, RejectedRow, TableLoad, TableName, Tolerance, Writers,
};

use crate::args::{LoadArgs, WriterCount};
use crate::failure::{FailedLoad, Failure};
use crate::server_log::LoadWatch;
use crate::verbs::load::report::{self, Loaded, Terms};
use crate::verbs::load::source::{self, Kind, REJECTS_SHOWN_MAX, Source};
use crate::verbs::load::{forecast, observation, order};
use crate::{event_log, interrupt, progress};
use copy::loaded_file::{Deviations, LoadedFile, Reader};
use copy::rejects;
use copy::rejects::{Rejected, Rejects};

/// The files of a command line and what they are loaded with.
pub struct Files<'a> {
    /// The target.
    pub table: &'a TableName,
    /// The files.
    pub sources: &'a [Source],
    /// The record of committed rows.
    pub ledger: Option<&'a Ledger>,
    /// The collector of refused rows.
    pub rejects: Option<&'a Rejects>,
    /// The command line.
    pub arguments: &'a LoadArgs,
    /// The retry rules for work before the first row.
    pub beginning: Beginning<'a>,
    /// Hears of commits and of writers.
    pub watch: LoadWatch,
    /// The `(max)` columns of a created table that could have a length.
    pub unsized_advice: Option<String>,
}

impl Files<'_> {
    /// Loads the files: one after another, each with a report of its own, or all at a time if the command line says anything
    /// of writers. How many of them are loaded is kept in `done`.
    pub fn load(
        &self,
        client: &mut Client,
        load: &mut TableLoad<'_>,
        done: &mut usize,
    ) -> Result<(), Failure> {
        let together = match self.arguments.writers.is_asked() {
            true => self.sources.len(),
            false => 1,
        };
        let mut rows_before = None;
        for group in self.sources.chunks(together.max(1)) {
            self.load_group(client, load, group, &mut rows_before)?;
            *done += group.len();
        }
        if self.arguments.dry_run {
            return Ok(());
        }
        self.finish(client, load)
    }

    fn load_group(
        &self,
        client: &mut Client,
        load: &mut TableLoad<'_>,
        group: &[Source],
        rows_before: &mut Option<Option<u64>>,
    ) -> Result<(), Failure> {
        let Self { table, ledger, rejects, arguments, beginning, .. } = *self;
        let (mut files, readers) = self.open(client, load, group).map_err(|failure| match rows_before {
            // Files before this one may be in the table.
            Some(_) => failure,
            None => failure.before_rows(),
        })?;
        if load.empties() && !arguments.dry_run {
            // Only now: a file that does not fit the table must not cost its rows.
            let emptied =
                interrupt::during_statement(|| beginning.run(client, &mut |client| load.empty(client)));
            let statement = load.emptying_statement();
            emptied.map_err(|error| Failure::Statement { statement, error: Box::new(error) })?;
            // The empty table has plans of its own.
            for ((file, reader), source) in files.iter_mut().zip(&readers).zip(group) {
                let schema = reader.schema();
                let plan = beginning.run(client, &mut |client| load.plan(client, &schema, &file.options));
                file.plan = plan.map_err(|error| source::unfit(source, table, error))?;
            }
        }
        if ledger.is_none() && load.stage().is_none() && rows_before.is_none() {
            *rows_before = Some(source::rows_before(client, table, arguments)?);
        }
        let Some(first) = files.first_mut() else { return Ok(()) };
        first.plan.rows_before = rows_before.flatten();
        if let Some(advice) = &self.unsized_advice {
            first.plan.advise_unsized(advice);
        }
        let terms =
            Terms { writers: writers(&first.plan, arguments), retry: arguments.writers.retry(), ledger };
        if !arguments.quiet {
            match arguments.writers.is_asked() {
                true => say!("{}", report::plan_text(&first.plan, &terms)),
                false => say!("{}", first.plan),
            }
        }
        for file in &files {
            event_log::plan(file.name, &file.plan);
        }
        if arguments.dry_run {
            for (file, reader) in files.iter().zip(readers).filter(|_| arguments.report.forecast) {
                forecast::run(client, &file.plan, file.name, reader, arguments)?;
            }
            return Ok(());
        }
        let refused_before = rejects.map_or(0, Rejects::count);
        let bytes_total = files.iter().map(|file| file.bytes_total).sum::<Option<u64>>();
        let forecast = files.iter().find_map(|file| file.forecast.clone());
        let Some(first) = files.first() else { return Ok(()) };
        let (observation, expected) =
            observation::begin(client, &first.plan, bytes_total, forecast, &self.watch, arguments);
        let loaded = self.transfer(client, load, &files, readers, &terms, &observation);
        let afterword = loaded.as_ref().ok().map(|report| expected.end(client, observation, &report.load));
        // Also after a failure: the refused rows are known.
        let written = rejects.map_or(Ok(()), Rejects::finish);
        let written = written.map_err(|error| source::rejects_failure(arguments, error));
        let report = match (loaded, written) {
            (Ok(report), Ok(())) => report,
            (Ok(report), Err(failure)) => return Err(failure.behind_rows(report.load.rows_stored())),
            (Err(failure), Ok(())) => return Err(failure),
            // What became of the rows matters more.
            (Err(failure), Err(unwritten)) => {
                say!("warning: {unwritten}");
                return Err(failure);
            }
        };
        if let Some(Some(before)) = rows_before {
            *before = before.saturating_add(report.load.rows_stored());
        }
        let shown = Loaded {
            name: &label(&files),
            report: &report,
            afterword: &afterword.unwrap_or_default(),
            logged: &self.watch.take(),
            refused: rejects.map_or(0, Rejects::count) - refused_before,
            ledger,
        };
        report::show(&shown, arguments.writers.is_asked(), arguments);
        Ok(())
    }

    /// Opens files, and plans the load of each; a stage is made with the first.
    fn open<'s>(
        &self,
        client: &mut Client,
        load: &mut TableLoad<'_>,
        group: &'s [Source],
    ) -> Result<(Vec<LoadedSource<'s>>, Vec<Reader>), Failure> {
        let Self { table, rejects, arguments, beginning, .. } = *self;
        let mut files = Vec::new();
        let mut readers = Vec::new();
        let look = |client: &mut Client, load: &mut TableLoad<'_>, source: &Source| {
            let looked = beginning.run(client, &mut |client| load.look(client).map(drop));
            looked.map_err(|error| source::unfit(source, table, error))
        };
        for source in group {
            // A file of bcp's formats has the table's columns.
            if matches!(source.kind, Kind::Host(_)) {
                look(client, load, source)?;
            }
            let mut reader = source::open(client, table, source, arguments)?;
            reader.use_threads(formats::reading_threads(group.len()));
            if rejects.is_some() {
                reader.collect_rejects();
            }
            readers.push(reader);
        }
        if let Some(first) = group.first() {
            look(client, load, first)?;
        }
        let options = order::find(client, load, group, &readers, arguments)?;
        for ((source, reader), options) in group.iter().zip(&readers).zip(options) {
            let schema = reader.schema();
            let chosen = beginning.run(client, &mut |client| load.choose(client, &schema, &options));
            chosen.map_err(|error| source::unfit(source, table, error))?;
            if let Some(stage) = load.stage().filter(|_| !arguments.dry_run) {
                interrupt::note_stage(stage.name().to_string());
                beginning.run(client, &mut |client| load.make_stage(client))?;
            }
            let plan = beginning.run(client, &mut |client| load.plan(client, &schema, &options));
            let plan = plan.map_err(|error| source::unfit(source, table, error))?;
            let forecast = forecast::beforehand(client, &plan, source, arguments)?;
            files.push(LoadedSource {
                forecast,
                name: &source.name,
                plan,
                lines: reader.lines(),
                encoding: reader.text_encoding(),
                bytes_total: reader.bytes_total(),
                bytes_read: Arc::default(),
                deviations: Deviations::default(),
                options,
            });
        }
        Ok((files, readers))
    }

    fn transfer(
        &self,
        client: &mut Client,
        load: &mut TableLoad<'_>,
        files: &[LoadedSource<'_>],
        readers: Vec<Reader>,
        terms: &Terms<'_>,
        observation: &Observation<'_>,
    ) -> Result<ParallelReport, Failure> {
        let Self { rejects, arguments, .. } = *self;
        let bytes_total = files.iter().map(|file| file.bytes_total).sum::<Option<u64>>();
        let bar = progress::bar(&label(files), bytes_total, arguments.quiet);
        let refuse: Vec<_> = files
            .iter()
            .map(|file| {
                let bar = &bar;
                move |row: RejectedRow| match rejects {
                    Some(rejects) => file.refuse(&row, rejects, bar, arguments.quiet),
                    None => ControlFlow::Break(()),
                }
            })
            .collect();
        let keep = || rejects.map_or(Ok(()), Rejects::keep);
        let tolerances: Vec<Tolerance<'_>> = refuse
            .iter()
            .map(|reject| Tolerance {
                reject,
                bisect: arguments.refusals.bisect,
                keep: &keep,
                keep_open_batch: false,
            })
            .collect();
        let sources =
            files.iter().zip(readers).zip(&tolerances).map(|((file, reader), tolerance)| ParallelSource {
                plan: file.plan.clone(),
                tolerance: rejects.map(|_| tolerance),
                batches: Box::new(
                    LoadedFile::new(file.name, reader, Arc::clone(&file.bytes_read))
                        .with_deviations(&file.deviations)
                        .map(|batch| batch.map_err(load::BoxError::from)),
                ),
            });
        let options = ParallelOptions {
            writers: terms.writers,
            retry: terms.retry,
            ledger: terms.ledger,
            time_limit: arguments.writers.time_limit.map(|seconds| Duration::from_secs(seconds.into())),
            watch: observation,
        };
        let loaded = load.load(client, sources.collect(), &options, &mut |progress| {
            observation.note(progress);
            bar.set_position(files.iter().map(|file| file.bytes_read.load(Ordering::Relaxed)).sum());
            let rows = progress.rows_committed.max(progress.rows_sent);
            bar.set_message(format!("{} {}", grouped(rows), row_words(rows).0));
        });
        bar.finish_and_clear();
        files.iter().for_each(LoadedSource::warn);
        loaded.map_err(|error| {
            let file = error.source_index.and_then(|index| files.get(index)).or(files.first());
            let line = file.and_then(|file| source::line_of(&error.source, file.lines.as_ref()));
            let file = file.map_or_else(|| label(files), |file| file.name.to_owned());
            Failure::Load(Box::new(FailedLoad { file, error, line }))
        })
    }

    /// Publishes the stage, if there is one, and notes that the load is done.
    fn finish(&self, client: &mut Client, load: &TableLoad<'_>) -> Result<(), Failure> {
        let arguments = self.arguments;
        let ended = load.finish(client, arguments.writers.retry(), &mut interrupt::note_statement);
        let table = load.target_name().to_string();
        let ending = ended.map_err(|error| {
            Failure::Load(Box::new(FailedLoad { file: table.clone(), error, line: None }))
        })?;
        if load.stage().is_none() {
            return Ok(());
        }
        interrupt::note_published();
        match ending {
            Ending::Published(published) => {
                report::show_published(&published, &table, load.mode_word(), arguments);
                Ok(())
            }
            Ending::AnswerLost(Some(error)) if !arguments.quiet => {
                say!("note: {table}: {error}; the stage is gone, so its rows are in the table");
                Ok(())
            }
            Ending::AnswerLost(_) | Ending::Direct => Ok(()),
        }
    }
}

/// A file that is loaded.
struct LoadedSource<'a> {
    name: &'a str,
    plan: LoadPlan,
    lines: Option<RowLines>,
    encoding: Option<Encoding>,
    bytes_total: Option<u64>,
    bytes_read: Arc<AtomicU64>,
    deviations: Deviations,
    forecast: Option<load::Forecast>,
    options: LoadOptions,
}

impl LoadedSource<'_> {
    /// Says which rows may mean something else than what was loaded.
    fn warn(&self) {
        let deviations = self.deviations.lock().unwrap_or_else(PoisonError::into_inner);
        for suffered in deviations.iter().filter(|one| one.deviation != Deviation::MissingLastTerminator) {
            say!("warning: {}: {suffered}", self.name);
        }
    }

    /// Shows a refused row and writes it down.
    fn refuse(
        &self,
        row: &RejectedRow,
        rejects: &Rejects,
        bar: &ProgressBar,
        quiet: bool,
    ) -> ControlFlow<()> {
        let line = self.lines.as_ref().and_then(|lines| lines.line_of_row(row.origin.row + 1));
        let rejected = Rejected { line, ..rejects::of_load(self.name, self.encoding, row) };
        event_log::refused(&rejected);
        let is_shown = !quiet && rejects.count() < REJECTS_SHOWN_MAX;
        if is_shown {
            bar.suspend(|| say!("refused: {}", source::described(&rejected)));
        }
        let goes_on = rejects.take(&rejected);
        if goes_on.is_break() && !is_shown {
            // The one that ends the load is named in any case.
            bar.suspend(|| say!("refused: {}", source::described(&rejected)));
        }
        goes_on
    }
}

fn label(files: &[LoadedSource<'_>]) -> String {
    match files {
        [file] => file.name.to_owned(),
        files => format!("{} files", files.len()),
    }
}

/// Returns the number of connections: the requested one, or 1.
fn writers(plan: &LoadPlan, arguments: &LoadArgs) -> Writers {
    match arguments.writers.writers {
        Some(WriterCount::Fixed(writers)) => Writers::Fixed(writers.into()),
        Some(WriterCount::Auto) => Writers::Auto(plan.writers_max),
        None => Writers::Fixed(1),
    }
}
