//! Runs a copy: the one way in, for the command, packages, the wizard and Python.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use formats::Location;
use load::{RejectedRow, Tolerance};

use crate::{
    copy_report::{CopyReport, FailedCopy},
    database_file::{FailedModule, PackageTarget, make_modules},
    endpoint::Endpoint,
    error::CopyError,
    file_set::files_of,
    options::Language,
    rejects::{self, Rejected, Rejects},
    source::Source,
    spec::{DestinationSpec, ModulesSpec, RefusalsSpec, Spec},
    table_copy::{CopySettings, copy_table},
    tables_copy::{TableOutcome, TableTask, copy_tables},
    transformation::TransformEngine,
    transformed_source::TransformedSource,
    watch::{Control, CopyWatch},
};

/// The result of a copy.
#[derive(Debug)]
pub struct Copied {
    /// The result of each table.
    pub tables: Vec<TableOutcome>,
    /// One copy by itself, and not one of several tables.
    pub is_single: bool,
    /// Rows that were refused in this run.
    pub refused: u64,
}

/// Runs a copy. `engine` transforms rows, and `watch` hears of everything.
///
/// # Errors
/// Nothing was begun: an end is not there, or what is asked for cannot be had. What becomes of each table is in its outcome.
pub fn run(
    spec: &Spec,
    engine: Option<&Arc<dyn TransformEngine>>,
    watch: &dyn CopyWatch,
) -> Result<Copied, CopyError> {
    run_in_order(spec, engine, watch).map_err(|error| spec.language.of_error(error))
}

fn run_in_order(
    spec: &Spec,
    engine: Option<&Arc<dyn TransformEngine>>,
    watch: &dyn CopyWatch,
) -> Result<Copied, CopyError> {
    let interruptible = watch.interruption().map(|interruption| spec.clone().interrupted_by(interruption));
    let spec = interruptible.as_ref().unwrap_or(spec);
    let (tasks, resumable) = tasks(spec, engine)?;
    let rejects = match spec.is_dry {
        // A plan refuses no rows, and keeps the file of an earlier run.
        true => None,
        false => {
            check_rejects(spec)?;
            open_rejects(&spec.refusals, resumable.contains(&true))?
        }
    };
    let refused = AtomicU64::new(0);
    let (refusals, language, is_dry) = (&spec.refusals, spec.language, spec.is_dry);
    let one = |index: usize, task: &mut TableTask| {
        let is_resumable = resumable.get(index).copied().unwrap_or_default();
        let settings = CopySettings { is_dry, is_resumable };
        let table = TableRun { refusals, rejects: rejects.as_ref(), refused: &refused };
        let of_table = watch.of_table(&task.name);
        let watch = of_table.as_deref().unwrap_or(watch);
        let done = table.copy(task, settings, watch).map_err(|failed| {
            let error = language.of_error(failed.error);
            Box::new(FailedCopy { error, ..*failed })
        });
        watch.ended(&task.name, &done);
        done
    };
    let jobs = spec.tables.as_ref().map_or(1, |tables| tables.jobs.into());
    let fails_fast = spec.tables.as_ref().is_some_and(|tables| tables.fails_fast);
    let mut tables = copy_tables(tasks, jobs, fails_fast, &one);
    if let DestinationSpec::Package(target) = &spec.destination {
        complete(target, &mut tables, language, watch);
    }
    add_modules(spec, &mut tables);
    if let Some(Err(error)) = rejects.as_ref().map(Rejects::finish) {
        let error = spec.refusals.failure(error);
        // The rows are where they are: the file that lacks some refused ones is the failure of a table that arrived.
        let arrived = tables
            .iter_mut()
            .find(|table| matches!(table.result, Some(Ok(_))) && table.failed_afterwards.is_none());
        match arrived {
            Some(table) => table.failed_afterwards = Some(error),
            None => watch.note(&format!("warning: {error}")),
        }
    }
    Ok(Copied { tables, is_single: spec.tables.is_none(), refused: refused.into_inner() })
}

/// Makes the modules of the source's files once all tables have arrived. What fails is said with the last table.
fn add_modules(spec: &Spec, tables: &mut [TableOutcome]) {
    let (Some(modules), false) = (spec.modules, spec.is_dry) else { return };
    let are_all_there =
        tables.iter().all(|table| matches!(table.result, Some(Ok(_))) && table.failed_afterwards.is_none());
    let (Endpoint::DatabaseFile(source), Endpoint::SqlServer(target)) =
        (spec.source.endpoint(), spec.destination.endpoint())
    else {
        return;
    };
    let Some(last) = tables.last_mut() else { return };
    if !are_all_there {
        last.afterwards.push("no modules are made: not all tables have arrived".to_owned());
        return;
    }
    let made = source.open().and_then(|file| {
        make_modules(&target.config, file.modules())
            .map_err(|error| CopyError::client(&target.config.host, error))
    });
    match made {
        Err(error) => last.failed_afterwards = Some(error),
        Ok((made, failed)) => {
            last.afterwards.push(format!("{made} modules made"));
            let named = |failed: &FailedModule| format!("{}: {}", failed.name, failed.reason);
            match modules {
                ModulesSpec::SkipFailing => {
                    let skipped = failed.iter().map(|failed| format!("skipped {}", named(failed)));
                    last.afterwards.extend(skipped);
                }
                ModulesSpec::All if !failed.is_empty() => {
                    let all: Vec<String> = failed.iter().map(named).collect();
                    last.failed_afterwards = Some(CopyError::Usage(format!(
                        "{} modules were not made ({made} were): {}",
                        failed.len(),
                        all.join("; ")
                    )));
                }
                ModulesSpec::All => {}
            }
        }
    }
}

/// Completes a package after its tables. A failure is that of every table which had arrived.
fn complete(target: &PackageTarget, tables: &mut [TableOutcome], language: Language, watch: &dyn CopyWatch) {
    let are_all_there = tables.iter().all(|table| matches!(table.result, Some(Ok(_))));
    match target.complete(are_all_there) {
        Ok(notes) => {
            if let Some(last) = tables.last_mut() {
                last.afterwards.extend(notes);
            }
        }
        Err(error) => {
            let text = language.of_error(error).to_string();
            for table in tables {
                let Some(Ok(report)) = &table.result else { continue };
                let failed = Err(Box::new(FailedCopy {
                    source: report.source.clone(),
                    destination: report.destination.clone(),
                    rows_written: 0,
                    error: CopyError::Usage(text.clone()),
                    left: Vec::new(),
                }));
                let of_table = watch.of_table(&table.name);
                of_table.as_deref().unwrap_or(watch).ended(&table.name, &failed);
                table.result = Some(failed);
            }
        }
    }
}

/// Opens the source of a copy with what is done to its rows, to look at them.
///
/// # Errors
/// It is not there, or the engine is missing.
pub fn open_source(
    spec: &Spec,
    engine: Option<&Arc<dyn TransformEngine>>,
) -> Result<Box<dyn Source>, CopyError> {
    let opened = spec.source.open().and_then(|source| transformed(spec, source, engine));
    opened.map_err(|error| spec.language.of_error(error))
}

/// Returns a source whose rows are transformed as a copy asks.
///
/// # Errors
/// The engine is missing, or a lookup is not there.
pub fn transformed(
    spec: &Spec,
    source: Box<dyn Source>,
    engine: Option<&Arc<dyn TransformEngine>>,
) -> Result<Box<dyn Source>, CopyError> {
    let Some(rows) = &spec.rows else { return Ok(source) };
    let Some(engine) = engine else {
        return Err(CopyError::Usage(
            "select, where, transform, action and lookups of a copy need the query engine, which this bulkwire was built without (the feature `engine`)"
                .to_owned(),
        ));
    };
    let mut lookups = Vec::with_capacity(rows.lookups.len());
    for (name, lookup) in &rows.lookups {
        lookups.push((name.clone(), lookup.open()?));
    }
    let transformation = rows.transformation.clone();
    Ok(Box::new(TransformedSource::new(source, Arc::clone(engine), transformation, lookups)))
}

/// Makes the copies to run, and tells for each if it can be continued.
fn tasks(
    spec: &Spec,
    engine: Option<&Arc<dyn TransformEngine>>,
) -> Result<(Vec<TableTask>, Vec<bool>), CopyError> {
    let (source, destination) = (spec.source.endpoint(), spec.destination.endpoint());
    let Some(tables) = &spec.tables else {
        source.check_distinct(&destination)?;
        let ends = (source.clone(), destination);
        let (task, is_resumable) = task(spec, engine, ends, source.to_string(), None)?;
        return Ok((vec![task], vec![is_resumable]));
    };
    let all = source.tables()?;
    if let Some(pattern) = tables.patterns.without_tables(&all) {
        return Err(CopyError::Usage(format!("--tables {pattern}: {source} has no such table")));
    }
    let (mut tasks, mut resumable) = (Vec::new(), Vec::new());
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for table in all.into_iter().filter(|table| tables.patterns.matches(table)) {
        let from = source.with_table(&table);
        let to = destination.for_table(&table, tables.to_schema.as_deref(), spec.destination.suffix())?;
        from.check_distinct(&to)?;
        let name = table.pattern();
        if let Some(other) = taken.insert(to.to_string(), name.clone()) {
            return Err(CopyError::Usage(format!("{other} and {name} would both go to {to}")));
        }
        let (task, is_resumable) = task(spec, engine, (from, to), name.clone(), Some(&name))?;
        let weight = table.bytes.or(table.rows).unwrap_or_default();
        tasks.push(TableTask { weight, ..task });
        resumable.push(is_resumable);
    }
    if tasks.is_empty() {
        return Err(CopyError::Usage("--exclude leaves out every table that --tables means".to_owned()));
    }
    if let Endpoint::Files(files) = &destination
        && !formats::objects::is_object_url(&files.path)
    {
        std::fs::create_dir_all(&files.path)
            .map_err(|source| CopyError::Unreadable { file: files.path.clone(), source })?;
    }
    Ok((tasks, resumable))
}

/// Makes the copy of one table.
fn task(
    spec: &Spec,
    engine: Option<&Arc<dyn TransformEngine>>,
    ends: (Endpoint, Endpoint),
    name: String,
    table: Option<&str>,
) -> Result<(TableTask, bool), CopyError> {
    let (from, to) = ends;
    let mut source = transformed(spec, spec.source.at(from).open()?, engine)?;
    let (destination, is_resumable) = spec.destination.at(to).open(source.as_mut(), table)?;
    Ok((TableTask { name, weight: 0, source, destination }, is_resumable))
}

/// Refuses a file of refused rows that is a source's or the destination's.
fn check_rejects(spec: &Spec) -> Result<(), CopyError> {
    let Some(path) = &spec.refusals.rejects else { return Ok(()) };
    let mut others: Vec<PathBuf> = Vec::new();
    for endpoint in [spec.source.endpoint(), spec.destination.endpoint()] {
        let names = match endpoint {
            Endpoint::Files(files) => vec![files.path],
            Endpoint::DatabaseFile(files) => files.files.clone(),
            Endpoint::SqlServer(_) | Endpoint::Database(_) => Vec::new(),
        };
        for name in names {
            others.push(PathBuf::from(&name));
            // A pattern or a folder stands for its files.
            let files = files_of(&name).unwrap_or_default();
            others.extend(files.iter().filter_map(Location::path).map(Path::to_path_buf));
        }
    }
    rejects::check_apart(Some(path), others.iter().map(PathBuf::as_path))
}

/// Opens the place of refused rows; nothing if the first one is to end the copy.
fn open_rejects(refusals: &RefusalsSpec, is_resumable: bool) -> Result<Option<Rejects>, CopyError> {
    let limit = match (refusals.max_errors, &refusals.rejects) {
        (None, None) if !refusals.bisect => return Ok(None),
        (Some(limit), _) => Some(limit),
        (None, Some(_)) => None,
        (None, None) => Some(0),
    };
    let opened = match (&refusals.rejects, is_resumable) {
        // Rows of an earlier run that are committed are not read again, and so their refusals are kept.
        (Some(path), true) => Rejects::reopen(path, limit, |_, _| true),
        (path, _) => Rejects::open(path.as_ref(), limit),
    };
    let rejects = opened.map_err(|source| refusals.failure(source))?;
    if let Some(path) = refusals.rejects.as_ref().filter(|_| refusals.is_kept_between_runs) {
        rejects.remove_if_empty(path);
    }
    Ok(Some(rejects))
}

impl RefusalsSpec {
    fn failure(&self, source: std::io::Error) -> CopyError {
        let file = self.rejects.as_deref().map(Path::display).map(|path| path.to_string());
        CopyError::Rejects { file: file.unwrap_or_default(), source }
    }
}

/// The copy of one table, and what all of them share.
struct TableRun<'a> {
    refusals: &'a RefusalsSpec,
    rejects: Option<&'a Rejects>,
    refused: &'a AtomicU64,
}

impl TableRun<'_> {
    fn copy(
        &self,
        task: &mut TableTask,
        settings: CopySettings,
        watch: &dyn CopyWatch,
    ) -> Result<CopyReport, Box<FailedCopy>> {
        let places = task.source.places();
        let of_source = task.source.name();
        let refuse = |mut row: RejectedRow| {
            let place = places.of(row.origin.row, &of_source);
            row.origin.row = place.row;
            self.refuse(
                &Rejected { line: place.line, ..rejects::of_load(&place.name, place.encoding, &row) },
                watch,
            )
        };
        let keep = || self.rejects.map_or(Ok(()), Rejects::keep);
        let tolerance =
            Tolerance { reject: &refuse, bisect: self.refusals.bisect, keep: &keep, keep_open_batch: false };
        let control =
            Control { watch, commits: watch.commits(), tolerance: self.rejects.map(|_| &tolerance) };
        let bytes = task.source.bytes_read();
        let (source, destination) = (task.source.as_mut(), task.destination.as_mut());
        let mut report = copy_table(source, destination, settings, &control, &mut |report| {
            watch.reads(bytes.clone());
            watch.planned(report);
        })?;
        let is_kept = self.refusals.is_kept_between_runs;
        if let Some(rejects) = self.rejects.filter(|_| report.was_done && is_kept) {
            // The load is over, and its ledger with it: what it has refused stands in the file alone.
            report.rows_refused_before = report.rows_refused_before.max(rejects.count_before(&of_source));
        }
        Ok(report)
    }

    /// Hands a refused row on and writes it down.
    fn refuse(&self, rejected: &Rejected<'_>, watch: &dyn CopyWatch) -> ControlFlow<()> {
        let Some(rejects) = self.rejects else { return ControlFlow::Break(()) };
        self.refused.fetch_add(1, Ordering::Relaxed);
        let number = rejects.count();
        watch.refused(rejected, number);
        let goes_on = rejects.take(rejected);
        if goes_on.is_break() {
            watch.refused_too_many(rejected, number);
        }
        goes_on
    }
}
