//! The partial and temporary files of this process, which are removed when it is interrupted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::objects::abandon_uploads;

static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes every partial and temporary file and directory that this process has begun and not finished, and gives up its uploads. For use right before the
/// process ends from outside its normal course, as on Ctrl-C, when nothing is dropped.
pub fn remove_unfinished() {
    for path in paths().iter() {
        // A failure cannot be reported here.
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    abandon_uploads();
}

/// A file or directory that goes if the process is interrupted while this lives.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    pub(crate) fn new(path: PathBuf) -> Self {
        paths().insert(path.clone());
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        paths().remove(&self.0);
    }
}

fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is whole between any two calls, also after a panic elsewhere.
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}
