//! A complete load of one source through a stage.

use arrow::{datatypes::Schema, record_batch::RecordBatch};

use super::{plan::StagePlan, publish::Published, staged::Stage};
use crate::{
    client::Client,
    describe::TableDescription,
    error::Error,
    load::{LoadError, Progress, load},
    options::LoadOptions,
    plan::LoadPlan,
    report::LoadReport,
    table_name::TableName,
};

/// What a load through a stage did.
#[derive(Debug, Clone)]
pub struct StagedReport {
    /// The target.
    pub table: TableName,
    /// How the rows were loaded into the stage.
    pub plan: LoadPlan,
    /// How they came there.
    pub staged: LoadReport,
    /// How the rows came into the target.
    pub published: Published,
}

/// Loads all batches of a source into a stage and publishes it; without a stage in `plan` this is [`Error::Internal`].
///
/// The target gets all rows or none. On an error the stage is dropped, if the server can still be reached.
pub fn load_staged<S, E>(
    client: &mut Client,
    target: &TableDescription,
    plan: &StagePlan,
    schema: &Schema,
    source: S,
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<StagedReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let Some(stage) = plan.stage(target, &Stage::new_load_id()) else {
        return Err(LoadError::before_rows(Error::internal("a load without a stage was to be staged")));
    };
    stage.create(client).map_err(nothing)?;
    let done = run(client, &target.name, &stage, plan, schema, source, options, progress);
    if done.as_ref().is_err_and(|error| error.rows_in_doubt == 0) {
        // The first error matters more; what is left of the stage can be found.
        let _ = stage.drop(client);
    }
    done
}

#[expect(clippy::too_many_arguments, reason = "the arguments of load_staged, and what it made of them")]
fn run<S, E>(
    client: &mut Client,
    table: &TableName,
    stage: &Stage,
    stage_plan: &StagePlan,
    schema: &Schema,
    source: S,
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<StagedReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let described = stage.describe(client).map_err(nothing)?;
    let mut plan = LoadPlan::new(client, &described, schema, options).map_err(nothing)?;
    stage.check_plan(&plan).map_err(|error| nothing(error.into()))?;
    plan.choices.splice(1..1, stage_plan.choices.iter().cloned());
    plan.rows_before = Some(0);
    // What is committed to the stage is nowhere as long as the stage is not published.
    let mut staging = |at: &Progress| progress(&Progress { rows_committed: 0, rows_committing: 0, ..*at });
    let staged = load(client, &plan, source, &mut staging).map_err(|error| LoadError {
        rows_committed: 0,
        rows_in_doubt: 0,
        look: None,
        ..error
    })?;
    stage.build(client).map_err(nothing)?;
    let published = stage.publish(client, &mut |_| Ok(())).map_err(|error| {
        let rows_in_doubt = if error.is_in_doubt() { staged.rows } else { 0 };
        LoadError { rows_in_doubt, ..LoadError::before_rows(error) }
    })?;
    progress(&Progress {
        rows_sent: staged.rows,
        rows_committed: staged.rows,
        rows_committing: 0,
        batches: staged.batches,
        bytes_on_wire: staged.bytes_on_wire,
    });
    Ok(StagedReport { table: table.clone(), plan, staged, published })
}

/// An error that has not touched the target.
fn nothing(source: Error) -> LoadError {
    LoadError::before_rows(source.without_doubt())
}
