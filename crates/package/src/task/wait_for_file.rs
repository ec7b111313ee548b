//! Waits until files are there and do not grow any more.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::model::WaitForFileTask;
use crate::run::items::files;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

const STABLE: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The sizes and times of the files; a difference shows that one is still being written.
type Sight = Vec<(PathBuf, u64, Option<SystemTime>)>;

pub(super) fn run(task: &TaskContext<'_>) -> Result<Done, TaskError> {
    let wait: WaitForFileTask = task.action()?;
    let count = usize::try_from(wait.count.unwrap_or(1)).unwrap_or(usize::MAX);
    let stable = wait.stable.map_or(STABLE, |span| span.0);
    let every = wait.every.map_or(EVERY, |span| span.0).max(Duration::from_millis(10));
    let timeout = wait.timeout.map_or(TIMEOUT, |span| span.0);
    let began = Instant::now();
    let mut seen: Option<(Sight, Instant)> = None;
    loop {
        let sight = look(task.scope.folder(), &wait.files)?;
        let since = match &seen {
            Some((before, since)) if *before == sight => *since,
            _ => Instant::now(),
        };
        if sight.len() >= count && since.elapsed() >= stable {
            let mut done = Done::default();
            done.notes.push(match sight.len() {
                1 => "1 file".to_owned(),
                files => format!("{files} files"),
            });
            if let (Some(name), Some((first, ..))) = (wait.into, sight.first()) {
                let path = std::path::absolute(first).unwrap_or_else(|_| first.clone());
                done.variables.insert(name, Some(path.display().to_string()));
            }
            return Ok(done);
        }
        if began.elapsed() >= timeout {
            let found = sight.len();
            let state = if found >= count { "they are still being written" } else { "that is not enough" };
            return Err(TaskError::new(format!(
                "after {} s there are {found} files {}; {state}",
                timeout.as_secs(),
                wait.files
            )));
        }
        seen = Some((sight, since));
        let left = timeout.saturating_sub(began.elapsed()).max(Duration::from_millis(1));
        if task.run.pause(every.min(left)) {
            return Err(TaskError::interrupted());
        }
    }
}

fn look(folder: &Path, pattern: &str) -> Result<Sight, TaskError> {
    let mut sight = Vec::new();
    for path in files(folder, pattern)? {
        // A file that goes away meanwhile was not ready.
        if let Ok(known) = std::fs::metadata(&path) {
            sight.push((path, known.len(), known.modified().ok()));
        }
    }
    Ok(sight)
}
