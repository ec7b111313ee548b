//! A copy as a value: what is read and how, where it goes and how, what is done to rows, and what becomes of bad ones.
//!
//! Each kind of endpoint has a variant with the settings that it can honour. So a copy that cannot be is not a value, and
//! [`Spec::new`] is the one place that says why.

mod fitting;
mod making;

use std::path::PathBuf;

use formats::{Compression, Format, Location};
use load::{Interruption, Mode, read::ReadOptions};

use crate::{
    column_types::ColumnTypes,
    database,
    database_file::{DatabaseFileRead, DatabaseFileSource, PackageDestination, PackageTarget},
    destination::{Create, Destination},
    endpoint::{DatabaseEndpoint, Endpoint, FileEndpoint, SqlServerEndpoint},
    error::CopyError,
    file_destination::{FileDestination, FileWrite},
    file_format,
    file_formats::FileFormats,
    file_source::FileSource,
    listed_table::TablePatterns,
    options::{FileOptions, FormatName, Language, Options, RefusalOptions},
    server_destination::ServerDestination,
    server_source::ServerSource,
    server_write::{Resume, ServerWrite},
    source::{Repeat, Source},
    transformation::Transformation,
    workbook::{SheetSettings, SheetSource},
};

/// A copy: everything that is needed to run it.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The source of the rows.
    pub source: SourceSpec,
    /// The destination of the rows.
    pub destination: DestinationSpec,
    /// The transformation of the rows on their way.
    pub rows: Option<RowsSpec>,
    /// Several tables, in place of one.
    pub tables: Option<TablesSpec>,
    /// Views, procedures, functions and triggers are made, too.
    pub modules: Option<ModulesSpec>,
    /// The treatment of rows that cannot be written.
    pub refusals: RefusalsSpec,
    /// Look at both ends, say what would be done, and change nothing.
    pub is_dry: bool,
    /// The place where the options were written, which decides how errors spell them.
    pub language: Language,
}

/// The treatment of modules that the destination refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModulesSpec {
    /// They are a failure.
    All,
    /// They are named and skipped.
    SkipFailing,
}

/// A source, with the settings of its kind.
#[derive(Debug, Clone)]
pub enum SourceSpec {
    /// SQL Server.
    Server(Box<ServerRead>),
    /// Files.
    Files(FileRead),
    /// A sheet of a workbook.
    Sheet(SheetRead),
    /// Another database.
    Database(DatabaseRead),
    /// Files that SQL Server wrote.
    DatabaseFile(DatabaseFileRead),
}

/// The settings of reading SQL Server.
#[derive(Debug, Clone)]
pub struct ServerRead {
    /// The server and the table.
    pub endpoint: SqlServerEndpoint,
    /// A query in place of a table.
    pub query: Option<String>,
    /// Connections, ranges, retries and the form of rows.
    pub options: ReadOptions,
}

/// The settings of reading files.
#[derive(Debug, Clone)]
pub struct FileRead {
    /// The files.
    pub endpoint: FileEndpoint,
    /// The format of each.
    pub formats: FileFormats,
    /// Columns of text files stay text, also in tables that are made of them.
    pub keeps_text: bool,
    /// Types that the user sets for columns of text files.
    pub types: Option<ColumnTypes>,
    /// Ends the look at all rows of text files.
    pub interruption: Option<Interruption>,
}

/// The settings of reading a sheet.
#[derive(Debug, Clone)]
pub struct SheetRead {
    /// The workbook.
    pub endpoint: FileEndpoint,
    /// The sheet and its header.
    pub settings: SheetSettings,
}

/// The settings of reading another database.
#[derive(Debug, Clone)]
pub struct DatabaseRead {
    /// The database and the table.
    pub endpoint: DatabaseEndpoint,
    /// A query in place of a table.
    pub query: Option<String>,
}

/// A destination, with the settings of its kind.
#[derive(Debug, Clone)]
pub enum DestinationSpec {
    /// SQL Server.
    Server(Box<ServerTarget>),
    /// Files.
    Files(FileTarget),
    /// Another database.
    Database(DatabaseTarget),
    /// A package of SQL Server.
    Package(PackageTarget),
}

/// The settings of writing to SQL Server.
#[derive(Debug, Clone)]
pub struct ServerTarget {
    /// The server and the table.
    pub endpoint: SqlServerEndpoint,
    /// The settings of loading rows. `record` decides whether committed rows are noted.
    pub write: ServerWrite,
    /// Decides whether committed rows are noted.
    pub record: Record,
}

/// Decides whether committed rows are recorded, so that a broken copy can be continued.
#[derive(Debug, Clone, Default)]
pub enum Record {
    /// Committed rows are not recorded.
    #[default]
    No,
    /// Committed rows are recorded; a source that cannot be read again is an error.
    Asked(Resume),
    /// Committed rows are recorded if the source can be read again in the same order.
    IfRepeatable(Recorded),
}

/// A recorded copy whose name is known to the program that runs it.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The name; one of several tables gets another from [`name_of`](Self::name_of).
    pub load_id: String,
    /// Makes the name of one of several tables of the copy's name and the table's.
    pub name_of: fn(&str, &str) -> String,
    /// A source that cannot be read again is an error.
    pub is_required: bool,
    /// Schema of the tables that record loads.
    pub ledger_schema: String,
}

/// The settings of writing files.
#[derive(Debug, Clone)]
pub struct FileTarget {
    /// The file or directory.
    pub endpoint: FileEndpoint,
    /// Formats, and how a directory is filled.
    pub write: FileWrite,
    /// The suffix of the files of several tables.
    pub suffix: String,
}

/// The settings of writing to another database.
#[derive(Debug, Clone)]
pub struct DatabaseTarget {
    /// The database and the table.
    pub endpoint: DatabaseEndpoint,
    /// The effect on existing rows.
    pub on_conflict: Mode,
    /// Decides whether the table is created.
    pub create: Create,
}

/// The transformation of rows, and the tables that its query may join.
#[derive(Debug, Clone)]
pub struct RowsSpec {
    /// The query or its parts.
    pub transformation: Transformation,
    /// Tables by the names that the query knows them by.
    pub lookups: Vec<(String, SourceSpec)>,
}

/// Several tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablesSpec {
    /// The patterns that select the tables.
    pub patterns: TablePatterns,
    /// Tables that are copied at a time.
    pub jobs: u16,
    /// Begin no further table after one has failed.
    pub fails_fast: bool,
    /// The schema that takes all of them.
    pub to_schema: Option<String>,
}

/// The treatment of rows that cannot be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusalsSpec {
    /// The file that takes them.
    pub rejects: Option<PathBuf>,
    /// The number of rows that may be refused; `None` means none, or any number if a file takes them.
    pub max_errors: Option<u64>,
    /// Divide a batch that the server refuses until the bad rows stand alone.
    pub bisect: bool,
    /// A file without rows goes at the end, and rows that stand in the file of a copy that is done count as refused.
    pub is_kept_between_runs: bool,
}

/// Both ends as they are spelled, and the tables that a transformation may join.
#[derive(Debug, Clone)]
pub struct Ends {
    /// The source of the rows.
    pub source: Endpoint,
    /// The destination of the rows.
    pub destination: Endpoint,
    /// Tables of the transformation.
    pub lookups: Vec<LookupEnd>,
}

/// A table that a transformation may join.
#[derive(Debug, Clone)]
pub struct LookupEnd {
    /// The name of the table in the query.
    pub name: String,
    /// The endpoint of the table.
    pub endpoint: Endpoint,
    /// A query in place of a table.
    pub query: Option<String>,
}

/// Receives the retries and warnings that come before the first row.
#[derive(Debug, Clone, Copy)]
pub struct Voice {
    /// Hears warnings.
    pub warns: fn(&str),
    /// Hears of a connection that failed and is tried again.
    pub retries: fn(&load::Error),
}

/// Warnings that nobody hears: an end has been warned of already.
const SILENT: fn(&str) = |_| {};

impl Default for Voice {
    fn default() -> Self {
        Self { warns: |_| {}, retries: |_| {} }
    }
}

impl Ends {
    /// Reads both endpoints as a user spells them; the options of the connection hold for all of them.
    ///
    /// # Errors
    /// An endpoint is spelled wrongly.
    pub fn parse(
        source: &str,
        destination: &str,
        options: &Options,
        voice: Voice,
    ) -> Result<Self, CopyError> {
        let connection = &options.connection;
        let end = |text: &str, warns: fn(&str)| {
            let mut endpoint = Endpoint::parse_and(text, connection.url.as_deref(), &connection.keywords())?;
            if let Endpoint::SqlServer(server) = &mut endpoint {
                for keyword in &server.config.ignored {
                    warns(&format!("{keyword} has no effect here"));
                }
                connection.apply(&mut server.config);
            }
            Ok::<_, CopyError>(endpoint)
        };
        let (source, destination) = (end(source, voice.warns)?, end(destination, voice.warns)?);
        let lookups = options.transformation.lookups.iter().map(|(name, text)| {
            Ok(LookupEnd { name: name.clone(), endpoint: end(text, SILENT)?, query: None })
        });
        Ok(Self { lookups: lookups.collect::<Result<_, CopyError>>()?, source, destination })
    }
}

impl Spec {
    /// Makes a copy of what a user wrote.
    ///
    /// # Errors
    /// An option does not fit an end or another option, by its name in `language`; or a file that it names cannot be read.
    pub fn new(ends: &Ends, options: &Options, language: Language, voice: Voice) -> Result<Self, CopyError> {
        fitting::check(options, ends)
            .and_then(|()| making::spec(ends, options, language, voice))
            .map_err(|error| language.of_error(error))
    }

    /// Returns the same copy with requests to SQL Server that can be ended from another thread.
    #[must_use]
    pub fn interrupted_by(mut self, interruption: &Interruption) -> Self {
        match &mut self.source {
            SourceSpec::Server(read) => read.endpoint.config.interruption = Some(interruption.clone()),
            SourceSpec::Files(read) => read.interruption = Some(interruption.clone()),
            SourceSpec::Sheet(_) | SourceSpec::Database(_) | SourceSpec::DatabaseFile(_) => {}
        }
        if let DestinationSpec::Server(target) = &mut self.destination {
            target.endpoint.config.interruption = Some(interruption.clone());
        }
        self
    }
}

impl SourceSpec {
    /// Returns a source that is read by the defaults of its kind.
    pub fn of(endpoint: Endpoint, query: Option<String>) -> Self {
        match endpoint {
            Endpoint::SqlServer(endpoint) => {
                let options = ReadOptions::default();
                Self::Server(Box::new(ServerRead { endpoint: *endpoint, query, options }))
            }
            Endpoint::Files(endpoint) if endpoint.is_workbook() => {
                Self::Sheet(SheetRead { endpoint, settings: SheetSettings::default() })
            }
            Endpoint::Files(endpoint) => Self::Files(FileRead {
                endpoint,
                formats: FileFormats::default(),
                keeps_text: false,
                types: None,
                interruption: None,
            }),
            Endpoint::Database(endpoint) => Self::Database(DatabaseRead { endpoint, query }),
            Endpoint::DatabaseFile(endpoint) => {
                Self::DatabaseFile(DatabaseFileRead { endpoint, form: rows::Form::default() })
            }
        }
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> Endpoint {
        match self {
            Self::Server(read) => Endpoint::SqlServer(Box::new(read.endpoint.clone())),
            Self::Files(FileRead { endpoint, .. }) | Self::Sheet(SheetRead { endpoint, .. }) => {
                Endpoint::Files(endpoint.clone())
            }
            Self::Database(read) => Endpoint::Database(read.endpoint.clone()),
            Self::DatabaseFile(read) => Endpoint::DatabaseFile(read.endpoint.clone()),
        }
    }

    /// Returns the same reading of another place of the same kind; a place of another kind changes nothing.
    #[must_use]
    pub(crate) fn at(&self, place: Endpoint) -> Self {
        match (self.clone(), place) {
            (Self::Server(read), Endpoint::SqlServer(endpoint)) => {
                Self::Server(Box::new(ServerRead { endpoint: *endpoint, ..*read }))
            }
            (Self::Database(read), Endpoint::Database(endpoint)) => {
                Self::Database(DatabaseRead { endpoint, ..read })
            }
            (Self::Files(read), Endpoint::Files(endpoint)) => Self::Files(FileRead { endpoint, ..read }),
            (Self::Sheet(read), Endpoint::Files(endpoint)) => Self::Sheet(SheetRead { endpoint, ..read }),
            (Self::DatabaseFile(read), Endpoint::DatabaseFile(endpoint)) => {
                Self::DatabaseFile(DatabaseFileRead { endpoint, ..read })
            }
            (same, _) => same,
        }
    }

    /// Makes the source.
    ///
    /// # Errors
    /// It cannot be one, or its files are missing.
    pub fn open(&self) -> Result<Box<dyn Source>, CopyError> {
        let source: Box<dyn Source> = match self {
            Self::Server(read) => {
                Box::new(ServerSource::new(read.endpoint.clone(), read.query.clone(), read.options.clone())?)
            }
            Self::Files(read) => Box::new(
                FileSource::new(&read.endpoint, &read.formats)?
                    .keeping_text(read.keeps_text)
                    .with_types(read.types.clone())
                    .interrupted_by(read.interruption.clone()),
            ),
            Self::Sheet(read) => Box::new(SheetSource::new(&read.endpoint, read.settings.clone())),
            Self::Database(read) => database::source(&read.endpoint, read.query.as_deref())?,
            Self::DatabaseFile(read) => Box::new(DatabaseFileSource::new(read.clone())?),
        };
        Ok(source)
    }
}

impl DestinationSpec {
    /// Returns the endpoint.
    pub fn endpoint(&self) -> Endpoint {
        match self {
            Self::Server(target) => Endpoint::SqlServer(Box::new(target.endpoint.clone())),
            Self::Files(target) => Endpoint::Files(target.endpoint.clone()),
            Self::Database(target) => Endpoint::Database(target.endpoint.clone()),
            Self::Package(target) => Endpoint::DatabaseFile(target.endpoint.clone()),
        }
    }

    /// Returns the same writing to another place of the same kind; a place of another kind changes nothing.
    #[must_use]
    pub(crate) fn at(&self, place: Endpoint) -> Self {
        match (self.clone(), place) {
            (Self::Server(target), Endpoint::SqlServer(endpoint)) => {
                Self::Server(Box::new(ServerTarget { endpoint: *endpoint, ..*target }))
            }
            (Self::Files(target), Endpoint::Files(endpoint)) => {
                Self::Files(FileTarget { endpoint, ..target })
            }
            (Self::Database(target), Endpoint::Database(endpoint)) => {
                Self::Database(DatabaseTarget { endpoint, ..target })
            }
            (Self::Package(target), Endpoint::DatabaseFile(endpoint)) => {
                Self::Package(PackageTarget { endpoint, ..target })
            }
            (same, _) => same,
        }
    }

    /// Makes the destination of the rows of a source, and says whether another run can continue its copy. `table` is the name of
    /// one of several tables.
    ///
    /// # Errors
    /// It cannot be one, or what is asked for excludes each other.
    pub(crate) fn open(
        &self,
        source: &mut dyn Source,
        table: Option<&str>,
    ) -> Result<(Box<dyn Destination>, bool), CopyError> {
        let mut is_resumable = false;
        let destination: Box<dyn Destination> = match self {
            Self::Server(target) => {
                let resume = target.record.resume(source, table)?;
                is_resumable = resume.is_some();
                let write = ServerWrite { resume, ..target.write.clone() };
                Box::new(ServerDestination::new(target.endpoint.clone(), write)?)
            }
            Self::Files(target) => {
                Box::new(FileDestination::new(&target.endpoint.path, target.write.clone())?)
            }
            Self::Database(target) => {
                database::destination(&target.endpoint, &target.on_conflict, target.create)?
            }
            Self::Package(target) => Box::new(PackageDestination::new(target.clone())),
        };
        Ok((destination, is_resumable))
    }

    /// Returns the suffix of files that several tables go to; empty for other destinations.
    pub(crate) fn suffix(&self) -> &str {
        match self {
            Self::Files(target) => &target.suffix,
            Self::Server(_) | Self::Database(_) | Self::Package(_) => "",
        }
    }
}

impl Record {
    /// Returns how the copy of a source is continued, if it can be.
    fn resume(&self, source: &mut dyn Source, table: Option<&str>) -> Result<Option<Resume>, CopyError> {
        let recorded = match self {
            Self::No => return Ok(None),
            Self::Asked(resume) => return Ok(Some(resume.clone())),
            Self::IfRepeatable(recorded) => recorded,
        };
        let load_id = match table {
            Some(table) => (recorded.name_of)(&recorded.load_id, table),
            None => recorded.load_id.clone(),
        };
        match source.repeat()? {
            // A pipe is the same again only if the user says so.
            Repeat::IfNamed(_) if !recorded.is_required => Ok(None),
            Repeat::InOrder(_) | Repeat::IfNamed(_) => Ok(Some(Resume {
                load_id: Some(load_id),
                ledger_schema: recorded.ledger_schema.clone(),
                command: String::new(),
            })),
            Repeat::No(reason) if recorded.is_required => {
                Err(CopyError::Usage(format!("resume = true is not possible here: {reason}")))
            }
            Repeat::No(_) => Ok(None),
        }
    }
}

impl From<&RefusalOptions> for RefusalsSpec {
    fn from(options: &RefusalOptions) -> Self {
        Self {
            rejects: options.rejects.clone(),
            max_errors: options.max_errors,
            bisect: options.bisect,
            is_kept_between_runs: false,
        }
    }
}

/// Returns the suffix of the files that several tables go to.
pub(crate) fn suffix(format: Option<FormatName>, options: &FileOptions) -> String {
    let format = match format {
        Some(FormatName::Csv) => "csv",
        Some(FormatName::Tsv) => "tsv",
        Some(FormatName::Arrow) => "arrow",
        Some(FormatName::Arrows) => "arrows",
        Some(FormatName::Parquet) | None => "parquet",
        Some(FormatName::Char | FormatName::Widechar | FormatName::Native | FormatName::Widenative) => "bcp",
    };
    let compression = match file_format::compression(&Location::Stdout, options) {
        Compression::None => "",
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
    };
    format!("{format}{compression}")
}

/// Returns true if the file at a place is delimited text by its suffix.
pub(crate) fn is_text_by_suffix(path: &str) -> bool {
    matches!(Format::of(&Location::target(path)), Ok((Format::Csv(_), _)))
}
