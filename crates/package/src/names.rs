//! Names that every package knows without defining them.

/// The names that the run, the package and the task define.
pub const BUILT_IN: [&str; 8] = [
    "run.id",
    "run.start",
    "run.date",
    "run.time",
    "package.name",
    "package.folder",
    "package.file",
    "task.name",
];

/// Parts of what a loop runs for.
pub const EACH_PARTS: [&str; 4] = ["name", "stem", "folder", "index"];

/// Returns true if a name belongs to the run, the package or the task.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name) || matches!(name, "run" | "package" | "task")
}
