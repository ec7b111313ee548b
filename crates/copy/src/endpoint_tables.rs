//! The tables of endpoints, and where each of many goes.

use std::path::Path;

use formats::objects::is_object_url;
use load::TableName;

use crate::{
    database,
    endpoint::{DatabaseEndpoint, Endpoint, FileEndpoint, SqlServerEndpoint},
    error::CopyError,
    listed_table::ListedTable,
    server::{server_tables, table_name},
};

impl Endpoint {
    /// Lists the tables and views of a database.
    ///
    /// # Errors
    /// It is none, or cannot be reached.
    pub fn tables(&self) -> Result<Vec<ListedTable>, CopyError> {
        match self {
            Self::SqlServer(endpoint) => server_tables(endpoint),
            Self::Database(endpoint) => database::tables(endpoint),
            Self::DatabaseFile(endpoint) => endpoint.tables(),
            Self::Files(_) => Err(CopyError::Usage(
                "--tables chooses tables of a database; files are chosen by a pattern such as 'orders-*.csv'"
                    .to_owned(),
            )),
        }
    }

    /// Returns the endpoint of one of its tables.
    pub fn with_table(&self, table: &ListedTable) -> Self {
        match self {
            Self::SqlServer(endpoint) => Self::SqlServer(Box::new(SqlServerEndpoint {
                table: Some(table_name(table)),
                ..(**endpoint).clone()
            })),
            Self::Database(endpoint) => {
                Self::Database(DatabaseEndpoint { table: Some(table.quoted_name()), ..endpoint.clone() })
            }
            Self::Files(files) => Self::Files(files.clone()),
            Self::DatabaseFile(endpoint) => {
                Self::DatabaseFile(endpoint.with_table(Some(table_name(table).to_string())))
            }
        }
    }

    /// Returns the endpoint for one of many tables: the table of its name, in `schema` if one is given, or a file
    /// of its name with `suffix`.
    ///
    /// # Errors
    /// The endpoint takes one table only.
    pub fn for_table(
        &self,
        table: &ListedTable,
        schema: Option<&str>,
        suffix: &str,
    ) -> Result<Self, CopyError> {
        let one = |name: &dyn std::fmt::Display| {
            Err(CopyError::Usage(format!("{name} takes one table; --tables needs a database or a directory")))
        };
        match self {
            Self::SqlServer(endpoint) => {
                if endpoint.table.is_some() {
                    return one(&**endpoint);
                }
                let schema = schema.map(str::to_owned).or_else(|| table.schema.clone());
                let table = TableName { database: None, schema, name: table.name.clone() };
                Ok(Self::SqlServer(Box::new(SqlServerEndpoint {
                    table: Some(table),
                    ..(**endpoint).clone()
                })))
            }
            Self::Database(endpoint) => {
                if endpoint.table.is_some() {
                    return one(endpoint);
                }
                let schema = schema.map(str::to_owned).or_else(|| table.schema.clone());
                let named = ListedTable { schema, ..table.clone() };
                Ok(Self::Database(DatabaseEndpoint { table: Some(named.quoted_name()), ..endpoint.clone() }))
            }
            Self::DatabaseFile(endpoint) => {
                if endpoint.table.is_some() {
                    return one(endpoint);
                }
                let schema = schema.map(str::to_owned).or_else(|| table.schema.clone());
                let table = TableName { database: None, schema, name: table.name.clone() };
                Ok(Self::DatabaseFile(endpoint.with_table(Some(table.to_string()))))
            }
            Self::Files(files) => {
                if !crate::file_destination::is_directory(&files.path) {
                    return one(&files.path);
                }
                let name = match (schema, &table.schema) {
                    (Some(schema), _) => format!("{schema}.{}", table.name),
                    (None, Some(schema)) => format!("{schema}.{}", table.name),
                    (None, None) => table.name.clone(),
                };
                // Names of tables may have what names of files may not.
                let name: String =
                    name.chars().map(|c| if matches!(c, '/' | '\\' | '\0') { '_' } else { c }).collect();
                let path = Path::new(&files.path).join(format!("{name}.{suffix}"));
                Ok(Self::Files(FileEndpoint { path: path.to_string_lossy().into_owned(), sheet: None }))
            }
        }
    }

    /// Refuses a copy of something onto itself.
    ///
    /// # Errors
    /// Both are the same.
    pub fn check_distinct(&self, destination: &Self) -> Result<(), CopyError> {
        let same = match (self, destination) {
            (Self::SqlServer(source), Self::SqlServer(destination)) => {
                let lower = |text: &str| text.to_lowercase();
                let key = |endpoint: &SqlServerEndpoint| {
                    let table = endpoint.table.as_ref();
                    let database = table
                        .and_then(|table| table.database.as_deref())
                        .or(endpoint.config.database.as_deref());
                    (
                        lower(&endpoint.config.host),
                        endpoint.config.port_or_default(),
                        endpoint.config.instance.as_deref().map(lower),
                        database.map(lower),
                        table.map(|table| lower(&table.name)),
                        table.map(|table| lower(table.schema.as_deref().unwrap_or("dbo"))),
                    )
                };
                source.table.is_some() && key(source) == key(destination)
            }
            (Self::Files(source), Self::Files(destination)) if is_object_url(&source.path) => {
                source == destination
            }
            (Self::Files(source), Self::Files(destination)) => {
                let path = |endpoint: &FileEndpoint| Path::new(&endpoint.path).canonicalize().ok();
                source.path != "-" && path(source).is_some() && path(source) == path(destination)
            }
            (Self::Database(source), Self::Database(destination)) => {
                source.table.is_some() && source == destination
            }
            (Self::DatabaseFile(source), Self::DatabaseFile(destination)) => {
                let path = |file: &String| Path::new(file).canonicalize().ok();
                let written: Vec<_> = destination.files.iter().map(path).collect();
                source.files.iter().any(|file| path(file).is_some() && written.contains(&path(file)))
            }
            _ => false,
        };
        match same {
            true => Err(CopyError::Usage(format!("{self} is both source and destination"))),
            false => Ok(()),
        }
    }
}
