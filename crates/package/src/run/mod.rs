//! Runs a package: its tasks in order and side by side, with a journal that lets a killed run go on.

mod attempts;
pub(crate) mod context;
pub mod event;
pub(crate) mod items;
pub(crate) mod level;
mod permits;
pub mod report;
mod run_error;
mod selection;
mod step;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::Local;
use load::Interruption;

use crate::copies::Copies;
use crate::journal::{EndRecord, Journal, Past, Record, RunRecord};
use crate::loaded::{Loaded, Step};
use crate::model::Interrupted;
use crate::run::context::RunContext;
use crate::run::event::{Event, Observer, now};
use crate::run::level::{Level, run_level};
use crate::run::report::RunReport;
pub use crate::run::run_error::RunError;
pub(crate) use crate::run::selection::Selection;
use crate::scope::{Scope, Variables};

/// Tasks that work at once unless the package says otherwise.
const JOBS: u32 = 4;

/// The request for a run.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Values for variables.
    pub set: Vec<(String, String)>,
    /// The journal; by default beside the package.
    pub state: Option<PathBuf>,
    /// The tasks to begin with: they and everything behind them run.
    pub from: Vec<String>,
    /// The only tasks to run, if any are named.
    pub only: Vec<String>,
    /// Begins again, whatever an earlier run has left.
    pub is_new: bool,
    /// Goes on although variables or done tasks have changed.
    pub is_forced: bool,
    /// Tasks in whose middle a run was killed: they run again.
    pub redo: Vec<String>,
    /// Tasks in whose middle a run was killed: they are done.
    pub done: Vec<String>,
    /// Tasks that work at once, in place of the package's `jobs`.
    pub jobs: Option<u32>,
    /// The means to run copies, if this program can copy.
    pub copies: Option<&'a Copies>,
    /// Ends the run from another thread; the next one goes on where it stopped.
    pub interruption: Interruption,
}

/// Returns the default journal of a package: `orders.toml` has `orders.state.jsonl`.
pub fn default_state(package: &Path) -> PathBuf {
    package.with_extension("state.jsonl")
}

/// Runs a package.
///
/// # Errors
/// Nothing ran, or the journal could not be written. A failed task is no error but a report.
pub fn run(
    package: &Loaded,
    options: &RunOptions<'_>,
    observer: &dyn Observer,
) -> Result<RunReport, RunError> {
    let selection = Selection::new(package, &options.from, &options.only)?;
    let variables = Variables::new(package, &options.set)?;
    let state = options.state.clone().unwrap_or_else(|| default_state(&package.path));
    let (mut journal, past) = Journal::open(&state)?;
    let past = past.filter(|past| !past.is_done && !options.is_new && !past.run.run.is_empty());
    let is_continued = past.is_some();
    let record = match past {
        Some(past) => {
            let record = continued(package, &past, &variables, &selection, options)?;
            journal.write(Record::Continued { at: now() })?;
            for task in &options.done {
                journal.write(Record::End(EndRecord {
                    task: task.clone(),
                    at: now(),
                    succeeded: true,
                    definition: steps_of(package, task).map(Step::definition).unwrap_or_default(),
                    ..EndRecord::default()
                }))?;
            }
            record
        }
        None => {
            let record = RunRecord {
                run: run_name(&package.name),
                package: package.name.clone(),
                start: now(),
                variables: variables.texts(),
                selection: selection.words(),
            };
            journal.begin(record.clone())?;
            record
        }
    };
    for (name, text) in &record.variables {
        // A variable that the package no longer has is not set.
        if variables.kind(name).is_some() {
            variables.set(name, Some(text))?;
        }
    }
    let scope = Scope::new(package, Arc::new(variables), &built_in(&record));
    let jobs = options.jobs.or(package.model.jobs).unwrap_or(JOBS);
    let jobs = usize::try_from(jobs).unwrap_or(1);
    let (copies, interruption) = (options.copies, options.interruption.clone());
    let context = RunContext::new(record.run.clone(), journal, observer, jobs, copies, interruption);
    observer.event(&Event::Run { run: &record.run, package: &package.name, is_continued });
    let level = Level {
        context: &context,
        steps: &package.steps,
        scope: &scope,
        prefix: "",
        on_failure: package.model.on_failure,
        may_restore: true,
        jobs,
        depth: 0,
    };
    let outcome = run_level(&level, Some(&selection));
    if let Some(error) = context.take_broken() {
        return Err(error.into());
    }
    context.note_over(outcome.is_success());
    let elapsed = context.started.elapsed();
    observer.event(&Event::Over { outcome, elapsed });
    let tasks = context.take_reports();
    match context.take_broken() {
        Some(error) => Err(error.into()),
        None => Ok(RunReport {
            run: record.run,
            package: package.name.clone(),
            start: record.start,
            is_continued,
            outcome,
            elapsed,
            tasks,
        }),
    }
}

/// Checks that a continued run is of the same package, variables and tasks, and returns its record.
fn continued(
    package: &Loaded,
    past: &Past,
    variables: &Variables,
    selection: &Selection,
    options: &RunOptions<'_>,
) -> Result<RunRecord, RunError> {
    let start = past.run.start.clone();
    let mut record = past.run.clone();
    if past.run.selection != selection.words() {
        let words = past.run.selection.join(" ");
        let what = if words.is_empty() { "all tasks".to_owned() } else { words };
        if !options.is_forced {
            return Err(RunError::OtherRun { start, what, whose: "this command's tasks" });
        }
        record.selection = selection.words();
    }
    let given = variables.texts();
    let differs = |name: &&String| given.get(*name) != past.run.variables.get(*name);
    let different: Vec<&String> =
        given.keys().filter(|name| past.run.variables.contains_key(*name)).filter(differs).collect();
    if !different.is_empty() && !options.is_forced {
        let shown: Vec<String> = different
            .iter()
            .map(|name| format!("{name} = {:?}", past.run.variables.get(*name).map_or("", String::as_str)))
            .collect();
        return Err(RunError::OtherRun { start, what: shown.join(", "), whose: "those values" });
    }
    // Variables that are new since have their own values.
    record.variables = given.into_iter().chain(record.variables).collect();
    let mut changed = Vec::new();
    let mut undecided = Vec::new();
    for (name, task) in &past.tasks {
        let Some(step) = steps_of(package, name) else { continue };
        let end = task.end.as_ref().filter(|end| end.succeeded);
        if end.is_some_and(|end| !task.is_interrupted && end.definition != step.definition()) {
            changed.push(name.clone());
        }
        let stops = step.settings.if_interrupted == Interrupted::Stop && task.is_interrupted;
        if stops && !options.redo.contains(name) && !options.done.contains(name) {
            undecided.push(name.clone());
        }
    }
    changed.sort();
    undecided.sort();
    if !changed.is_empty() && !options.is_forced {
        return Err(RunError::Changed { start, tasks: changed });
    }
    for name in options.redo.iter().chain(&options.done) {
        if !past.tasks.get(name).is_some_and(|task| task.is_interrupted) {
            return Err(RunError::NoTask(name.clone()));
        }
    }
    match undecided.is_empty() {
        true => Ok(record),
        false => Err(RunError::Undecided { start, tasks: undecided }),
    }
}

/// Finds the step of a path such as `publish/swap` or `load[2]`; `None` within other packages.
fn steps_of<'a>(package: &'a Loaded, path: &str) -> Option<&'a Step> {
    let mut steps = &package.steps;
    let mut found = None;
    for part in path.split('/') {
        let name = part.split('[').next().unwrap_or(part);
        let step = steps.iter().find(|step| step.name == name)?;
        found = Some(step);
        steps = &step.inner;
    }
    found
}

/// Makes a name that no other run has, and that sorts by time.
fn run_name(package: &str) -> String {
    let at = Local::now();
    let mut short: String = package.chars().filter(|c| !c.is_control()).take(40).collect();
    if short.is_empty() {
        short.push_str("package");
    }
    // Runs of two machines in one microsecond differ by what the hasher's keys are.
    let salt = {
        use std::hash::{BuildHasher, Hasher};
        std::collections::hash_map::RandomState::new().build_hasher().finish() & 0xffff_ffff
    };
    format!("{short} {} {salt:08x}", at.format("%Y%m%dT%H%M%S%.6f"))
}

/// Returns the values of the run that texts may use.
pub(crate) fn built_in(record: &RunRecord) -> [(&'static str, String); 4] {
    let (date, time) = record.start.split_once('T').unwrap_or((&record.start, ""));
    let time = time.get(..8).unwrap_or(time);
    [
        ("run.id", record.run.clone()),
        ("run.start", format!("{date}T{time}")),
        ("run.date", date.to_owned()),
        ("run.time", time.to_owned()),
    ]
}
