//! A database of SQL Server that is made of files: all of their tables, with keys.

use std::path::Path;

use load::{Client, Config, literal, quoted};
use tds::Value;

use crate::{
    database_file::{DatabaseFileEndpoint, FailedModule, make_modules},
    endpoint::{Endpoint, SqlServerEndpoint},
    error::CopyError,
    options::{Language, Options, TableOptions},
    run::run,
    spec::{Ends, Spec, Voice},
};

/// A table that stands in a database for as long as it is incomplete.
const MARK: &str = "dbo.bulkwire_restoring";
/// Tables that are copied at a time.
const JOBS: u16 = 4;

/// A database that was made, or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It was there already, and is left as it is.
    Found,
    /// It has these tables and rows now.
    Made {
        /// Tables.
        tables: usize,
        /// Rows of all of them.
        rows: u64,
        /// Views, procedures, functions and triggers.
        modules: usize,
        /// Those that could not be made.
        left_out: Vec<FailedModule>,
    },
}

/// Makes a database of the tables of a backup, data files or a package, unless it is there. One that an earlier run has left
/// incomplete is made again.
///
/// # Errors
/// The files cannot be read, or a table cannot be copied; the database is dropped then.
pub fn restore_database(server: &Config, database: &str, files: &str) -> Result<Restored, CopyError> {
    let Endpoint::DatabaseFile(source) = Endpoint::of_path(files) else {
        return Err(CopyError::Usage(format!(
            "{files} is no backup, data file or package of SQL Server (shop.bak, shop.mdf, shop.bacpac)"
        )));
    };
    restore_of(server, database, source)
}

/// Makes a database of backups as [`restore_database`] does; `set` is the number (from 1) of the backup in files that have several.
///
/// # Errors
/// Those of [`restore_database`].
pub fn restore_backups(
    server: &Config,
    database: &str,
    files: Vec<String>,
    set: Option<usize>,
) -> Result<Restored, CopyError> {
    restore_of(server, database, DatabaseFileEndpoint::of_files(files, set))
}

fn restore_of(server: &Config, database: &str, source: DatabaseFileEndpoint) -> Result<Restored, CopyError> {
    let shown = server.host.clone();
    let failed = |error: load::Error| CopyError::client(&*shown, error);
    // Before anything is made: the files must be readable.
    let tables = source.tables()?;
    let mut client = Client::connect(server).map_err(failed)?;
    let name = literal(database);
    let (quoted_name, mark) = (quoted(database), literal(&format!("{}.{MARK}", quoted(database))));
    let found = format!(
        "SELECT CASE WHEN DB_ID({name}) IS NULL THEN 0 WHEN OBJECT_ID({mark}) IS NULL THEN 1 ELSE 2 END"
    );
    match number(&mut client, &found).map_err(failed)? {
        0 => {}
        1 => return Ok(Restored::Found),
        _ => client.execute(&format!("DROP DATABASE {quoted_name}")).map(drop).map_err(failed)?,
    }
    client.execute(&format!("CREATE DATABASE {quoted_name}")).map_err(failed)?;
    client.execute(&format!("CREATE TABLE {quoted_name}.{MARK} (n int)")).map_err(failed)?;
    let files = source.clone();
    let made =
        fill(server, database, source).and_then(|rows| Ok((rows, modules_of(server, database, &files)?)));
    let end = match made {
        Ok(_) => format!("DROP TABLE {quoted_name}.{MARK}"),
        Err(_) => format!("DROP DATABASE {quoted_name}"),
    };
    let ended = client.execute(&end).map(drop).map_err(failed);
    let (rows, modules) = made?;
    ended.map(|()| Restored::Made { tables: tables.len(), rows, modules: modules.0, left_out: modules.1 })
}

/// Makes the modules of the files. Those that the server refuses are returned.
fn modules_of(
    server: &Config,
    database: &str,
    source: &DatabaseFileEndpoint,
) -> Result<(usize, Vec<FailedModule>), CopyError> {
    let config = Config { database: Some(database.to_owned()), ..server.clone() };
    make_modules(&config, source.open()?.modules()).map_err(|error| CopyError::client(&server.host, error))
}

/// Copies all tables of the files. Returns their rows.
fn fill(server: &Config, database: &str, source: DatabaseFileEndpoint) -> Result<u64, CopyError> {
    if source.tables()?.is_empty() {
        return Ok(0);
    }
    let config = Config { database: Some(database.to_owned()), ..server.clone() };
    let target = SqlServerEndpoint { config, table: None };
    copy_all(Endpoint::DatabaseFile(source), Endpoint::SqlServer(Box::new(target)))
}

/// Writes all tables of a database into a new package.
///
/// # Errors
/// There is no table, one cannot be in a package, or one cannot be read.
pub fn pack_database(server: &Config, database: &str, package: &Path) -> Result<u64, CopyError> {
    let config = Config { database: Some(database.to_owned()), ..server.clone() };
    let source = SqlServerEndpoint { config, table: None };
    let target = DatabaseFileEndpoint::of_files(vec![package.display().to_string()], None);
    copy_all(Endpoint::SqlServer(Box::new(source)), Endpoint::DatabaseFile(target))
}

/// Copies all tables with their keys. Returns their rows.
fn copy_all(source: Endpoint, destination: Endpoint) -> Result<u64, CopyError> {
    let ends = Ends { source, destination, lookups: Vec::new() };
    let tables = TableOptions { tables: vec!["*".to_owned()], jobs: JOBS, ..TableOptions::default() };
    let options = Options { tables, with_keys: true, ..Options::default() };
    let spec = Spec::new(&ends, &options, Language::Command, Voice::default())?;
    let mut rows = 0;
    for table in run(&spec, None, &())?.tables {
        match (table.result, table.failed_afterwards) {
            (Some(Ok(report)), None) => rows += report.rows_written,
            (Some(Err(failed)), _) => return Err(failed.error),
            (_, Some(error)) => return Err(error),
            (None, None) => return Err(CopyError::Cancelled),
        }
    }
    Ok(rows)
}

fn number(client: &mut Client, query: &str) -> Result<i32, load::Error> {
    let found = client.query_values(query)?;
    let value = load::first_value(&found);
    Ok(match value {
        Some(Value::Int(number)) => *number,
        _ => 0,
    })
}
