//! What a user may say about a load.

use rows::{CastOptions, Mapping};

/// How a batch becomes a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BatchTransaction {
    /// Begin, load, compare the server's count with what was sent, commit; a batch that miscounts is rolled back.
    #[default]
    Explicit,
    /// The bulk statement commits by itself: two round trips less a batch, but a miscount is only found afterwards.
    Autocommit,
}

/// Settings of a load. What is `None` is chosen by the [plan](crate::LoadPlan), with a reason.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// How source columns find their targets.
    pub mapping: Mapping,
    /// Which lossy conversions are allowed; none by default.
    pub cast: CastOptions,
    /// Rows of a batch, which is a transaction.
    pub batch_rows: Option<u64>,
    /// TABLOCK.
    pub table_lock: Option<bool>,
    /// Send the values of the identity column instead of having them made.
    pub keep_identity: bool,
    /// NULLs stay NULL where a column has a default.
    pub keep_nulls: bool,
    /// Check CHECK and FOREIGN KEY constraints.
    pub check_constraints: bool,
    /// Fire INSERT triggers, once a batch.
    pub fire_triggers: bool,
    /// The order that the source's rows are promised to have: column, descending.
    pub order: Vec<(String, bool)>,
    /// Transactions.
    pub transaction: BatchTransaction,
}
