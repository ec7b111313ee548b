//! The embedded server of an experiment: where it keeps rows, and how it is started.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tempfile::TempDir;

use super::Outcome;
use crate::server_process::ServerProcess;

/// The storage of the embedded server's rows, if there is no `--target`.
#[derive(Debug, Clone, Default, Args)]
pub struct ServerArguments {
    /// Without --target: keep the embedded server's rows in memory (in pages, so that it has figures) instead of in a temporary directory
    #[arg(long, conflicts_with = "target", help_heading = "Server")]
    pub in_memory: bool,
    /// Without --target: make the embedded server's temporary directory below this one (default: the system's)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["target", "in_memory"], help_heading = "Server")]
    pub directory: Option<PathBuf>,
}

/// Storage in which the server keeps rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// The embedded server, in memory.
    Memory,
    /// The embedded server, on disk, synced at every commit.
    Disk,
    /// The storage of the server of `--target`.
    Target,
}

impl ServerArguments {
    /// Returns the storage in which the embedded server will keep rows.
    pub fn keeping(&self) -> Keeping {
        if self.in_memory { Keeping::Memory } else { Keeping::Disk }
    }

    /// Starts a server with further `arguments`. Its directory, if it has one, goes with the second value.
    ///
    /// # Errors
    /// No directory, or no server.
    pub fn start(&self, arguments: &[String]) -> Outcome<(ServerProcess, Option<TempDir>)> {
        let folder = match (&self.directory, self.in_memory) {
            (_, true) => None,
            (Some(directory), false) => Some(
                tempfile::tempdir_in(directory)
                    .map_err(|error| format!("--directory {}: {error}", directory.display()))?,
            ),
            (None, false) => Some(tempfile::tempdir()?),
        };
        let mut words: Vec<String> = match &folder {
            Some(folder) => vec!["--data".to_owned(), folder.path().join("data").display().to_string()],
            None => vec!["--in-memory".to_owned()],
        };
        words.extend_from_slice(arguments);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok((ServerProcess::start(&words)?, folder))
    }
}
