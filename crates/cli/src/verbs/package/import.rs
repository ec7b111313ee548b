//! `bulkwire package import`: packages of SSIS, alone or with their project.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use package::SsisProject;

use crate::ExitStatus;
use crate::args::ImportArgs;
use crate::failure::Failure;

/// Translates a package, or all packages of a project.
pub(super) fn run(arguments: &ImportArgs) -> Result<ExitStatus, Failure> {
    let file = &arguments.file;
    let suffix = file.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
    let folder = file.parent().unwrap_or(Path::new(""));
    let packages = match suffix.as_deref() {
        Some("ispac") => {
            let read = SsisProject::of_archive(&read(file)?).map_err(|error| refused(file, &error))?;
            let (project, packages) = read;
            let project = signing_in(project, arguments);
            return several(arguments, &project, packages);
        }
        Some("dtproj") => {
            package::packages_of_project(&read(file)?).map_err(|error| refused(file, &error))?
        }
        _ => {
            let project = signing_in(beside(folder)?, arguments);
            let to = match &arguments.output {
                Some(to) => to.clone(),
                None => file.with_extension("toml"),
            };
            translate(&read(file)?, file, &project, &to, arguments.force)?;
            return Ok(ExitStatus::SUCCESS);
        }
    };
    let project = signing_in(beside(folder)?, arguments);
    let packages = packages.into_iter().map(|name| Ok((name.clone(), read(&folder.join(name))?)));
    several(arguments, &project, packages.collect::<Result<_, Failure>>()?)
}

fn several(
    arguments: &ImportArgs,
    project: &SsisProject,
    packages: Vec<(String, Vec<u8>)>,
) -> Result<ExitStatus, Failure> {
    let folder = match &arguments.output {
        Some(folder) if folder.as_os_str() == "-" => {
            return Err(Failure::Usage("a project has several packages: --output is a folder".to_owned()));
        }
        Some(folder) => folder.clone(),
        None => arguments.file.parent().unwrap_or(Path::new("")).to_owned(),
    };
    if packages.is_empty() {
        return Err(Failure::Usage(format!("{}: the project has no packages", arguments.file.display())));
    }
    if !folder.as_os_str().is_empty() {
        let made = fs::create_dir_all(&folder);
        made.map_err(|source| Failure::Output { file: folder.display().to_string(), source })?;
    }
    for (name, bytes) in packages {
        let to = folder.join(Path::new(&name).with_extension("toml"));
        translate(&bytes, &PathBuf::from(&name), project, &to, arguments.force)?;
    }
    Ok(ExitStatus::SUCCESS)
}

/// Reads the connection managers and parameters of a folder, in the order of their names.
fn beside(folder: &Path) -> Result<SsisProject, Failure> {
    let mut project = SsisProject::default();
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return Ok(project) };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        let suffix = file.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
        if matches!(suffix.as_deref(), Some("conmgr" | "params")) {
            let name = file.to_string_lossy();
            project.add(&name, &read(&file)?).map_err(|error| refused(&file, &error))?;
        }
    }
    Ok(project)
}

fn signing_in(project: SsisProject, arguments: &ImportArgs) -> SsisProject {
    match (&arguments.user, &arguments.password_env) {
        (Some(user), Some(variable)) => project.signing_in(user.clone(), variable.clone()),
        _ => project,
    }
}

fn translate(
    bytes: &[u8],
    file: &Path,
    project: &SsisProject,
    to: &Path,
    force: bool,
) -> Result<(), Failure> {
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let imported = package::import_dtsx(bytes, &name, project).map_err(|error| refused(file, &error))?;
    if to.as_os_str() == "-" {
        let written = io::stdout().write_all(imported.text.as_bytes());
        written.map_err(|source| Failure::Stream { stream: "output", source })?;
    } else {
        let written = fs::OpenOptions::new()
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
        say!(
            "each of them is a comment in the package; `bulkwire package check` warns of tasks that are missing"
        );
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|source| Failure::Unreadable { file: file.display().to_string(), source })
}

fn refused(file: &Path, error: &package::ImportError) -> Failure {
    Failure::Usage(format!("{}: {error}", file.display()))
}
