//! A complete load over any number of connections, for callers that show no intermediate steps.

use arrow::{datatypes::Schema, record_batch::RecordBatch};

use crate::{
    client::Client,
    describe::TableDescription,
    error::Error,
    load::{LoadError, Progress},
    options::LoadOptions,
    parallel::{
        BoxError, Ledger, LoadState, ParallelOptions, ParallelReport, ParallelSource, Writers, load_parallel,
    },
    plan::LoadPlan,
    retry::RetryPolicy,
    source::SourceBatch,
    stage::{Mode, Published, Route, Stage, StagePlan, Strategy},
};

/// The settings of a whole load.
#[derive(Debug)]
pub struct WholeLoad<'a> {
    /// Where the rows go.
    pub target: &'a TableDescription,
    /// What happens to existing rows.
    pub mode: Mode,
    /// How new rows reach the table.
    pub strategy: Strategy,
    /// How rows are loaded.
    pub options: &'a LoadOptions,
    /// Number of connections; `None`: as many as make the load faster.
    pub writers: Option<usize>,
    /// What is tried again.
    pub retry: RetryPolicy,
    /// Where committed rows are noted.
    pub ledger: Option<&'a Ledger>,
}

/// What a whole load did.
#[derive(Debug)]
pub struct WholeReport {
    /// How the rows were loaded.
    pub plan: LoadPlan,
    /// How the rows were sent; `None` if an earlier run had done everything.
    pub loaded: Option<ParallelReport>,
    /// How the rows came from a stage into the target, if there was a stage and no answer was lost.
    pub published: Option<Published>,
}

/// Loads all batches of a source. After a failure the stage is kept if a ledger can continue the load, and is dropped otherwise.
///
/// # Errors
/// As [`load_parallel`], [`StagePlan::choose`] and [`Stage::publish`].
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
    let WholeLoad { target, mode, strategy, options, ledger, .. } = load;
    let chosen =
        StagePlan::choose(client, target, schema, mode.clone(), *strategy, options).map_err(nothing)?;
    let rows_before = ledger.map_or(0, Ledger::rows_before);
    let stage_id = ledger.map_or_else(Stage::new_load_id, |ledger| ledger.load_id().to_owned());
    let is_done = ledger.is_some_and(|ledger| ledger.state() == LoadState::Done);
    let Some(stage) = chosen.stage(target, &stage_id).filter(|_| !is_done) else {
        let truncates = matches!(chosen.route, Route::TruncateFirst) && rows_before == 0 && !is_done;
        let mut plan = LoadPlan::new(client, target, schema, options).map_err(nothing)?;
        if truncates {
            // Only now: data that does not fit the table must not cost its rows. Empty, it has another plan.
            client.execute(&format!("TRUNCATE TABLE {}", target.name)).map_err(nothing)?;
            let emptied = client.describe(&target.name).map_err(nothing)?;
            plan = LoadPlan::new(client, &emptied, schema, options).map_err(nothing)?;
        }
        plan.choices.splice(1..1, chosen.choices);
        if is_done {
            return Ok(WholeReport { plan, loaded: None, published: None });
        }
        let loaded = transfer(client, load, plan.clone(), source, progress)?;
        if let Some(ledger) = ledger {
            ledger.finish(client, load.retry).map_err(|error| LoadError {
                rows_committed: loaded.load.rows,
                ..LoadError::before_rows(error)
            })?;
        }
        return Ok(WholeReport { plan, loaded: Some(loaded), published: None });
    };
    if !stage.exists(client).map_err(nothing)? {
        if rows_before > 0 {
            return Err(nothing(Error::StageGone { stage: stage.name().to_string(), rows: rows_before }));
        }
        stage.create(client).map_err(nothing)?;
    }
    let done = through_stage(client, load, &stage, &chosen, schema, source, progress);
    if ledger.is_none() && done.as_ref().is_err_and(|error| error.rows_in_doubt == 0) {
        // The first error matters more; what is left of the stage can be found.
        let _ = stage.drop(client);
    }
    done
}

fn through_stage<S, E>(
    client: &mut Client,
    load: &WholeLoad<'_>,
    stage: &Stage,
    chosen: &StagePlan,
    schema: &Schema,
    source: S,
    progress: &mut dyn FnMut(&Progress),
) -> Result<WholeReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<BoxError>,
{
    let described = stage.describe(client).map_err(nothing)?;
    let mut plan = LoadPlan::new(client, &described, schema, load.options).map_err(nothing)?;
    stage.check_plan(&plan).map_err(|error| nothing(error.into()))?;
    plan.choices.splice(1..1, chosen.choices.iter().cloned());
    // What is committed to the stage is nowhere as long as the stage is not published.
    let mut staging = |at: &Progress| progress(&Progress { rows_committed: 0, rows_committing: 0, ..*at });
    let loaded = transfer(client, load, plan.clone(), source, &mut staging).map_err(|error| LoadError {
        rows_committed: 0,
        rows_in_doubt: 0,
        look: None,
        ..error
    })?;
    let published = match load.ledger {
        Some(ledger) => ledger.finish_by(client, load.retry, &mut |client| {
            stage.build(client)?;
            stage.publish(client, &mut |client| client.execute(&ledger.done_statements()).map(drop))
        }),
        None => stage.build(client).and_then(|()| stage.publish(client, &mut |_| Ok(()))).map(Some),
    };
    let published = published.map_err(|error| {
        let rows_in_doubt = if error.is_in_doubt() { loaded.load.rows } else { 0 };
        LoadError { rows_in_doubt, ..LoadError::before_rows(error) }
    })?;
    progress(&Progress {
        rows_sent: loaded.load.rows,
        rows_committed: loaded.load.rows,
        rows_committing: 0,
        batches: loaded.load.batches,
        bytes_on_wire: loaded.load.bytes_on_wire,
    });
    Ok(WholeReport { plan, loaded: Some(loaded), published })
}

fn transfer<S, E>(
    client: &mut Client,
    load: &WholeLoad<'_>,
    plan: LoadPlan,
    source: S,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ParallelReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<BoxError>,
{
    let options = ParallelOptions {
        writers: load.writers.map_or(Writers::Auto(plan.writers_max), Writers::Fixed),
        retry: load.retry,
        ledger: load.ledger,
        time_limit: None,
        watch: &(),
    };
    let batches = source.map(|batch| batch.map(SourceBatch::from).map_err(Into::into));
    let source = ParallelSource { plan, tolerance: None, batches: Box::new(batches) };
    load_parallel(client, vec![source], &options, progress)
}

/// An error that has not touched the target.
fn nothing(source: Error) -> LoadError {
    LoadError::before_rows(source.without_doubt())
}
