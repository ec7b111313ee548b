//! Sources and destinations as users spell them.

use std::fmt;

use formats::objects::{is_object_url, shown_url};
use load::{Config, Interruption, TableName};

use crate::{database_file::DatabaseFileEndpoint, error::CopyError};

/// A source or a destination.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// SQL Server.
    SqlServer(Box<SqlServerEndpoint>),
    /// Files.
    Files(FileEndpoint),
    /// Any other database, through its driver.
    Database(DatabaseEndpoint),
    /// Files that SQL Server wrote: data files, backups, a package.
    DatabaseFile(DatabaseFileEndpoint),
}

/// A database of SQL Server, and a table of it unless a query or `--tables` takes its place.
#[derive(Debug, Clone)]
pub struct SqlServerEndpoint {
    /// The configuration of the connection.
    pub config: Config,
    /// The table.
    pub table: Option<TableName>,
}

/// A file, several by a pattern, a directory, objects by their URL, or `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEndpoint {
    /// The path or URL as it was given.
    pub path: String,
    /// The sheet of a workbook (`book.xlsx#Sheet`).
    pub sheet: Option<String>,
}

/// A database that a driver reaches. `Display` and `Debug` leave secrets out.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseEndpoint {
    /// The text before the first colon, in lower case: `postgresql`, `sqlite`, `duckdb`, `adbc`, `odbc` and so on.
    pub scheme: String,
    /// The whole text without the table behind `#`. It may hold a password.
    pub address: String,
    /// The table.
    pub table: Option<String>,
}

/// Schemes of databases that drivers reach; `adbc:` and `odbc:` take any driver.
const DATABASE_SCHEMES: [&str; 12] = [
    "postgresql",
    "postgres",
    "sqlite",
    "duckdb",
    "snowflake",
    "bigquery",
    "grpc",
    "grpc+tls",
    "flightsql",
    "mysql",
    "adbc",
    "odbc",
];
/// Suffixes of workbooks.
pub(crate) const WORKBOOK_SUFFIXES: [&str; 5] = ["xlsx", "xlsm", "xlsb", "xls", "ods"];

impl Endpoint {
    /// Lets requests to it be ended from another thread, if it is SQL Server.
    pub fn interrupted_by(&mut self, interruption: &Interruption) {
        if let Self::SqlServer(server) = self {
            server.config.interruption = Some(interruption.clone());
        }
    }

    /// Reads an endpoint. `url` is the connection that `mssql:` stands for when it names no server.
    ///
    /// # Errors
    /// What is wanted instead.
    pub fn parse(text: &str, url: Option<&str>) -> Result<Self, CopyError> {
        Self::parse_and(text, url, &[])
    }

    /// Reads an endpoint, with further keywords and their values for the connection of a SQL Server.
    ///
    /// # Errors
    /// What is wanted instead.
    pub fn parse_and(text: &str, url: Option<&str>, further: &[(&str, String)]) -> Result<Self, CopyError> {
        if text.is_empty() {
            return Err(CopyError::Usage("an endpoint is empty; `-` is standard input or output".to_owned()));
        }
        let scheme = scheme_of(text);
        match scheme.as_deref() {
            Some("mssql" | "sqlserver") => sql_server(text, url, further).map(Box::new).map(Self::SqlServer),
            Some(_) if is_object_url(text) => Ok(Self::of_path(text)),
            Some("file") => {
                let path = text.split_once(':').map_or(text, |(_, path)| path);
                Ok(Self::of_path(path.strip_prefix("//").unwrap_or(path)))
            }
            Some(scheme) if DATABASE_SCHEMES.contains(&scheme) => {
                Ok(Self::Database(DatabaseEndpoint::parse(scheme, text)))
            }
            Some(scheme) if text.contains("://") => Err(CopyError::Usage(format!(
                "{scheme}:// is not understood. Endpoints are mssql://user@host/database/schema.table, {}, files, or objects (s3://, az://, gs://, https://)",
                DATABASE_SCHEMES.map(|scheme| format!("{scheme}:")).join(", ")
            ))),
            _ => Ok(Self::of_path(text)),
        }
    }

    /// Reads a path or URL: files that SQL Server wrote are known by their suffixes.
    pub fn of_path(text: &str) -> Self {
        match DatabaseFileEndpoint::parse(text) {
            Some(endpoint) => Self::DatabaseFile(endpoint),
            None => Self::Files(FileEndpoint::parse(text)),
        }
    }
}

impl FileEndpoint {
    /// Reads a path; behind the `#` of a workbook stands a sheet.
    pub fn parse(text: &str) -> Self {
        if let Some((path, sheet)) = text.rsplit_once('#')
            && is_workbook(path)
        {
            return Self { path: path.to_owned(), sheet: Some(sheet.to_owned()) };
        }
        Self { path: text.to_owned(), sheet: None }
    }

    /// Returns true for a workbook, by the suffix.
    pub fn is_workbook(&self) -> bool {
        is_workbook(&self.path)
    }
}

/// Returns true if the suffix is one of a workbook.
pub(crate) fn is_workbook(path: &str) -> bool {
    let suffix = path.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
    suffix.is_some_and(|suffix| WORKBOOK_SUFFIXES.contains(&suffix.as_str()))
}

impl DatabaseEndpoint {
    fn parse(scheme: &str, text: &str) -> Self {
        let (address, table) = match text.rsplit_once('#') {
            Some((address, table)) if !table.is_empty() => (address, Some(table.to_owned())),
            _ => (text, None),
        };
        Self { scheme: scheme.to_owned(), address: address.to_owned(), table }
    }
}

impl DatabaseEndpoint {
    /// Returns the host and the database of a URL, or the file; empty where secrets could stand anywhere in the text.
    fn place(&self) -> String {
        let Some((_, address)) = self.address.split_once(':') else { return String::new() };
        let (address, rest) = address.split_once('?').unwrap_or((address, ""));
        if rest.contains('@') {
            return String::new();
        }
        match address.strip_prefix("//") {
            Some(rest) => format!("//{}", rest.rsplit_once('@').map_or(rest, |(_, place)| place)),
            None if matches!(self.scheme.as_str(), "sqlite" | "duckdb") => address.to_owned(),
            None => String::new(),
        }
    }
}

impl fmt::Display for DatabaseEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scheme, self.place())?;
        match &self.table {
            Some(table) => write!(f, "#{table}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for DatabaseEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for SqlServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.config.host)?;
        if let Some(port) = self.config.port {
            write!(f, ":{port}")?;
        }
        if let Some(database) = &self.config.database {
            write!(f, "/{database}")?;
        }
        match &self.table {
            Some(table) => write!(f, " {table}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SqlServer(endpoint) => endpoint.fmt(f),
            Self::Files(FileEndpoint { path, sheet: None }) => f.write_str(&shown_url(path)),
            Self::Files(FileEndpoint { path, sheet: Some(sheet) }) => {
                write!(f, "{}#{sheet}", shown_url(path))
            }
            Self::Database(endpoint) => endpoint.fmt(f),
            Self::DatabaseFile(endpoint) => endpoint.fmt(f),
        }
    }
}

/// Returns the text before the first colon, if it can be a scheme. A single letter is a drive.
fn scheme_of(text: &str) -> Option<String> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// Parses `mssql://user@host:port/database/schema.table?keyword=value`, or `mssql:schema.table` with the connection of
/// `url`.
fn sql_server(
    text: &str,
    url: Option<&str>,
    further: &[(&str, String)],
) -> Result<SqlServerEndpoint, CopyError> {
    let (_, rest) = text.split_once(':').unwrap_or_default();
    let table = |text: &str| {
        let table = text.parse::<TableName>();
        table.map_err(|error| CopyError::Usage(error.to_string()))
    };
    let config = |text: &str| {
        let shown = "the connection".to_owned();
        Config::parse_and(text, further).map_err(|source| CopyError::Config { endpoint: shown, source })
    };
    let Some(authority) = rest.strip_prefix("//") else {
        let Some(url) = url else {
            return Err(CopyError::Usage(format!(
                "{text} names no server: write mssql://user@host/database/schema.table, or set BULKWIRE_URL (--url)"
            )));
        };
        let table = if rest.is_empty() { None } else { Some(table(rest)?) };
        return Ok(SqlServerEndpoint { config: config(url)?, table });
    };
    let (place, query) = match authority.split_once('?') {
        Some((place, query)) => (place, format!("?{query}")),
        None => (authority, String::new()),
    };
    // host / database / table; a '/' in a name is written %2F.
    let mut parts = place.splitn(3, '/');
    let host = parts.next().unwrap_or_default();
    let database = parts.next().map(|database| format!("/{database}")).unwrap_or_default();
    let named = parts.next().filter(|name| !name.is_empty());
    let config = config(&format!("mssql://{host}{database}{query}"))?;
    let table = match named {
        Some(name) => Some(table(&decoded(name)?)?),
        None => None,
    };
    Ok(SqlServerEndpoint { config, table })
}

/// Percent-decodes a name.
fn decoded(text: &str) -> Result<String, CopyError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let refused =
        || CopyError::Usage(format!("{text:?}: a '%' must be followed by two hex digits (%25 is '%')"));
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or_else(refused)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(refused());
        }
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| refused())?);
        rest = tail.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_err(|_| CopyError::Usage(format!("{text:?}: these bytes are not UTF-8")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    fn shown(text: &str) -> String {
        match Endpoint::parse(text, Some("mssql://sa:x@default/db")) {
            Ok(Endpoint::SqlServer(endpoint)) => format!("server {endpoint}"),
            Ok(Endpoint::Files(FileEndpoint { path, sheet })) => format!("file {path} {sheet:?}"),
            Ok(Endpoint::Database(endpoint)) => format!("database {endpoint}"),
            Ok(Endpoint::DatabaseFile(endpoint)) => {
                format!("files {:?} {:?}", endpoint.files, endpoint.table)
            }
            Err(error) => format!("error {error}"),
        }
    }

    #[test]
    fn endpoints_are_read() {
        let cases = [
            ("mssql://sa:pw@h:1500/sales/dbo.orders", "server h:1500/sales [dbo].[orders]"),
            ("mssql://sa:pw@h/sales", "server h/sales"),
            ("mssql://sa:pw@h/sales/", "server h/sales"),
            ("mssql://sa:pw@h/sales/[a%2Fb].[c%20d]?encrypt=off", "server h/sales [a/b].[c d]"),
            ("mssql:dbo.t", "server default/db [dbo].[t]"),
            ("mssql:", "server default/db"),
            ("orders.csv", "file orders.csv None"),
            ("-", "file - None"),
            ("a:b.csv", "file a:b.csv None"),
            ("in#1.csv", "file in#1.csv None"),
            ("book.xlsx#Q1 2026", "file book.xlsx Some(\"Q1 2026\")"),
            ("s3://bucket/dir/*.csv", "file s3://bucket/dir/*.csv None"),
            ("file:///tmp/a.csv", "file /tmp/a.csv None"),
            ("sqlite:shop.db#orders", "database sqlite:shop.db#orders"),
            ("postgresql://u:secret@h/db?table=t", "database postgresql://h/db"),
            ("odbc:Driver={x};Pwd=secret#t", "database odbc:#t"),
            ("shop.bak#dbo.orders", "files [\"shop.bak\"] Some(\"dbo.orders\")"),
            ("full-*.BAK,diff.bak", "files [\"full-*.BAK\", \"diff.bak\"] None"),
            ("s3://bucket/shop.bacpac#t", "files [\"s3://bucket/shop.bacpac\"] Some(\"t\")"),
            ("a,b.csv", "file a,b.csv None"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for (text, part) in [
            ("", "empty"),
            ("ftp://host/x", "ftp:// is not understood"),
            ("mssql://sa:pw@h/db/a.b.c.d", "at most database, schema and table"),
            ("mssql://sa:pw@h/db/a%zz", "two hex digits"),
        ] {
            assert!(
                shown(text).starts_with("error ") && shown(text).contains(part),
                "{text}: {}",
                shown(text)
            );
        }
        let without = Endpoint::parse("mssql:dbo.t", None).unwrap_err().to_string();
        assert!(without.contains("names no server"), "{without}");
    }
}
