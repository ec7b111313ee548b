//! Repetition of an experiment, and output of its results.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::{Outcome, Surroundings, Table};

/// The files that results go to.
#[derive(Debug, Clone, Args)]
pub struct ReportArguments {
    /// Write all runs here, as JSON
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a page with charts here, as HTML
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// Findings of an experiment.
pub trait Findings: Serialize {
    /// Returns the server and machine of the runs.
    fn surroundings(&self) -> &Surroundings;
    /// Returns the figures for people.
    fn tables(&self) -> Vec<Table>;
    /// Makes the page.
    fn page(&self) -> String;
}

impl ReportArguments {
    /// Checks that the files can be written, before hours of measurements.
    ///
    /// # Errors
    /// A folder that does not exist.
    pub fn check(&self) -> Outcome<()> {
        for (name, path) in [("--output", &self.output), ("--report", &self.report)] {
            let Some(path) = path else { continue };
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
                return Err(format!("{name} {}: no file can be written there", path.display()).into());
            }
        }
        Ok(())
    }

    /// Writes the tables to standard output, and the files that were asked for.
    ///
    /// # Errors
    /// A file that cannot be written, by name.
    pub fn deliver(&self, findings: &impl Findings) -> Outcome<()> {
        println!("{}", findings.surroundings().line());
        for table in findings.tables().iter().filter(|table| !table.is_empty()) {
            print!("\n{table}");
        }
        if let Some(path) = &self.output {
            write(path, &(serde_json::to_string_pretty(findings)? + "\n"))?;
        }
        if let Some(path) = &self.report {
            write(path, &findings.page())?;
        }
        Ok(())
    }
}

fn write(path: &PathBuf, content: &str) -> Outcome<()> {
    std::fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Lists the order of runs, as pairs of round and variant counted from 0. Every variant runs once a round.
/// Each round begins with another one, so that none always follows the same neighbour.
pub fn turns(rounds: usize, variants: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rounds).flat_map(move |round| (0..variants).map(move |turn| (round, (turn + round) % variants)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_round_begins_with_another_variant() {
        let turns: Vec<_> = super::turns(2, 3).collect();
        assert_eq!(turns, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 0)]);
        assert_eq!(super::turns(5, 0).count(), 0);
    }
}
