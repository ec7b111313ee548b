//! Names that every package knows without defining them.

/// What the run and the package give.
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

/// Whether a name belongs to the run, the package or the task.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name) || matches!(name, "run" | "package" | "task")
}
