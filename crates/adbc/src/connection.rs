//! Connections: transactions, session settings, metadata.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adbc_core::error::{Result, Status};
use adbc_core::options::{InfoCode, IsolationLevel, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::schemas::{GET_STATISTIC_NAMES_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use adbc_core::{CancelHandle, Optionable};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchReader, StringArray};
use arrow::datatypes::Schema;
use drivers::nested::one_batch;
use drivers::refusal::{not_set, refused, unknown, unknown_value};
use drivers::{info, option_values};
use load::{Client, LentClient, SharedClient, TableName, quoted};
use rows::mapping::{Form, field_for};
use tds::{Isolation, Value};

use crate::error::{from_load, unsupported};
use crate::objects::{self, Filter};
use crate::shared::{Shared, begin};
use crate::statement::{Cancel, Statement};
use crate::{partitions, statistics};

/// A connection to a server.
pub struct Connection {
    shared: Arc<Shared>,
    /// Name and version that the server gives itself.
    server: (String, String),
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(client: Client) -> Self {
        let info = client.server_info();
        let (major, minor, build) = info.version;
        let server = (info.program.clone(), format!("{major}.{minor}.{build}"));
        let client = SharedClient::new(client);
        Self { shared: Arc::new(Shared { client, autocommit: AtomicBool::new(true) }), server }
    }

    fn lend(&self) -> Result<LentClient> {
        self.shared.lend()
    }

    fn scalar(&self, sql: &str) -> Result<String> {
        let tables = self.lend()?.query_values(sql).map_err(from_load)?;
        let value =
            tables.into_iter().next().and_then(|table| table.rows.into_iter().next()?.into_iter().next());
        match value {
            Some(Value::String(text)) => Ok(text),
            other => Err(refused(Status::Internal, format!("{sql} gave {other:?}"))),
        }
    }

    fn execute(&self, sql: &str) -> Result<()> {
        self.lend()?.execute(sql).map(|_| ()).map_err(from_load)
    }

    /// Accepts the schema that the user has anyway, and refuses any other: a session of SQL Server has no
    /// current schema of its own.
    fn set_schema(&self, schema: &str) -> Result<()> {
        match self.scalar("SELECT SCHEMA_NAME()")? == schema {
            true => Ok(()),
            false => Err(refused(
                Status::NotImplemented,
                format!(
                    "a session of SQL Server has no schema of its own to be changed to {schema:?}: name the schema of each table, or give the user another default (ALTER USER ... WITH DEFAULT_SCHEMA)"
                ),
            )),
        }
    }

    fn set_autocommit(&self, on: bool) -> Result<()> {
        let was_on = self.shared.autocommit.load(Ordering::SeqCst);
        let mut client = self.lend()?;
        match (was_on, on) {
            (true, false) => client.begin(Isolation::Current).map_err(from_load)?,
            // The open transaction is committed, as ADBC says. If the server has rolled it back, autocommit
            // stays off.
            (false, true) => client.commit().map_err(from_load)?,
            _ => {}
        }
        self.shared.autocommit.store(on, Ordering::SeqCst);
        Ok(())
    }

    /// Ends the transaction and begins the next. A transaction that the server has rolled back already cannot
    /// be committed.
    fn end(&self, commit: bool) -> Result<()> {
        if self.shared.autocommit.load(Ordering::SeqCst) {
            return Err(refused(Status::InvalidState, "there is no transaction: autocommit is on"));
        }
        let mut client = self.lend()?;
        let ended = match commit {
            true => client.commit().map_err(from_load),
            false => client.rollback().map_err(from_load),
        };
        ended.and(begin(&mut client))
    }
}

type Reader = Box<dyn RecordBatchReader + Send + 'static>;

impl adbc_core::Connection for Connection {
    type StatementType = Statement;

    fn new_statement(&mut self) -> Result<Statement> {
        Ok(Statement::new(Arc::clone(&self.shared)))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Cancel(self.shared.client.clone()))
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        let (program, version) = &self.server;
        Ok(one_batch(info::batch(codes, "bulkwire", (program, version))?))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Reader> {
        let filter =
            Filter { catalog, db_schema, table_name, table_type: table_type.as_deref(), column_name };
        Ok(one_batch(objects::batch(&mut *self.lend()?, &depth, &filter)?))
    }

    fn get_table_schema(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        let table = TableName {
            database: catalog.map(str::to_owned),
            schema: db_schema.map(str::to_owned),
            name: table_name.to_owned(),
        };
        let found = self.lend()?.describe(&table).map_err(from_load)?;
        let form = Form::default();
        let fields = found.columns.iter().map(|column| field_for(&column.column, &form));
        Ok(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn get_table_types(&self) -> Result<Reader> {
        let types: ArrayRef = Arc::new(StringArray::from(objects::TABLE_TYPES.to_vec()));
        Ok(one_batch(RecordBatch::try_new(Arc::clone(&GET_TABLE_TYPES_SCHEMA), vec![types])?))
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        // Only those that ADBC itself names.
        Ok(one_batch(RecordBatch::new_empty(Arc::clone(&GET_STATISTIC_NAMES_SCHEMA))))
    }

    fn get_statistics(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        _approximate: bool,
    ) -> Result<Reader> {
        // The server's count costs nothing and is exact, so it is the answer to either wish.
        Ok(one_batch(statistics::batch(&mut *self.lend()?, catalog, db_schema, table_name)?))
    }

    fn commit(&mut self) -> Result<()> {
        self.end(true)
    }

    fn rollback(&mut self) -> Result<()> {
        self.end(false)
    }

    fn read_partition(&self, partition: impl AsRef<[u8]>) -> Result<Reader> {
        partitions::read(&self.shared, partition.as_ref())
    }
}

impl Optionable for Connection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        let name = key.as_ref().to_owned();
        match key {
            OptionConnection::AutoCommit => self.set_autocommit(option_values::flag(&name, value)?),
            OptionConnection::ReadOnly => match option_values::flag(&name, value)? {
                false => Ok(()),
                true => Err(unsupported("a read-only connection")),
            },
            OptionConnection::CurrentCatalog => {
                self.execute(&format!("USE {}", quoted(&option_values::text(&name, value)?)))
            }
            OptionConnection::CurrentSchema => self.set_schema(&option_values::text(&name, value)?),
            OptionConnection::IsolationLevel => {
                let text = option_values::text(&name, value)?;
                let level = isolation(&text).ok_or_else(|| unknown_value(&name, &text))?;
                self.execute(&format!("SET TRANSACTION ISOLATION LEVEL {level}"))
            }
            _ => Err(unknown(&name)),
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match key {
            OptionConnection::AutoCommit => Ok(self.shared.autocommit.load(Ordering::SeqCst).to_string()),
            OptionConnection::ReadOnly => Ok("false".to_owned()),
            OptionConnection::CurrentCatalog => self.scalar("SELECT DB_NAME()"),
            OptionConnection::CurrentSchema => self.scalar("SELECT SCHEMA_NAME()"),
            other => Err(not_set(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        Err(not_set(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        Err(not_set(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        Err(not_set(key.as_ref()))
    }
}

/// Returns T-SQL's words for ADBC's isolation levels; the linearizable level has none.
fn isolation(text: &str) -> Option<&'static str> {
    let levels = [
        (IsolationLevel::Default, "READ COMMITTED"),
        (IsolationLevel::ReadUncommitted, "READ UNCOMMITTED"),
        (IsolationLevel::ReadCommitted, "READ COMMITTED"),
        (IsolationLevel::RepeatableRead, "REPEATABLE READ"),
        (IsolationLevel::Snapshot, "SNAPSHOT"),
        (IsolationLevel::Serializable, "SERIALIZABLE"),
    ];
    levels.into_iter().find_map(|(level, words)| (String::from(level) == text).then_some(words))
}
