//! The flag for those who watch commands by a program.

use clap::Args;

use super::Command;

/// The use of standard error.
#[derive(Debug, Args)]
pub struct EventArgs {
    /// Write what happens as a JSON object a line on standard error, in place of plan, progress and report: docs/events.md
    #[arg(long, help_heading = "Log")]
    pub log_json: bool,
}

impl Command {
    /// Returns the verb, if its events are to be written. Then it has no lines for people.
    pub fn begin_events(&mut self) -> Option<&'static str> {
        let (verb, is_asked, quiet) = match self {
            Self::Load(own) => ("load", own.events.log_json, &mut own.quiet),
            Self::Export(own) => ("export", own.events.log_json, &mut own.quiet),
            Self::Copy(own) => ("copy", own.events.log_json, &mut own.quiet),
            Self::Run(own) => ("run", own.events.log_json, &mut own.quiet),
            _ => return None,
        };
        *quiet |= is_asked;
        is_asked.then_some(verb)
    }
}
