//! The order in which a file's rows come.

/// A column that rows may be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortColumn {
    /// Its place in the file's schema.
    pub index: usize,
    /// From the largest value to the smallest.
    pub descending: bool,
}

/// Whether the rows of a file are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sorted {
    /// All of them are, and this is how it is known.
    Yes(&'static str),
    /// They are not, for this reason.
    No(String),
    /// Only reading the file would tell.
    Unknown,
}
