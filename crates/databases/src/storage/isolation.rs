//! What a statement sees of others, and keeps them from.

/// What a scan within a transaction reads. Its own changes are always among it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reads {
    /// The statement's one state of the database, or under SNAPSHOT the transaction's.
    #[default]
    Statement,
    /// The statement's state of the database, without the rows in pages that others have locked to change them
    /// (READPAST).
    Past,
    /// What is committed now: what keys and references are checked against.
    Latest,
}

/// How a table is locked that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadLock {
    /// Who changes it is waited for; it is not kept locked.
    Awaited,
    /// Nobody changes it (S).
    Shared,
    /// Nor does anybody else read it to change it (U).
    Update,
    /// Nobody else locks it at all (X).
    Exclusive,
}
