//! `bulkwire package`: check, schema, import.

use std::io::{self, Write};
use std::path::Path;

use package::{Checked, Severity};
use serde_json::json;

use crate::ExitStatus;
use crate::args::{PackageAction, PackageArgs};
use crate::failure::Failure;

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
        PackageAction::Import { file, output, force } => import(file, output.as_deref(), *force),
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
        say!("{}: {name} is sound, {tasks} {}", path.display(), if tasks == 1 { "task" } else { "tasks" });
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

fn import(file: &Path, to: Option<&Path>, force: bool) -> Result<ExitStatus, Failure> {
    let unreadable = |source| Failure::Unreadable { file: file.display().to_string(), source };
    let bytes = std::fs::read(file).map_err(unreadable)?;
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let imported = package::import_dtsx(&bytes, &name)
        .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    let beside = file.with_extension("toml");
    let to = to.unwrap_or(&beside);
    if to.as_os_str() == "-" {
        io::stdout().write_all(imported.text.as_bytes()).map_err(output)?;
    } else {
        let written = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .create_new(!force)
            .truncate(true)
            .open(to)
            .and_then(|mut out| out.write_all(imported.text.as_bytes()));
        written.map_err(|source| Failure::Output { file: to.display().to_string(), source })?;
        say!(
            "{}: {} tasks, {} connections, {} variables",
            to.display(),
            imported.tasks,
            imported.connections,
            imported.variables
        );
    }
    for part in &imported.left_out {
        say!("not translated: {part}");
    }
    if !imported.left_out.is_empty() {
        say!("each of them is a comment in the package; `bulkwire package check` says what is still missing");
    }
    Ok(ExitStatus::SUCCESS)
}

fn output(source: io::Error) -> Failure {
    Failure::Stream { stream: "output", source }
}
