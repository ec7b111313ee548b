//! A connection, shared between Python objects and worked on by one of them at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use formats::InferredSchema;
use load::{
    Client, Config, Error, Ledger, LedgerPlace, LentClient, LoadError, LoadIdentity, LoadOptions, LoadPlan,
    LoadWay, Mode, Progress, Query, RetryPolicy, SharedClient, SourceIdentity, StageError, Strategy,
    TableName, WholeLoad, create_table_statement, drop_empty_statement, load_whole, make_table, roomy_length,
    roomy_schema,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use rows::mapping::{CreateOptions, SQL_TYPE_KEY, StringType};
use rows::text::spelling::TextSpelling;
use rows::{CastOptions, Mapping};
use tds::{Isolation, SqlType, Value};

use crate::execution::Execution;
use crate::failure::Told;
use crate::interrupt::{self, Latest};
use crate::load_report::LoadReport;
use crate::parameters::{self, Parameter};
use crate::reader::{self, Reader};
use crate::row_source::Wanted;
use crate::source::{self, Batches, BoxedError};
use crate::source_order::SourceOrder;
use crate::{failure, forecast, python_value};

/// The native connection; `bulkwire.Connection` is its documented face.
#[pyclass(frozen, module = "bulkwire._bulkwire")]
pub(crate) struct Connection {
    client: SharedClient,
    address: String,
    server: String,
    /// True if the server knows vectors.
    vectors: bool,
    /// The process that opened it: a fork has the same socket, and would break the session for both.
    process: u32,
}

#[pymethods]
impl Connection {
    #[staticmethod]
    fn open(py: Python<'_>, text: &str) -> PyResult<Self> {
        let config = Config::parse(text).map_err(|error| failure::from_error(py, error.into()))?;
        let connected = interrupt::run(py, || Client::connect(&config), || {}, |_| Ok(()))?;
        let client = connected.map_err(|error| failure::from_error(py, error))?;
        let server = client.server_info().program.clone();
        let vectors = client.server_info().vectors > 0;
        let process = std::process::id();
        Ok(Self { client: SharedClient::new(client), address: config.to_string(), server, vectors, process })
    }

    /// Returns the URL without secrets.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// Returns the server's name for itself.
    #[getter]
    fn server(&self) -> &str {
        &self.server
    }

    #[getter]
    fn closed(&self) -> bool {
        self.client.is_closed()
    }

    #[getter]
    fn in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        let client = self.lend(py)?;
        Ok(client.transaction_stands() && !client.is_broken())
    }

    /// Raises if the transaction that was begun here has ended before it was ended here.
    fn check_transaction(&self, py: Python<'_>) -> PyResult<()> {
        self.lend(py)?.check_transaction().map_err(|error| failure::from_error(py, error))
    }

    fn close(&self) {
        self.client.close();
    }

    /// Interrupts the request under way, from another thread.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.check_process(py)?;
        py.detach(|| self.client.cancel()).map_err(PyErr::from)
    }

    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        self.request(py, |client| client.begin(Isolation::Current))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.request(py, Client::commit)
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.request(py, Client::rollback)
    }

    #[pyo3(signature = (sql, params = None))]
    fn execute(&self, py: Python<'_>, sql: &str, params: Option<&Bound<'_, PyAny>>) -> PyResult<Execution> {
        let parameters = parameters::from_python(params)?;
        let result = self.request(py, |client| match parameters.is_empty() {
            true => client.execute(sql),
            false => client.execute_with(sql, &borrowed(&parameters)),
        })?;
        Execution::new(py, &result)
    }

    /// Returns result sets as (column names, rows).
    #[pyo3(signature = (sql, params = None))]
    fn fetch<'py>(
        &self,
        py: Python<'py>,
        sql: &str,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(Vec<String>, Bound<'py, PyList>)>> {
        let parameters = parameters::from_python(params)?;
        let tables = self.request(py, |client| {
            let done = match parameters.is_empty() {
                true => client.query_values(sql),
                false => client.query_values_with(sql, &borrowed(&parameters)),
            };
            client.doubted(done)
        })?;
        let row = |values: &Vec<Value>| {
            let cells = values.iter().map(|value| python_value::from_value(py, value));
            PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)
        };
        tables
            .into_iter()
            .map(|table| {
                let rows = table.rows.iter().map(row).collect::<PyResult<Vec<_>>>()?;
                Ok((table.columns, PyList::new(py, rows)?))
            })
            .collect()
    }

    #[pyo3(signature = (sql, params, *, batch_rows, guid, datetimeoffset, datetime2_7))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of Python's read()")]
    fn read(
        &self,
        py: Python<'_>,
        sql: &str,
        params: Option<&Bound<'_, PyAny>>,
        batch_rows: usize,
        guid: &str,
        datetimeoffset: &str,
        datetime2_7: &str,
    ) -> PyResult<Reader> {
        let parameters = parameters::from_python(params)?;
        let form = reader::form(py, guid, datetimeoffset, datetime2_7)?;
        Reader::start(py, self.lend(py)?, Query { sql: sql.to_owned(), parameters, form, batch_rows })
    }

    /// Reads over connections of their own. `options` is the dictionary that `bulkwire.Connection.read` makes of its keywords.
    #[pyo3(signature = (sql, params, options, *, batch_rows, guid, datetimeoffset, datetime2_7))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of Python's read()")]
    fn read_ranges(
        &self,
        py: Python<'_>,
        sql: Option<&str>,
        params: Option<&Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
        batch_rows: usize,
        guid: &str,
        datetimeoffset: &str,
        datetime2_7: &str,
    ) -> PyResult<Reader> {
        let parameters = parameters::from_python(params)?;
        let form = reader::form(py, guid, datetimeoffset, datetime2_7)?;
        let wanted = Wanted::from_python(py, sql, parameters, form, batch_rows, options)?;
        Reader::start_readers(py, self.lend(py)?, wanted)
    }

    /// Forecasts the load of the data. `options` is the dictionary that `bulkwire.Connection.forecast` makes of its
    /// keywords.
    fn forecast<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        data: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let target: TableName = table.parse().map_err(|error| failure::from_error(py, error))?;
        let options = Options::from_python(options)?;
        let source = source::open(data)?;
        let load_options = options.load_options(source.has_names);
        let done = self.transfer(py, source, None, |client, schema, batches, _| {
            let plan = planned(client, &target, schema, &load_options).map_err(nothing)?;
            forecast::of(client, &plan, batches, options.truncates()).map_err(nothing)
        })?;
        forecast::as_dict(py, &done)
    }

    /// Forgets a recorded load.
    fn forget_load(&self, py: Python<'_>, load_id: &str, ledger_schema: &str) -> PyResult<bool> {
        let place = LedgerPlace::current(ledger_schema);
        self.request(py, |client| load::forget_load(client, &place, load_id))
    }

    /// Loads data. `options` is the dictionary that `bulkwire.Connection.load` makes of its keywords.
    fn load(
        &self,
        py: Python<'_>,
        table: &str,
        data: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<LoadReport> {
        let target: TableName = table.parse().map_err(|error| failure::from_error(py, error))?;
        let options = Options::from_python(options)?;
        let is_made = options.create && !(options.if_missing && self.has_table(py, &target)?);
        let mut measured = match is_made {
            true => source::measured(data, options.spelling().unwrap_or_default())?,
            false => None,
        };
        if let Some(measured) = &mut measured {
            options.declare(py, measured)?;
        }
        let source = source::open_read(data, measured.as_ref().and_then(InferredSchema::readings))?;
        let mut load_options = LoadOptions { may_stage: true, ..options.load_options(source.has_names) };
        load_options.source.bytes = source.bytes;
        let order = SourceOrder::of(data)?;
        let way = options.way().map_err(|error| failure::from_error(py, error))?;
        let statement = match options.create {
            true => Some(create_statement(py, &target, &source, measured.as_ref(), &options, self.vectors)?),
            false => None,
        };
        let identity = options.identity(py, data, &target)?;
        let done = self.transfer(py, source, on_progress, |client, schema, batches, progress| {
            let ledger = identity
                .map(|identity| {
                    Ledger::open(client, LedgerPlace::beside(&target, &options.ledger_schema), identity)
                })
                .transpose()
                .map_err(nothing)?;
            let mut way = way;
            let mut is_made = false;
            if let Some(statement) = &statement {
                // A load that is continued finds the table that it has made.
                let may_exist = options.if_missing || ledger.is_some();
                if !(may_exist && exists(client, &target).map_err(nothing)?) {
                    if way.mode.keys().is_some() {
                        return Err(nothing(keyless(&way)));
                    }
                    make_table(client, &target, statement).map_err(nothing)?;
                    is_made = true;
                    if ledger.is_none() {
                        // A new table has neither rows nor indexes.
                        way = LoadWay { mode: Mode::Append, ..LoadWay::default() };
                    }
                }
            }
            let load = WholeLoad {
                table: &target,
                way,
                options: &load_options,
                writers: options.writer_count(),
                retry: RetryPolicy::lasting(Duration::from_secs_f64(options.retry_for.unwrap_or(0.0))),
                ledger: ledger.as_ref(),
                watch: &(),
                order: &order,
            };
            let done = load_whole(client, &load, schema, batches, progress);
            if is_made
                && ledger.is_none()
                && done.as_ref().is_err_and(|error| error.rows_committed == 0 && error.rows_in_doubt == 0)
                && !client.is_broken()
            {
                // The next try would stumble over it. The first error matters more than that of this.
                let _ = client.execute(&drop_empty_statement(&target));
            }
            done
        })?;
        Ok(LoadReport::whole(done))
    }

    /// Inserts or updates: (inserted, updated, report of the load into the temporary table).
    fn upsert(
        &self,
        py: Python<'_>,
        table: &str,
        data: &Bound<'_, PyAny>,
        keys: Vec<String>,
        options: &Bound<'_, PyDict>,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, LoadReport)> {
        let target: TableName = table.parse().map_err(|error| failure::from_error(py, error))?;
        let load_options = Options::from_python(options)?.load_options(true);
        let source = source::open(data)?;
        let done = self.transfer(py, source, on_progress, |client, schema, batches, progress| {
            let described = client.describe(&target).map_err(nothing)?;
            load::upsert(client, &described, schema, batches, &keys, &load_options, progress)
        })?;
        let staged = LoadReport::staged(&target, done.staged);
        Ok((done.inserted, done.updated, staged))
    }
}

impl Connection {
    pub(crate) fn lend(&self, py: Python<'_>) -> PyResult<LentClient> {
        self.check_process(py)?;
        self.client.lend().map_err(|unavailable| failure::usage(py, unavailable.to_string()))
    }

    /// Returns true if the server knows vectors.
    pub(crate) fn has_vectors(&self) -> bool {
        self.vectors
    }

    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        match std::process::id() == self.process {
            true => Ok(()),
            false => Err(failure::usage(
                py,
                "the connection was opened before this process was forked from another; connect anew",
            )),
        }
    }

    /// Runs a load of some kind; Ctrl-C, and an exception of the progress callback, stop it and roll its batch back.
    fn transfer<T: Send>(
        &self,
        py: Python<'_>,
        source: source::Source,
        on_progress: Option<Py<PyAny>>,
        work: impl FnOnce(&mut Client, &Schema, Stopped<'_>, &mut dyn FnMut(&Progress)) -> Result<T, LoadError>
        + Send,
    ) -> PyResult<T> {
        let mut client = self.lend(py)?;
        let handle = client.cancel_handle();
        let stopped = AtomicBool::new(false);
        let latest = Latest::new();
        let (schema, batches) = (source.schema, source.batches);
        let told = Latest::new();
        let done = interrupt::run(
            py,
            || {
                let source = Stopped { batches, stopped: &stopped };
                let done = work(&mut client, &schema, source, &mut |at| {
                    told.set(Told::committed(at.rows_committed));
                    latest.set(*at);
                });
                if let Err(error) = &done {
                    told.set(Told::of(error));
                }
                done
            },
            || {
                stopped.store(true, Ordering::SeqCst);
                // If the connection is gone the load ends by itself.
                let _ = handle.cancel();
            },
            |py| match (latest.take(), &on_progress) {
                (Some(at), Some(callback)) => callback.call1(py, progress_fields(at)).map(drop),
                _ => Ok(()),
            },
        );
        drop(client);
        // Ctrl-C and exceptions of others say as well how far the load came.
        if let (Err(raised), Some(told)) = (&done, told.take()) {
            told.note_on(py, raised);
        }
        done?.map_err(|error| failure::from_load(py, error))
    }

    /// Runs a short request; Ctrl-C cancels it.
    fn has_table(&self, py: Python<'_>, table: &TableName) -> PyResult<bool> {
        self.request(py, |client| match client.describe(table) {
            Ok(_) => Ok(true),
            Err(Error::NoTable { .. }) => Ok(false),
            Err(error) => Err(error),
        })
    }

    pub(crate) fn request<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Client) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut client = self.lend(py)?;
        let handle = client.cancel_handle();
        let cancel = || {
            let _ = handle.cancel();
        };
        let done = interrupt::run(py, || work(&mut client), cancel, |_| Ok(()));
        drop(client);
        done?.map_err(|error| failure::from_error(py, error))
    }
}

/// The source of a load that can be stopped between batches.
struct Stopped<'a> {
    batches: Batches,
    stopped: &'a AtomicBool,
}

impl Iterator for Stopped<'_> {
    type Item = Result<RecordBatch, BoxedError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.batches.next();
        match self.stopped.load(Ordering::SeqCst) {
            // An interruption here must not look like the data's natural end, which would commit the batch.
            true => Some(Err(Error::Cancelled.into())),
            false => next,
        }
    }
}

/// Returns true if the table exists.
fn exists(client: &mut Client, table: &TableName) -> Result<bool, Error> {
    match client.describe(table) {
        Ok(_) => Ok(true),
        Err(Error::NoTable { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Rows cannot be compared with those of a table that is yet to be made.
fn keyless(way: &LoadWay) -> Error {
    let (mode, setting) = (way.mode.word(), "a table that is to be made");
    let reason = "it would have no key; make the table first";
    StageError::Combination { mode, setting, reason }.into()
}

fn nothing(source: Error) -> LoadError {
    LoadError::before_rows(source)
}

/// Borrows the names of parameters.
fn borrowed(parameters: &[Parameter]) -> Vec<(&str, SqlType, Value)> {
    parameters
        .iter()
        .map(|(name, sql_type, value)| (name.as_str(), sql_type.clone(), value.clone()))
        .collect()
}

fn planned(
    client: &mut Client,
    table: &TableName,
    schema: &Schema,
    options: &LoadOptions,
) -> Result<LoadPlan, Error> {
    let target = client.describe(table)?;
    LoadPlan::new(client, &target, schema, options)
}

fn progress_fields(at: Progress) -> (u64, u64, u64, u64) {
    (at.rows_sent, at.rows_committed, at.batches, at.bytes_on_wire)
}

/// The keywords of `load`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    batch_rows: Option<u64>,
    table_lock: Option<bool>,
    pub(crate) create: bool,
    /// With `create`: a table that is there is taken as it is.
    if_missing: bool,
    /// SQL types for `create`, by column.
    types: Vec<(String, String)>,
    truncate: bool,
    mode: Option<String>,
    key: Vec<String>,
    strategy: Option<String>,
    /// Source and target columns.
    columns: Vec<(String, String)>,
    by_position: bool,
    keep_identity: bool,
    keep_nulls: bool,
    check_constraints: bool,
    fire_triggers: bool,
    order: Vec<(String, bool)>,
    allow_truncate: bool,
    allow_rounding: bool,
    replacement: Option<char>,
    nested_as_json: bool,
    drop_time_zone: bool,
    empty_as_null: bool,
    date_order: Option<String>,
    year_cutoff: Option<u16>,
    decimal: Option<String>,
    thousands: Option<String>,
    currency: Option<String>,
    percent: Option<String>,
    /// Connections; 0: as many as make the load faster.
    writers: Option<usize>,
    /// Seconds.
    pub(crate) retry_for: Option<f64>,
    load_id: Option<String>,
    pub(crate) ledger_schema: String,
}

impl Options {
    /// Reads the dictionary.
    pub(crate) fn from_python(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let this: Self = options.extract()?;
        this.spelling().map_err(|text| failure::usage(options.py(), text))?;
        Ok(this)
    }

    /// Returns the identity of the load in the ledger, if it has a name.
    fn identity(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        target: &TableName,
    ) -> PyResult<Option<LoadIdentity>> {
        let Some(load_id) = self.load_id.clone() else { return Ok(None) };
        let way = self.way().map_err(|error| failure::from_error(py, error))?;
        let mode = match way.strategy {
            Strategy::Auto => way.mode.word().to_owned(),
            strategy => format!("{} by {strategy}", way.mode.word()),
        };
        let (name, fingerprint) = source::identity(data)?;
        let sources = vec![SourceIdentity { name, fingerprint }];
        Ok(Some(LoadIdentity {
            load_id,
            target: target.clone(),
            mode,
            sources,
            command: String::new(),
            is_named: true,
        }))
    }

    /// Returns the identity of a job in the ledger, if it has a name.
    pub(crate) fn job_identity(&self, target: &TableName, way: &LoadWay) -> Option<LoadIdentity> {
        let load_id = self.load_id.clone()?;
        let mode = way.mode.word().to_owned();
        let sources = vec![SourceIdentity { name: "tasks".to_owned(), fingerprint: String::new() }];
        Some(LoadIdentity {
            load_id,
            target: target.clone(),
            mode,
            sources,
            command: String::new(),
            is_named: true,
        })
    }

    fn truncates(&self) -> bool {
        self.truncate || self.mode.as_deref() == Some("truncate")
    }

    /// Returns mode and strategy.
    pub(crate) fn way(&self) -> Result<LoadWay, Error> {
        let word = match (self.mode.as_deref(), self.truncate) {
            (Some(word), false | true) => word,
            (None, true) => "truncate",
            (None, false) => "append",
        };
        let mode = Mode::parse(word, self.key.clone())?;
        let strategy = self.strategy.as_deref().unwrap_or("auto").parse::<Strategy>()?;
        let is_named = self.mode.is_some() || self.strategy.is_some();
        Ok(LoadWay { mode, strategy, is_named })
    }

    /// Returns the spelling of numbers and dates in text, by the options of a copy.
    fn spelling(&self) -> Result<TextSpelling, String> {
        let keys = serde_json::json!({
            "date_order": self.date_order,
            "year_cutoff": self.year_cutoff,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "currency": self.currency,
            "percent": self.percent,
        });
        let members = keys.as_object().into_iter().flatten();
        let given =
            members.filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), value.clone()));
        let options = copy::Options::from_keys(&given.collect(), copy::Language::Python);
        options
            .and_then(|options| options.text.spelling())
            .map_err(|error| copy::Language::Python.of_error(error).to_string())
    }

    /// Takes the types of columns that the caller gives for types of the values.
    fn declare(&self, py: Python<'_>, measured: &mut InferredSchema) -> PyResult<()> {
        for (name, written) in &self.types {
            let sql_type: SqlType = written.parse().map_err(|error| {
                failure::usage(py, format!("types: \"{written}\" of column {name} is no SQL type: {error}"))
            })?;
            let column = measured.columns.iter_mut().find(|column| column.name == *name);
            column.into_iter().for_each(|column| column.declare(&sql_type));
        }
        Ok(())
    }

    /// Returns the options of the load.
    pub(crate) fn load_options(&self, has_names: bool) -> LoadOptions {
        let mapping = match (self.columns.is_empty(), self.by_position || !has_names) {
            (false, _) => Mapping::Explicit(self.columns.clone()),
            (true, true) => Mapping::ByPosition,
            (true, false) => Mapping::ByName,
        };
        let cast = CastOptions {
            allow_truncate: self.allow_truncate,
            allow_rounding: self.allow_rounding,
            replacement: self.replacement,
            nested_as_json: self.nested_as_json,
            drop_time_zone: self.drop_time_zone,
            empty_as_null: self.empty_as_null,
            spelling: self.spelling().unwrap_or_default(),
        };
        LoadOptions {
            mapping,
            cast,
            batch_rows: self.batch_rows,
            table_lock: self.table_lock,
            keep_identity: self.keep_identity,
            keep_nulls: self.keep_nulls,
            check_constraints: self.check_constraints,
            fire_triggers: self.fire_triggers,
            order: self.order.clone(),
            ..LoadOptions::default()
        }
        .with_writers(self.writer_count())
    }

    /// Connections that load; `None`: as many as pay.
    fn writer_count(&self) -> Option<usize> {
        self.writers.map_or(Some(1), |writers| (writers > 0).then_some(writers))
    }
}

/// Writes CREATE TABLE for the data's columns.
pub(crate) fn create_statement(
    py: Python<'_>,
    table: &TableName,
    source: &source::Source,
    measured: Option<&InferredSchema>,
    options: &Options,
    vectors: bool,
) -> PyResult<String> {
    let schema = match measured {
        Some(measured) if source.is_text => roomy_schema(&measured.schema()),
        _ => source.schema.as_ref().clone(),
    };
    if let Some((unknown, _)) = options.types.iter().find(|(name, _)| schema.field_with_name(name).is_err()) {
        return Err(failure::usage(
            py,
            format!("types names a column \"{unknown}\" that the data does not have"),
        ));
    }
    let fields = schema.fields().iter().map(|field| declared(py, field, &options.types));
    let schema = Schema::new(fields.collect::<PyResult<Vec<_>>>()?);
    let lengths = |index: usize| {
        let column = measured.and_then(|measured| measured.columns.get(index))?;
        Some(roomy_length(column.max_binary_bytes.unwrap_or(column.max_utf16_units)))
    };
    create_table_statement(table, &schema, |index, _| CreateOptions {
        max_length: lengths(index),
        strings: StringType::NVarChar,
        nested_as_json: options.nested_as_json,
        without_vectors: !vectors,
    })
    .map_err(|error| failure::from_error(py, error))
}

/// Makes a field that names its SQL type, if the caller gave one.
fn declared(py: Python<'_>, field: &Field, types: &[(String, String)]) -> PyResult<Field> {
    let Some((name, written)) = types.iter().find(|(name, _)| name == field.name()) else {
        return Ok(field.clone());
    };
    let sql_type: SqlType = written.parse().map_err(|error| {
        failure::usage(py, format!("types: \"{written}\" of column {name} is no SQL type: {error}"))
    })?;
    let mut metadata = field.metadata().clone();
    metadata.insert(SQL_TYPE_KEY.to_owned(), sql_type.to_string());
    Ok(field.clone().with_metadata(metadata))
}
