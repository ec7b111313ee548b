//! Upserts: bulk into a temporary table, then one UPDATE and one INSERT, in one transaction.

use std::fmt;

use arrow::{datatypes::Schema, record_batch::RecordBatch};
use tds::Isolation;

use crate::{
    client::Client,
    describe::TableDescription,
    error::Error,
    load::load,
    load_error::{LoadError, Progress},
    options::LoadOptions,
    plan::LoadPlan,
    report::{LoadReport, grouped},
    stage::{Merge, MergeKind},
    table_name::TableName,
};

/// The temporary table; it lives within the upsert's transaction.
const STAGE: &str = "#bulkwire_upsert";

/// The result of an upsert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpsertReport {
    /// Rows whose key was new.
    pub inserted: u64,
    /// Rows whose key was there already, changed or not.
    pub updated: u64,
    /// The report of the load into the temporary table.
    pub staged: LoadReport,
}

impl fmt::Display for UpsertReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} inserted, {} updated", grouped(self.inserted), grouped(self.updated))?;
        write!(f, "staged: {}", self.staged)
    }
}

/// Brings every row of the source into the table: the row with its key is updated, or else it is inserted. Columns are
/// matched by name; columns of the table that the source lacks keep their values, or get their defaults.
///
/// All of it is one transaction (the caller's, if one is open), which locks the keys concerned against other writers.
/// On an error nothing of the upsert stays. The server may also roll back the caller's transaction, as its rules say.
///
/// # Errors
/// The errors of a load, and of the key: it is no column of both sides ([`Error::UpsertKey`]), or rows of the
/// source share it ([`Error::DuplicateKey`]). NULL in a key is a cell error that names the row.
pub fn upsert<S, E>(
    client: &mut Client,
    target: &TableDescription,
    schema: &Schema,
    source: S,
    keys: &[String],
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<UpsertReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let merge = Merge::new(target, schema, keys, MergeKind::Upsert, options).map_err(nothing)?;
    let owns_transaction = !client.in_transaction();
    if owns_transaction {
        client.begin(Isolation::Current).map_err(nothing)?;
    }
    let done = run(client, &merge, schema, source, options, progress);
    let done = match (done, owns_transaction) {
        (Ok(report), true) => match client.commit() {
            Ok(()) => Ok(report),
            Err(source) => {
                let rows_in_doubt = if source.is_in_doubt() { report.staged.rows } else { 0 };
                Err(LoadError { rows_in_doubt, ..LoadError::before_rows(source) })
            }
        },
        (done, _) => done,
    };
    if done.is_err() && owns_transaction && !client.is_broken() {
        // The first error matters more than that of the rollback, which a lost connection implies anyway.
        let _ = client.rollback();
    }
    done
}

fn nothing(source: Error) -> LoadError {
    LoadError::before_rows(source.without_doubt())
}

fn run<S, E>(
    client: &mut Client,
    merge: &Merge,
    schema: &Schema,
    source: S,
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<UpsertReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stage = TableName { database: None, schema: None, name: STAGE.to_owned() };
    client.execute(&merge.create(&stage)).map_err(nothing)?;
    let mut described = client.describe(&stage).map_err(nothing)?;
    merge.forbid_null_keys(&mut described);
    let plan = LoadPlan::new(client, &described, schema, options).map_err(nothing)?;
    let staged =
        load(client, &plan, source, progress).map_err(|error| LoadError { rows_committed: 0, ..error })?;
    let merged = merge.apply(client, &stage).map_err(nothing)?;
    client.execute(&format!("DROP TABLE {stage}")).map_err(nothing)?;
    Ok(UpsertReport { inserted: merged.inserted, updated: merged.updated + merged.unchanged, staged })
}
