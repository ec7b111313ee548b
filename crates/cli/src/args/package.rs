//! Flags of `bulkwire run` and `bulkwire package`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::EventArgs;

/// `bulkwire run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The package, a TOML file
    pub package: PathBuf,
    /// Give a variable a value; repeat for each
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_set)]
    pub set: Vec<(String, String)>,
    /// Run this task and everything behind it, and take all others as done; repeat for each
    #[arg(long, value_name = "TASK", value_delimiter = ',', help_heading = "Tasks")]
    pub from: Vec<String>,
    /// Run this task alone, and take all others as done; repeat for each
    #[arg(long, value_name = "TASK", value_delimiter = ',', help_heading = "Tasks")]
    pub only: Vec<String>,
    /// Tasks that work at once (default: the package's `jobs`, or 4)
    #[arg(long, value_name = "TASKS", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Tasks")]
    pub jobs: Option<u32>,
    /// Begin again, whatever an earlier run has left undone
    #[arg(long, conflicts_with = "continue", help_heading = "Unfinished runs")]
    pub new: bool,
    /// Go on with an unfinished run although variables or tasks that are done have changed since
    #[arg(long, help_heading = "Unfinished runs")]
    pub r#continue: bool,
    /// Run this task again in whose middle a run was killed (for tasks with if_interrupted = "stop"); repeat for each
    #[arg(long, value_name = "TASK", value_delimiter = ',', help_heading = "Unfinished runs")]
    pub redo: Vec<String>,
    /// Take this task as done in whose middle a run was killed; repeat for each
    #[arg(long, value_name = "TASK", value_delimiter = ',', help_heading = "Unfinished runs")]
    pub done: Vec<String>,
    /// Where the run notes what is done (default: beside the package, with the suffix .state.jsonl)
    #[arg(long, value_name = "FILE", help_heading = "Unfinished runs")]
    pub state: Option<PathBuf>,
    /// Append what happens to this file, a JSON object a line
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub log: Option<PathBuf>,
    /// Write a page about the run: timeline, rows, errors
    #[arg(long, value_name = "FILE.html", help_heading = "Report")]
    pub report: Option<PathBuf>,
    /// Print the report as JSON on standard output
    #[arg(long, help_heading = "Report")]
    pub json: bool,
    /// No progress
    #[arg(long, short, help_heading = "Report")]
    pub quiet: bool,
    #[command(flatten)]
    pub events: EventArgs,
    /// Print order, variables and what each task would do, and stop; secrets are left out
    #[arg(long)]
    pub dry_run: bool,
}

/// `bulkwire package`.
#[derive(Debug, Args)]
pub struct PackageArgs {
    /// The action on packages.
    #[command(subcommand)]
    pub action: PackageAction,
}

/// The actions on packages.
#[derive(Debug, Subcommand)]
pub enum PackageAction {
    /// Find the mistakes of packages before anything runs
    Check {
        /// The packages
        #[arg(required = true)]
        packages: Vec<PathBuf>,
        /// Print findings as JSON on standard output, an object a line
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of packages, for editors
    Schema,
    /// Turn SSIS packages into packages of bulkwire, and name every part that cannot be
    Import(ImportArgs),
}

/// `bulkwire package import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A package (.dtsx), with the connection managers and parameters of its project beside it (*.conmgr, Project.params); or
    /// all packages of a project (.dtproj) or of its archive (.ispac)
    pub file: PathBuf,
    /// Where the package goes, `-` for standard output; the folder, for a project (default: beside the file, with the suffix
    /// .toml)
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    pub force: bool,
    /// Sign in to all servers as this user, in place of the Windows account and of users in the package
    #[arg(long, value_name = "USER", requires = "password_env")]
    pub user: Option<String>,
    /// The environment variable that has the password of --user
    #[arg(long, value_name = "NAME", requires = "user")]
    pub password_env: Option<String>,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
