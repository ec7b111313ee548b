//! Statements: queries, and rows bound as parameters or for a table.

use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::{IngestMode, OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult};
use arrow::array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::Schema;
use drivers::option_values;
use drivers::refusal::{invalid, not_set, refused, unknown};

use crate::error::{from_odbc, unsupported};
use crate::limits::Limits;
use crate::new_table::{create_statement, quoted};
use crate::objects::{self, Filter};
use crate::reading::{self, Reader};
use crate::shared::{NoCancel, Shared};
use crate::writing;

type BoundRows = Box<dyn RecordBatchReader + Send>;

/// A statement of a connection.
pub struct Statement {
    shared: Arc<Shared>,
    sql: Option<String>,
    bound: Option<BoundRows>,
    target: Option<String>,
    catalog: Option<String>,
    schema: Option<String>,
    mode: IngestMode,
    limits: Limits,
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
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let limits = shared.limits;
        Self {
            shared,
            sql: None,
            bound: None,
            target: None,
            catalog: None,
            schema: None,
            mode: IngestMode::Create,
            limits,
        }
    }

    fn sql(&self) -> Result<&str> {
        self.sql.as_deref().ok_or_else(|| refused(Status::InvalidState, "the statement has no query"))
    }

    fn run(&self, sql: &str) -> Result<Option<i64>> {
        let locked = self.shared.lock()?;
        let mut statement = locked.preallocate().map_err(|error| from_odbc(&error))?;
        statement.execute(sql, ()).map_err(|error| from_odbc(&error))?;
        let rows = statement.row_count().map_err(|error| from_odbc(&error))?;
        Ok(rows.and_then(|rows| i64::try_from(rows).ok()))
    }

    /// Creates the table as the mode says, and inserts the bound rows.
    fn ingest(&self, target: &str, rows: BoundRows) -> Result<u64> {
        let name = self.shared.full_name(self.catalog.as_deref(), self.schema.as_deref(), target);
        let schema = rows.schema();
        match (self.mode, self.exists(target)?) {
            (IngestMode::Append | IngestMode::CreateAppend, true) => {}
            (IngestMode::Append, false) => {
                return Err(refused(Status::NotFound, format!("table {name} does not exist")));
            }
            (IngestMode::Create, true) => {
                return Err(refused(Status::AlreadyExists, format!("table {name} exists already")));
            }
            (mode, exists) => {
                let statement = create_statement(&name, &schema, &self.shared.system, self.shared.quote)?;
                if exists && matches!(mode, IngestMode::Replace) {
                    self.run(&format!("DROP TABLE {name}"))?;
                }
                self.run(&statement)?;
            }
        }
        let columns: Vec<String> =
            schema.fields().iter().map(|field| quoted(field.name(), self.shared.quote)).collect();
        let markers = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {name} ({}) VALUES ({markers})", columns.join(", "));
        writing::execute_with(&self.shared.connection, &sql, rows, self.limits)
    }

    fn exists(&self, target: &str) -> Result<bool> {
        let filter = Filter {
            catalog: self.catalog.as_deref(),
            db_schema: self.schema.as_deref(),
            table_name: None,
            table_type: None,
        };
        // Not every driver escapes the wildcards of patterns in the same way: names are compared here.
        let tables = objects::tables(&*self.shared.lock()?, &filter, self.limits)?;
        Ok(tables.iter().any(|[_, _, name, _]| name.as_deref() == Some(target)))
    }
}

impl adbc_core::Statement for Statement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        let schema = batch.schema();
        self.bound = Some(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        Ok(())
    }

    fn bind_stream(&mut self, reader: BoundRows) -> Result<()> {
        self.bound = Some(reader);
        Ok(())
    }

    fn execute(&mut self) -> Result<Reader> {
        if self.target.is_some() {
            self.execute_update()?;
            return Ok(Box::new(RecordBatchIterator::new([], Arc::new(Schema::empty()))));
        }
        if self.bound.is_some() {
            return Err(unsupported("a query with parameters"));
        }
        reading::query(&self.shared.connection, self.sql()?, &self.shared.system, self.limits)
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        let count = |rows: u64| Some(i64::try_from(rows).unwrap_or(i64::MAX));
        let bound = self.bound.take();
        match (&self.target, bound) {
            (Some(target), Some(rows)) => self.ingest(target, rows).map(count),
            (Some(_), None) => Err(refused(Status::InvalidState, "no rows are bound that could be ingested")),
            (None, Some(rows)) => {
                writing::execute_with(&self.shared.connection, self.sql()?, rows, self.limits).map(count)
            }
            (None, None) => self.run(self.sql()?),
        }
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let locked = self.shared.lock()?;
        let sql = self.sql()?;
        let mut prepared = locked.prepare(sql).map_err(|error| from_odbc(&error))?;
        let schema = reading::schema_of(&mut prepared, &self.shared.system)?;
        if !schema.fields().is_empty() {
            return Ok(schema);
        }
        // Drivers that prepare nothing before the first execution have no columns for what is wrong, either.
        drop(prepared);
        match locked.execute(sql, (), None).map_err(|error| from_odbc(&error))? {
            Some(mut cursor) => reading::schema_of(&mut cursor, &self.shared.system),
            None => Ok(schema),
        }
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(unsupported("a partitioned result"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        Err(unsupported("a description of parameters"))
    }

    fn prepare(&mut self) -> Result<()> {
        // Statements with parameters are prepared when their rows are there.
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
        Box::new(NoCancel)
    }
}

impl Optionable for Statement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        let name = key.as_ref().to_owned();
        match key {
            OptionStatement::TargetTable => {
                self.target = Some(option_values::text(&name, value)?);
                self.sql = None;
            }
            OptionStatement::TargetCatalog => self.catalog = Some(option_values::text(&name, value)?),
            OptionStatement::TargetDbSchema => self.schema = Some(option_values::text(&name, value)?),
            OptionStatement::Temporary => {
                if option_values::flag(&name, value)? {
                    return Err(unsupported("a temporary table"));
                }
            }
            OptionStatement::IngestMode => {
                let text = option_values::text(&name, value)?;
                self.mode =
                    [IngestMode::Create, IngestMode::Append, IngestMode::Replace, IngestMode::CreateAppend]
                        .into_iter()
                        .find(|mode| String::from(*mode) == text)
                        .ok_or_else(|| invalid(format!("option \"{name}\" cannot be \"{text}\"")))?;
            }
            OptionStatement::Other(_) => {
                if !self.limits.set(&name, value)? {
                    return Err(unknown(&name));
                }
            }
            _ => return Err(unknown(&name)),
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        match key {
            OptionStatement::TargetTable => self.target.clone().ok_or_else(|| not_set(key.as_ref())),
            OptionStatement::IngestMode => Ok(self.mode.into()),
            other => Err(not_set(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        Err(not_set(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        Err(not_set(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        Err(not_set(key.as_ref()))
    }
}
