//! Lists the files and tables to choose from, and checks that the chosen ones exist.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use copy::{CopyError, Description, Endpoint, ListedTable, ReadForm, Spec, SqlServerEndpoint};
use formats::Location;
use load::{Client, TableName};
use rows::mapping::{CreateOptions, sql_type_of};
use tds::Value;

use crate::draft::{ColumnChoice, Draft, End, EndKind, Side, TargetColumn};
use crate::wizard::{Engine, Errors};

/// The longest time of a login that a person waits for.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Files of a folder that are listed.
const FILES_LIMIT: usize = 2000;
/// "Login failed for user" (sys.messages).
const LOGIN_FAILED: i32 = 18456;
/// "Cannot open database" (sys.messages).
const NO_DATABASE: i32 = 4060;

/// The tables of a database, or its error.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// A line for people.
    pub said: String,
    /// The databases of the server.
    pub databases: Vec<String>,
    /// The tables of the database.
    pub tables: Vec<ListedTable>,
}

/// Connects to the database of an end, and lists its tables.
pub fn connect(end: &End, side: Side) -> Result<Found, CopyError> {
    let endpoint = Endpoint::parse(&end.address_to_connect(side, false), None)?;
    let server = match endpoint {
        Endpoint::SqlServer(server) => with_patience(*server),
        Endpoint::Files(_) => return Err(CopyError::Usage("this names a file, not a database".to_owned())),
        Endpoint::Database(_) | Endpoint::DatabaseFile(_) => {
            let tables = endpoint.tables()?;
            return Ok(Found {
                said: format!("Connected. {}.", counted(tables.len())),
                databases: Vec::new(),
                tables,
            });
        }
    };
    let name = server.to_string();
    let mut client = Client::connect(&server.config).map_err(|error| CopyError::client(&name, error))?;
    let found = client
        .query_values("SELECT DB_NAME(); SELECT name FROM sys.databases ORDER BY name")
        .map_err(|error| CopyError::client(&name, error))?;
    drop(client);
    let texts = |index: usize| -> Vec<String> {
        let rows = found.get(index).map(|table| table.rows.as_slice()).unwrap_or_default();
        rows.iter().filter_map(|row| row.first().and_then(text)).collect()
    };
    let tables = copy::server_tables(&server)?;
    let database = texts(0).pop().unwrap_or_default();
    Ok(Found {
        said: format!("Connected to {name}. Database {database}: {}.", counted(tables.len())),
        databases: texts(1),
        tables,
    })
}

fn counted(tables: usize) -> String {
    match tables {
        0 => "no tables".to_owned(),
        1 => "1 table".to_owned(),
        tables => format!("{tables} tables and views"),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn with_patience(mut server: SqlServerEndpoint) -> SqlServerEndpoint {
    server.config.connect_timeout = Some(CONNECT_TIME);
    server
}

/// Looks whether the source is there. It has no columns of a destination to give.
pub fn look_at_source(draft: &Draft, engine: Engine) -> Result<Vec<TargetColumn>, CopyError> {
    if draft.has_several_tables() {
        connect(&draft.source, Side::Source)?;
    } else if draft.has_text() {
        // The columns of a text file are known only with its format.
        for location in copy::files_of(draft.source.file.path.trim())? {
            if let Location::Path(path) = location
                && !path.is_file()
            {
                return Err(CopyError::Usage(format!("there is no file {}", path.display())));
            }
        }
    } else {
        described(&draft.spec_of_source()?, &engine)?;
    }
    Ok(Vec::new())
}

/// Describes the columns of the source.
pub fn described(spec: &Spec, engine: &Engine) -> Result<Description, CopyError> {
    copy::open_source(spec, engine.as_ref())?.describe(ReadForm { is_exact: true, is_typed: false })
}

/// Makes choices of the source's columns, each copied under its name.
pub fn choices(description: &Description) -> Vec<ColumnChoice> {
    let of = |field: &arrow::datatypes::FieldRef| {
        let known = field.metadata().get("sql_type").cloned();
        ColumnChoice {
            source: Some(field.name().clone()),
            source_kind: known.unwrap_or_else(|| kind_for_people(field.data_type())),
            name: field.name().clone(),
            ..ColumnChoice::default()
        }
    };
    description.schema.fields().iter().map(of).collect()
}

/// Names a type of the source as SQL does, where it can.
fn kind_for_people(kind: &arrow::datatypes::DataType) -> String {
    use arrow::datatypes::{DataType, Field};
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "list".to_owned(),
        DataType::Struct(_) => "structure".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        DataType::Dictionary(_, values) => kind_for_people(values),
        other => {
            let field = Field::new("", other.clone(), true);
            let plain = sql_type_of(&field, &CreateOptions::default());
            plain.map_or_else(|_| other.to_string(), |sql_type| sql_type.to_string())
        }
    }
}

/// Looks whether the destination can be reached, and gives the columns of its table, if it is there.
pub fn look_at_destination(draft: &Draft) -> Result<Vec<TargetColumn>, CopyError> {
    let end = &draft.destination;
    let several = draft.has_several_tables();
    let endpoint = Endpoint::parse(&end.address_to_connect(Side::Destination, !several), None)?;
    match endpoint {
        Endpoint::SqlServer(server) => target_columns(with_patience(*server)),
        Endpoint::Database(_) => Ok(Vec::new()),
        Endpoint::DatabaseFile(files) => {
            Err(CopyError::Usage(format!("{files}: backups and packages are read, not written")))
        }
        Endpoint::Files(files) => {
            let path = Path::new(&files.path);
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|_| !several)
                && !folder.is_dir()
            {
                return Err(CopyError::Usage(format!("there is no folder {}", folder.display())));
            }
            Ok(Vec::new())
        }
    }
}

fn target_columns(server: SqlServerEndpoint) -> Result<Vec<TargetColumn>, CopyError> {
    let name = server.to_string();
    let mut client = Client::connect(&server.config).map_err(|error| CopyError::client(&name, error))?;
    let Some(table) = &server.table else { return Ok(Vec::new()) };
    let described = match client.describe(table) {
        Ok(described) => described,
        Err(load::Error::NoTable { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(CopyError::client(name, error)),
    };
    let loaded = described.columns.into_iter().filter(|column| !column.is_computed && !column.is_rowversion);
    Ok(loaded
        .map(|column| {
            let takes_null = column.column.flags.is_nullable();
            let kind = column.column.type_info.sql_type.to_string();
            TargetColumn {
                is_required: !takes_null && !column.has_default && !column.is_identity,
                kind: if takes_null { kind } else { format!("{kind} not null") },
                name: column.column.name,
            }
        })
        .collect())
}

/// Puts an error beside the field that it concerns.
pub fn errors_of(error: &CopyError, kind: EndKind) -> Errors {
    let mut text = error.to_string();
    if let CopyError::Client { source, .. } = error
        && let load::Error::Tls(tls) = &**source
        && matches!(**tls, load::tls::TlsError::Certificate { .. })
    {
        text += ". For a test server, tick \"Trust any certificate\" below";
    }
    let field = match (kind, error) {
        (EndKind::File, _) => "path",
        (EndKind::Database, _) => "address",
        (EndKind::SqlServer, CopyError::Config { .. }) => "host",
        (EndKind::SqlServer, CopyError::Client { source, .. }) => {
            match (&**source, source.server_message()) {
                (_, Some(message)) if message.number == LOGIN_FAILED => "password",
                (_, Some(message)) if message.number == NO_DATABASE => "database",
                (load::Error::Login(_), _) => "user",
                (load::Error::Connect(_), _) => "host",
                (load::Error::Tls(_), _) => "encrypt",
                (load::Error::NoTable { .. }, _) => "table",
                (load::Error::Server(_), _) => "what",
                _ => "",
            }
        }
        (EndKind::SqlServer, CopyError::Usage(_)) => "table",
        _ => "",
    };
    Errors::of(field, text)
}

/// Spells a table name as SQL Server does, for a list.
pub fn spelled(table: &ListedTable, kind: EndKind) -> String {
    match kind {
        EndKind::SqlServer => {
            let name: TableName = copy::table_name(table);
            let is_plain = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
            let plain = is_plain(&name.name) && name.schema.as_deref().is_none_or(is_plain);
            if plain { table.full_name() } else { name.to_string() }
        }
        _ => table.quoted_name(),
    }
}

/// A file or a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of the entry.
    pub name: String,
    /// The path of the entry.
    pub path: String,
    /// True for a folder.
    pub is_folder: bool,
    /// The size of the file, for people.
    pub size: String,
    /// The age of the last change, for people.
    pub changed: String,
}

/// Lists a folder: folders first, then files, by name; hidden ones left out.
pub fn entries(folder: &Path) -> std::io::Result<(PathBuf, Vec<Entry>)> {
    let folder = folder.canonicalize()?;
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(&folder)?.flatten().take(FILES_LIMIT) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(metadata) = std::fs::metadata(entry.path()) else { continue };
        if name.starts_with('.') {
            continue;
        }
        entries.push(Entry {
            path: entry.path().to_string_lossy().into_owned(),
            name,
            is_folder: metadata.is_dir(),
            size: if metadata.is_dir() { String::new() } else { load::report::bytes(metadata.len() as f64) },
            changed: metadata.modified().map(ago).unwrap_or_default(),
        });
    }
    entries.sort_by_key(|entry| (!entry.is_folder, entry.name.to_lowercase()));
    Ok((folder, entries))
}

/// Words the age of a time, in one unit.
fn ago(time: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(time).unwrap_or_default().as_secs();
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        86_400..2_592_000 => (seconds / 86_400, "day"),
        2_592_000..31_536_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}
