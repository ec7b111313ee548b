//! Connections: transactions and the catalogue.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adbc_core::error::{Result, Status};
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::schemas::{GET_STATISTIC_NAMES_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use adbc_core::{CancelHandle, Optionable};
use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::Schema;
use arrow_odbc::odbc_api::SharedConnection;
use drivers::nested::one_batch;
use drivers::refusal::{not_set, refused, unknown};
use drivers::{info, option_values};

use crate::error::{from_odbc, poisoned, unsupported};
use crate::limits::Limits;
use crate::objects::{self, Filter};
use crate::reading::{self, Reader};
use crate::shared::{NoCancel, Shared};
use crate::statement::Statement;

/// Name that the driver gives itself.
const DRIVER_NAME: &str = "bulkwire ODBC";
/// Option of a connection, to be read: the character around names.
const QUOTE: &str = "bulkwire.odbc.quote";

/// A connection through an ODBC driver.
pub struct Connection {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("system", &self.shared.system).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(connection: SharedConnection<'static>, limits: Limits) -> Result<Self> {
        let (system, quote) = {
            let locked = connection.lock().map_err(|_| poisoned())?;
            let system = locked.database_management_system_name().map_err(|error| from_odbc(&error))?;
            (system, locked.identifier_quote_char().map_err(|error| from_odbc(&error))?)
        };
        let autocommit = AtomicBool::new(true);
        Ok(Self { shared: Arc::new(Shared { connection, autocommit, system, quote, limits }) })
    }

    fn set_autocommit(&self, on: bool) -> Result<()> {
        // ODBC commits what is open when autocommit is switched on, as ADBC wants it.
        self.shared.lock()?.set_autocommit(on).map_err(|error| from_odbc(&error))?;
        self.shared.autocommit.store(on, Ordering::SeqCst);
        Ok(())
    }

    fn check_transaction(&self) -> Result<()> {
        match self.shared.autocommit.load(Ordering::SeqCst) {
            true => Err(refused(Status::InvalidState, "there is no transaction: autocommit is on")),
            false => Ok(()),
        }
    }
}

impl adbc_core::Connection for Connection {
    type StatementType = Statement;

    fn new_statement(&mut self) -> Result<Statement> {
        Ok(Statement::new(Arc::clone(&self.shared)))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(NoCancel)
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        Ok(one_batch(info::batch(codes, DRIVER_NAME, (&self.shared.system, ""))?))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        _column_name: Option<&str>,
    ) -> Result<Reader> {
        let filter = Filter { catalog, db_schema, table_name, table_type };
        Ok(one_batch(objects::batch(&*self.shared.lock()?, &depth, &filter, self.shared.limits)?))
    }

    fn get_table_schema(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        let name = self.shared.full_name(catalog, db_schema, table_name);
        let locked = self.shared.lock()?;
        let sql = format!("SELECT * FROM {name} WHERE 1 = 0");
        let cursor = locked.execute(&sql, (), None).map_err(|error| from_odbc(&error))?;
        let mut cursor = cursor.ok_or_else(|| refused(Status::Internal, "a SELECT without columns"))?;
        reading::schema_of(&mut cursor, &self.shared.system)
    }

    fn get_table_types(&self) -> Result<Reader> {
        let types = Arc::new(StringArray::from(vec!["TABLE", "VIEW"]));
        Ok(one_batch(RecordBatch::try_new(Arc::clone(&GET_TABLE_TYPES_SCHEMA), vec![types])?))
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        Ok(one_batch(RecordBatch::new_empty(Arc::clone(&GET_STATISTIC_NAMES_SCHEMA))))
    }

    fn get_statistics(
        &self,
        _catalog: Option<&str>,
        _db_schema: Option<&str>,
        _table_name: Option<&str>,
        _approximate: bool,
    ) -> Result<Reader> {
        Err(unsupported("a list of statistics"))
    }

    fn commit(&mut self) -> Result<()> {
        self.check_transaction()?;
        self.shared.lock()?.commit().map_err(|error| from_odbc(&error))
    }

    fn rollback(&mut self) -> Result<()> {
        self.check_transaction()?;
        self.shared.lock()?.rollback().map_err(|error| from_odbc(&error))
    }

    fn read_partition(&self, _partition: impl AsRef<[u8]>) -> Result<Reader> {
        Err(unsupported("a partitioned result"))
    }
}

impl Optionable for Connection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        let name = key.as_ref().to_owned();
        match key {
            OptionConnection::AutoCommit => self.set_autocommit(option_values::flag(&name, value)?),
            _ => Err(unknown(&name)),
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match key {
            OptionConnection::AutoCommit => Ok(self.shared.autocommit.load(Ordering::SeqCst).to_string()),
            OptionConnection::CurrentCatalog => {
                self.shared.lock()?.current_catalog().map_err(|error| from_odbc(&error))
            }
            OptionConnection::Other(name) if name == QUOTE => {
                Ok(self.shared.quote.map(String::from).unwrap_or_default())
            }
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
