//! `bulkwire package`: check, schema, import.

use std::io::{self, Write};
use std::path::Path;

use package::{Checked, Severity};
use serde_json::json;

use crate::ExitStatus;
use crate::args::{PackageAction, PackageArgs};
use crate::failure::Failure;
use crate::verbs::package::import;

/// Runs the verb.
pub fn run(arguments: &PackageArgs) -> Result<ExitStatus, Failure> {
    match &arguments.action {
        PackageAction::Check { packages, json } => {
            let mut is_sound = true;
            for path in packages {
                is_sound &= report(path, &checked(path)?, *json)?;
            }
            Ok(if is_sound { ExitStatus::SUCCESS } else { ExitStatus::USAGE })
        }
        PackageAction::Schema => {
            let text = serde_json::to_string_pretty(&package::schema()).unwrap_or_default();
            writeln!(io::stdout(), "{text}").map_err(output)?;
            Ok(ExitStatus::SUCCESS)
        }
        PackageAction::Import(arguments) => import::run(arguments),
    }
}

/// Reads and checks a package.
pub fn checked(path: &Path) -> Result<Checked, Failure> {
    package::check(path).map_err(|source| Failure::Unreadable { file: path.display().to_string(), source })
}

/// Prints findings, and says whether there is no error among them.
fn report(path: &Path, checked: &Checked, as_json: bool) -> Result<bool, Failure> {
    if as_json {
        let mut out = io::stdout().lock();
        for finding in &checked.findings {
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let line = json!({
                "file": path, "line": finding.line, "column": finding.column, "severity": severity,
                "message": finding.message, "hint": finding.hint,
            });
            writeln!(out, "{line}").map_err(output)?;
        }
        return Ok(checked.package.is_some());
    }
    print_findings(path, checked);
    if let Some(package) = &checked.package {
        let (tasks, name) = (package.steps.len(), &package.name);
        let warnings = match checked.findings.len() {
            0 => String::new(),
            1 => ", 1 warning".to_owned(),
            count => format!(", {count} warnings"),
        };
        let noun = if tasks == 1 { "task" } else { "tasks" };
        say!("{}: {name} is sound, {tasks} {noun}{warnings}", path.display());
    }
    Ok(checked.package.is_some())
}

/// Prints findings on standard error, as compilers do.
pub fn print_findings(path: &Path, checked: &Checked) {
    for finding in &checked.findings {
        say!("{}:{finding}", path.display());
    }
    let count = |severity| checked.findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors > 0 {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        say!("{}: {errors} error{}, {warnings} warning{}", path.display(), plural(errors), plural(warnings));
    }
}

fn output(source: io::Error) -> Failure {
    Failure::Stream { stream: "output", source }
}
