//! The options of a load.

use rows::{CastOptions, Mapping};

use crate::key_order::KeyOrder;

/// The transaction of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BatchTransaction {
    /// The batch is a transaction: it is committed if the server's count is what was sent, and rolled back otherwise.
    #[default]
    Explicit,
    /// The bulk statement commits by itself. That saves two round trips a batch, but a wrong count is found only afterwards.
    Autocommit,
}

/// The number of connections of a load, as far as the plan's other choices depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Connections {
    /// A single connection.
    #[default]
    One,
    /// More than one.
    Several,
    /// As many as pay, up to [`LoadPlan::writers_max`](crate::LoadPlan::writers_max).
    Auto,
}

/// The facts about a source that are known before its rows are read.
#[derive(Debug, Clone, Default)]
pub struct SourceFacts {
    /// Bytes of all sources of the load together, as they are stored.
    pub bytes: Option<u64>,
    /// The reason why the order of the rows is known, if it was found rather than requested.
    pub order: Option<String>,
    /// The first rows are sorted by the clustered key; nothing is known of the others.
    pub looks_sorted: bool,
}

/// Settings of a load. The [plan](crate::LoadPlan) chooses a value, with a reason, for each setting that is `None`.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The assignment of source columns to target columns.
    pub mapping: Mapping,
    /// The lossy conversions that are allowed; none by default.
    pub cast: CastOptions,
    /// Rows of a batch, which is a transaction.
    pub batch_rows: Option<u64>,
    /// TABLOCK.
    pub table_lock: Option<bool>,
    /// One writer at a time has the rows of a partition.
    pub by_partition: Option<bool>,
    /// Send the values of the identity column instead of having them made.
    pub keep_identity: bool,
    /// NULLs stay NULL where a column has a default.
    pub keep_nulls: bool,
    /// Check CHECK and FOREIGN KEY constraints.
    pub check_constraints: bool,
    /// Fire INSERT triggers, once a batch.
    pub fire_triggers: bool,
    /// Columns of Always Encrypted take ciphertext as it is, which the user must be allowed to send.
    pub allow_encrypted_values: bool,
    /// The order that the source's rows are promised to have: column, descending.
    pub order: Vec<(String, bool)>,
    /// The facts about the source that are known before it is read.
    pub source: SourceFacts,
    /// Rows of an append may wait in a stage without having been asked to. The caller goes through all steps of a
    /// [`TableLoad`](crate::TableLoad), and nothing that it was asked for goes without a stage only.
    pub may_stage: bool,
    /// Transactions.
    pub transaction: BatchTransaction,
    /// The number of connections that will load.
    pub connections: Connections,
}

impl LoadOptions {
    /// Returns the options for a source whose rows are known to be sorted by a table's clustered key.
    #[must_use]
    pub fn in_order(self, key: &KeyOrder, evidence: String) -> Self {
        let source = SourceFacts { order: Some(evidence), ..self.source };
        Self { order: key.key.clone(), source, ..self }
    }

    /// Returns the options for a load with a number of connections; `None` stands for as many as pay.
    #[must_use]
    pub fn with_writers(mut self, writers: Option<usize>) -> Self {
        self.connections = match writers {
            Some(0..=1) => Connections::One,
            Some(_) => Connections::Several,
            None => Connections::Auto,
        };
        self
    }
}
