//! A load in its simplest form: one source, as planned, over one connection.

use crate::{
    client::Client,
    load_error::{LoadError, Progress},
    parallel::{ParallelOptions, ParallelSource, load_parallel},
    plan::LoadPlan,
    report::LoadReport,
    source::SourceBatch,
};

/// Loads all batches of a source as planned, over this connection alone; nothing is tried again. `progress` is called from time
/// to time, and at the end.
///
/// The source runs on a thread of its own. On an error the open batch is rolled back; batches before it stay committed.
/// In a transaction of the caller's nothing is committed: it stays open.
///
/// # Errors
/// What went wrong, and what was committed before.
pub fn load<S, E, B>(
    client: &mut Client,
    plan: &LoadPlan,
    source: S,
    progress: &mut dyn FnMut(&Progress),
) -> Result<LoadReport, LoadError>
where
    S: Iterator<Item = Result<B, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Into<SourceBatch>,
{
    let batches = source.map(|batch| batch.map(Into::into).map_err(Into::into));
    let source = ParallelSource { plan: plan.clone(), tolerance: None, batches: Box::new(batches) };
    load_parallel(client, vec![source], &ParallelOptions::default(), progress).map(|done| done.load)
}
