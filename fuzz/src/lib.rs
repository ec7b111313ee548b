//! Fuzz targets of bulkwire; see README.md.

#[path = "../cases/mod.rs"]
pub mod cases;
pub mod mutation;

/// Every target: its name and its body.
pub fn targets() -> impl Iterator<Item = (&'static str, cases::tds::Case)> {
    [cases::tds::CASES, cases::rows::CASES, cases::formats::CASES, cases::database_files::CASES]
        .into_iter()
        .flatten()
        .copied()
}
