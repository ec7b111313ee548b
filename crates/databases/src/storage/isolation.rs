//! State that a statement reads, and the locks of reading.

/// State that a scan within a transaction reads, besides the transaction's own changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reads {
    /// The statement's one state of the database, or under SNAPSHOT the transaction's.
    #[default]
    Statement,
    /// The statement's state of the database, without the rows in pages that others have locked to change them
    /// (READPAST).
    Past,
    /// The latest committed state, against which keys and references are checked.
    Latest,
}

/// Lock on a table that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadLock {
    /// Waits for transactions that change the table, and keeps no lock.
    Awaited,
    /// Others may read the table and not change it (S).
    Shared,
    /// No other transaction changes the table or reads it with UPDLOCK (U).
    Update,
    /// No other transaction locks the table at all (X).
    Exclusive,
}
