//! A connection to a database, and statements on it.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use adbc_core::{
    Connection as _, Database as _, Driver as _, Optionable as _, Statement as _,
    error::{Error, Status},
    options::{InfoCode, OptionConnection, OptionDatabase, OptionValue},
};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase, ManagedStatement};
use arrow::{
    array::{Array, AsArray, RecordBatch, RecordBatchReader},
    compute::cast,
    datatypes::{DataType, Schema, UInt32Type},
};
use rows::CheckedReader;

use super::{address::Address, driver, system::System};
use crate::error::CopyError;

/// A result of a query. The statement lives as long as its rows.
pub(super) struct Rows {
    reader: CheckedReader<Box<dyn RecordBatchReader + Send>>,
    _statement: ManagedStatement,
}

/// A connection, with what is known of the other side.
pub(super) struct Session {
    pub(super) connection: ManagedConnection,
    pub(super) system: System,
    /// The character that quotes names.
    pub(super) quote: String,
    address: Address,
    has_transaction: bool,
    _database: Arc<ManagedDatabase>,
}

/// Open files, and whether each is only read.
type OpenFiles = HashMap<PathBuf, (Weak<ManagedDatabase>, bool)>;

/// The open files of DuckDB. Two instances of a file in one process would not see one another.
static OPEN_FILES: Mutex<Option<OpenFiles>> = Mutex::new(None);

/// Opens a database; a file of DuckDB that is open is shared.
fn database(
    address: &Address,
    is_read_only: bool,
    options: Vec<(OptionDatabase, OptionValue)>,
) -> Result<Arc<ManagedDatabase>, CopyError> {
    let open = || {
        let database = driver::load(address)?.new_database_with_opts(options);
        database.map(Arc::new).map_err(|error| failed(address, &error))
    };
    let Some(file) = address.file.as_ref().filter(|_| address.driver == "duckdb") else { return open() };
    let path = std::path::absolute(file).unwrap_or_else(|_| file.clone());
    // The file may not be there yet: its folder is what has a name of its own.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let path = match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    };
    let mut files = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let files = files.get_or_insert_default();
    match files.get(&path).and_then(|(database, only_read)| Some((database.upgrade()?, *only_read))) {
        Some((_, true)) if !is_read_only => Err(CopyError::endpoint(
            address.to_string(),
            "the file is being read by this program, and DuckDB cannot write to it meanwhile: copy to a file first",
        )),
        Some((database, _)) => Ok(database),
        None => {
            let database = open()?;
            files.insert(path, (Arc::downgrade(&database), is_read_only));
            Ok(database)
        }
    }
}

impl Session {
    /// Connects. A database that is only read is opened so, where that lets others use it.
    pub(super) fn open(address: &Address, is_read_only: bool) -> Result<Self, CopyError> {
        if let Some(file) = &address.file
            && is_read_only
            && !file.exists()
        {
            return Err(CopyError::endpoint(
                address.to_string(),
                format!("there is no file {}", file.display()),
            ));
        }
        let failed = |error| failed(address, &error);
        let mut options: Vec<(OptionDatabase, OptionValue)> = address
            .options
            .iter()
            .map(|(key, value)| (OptionDatabase::from(key.as_str()), OptionValue::String(value.clone())))
            .collect();
        if address.driver == "duckdb" && is_read_only && address.file.is_some() {
            let mode = OptionDatabase::Other("access_mode".to_owned());
            options.push((mode, OptionValue::String("READ_ONLY".to_owned())));
        }
        let database = database(address, is_read_only, options)?;
        let connection = database.new_connection().map_err(failed)?;
        let (vendor, driver) = names(&connection).map_err(failed)?;
        let system = System::of(&vendor, &driver);
        let quote = match system {
            System::Odbc => {
                let quote = OptionConnection::Other("bulkwire.odbc.quote".to_owned());
                connection.get_option_string(quote).unwrap_or_default()
            }
            _ if ["mysql", "mariadb", "bigquery"]
                .iter()
                .any(|name| vendor.to_ascii_lowercase().contains(name)) =>
            {
                "`".to_owned()
            }
            _ => "\"".to_owned(),
        };
        let mut session = Self {
            connection,
            system,
            quote,
            address: address.clone(),
            has_transaction: false,
            _database: database,
        };
        if system == System::Sqlite {
            // One connection writes at a time; others wait for it.
            session.texts("PRAGMA busy_timeout = 60000")?;
        }
        if system == System::DuckDb {
            // Otherwise a time with a zone, and bits, come in forms that nothing else understands.
            session.execute("SET TimeZone = 'UTC'")?;
        }
        Ok(session)
    }

    /// Converts an error of the driver to one of the endpoint, without secrets.
    pub(super) fn failed(&self, error: &Error) -> CopyError {
        failed(&self.address, error)
    }

    /// Makes a statement with options.
    pub(super) fn statement(&mut self) -> Result<ManagedStatement, CopyError> {
        self.connection.new_statement().map_err(|error| failed(&self.address, &error))
    }

    /// Runs a query.
    pub(super) fn query(&mut self, sql: &str) -> Result<Rows, CopyError> {
        let mut statement = self.statement()?;
        let run = statement.set_sql_query(sql).and_then(|()| statement.execute());
        let reader = run.map_err(|error| self.failed(&error))?;
        Ok(Rows { reader: CheckedReader::new(reader), _statement: statement })
    }

    /// Runs a query whose values are few, as texts.
    pub(super) fn texts(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, CopyError> {
        let mut found = Vec::new();
        for batch in self.query(sql)? {
            let columns = batch.and_then(|batch| {
                let texts = batch.columns().iter().map(|array| cast(array, &DataType::Utf8));
                Ok((batch.num_rows(), texts.collect::<Result<Vec<_>, _>>()?))
            });
            let (rows, columns) =
                columns.map_err(|error| CopyError::endpoint(self.address.to_string(), error.to_string()))?;
            found.extend((0..rows).map(|row| {
                let text = |array: &arrow::array::ArrayRef| {
                    array.is_valid(row).then(|| array.as_string::<i32>().value(row).to_owned())
                };
                columns.iter().map(text).collect()
            }));
        }
        Ok(found)
    }

    /// Runs a statement. How many rows it changed, if the driver knows.
    pub(super) fn execute(&mut self, sql: &str) -> Result<Option<i64>, CopyError> {
        let mut statement = self.statement()?;
        let run = statement.set_sql_query(sql).and_then(|()| statement.execute_update());
        run.map_err(|error| self.failed(&error))
    }

    /// Returns the columns of a query, without its rows where the driver can.
    pub(super) fn schema(&mut self, sql: &str) -> Result<Schema, Error> {
        let mut statement = self.connection.new_statement()?;
        statement.set_sql_query(sql)?;
        match statement.execute_schema() {
            Err(error) if error.status == Status::NotImplemented => {
                Ok(statement.execute()?.schema().as_ref().clone())
            }
            other => other,
        }
    }

    /// Begins a transaction; `false`: the driver has none.
    pub(super) fn begin(&mut self) -> bool {
        if !self.has_transaction {
            let off = OptionValue::String("false".to_owned());
            self.has_transaction = self.connection.set_option(OptionConnection::AutoCommit, off).is_ok();
        }
        self.has_transaction
    }

    /// Ends the transaction, if there is one.
    pub(super) fn commit(&mut self) -> Result<(), CopyError> {
        if !self.has_transaction {
            return Ok(());
        }
        self.connection.commit().map_err(|error| self.failed(&error))
    }

    /// Takes back what the transaction did; `false`: there is none, or the connection is gone.
    pub(super) fn rollback(&mut self) -> bool {
        self.has_transaction && self.connection.rollback().is_ok()
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, arrow::error::ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.next()
    }
}

impl Rows {
    /// Returns the columns as the driver gives them.
    pub(super) fn schema(&self) -> arrow::datatypes::SchemaRef {
        self.reader.schema()
    }
}

fn failed(address: &Address, error: &Error) -> CopyError {
    let state: String = error
        .sqlstate
        .iter()
        .filter_map(|byte| u8::try_from(*byte).ok())
        .filter(u8::is_ascii_alphanumeric)
        .map(char::from)
        .collect();
    let mut text = error.message.trim_end().to_owned();
    if state.len() == 5 && state != "00000" && !text.contains(&state) {
        text = format!("{text} (SQLSTATE {state})");
    }
    CopyError::endpoint(address.to_string(), address.without_secrets(&text))
}

/// Asks for the names of the database system and of the driver.
fn names(connection: &ManagedConnection) -> Result<(String, String), Error> {
    let codes = HashSet::from([InfoCode::VendorName, InfoCode::DriverName]);
    let (mut vendor, mut driver) = (String::new(), String::new());
    for batch in connection.get_info(Some(codes))? {
        let batch = batch?;
        let [codes, values] = batch.columns() else { continue };
        let (Some(codes), Some(values)) = (
            codes.as_primitive_opt::<UInt32Type>(),
            values.as_any().downcast_ref::<arrow::array::UnionArray>(),
        ) else {
            continue;
        };
        for row in 0..batch.num_rows() {
            let value = values.value(row);
            let Some(text) = value.as_string_opt::<i32>().filter(|text| !text.is_empty() && text.is_valid(0))
            else {
                continue;
            };
            match InfoCode::from(codes.value(row)) {
                InfoCode::VendorName => vendor = text.value(0).to_owned(),
                InfoCode::DriverName => driver = text.value(0).to_owned(),
                _ => {}
            }
        }
    }
    Ok((vendor, driver))
}
