//! Loads and reads that many processes share: what `bulkwire._job` and its kin are made of.

use std::time::Duration;

use load::read::{Partition, ReadOptions, Readers, RowSource, SplitPlan};
use load::{
    Client, Gathered, Ledger, LedgerPlace, LoadState, Query, RetryPolicy, TableName, TaskJob, TaskRows,
    TaskStage,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::connection::{Connection, Options, create_statement};
use crate::load_report::way;
use crate::reader::{self, Reader};
use crate::{failure, source};

/// Stage, its columns, whether the load is done already, choices of the plan: (setting, value, reason).
type Prepared = (String, Vec<String>, bool, Vec<(String, String, String)>);
/// Rows; inserted, updated and unchanged ones of a stage, and how it came into the table; whether it was done before.
type Published = (u64, Option<u64>, Option<u64>, Option<u64>, Option<&'static str>, bool);

/// A job as its director describes it.
struct Described {
    target: TableName,
    schema: arrow::datatypes::SchemaRef,
    options: Options,
    create: Option<String>,
    has_names: bool,
}

impl Described {
    /// Describes the rows of a job. `data` has the columns of the rows to come, and no rows.
    fn from_python(
        py: Python<'_>,
        connection: &Connection,
        table: &str,
        data: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let target: TableName = table.parse().map_err(|error| failure::from_error(py, error))?;
        let options = Options::from_python(options)?;
        let source = source::open(data)?;
        let create = match options.create {
            true => Some(create_statement(py, &target, &source, None, &options, connection.has_vectors())?),
            false => None,
        };
        Ok(Self { target, schema: source.schema, options, create, has_names: source.has_names })
    }

    /// Runs `work` with the job's stage, and with its ledger if it has a name of its own.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        connection: &Connection,
        (load_id, stays): (&str, bool),
        work: impl FnOnce(&mut Client, &TaskStage, Option<&Ledger>) -> Result<T, load::Error> + Send,
    ) -> PyResult<T> {
        let way = self.options.way().map_err(|error| failure::from_error(py, error))?;
        let identity = self.options.job_identity(&self.target, &way);
        let load_options = self.options.load_options(self.has_names);
        connection.request(py, |client| {
            let place = LedgerPlace::beside(&self.target, &self.options.ledger_schema);
            let ledger = identity.map(|identity| Ledger::open(client, place, identity)).transpose()?;
            let job = TaskJob {
                table: &self.target,
                schema: &self.schema,
                way: &way,
                options: &load_options,
                create: self.create.as_deref(),
                load_id,
                stays,
            };
            let stage = TaskStage::plan(client, &job)?;
            work(client, &stage, ledger.as_ref())
        })
    }
}

/// Checks a job and makes the stage for its tasks: (stage, its columns, whether the load is done already, choices). `stage_of` is
/// the job's name and whether its stage stays.
#[pyfunction]
pub(crate) fn prepare_tasks(
    py: Python<'_>,
    connection: &Connection,
    table: &str,
    data: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    stage_of: (String, bool),
) -> PyResult<Prepared> {
    let job = Described::from_python(py, connection, table, data, options)?;
    job.run(py, connection, (&stage_of.0, stage_of.1), |client, stage, ledger| {
        let is_done = ledger.is_some_and(|ledger| ledger.state() == LoadState::Done);
        if !is_done {
            stage.create(client)?;
        }
        let choices = stage.choices().iter();
        Ok((
            stage.name().to_string(),
            stage.column_names().map(str::to_owned).collect(),
            is_done,
            choices
                .map(|choice| (choice.setting.to_owned(), choice.value.clone(), choice.reason.clone()))
                .collect(),
        ))
    })
}

/// Publishes the rows of these attempts, each with its number of rows: (rows, inserted, updated, unchanged, way, done before).
#[pyfunction]
pub(crate) fn publish_tasks(
    py: Python<'_>,
    connection: &Connection,
    table: &str,
    data: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    stage_of: (String, bool),
    tasks: Vec<(i64, u64)>,
) -> PyResult<Published> {
    let job = Described::from_python(py, connection, table, data, options)?;
    let patience = Duration::from_secs_f64(job.options.retry_for.unwrap_or(0.0));
    let tasks: Vec<TaskRows> = tasks.into_iter().map(|(task, rows)| TaskRows { task, rows }).collect();
    let done = job.run(py, connection, (&stage_of.0, stage_of.1), |client, stage, ledger| {
        stage.publish(client, &tasks, ledger, RetryPolicy::lasting(patience))
    })?;
    let Gathered { rows, published, is_done_before } = done;
    let published = published.as_ref();
    Ok((
        rows,
        published.map(|published| published.inserted),
        published.map(|published| published.updated),
        published.map(|published| published.unchanged),
        published.map(|published| way(&published.how)),
        is_done_before,
    ))
}

/// Splits a table or a query into statements that other processes run by `read_partition`.
#[pyfunction]
#[pyo3(signature = (connection, sql, table, columns, condition, count, split_by))]
#[expect(clippy::too_many_arguments, reason = "the keywords of bulkwire._partitions")]
pub(crate) fn partitions<'py>(
    py: Python<'py>,
    connection: &Connection,
    sql: Option<String>,
    table: Option<&str>,
    columns: Option<Vec<String>>,
    condition: Option<String>,
    count: usize,
    split_by: Option<String>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let source = match (sql, table) {
        (Some(sql), None) => RowSource::query(sql),
        (None, Some(table)) => {
            let name = table.parse().map_err(|error| failure::from_error(py, error))?;
            RowSource::Table { name, columns, condition }
        }
        _ => return Err(failure::usage(py, "partitions are of a query or of a table")),
    };
    let is_whole = matches!(source, RowSource::Query { .. }) && split_by.is_none() || count < 2;
    let options = ReadOptions {
        readers: Readers::Count(if is_whole { 1 } else { 2 }),
        ranges: if is_whole { None } else { Some(count) },
        split_by: if is_whole { None } else { split_by },
        ..ReadOptions::default()
    };
    let encoded = connection.request(py, |client| {
        let plan = SplitPlan::new(client, source, &options)?;
        let partitions = Partition::of_plan(client, &plan, &[]);
        Ok(partitions.iter().map(Partition::encode).collect::<Result<Vec<_>, _>>()?)
    })?;
    Ok(encoded.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
}

/// Reads one of the `partitions`, over a connection to the same database.
#[pyfunction]
#[pyo3(signature = (connection, partition, *, batch_rows, guid, datetimeoffset, datetime2_7))]
pub(crate) fn read_partition(
    py: Python<'_>,
    connection: &Connection,
    partition: &[u8],
    batch_rows: usize,
    guid: &str,
    datetimeoffset: &str,
    datetime2_7: &str,
) -> PyResult<Reader> {
    let Partition { database, sql, parameters, .. } =
        Partition::decode(partition).map_err(|error| failure::usage(py, error.to_string()))?;
    let form = reader::form(py, guid, datetimeoffset, datetime2_7)?;
    let client = connection.lend(py)?;
    if client.database() != database {
        let own = client.database();
        return Err(failure::usage(
            py,
            format!("the partition is of database {database}, and the connection of {own}"),
        ));
    }
    Reader::start(py, client, Query { sql, parameters, form, batch_rows })
}
