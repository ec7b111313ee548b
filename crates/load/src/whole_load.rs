//! A load of one source from its plan to its end, for callers that show nothing in between.

use std::time::Duration;

use arrow::{datatypes::Schema, error::ArrowError, record_batch::RecordBatch};

use crate::{
    client::Client,
    error::Error,
    key_order::OrderEvidence,
    load_error::{LoadError, Progress},
    options::LoadOptions,
    parallel::{BoxError, CommitWatch, Ledger, ParallelOptions, ParallelReport, ParallelSource, Writers},
    plan::LoadPlan,
    retry::RetryPolicy,
    source::SourceBatch,
    source_head::SourceHead,
    stage::{Published, SEEN_BYTES_MIN},
    table_load::{Ending, LoadWay, TableLoad},
    table_name::TableName,
};

/// A stream that does not yield [`SEEN_BYTES_MIN`] in this time is slower than any way of its rows into the table.
const LOOK_TIME: Duration = Duration::from_secs(2);

/// The settings of a whole load.
pub struct WholeLoad<'a> {
    /// The table that the rows go to.
    pub table: &'a TableName,
    /// The effect on existing rows, and the way in which new rows reach the table.
    pub way: LoadWay,
    /// The options of the load.
    pub options: &'a LoadOptions,
    /// Number of connections; `None`: as many as make the load faster.
    pub writers: Option<usize>,
    /// The errors that are retried, and the time limit.
    pub retry: RetryPolicy,
    /// The record of committed rows.
    pub ledger: Option<&'a Ledger>,
    /// Hears of every commit.
    pub watch: &'a dyn CommitWatch,
    /// The evidence for the order of the rows.
    pub order: &'a dyn OrderEvidence,
}

/// The report of a whole load.
#[derive(Debug)]
pub struct WholeReport {
    /// The target, as the server resolves its name.
    pub table: TableName,
    /// The plan by which the rows were loaded.
    pub plan: LoadPlan,
    /// The report of sending the rows; `None` if an earlier run had done everything.
    pub loaded: Option<ParallelReport>,
    /// The way in which the rows came from a stage into the target, if there was a stage and no answer was lost.
    pub published: Option<Published>,
}

/// Loads all batches of a source. After a failure the stage is kept if a ledger can continue the load, and is dropped otherwise.
///
/// # Errors
/// The errors of the steps of [`TableLoad`].
pub fn load_whole<S, E>(
    client: &mut Client,
    load: &WholeLoad<'_>,
    schema: &Schema,
    source: S,
    progress: &mut dyn FnMut(&Progress),
) -> Result<WholeReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<BoxError>,
{
    let WholeLoad { table, way, ledger, .. } = load;
    let mut steps = TableLoad::new((*table).clone(), way.clone(), *ledger);
    let mut source = SourceHead::new(source.map(|batch| batch.map_err(Into::into)));
    let options = &foreseen(client, load, &mut steps, schema, &mut source).map_err(nothing)?;
    steps.choose(client, schema, options).map_err(nothing)?;
    if steps.is_done() {
        let plan = steps.plan(client, schema, options).map_err(nothing)?;
        return Ok(WholeReport { table: steps.target_name().clone(), plan, loaded: None, published: None });
    }
    let done = run(client, load, options, &mut steps, schema, source, progress);
    if let Err(error) = &done {
        // The first error matters more; what is left of the stage can be found.
        let _ = steps.give_up(client, error.rows_in_doubt > 0);
    }
    done
}

/// Adds the facts about the source to the options. Reads ahead where the route depends on its rows.
fn foreseen<S>(
    client: &mut Client,
    load: &WholeLoad<'_>,
    steps: &mut TableLoad<'_>,
    schema: &Schema,
    source: &mut SourceHead<S>,
) -> Result<LoadOptions, Error>
where
    S: Iterator<Item = Result<RecordBatch, BoxError>>,
{
    let mut options = load.options.clone();
    // A transaction of the caller's takes no table that it has not asked for.
    options.may_stage &= !client.in_transaction();
    if steps.is_done() {
        return Ok(options);
    }
    let order = steps.key_order(client, schema, &options)?;
    if let Some(order) = order.as_ref().filter(|order| order.is_kept)
        && let Some(evidence) = load.order.find(order).map_err(Error::Source)?
    {
        options = options.in_order(order, evidence);
    }
    if !steps.needs_a_look(&options) {
        return Ok(options);
    }
    let wanted = if options.source.bytes.is_some() { 1 } else { SEEN_BYTES_MIN };
    let (bytes, is_all) = source.read_ahead(wanted, LOOK_TIME);
    options.source.bytes.get_or_insert(bytes);
    let Some(order) = order.filter(|_| options.order.is_empty()) else { return Ok(options) };
    let seen = || source.batches().cloned().map(Ok::<_, ArrowError>);
    if is_all && order.is_kept && order.holds_for(seen()).map_err(|error| Error::Source(error.into()))? {
        return Ok(options.in_order(&order, "all rows were read ahead".to_owned()));
    }
    options.source.looks_sorted = order.seems_kept_by(source.batches());
    Ok(options)
}

fn run<S>(
    client: &mut Client,
    load: &WholeLoad<'_>,
    load_options: &LoadOptions,
    steps: &mut TableLoad<'_>,
    schema: &Schema,
    source: S,
    progress: &mut dyn FnMut(&Progress),
) -> Result<WholeReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, BoxError>> + Send,
{
    steps.make_stage(client).map_err(nothing)?;
    let mut plan = steps.plan(client, schema, load_options).map_err(nothing)?;
    if steps.empties() {
        // Only now: data that does not fit the table must not cost its rows. Empty, it has another plan.
        steps.empty(client).map_err(nothing)?;
        plan = steps.plan(client, schema, load_options).map_err(nothing)?;
        plan.rows_before = load.ledger.is_none().then_some(0);
    }
    let options = ParallelOptions {
        writers: load.writers.map_or(Writers::Auto(plan.writers_max), Writers::Fixed),
        retry: load.retry,
        ledger: load.ledger,
        time_limit: None,
        watch: load.watch,
    };
    let batches = source.map(|batch| batch.map(SourceBatch::from));
    let source = ParallelSource { plan: plan.clone(), tolerance: None, batches: Box::new(batches) };
    let loaded = steps.load(client, vec![source], &options, progress)?;
    let ending = steps.finish(client, load.retry, &mut |_| {})?;
    progress(&Progress {
        rows_sent: loaded.load.rows,
        rows_committed: loaded.load.rows,
        rows_committing: 0,
        batches: loaded.load.batches,
        bytes_on_wire: loaded.load.bytes_on_wire,
    });
    let published = match ending {
        Ending::Published(published) => Some(published),
        Ending::Direct | Ending::AnswerLost(_) => None,
    };
    Ok(WholeReport { table: steps.target_name().clone(), plan, loaded: Some(loaded), published })
}

/// Wraps an error that has not touched the target.
fn nothing(source: Error) -> LoadError {
    LoadError::before_rows(source.without_doubt())
}
