//! Statements: queries, with or without parameters, and ingestion.

use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::{IngestMode, OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult};
use arrow::array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use drivers::option_values;
use drivers::refusal::{invalid, not_set, refused, unknown, unknown_value};
use load::{LentClient, RowStream, SharedClient};
use rows::mapping::{Form, field_for};
use rows::{CheckedReader, check_foreign};
use tds::{SqlType, Value};

use crate::bound::{Naming, Parameter, parameters};
use crate::error::{from_load, unsupported};
use crate::ingest::{Ingest, IngestOptions};
use crate::results::{BoundRows, Executions, Results, open_stream};
use crate::shared::Shared;
use crate::{markers, partitions};

/// Options of this driver's own.
const BATCH_ROWS: &str = "bulkwire.ingest.batch_rows";
const TABLE_LOCK: &str = "bulkwire.ingest.table_lock";
const ALLOW_ROUNDING: &str = "bulkwire.ingest.allow_rounding";
const ALLOW_TRUNCATE: &str = "bulkwire.ingest.allow_truncate";
const DROP_TIME_ZONE: &str = "bulkwire.ingest.drop_time_zone";
const TABLE_MODE: &str = "bulkwire.ingest.mode";
const KEY: &str = "bulkwire.ingest.key";
const STRATEGY: &str = "bulkwire.ingest.strategy";
const WRITERS: &str = "bulkwire.ingest.writers";
const RETRY_FOR: &str = "bulkwire.ingest.retry_for";
const READ_BATCH_ROWS: &str = "bulkwire.read.batch_rows";
const READ_PARTITIONS: &str = "bulkwire.read.partitions";
const READ_SPLIT_BY: &str = "bulkwire.read.split_by";

/// A statement of a connection.
pub struct Statement {
    connection: Arc<Shared>,
    sql: Option<String>,
    bound: Option<BoundRows>,
    target: Option<String>,
    ingest: IngestOptions,
    read_batch_rows: usize,
    read_partitions: u64,
    read_split_by: Option<String>,
}

impl std::fmt::Debug for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Statement")
            .field("sql", &self.sql)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Statement {
    pub(crate) fn new(connection: Arc<Shared>) -> Self {
        Self {
            connection,
            sql: None,
            bound: None,
            target: None,
            ingest: IngestOptions::default(),
            read_batch_rows: load::BATCH_ROWS,
            read_partitions: partitions::PARTITIONS,
            read_split_by: None,
        }
    }

    fn sql(&self) -> Result<&str> {
        self.sql.as_deref().ok_or_else(|| refused(Status::InvalidState, "the statement has no query"))
    }

    fn lend(&self) -> Result<LentClient> {
        self.connection.lend()
    }

    /// Returns the statement with named parameters, and their naming.
    fn parameterised(&self) -> Result<(String, Naming)> {
        let (sql, count) = markers::named(self.sql()?);
        Ok((sql, if count > 0 { Naming::ByPosition(count) } else { Naming::ByName }))
    }

    fn stream(&self, sql: String, parameters: Vec<Parameter>) -> Result<(SchemaRef, RowStream)> {
        open_stream(&self.connection, sql, parameters, self.read_batch_rows)
    }
}

impl adbc_core::Statement for Statement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        check_foreign(&batch, 1).map_err(|error| invalid(error.to_string()))?;
        let schema = batch.schema();
        // The values of a bound batch can be measured if a table is created for it.
        self.ingest.sample = Some(batch.clone());
        self.bound = Some(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        Ok(())
    }

    fn bind_stream(&mut self, reader: BoundRows) -> Result<()> {
        self.ingest.sample = None;
        self.bound = Some(Box::new(CheckedReader::new(reader)));
        Ok(())
    }

    fn execute(&mut self) -> Result<Box<dyn RecordBatchReader + Send + 'static>> {
        if self.target.is_some() {
            self.execute_update()?;
            let schema = Arc::new(Schema::empty());
            return Ok(Box::new(RecordBatchIterator::new([], schema)));
        }
        let Some(bound) = self.bound.take() else {
            let (schema, rows) = self.stream(self.sql()?.to_owned(), Vec::new())?;
            return Ok(Box::new(Results::of_one(schema, rows)));
        };
        let (sql, naming) = self.parameterised()?;
        let mut rest = Executions {
            connection: Arc::clone(&self.connection),
            sql,
            naming,
            bound,
            rows: Vec::new().into_iter(),
            batch_rows: self.read_batch_rows,
        };
        match rest.next_result()? {
            Some((schema, rows)) => Ok(Box::new(Results::of_many(schema, rows, rest))),
            None => Ok(Box::new(RecordBatchIterator::new([], Arc::new(Schema::empty())))),
        }
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        let count = |rows: u64| Some(i64::try_from(rows).unwrap_or(i64::MAX));
        if let Some(target) = &self.target {
            let bound = self
                .bound
                .take()
                .ok_or_else(|| refused(Status::InvalidState, "no rows are bound that could be ingested"))?;
            let mut client = self.lend()?;
            return Ingest { target, options: &self.ingest }.run(&mut client, bound).map(count);
        }
        let Some(bound) = self.bound.take() else {
            let done = self.lend()?.execute(self.sql()?).map_err(from_load)?;
            return Ok(count(done.rows_affected));
        };
        let (sql, naming) = self.parameterised()?;
        let mut client = self.lend()?;
        let mut affected = 0;
        for batch in bound {
            for row in parameters(&batch?, naming)? {
                let row: Vec<(&str, SqlType, Value)> = row
                    .iter()
                    .map(|(name, sql_type, value)| (name.as_str(), sql_type.clone(), value.clone()))
                    .collect();
                affected += client.execute_with(&sql, &row).map_err(from_load)?.rows_affected;
            }
        }
        Ok(count(affected))
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let sql = self.sql()?;
        let (sql, markers) = markers::named(sql);
        if markers > 0 {
            return Err(unsupported("the schema of a query with ? markers"));
        }
        let columns = self
            .lend()?
            .columns_of(&format!("SET FMTONLY ON;\n{sql}\n;SET FMTONLY OFF"))
            .map_err(from_load)?;
        Ok(Schema::new(columns.iter().map(|column| field_for(column, &Form::default())).collect::<Vec<_>>()))
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        if self.bound.is_some() {
            return Err(unsupported("a partitioned result of bound rows"));
        }
        let mut client = self.lend()?;
        partitions::split(&mut client, self.sql()?, self.read_partitions, self.read_split_by.as_deref())
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        // The number is certain; the types are the server's to choose when the values come.
        let (_, count) = markers::named(self.sql()?);
        let fields = (1..=count).map(|number| Field::new(format!("@P{number}"), DataType::Null, true));
        Ok(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn prepare(&mut self) -> Result<()> {
        // Statements with parameters run by sp_executesql, whose plans the server keeps by their text.
        self.sql().map(|_| ())
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.sql = Some(query.as_ref().to_owned());
        self.target = None;
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(unsupported("Substrait"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Cancel(self.connection.client.clone()))
    }
}

/// Cancels the running work of its connection.
pub(crate) struct Cancel(pub(crate) SharedClient);

impl CancelHandle for Cancel {
    fn try_cancel(&self) -> Result<()> {
        self.0.cancel().map_err(|error| refused(Status::IO, error.to_string()))
    }
}

impl Optionable for Statement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        match key {
            OptionStatement::TargetTable => {
                self.target = Some(option_values::text(key.as_ref(), value)?);
                self.sql = None;
            }
            OptionStatement::TargetCatalog => {
                self.ingest.catalog = Some(option_values::text(key.as_ref(), value)?)
            }
            OptionStatement::TargetDbSchema => {
                self.ingest.db_schema = Some(option_values::text(key.as_ref(), value)?)
            }
            OptionStatement::Temporary => self.ingest.temporary = option_values::flag(key.as_ref(), value)?,
            OptionStatement::IngestMode => {
                let text = option_values::text(key.as_ref(), value)?;
                self.ingest.mode =
                    [IngestMode::Create, IngestMode::Append, IngestMode::Replace, IngestMode::CreateAppend]
                        .into_iter()
                        .find(|mode| String::from(*mode) == text)
                        .ok_or_else(|| unknown_value(key.as_ref(), &text))?;
            }
            OptionStatement::Other(name) => match name.as_str() {
                BATCH_ROWS => self.ingest.load.batch_rows = Some(option_values::count(&name, value)?),
                TABLE_LOCK => self.ingest.load.table_lock = Some(option_values::flag(&name, value)?),
                ALLOW_ROUNDING => {
                    self.ingest.load.cast.allow_rounding = option_values::flag(&name, value)?;
                }
                ALLOW_TRUNCATE => {
                    self.ingest.load.cast.allow_truncate = option_values::flag(&name, value)?;
                }
                DROP_TIME_ZONE => {
                    self.ingest.load.cast.drop_time_zone = option_values::flag(&name, value)?;
                }
                TABLE_MODE => {
                    let text = option_values::text(&name, value)?;
                    if !load::Mode::WORDS.contains(&text.as_str()) {
                        return Err(unknown_value(&name, &text));
                    }
                    self.ingest.table_mode = Some(text);
                }
                KEY => {
                    let text = option_values::text(&name, value)?;
                    let columns = text.split(',').map(|column| column.trim().to_owned());
                    self.ingest.key = columns.filter(|column| !column.is_empty()).collect();
                }
                STRATEGY => {
                    let text = option_values::text(&name, value)?;
                    let strategy = text.parse().map_err(|_| unknown_value(&name, &text))?;
                    self.ingest.strategy = Some(strategy);
                }
                READ_PARTITIONS => self.read_partitions = option_values::count(&name, value)?,
                READ_SPLIT_BY => self.read_split_by = Some(option_values::text(&name, value)?),
                WRITERS => {
                    let text = option_values::text(&name, value)?;
                    self.ingest.writers = Some(match text.as_str() {
                        "auto" => 0,
                        text => text
                            .parse()
                            .ok()
                            .filter(|writers| (1..=256).contains(writers))
                            .ok_or_else(|| unknown_value(&name, text))?,
                    });
                }
                RETRY_FOR => {
                    let seconds = option_values::count(&name, value)?;
                    self.ingest.retry_for = Some(
                        u32::try_from(seconds).map_err(|_| invalid(format!("option {name} is too large")))?,
                    );
                }
                READ_BATCH_ROWS => {
                    let rows = option_values::count(&name, value)?;
                    self.read_batch_rows =
                        usize::try_from(rows).map_err(|_| invalid(format!("option {name} is too large")))?;
                }
                _ => return Err(unknown(&name)),
            },
            other => return Err(unknown(other.as_ref())),
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        match key {
            OptionStatement::TargetTable => self.target.clone().ok_or_else(|| not_set(key.as_ref())),
            OptionStatement::IngestMode => Ok(self.ingest.mode.into()),
            other => Err(not_set(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        Err(not_set(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        match key.as_ref() {
            READ_PARTITIONS => Ok(i64::try_from(self.read_partitions).unwrap_or(i64::MAX)),
            READ_BATCH_ROWS => Ok(i64::try_from(self.read_batch_rows).unwrap_or(i64::MAX)),
            other => Err(not_set(other)),
        }
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        Err(not_set(key.as_ref()))
    }
}
