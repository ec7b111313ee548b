//! Every flag of the command line, defined once; help and completions come from here.

mod convert;
mod copy;
mod events;
mod export;
mod loads;
mod package;
mod report;
mod wizard;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing::level_filters::LevelFilter;

use crate::trace;

pub use ::copy::options::{
    BulkOptions, Choice, ColumnOptions, CompressionName, ConnectionOptions, ConversionOptions, FileOptions,
    FormOptions, FormatName, ModeName, ModeOptions, ReaderOptions, RefusalOptions, TextOptions, WriterCount,
    WriterOptions,
};
pub use convert::ConvertArgs;
pub use copy::{CopyArgs, ReportForm};
pub use events::EventArgs;
pub use export::ExportArgs;
pub use loads::{LoadsAction, LoadsArgs, LoadsListArgs, LoadsNamedArgs};
pub use package::{ImportArgs, PackageAction, PackageArgs, RunArgs};
pub use report::ReportArgs;
pub use wizard::WizardArgs;

/// Moves tables in and out of SQL Server at the speed of the wire.
#[derive(Debug, Parser)]
#[command(name = "bulkwire", version, propagate_version = true, max_term_width = 100)]
pub struct Arguments {
    /// Trace connections, requests and errors on standard error, down to this level: off, error, warn, info, debug or trace
    #[arg(long, global = true, value_name = "LEVEL", env = trace::LEVEL_VARIABLE, default_value = "off", help_heading = "Log")]
    pub log_level: LevelFilter,
    /// The verb of the command.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load files into a table
    Load(Box<LoadArgs>),
    /// List, continue or forget loads that the database has recorded (load --resume)
    Loads(LoadsArgs),
    /// Export a table or a query's result to a file
    Export(Box<ExportArgs>),
    /// Copy rows from any source to any destination: files, sheets, SQL Server, other databases
    Copy(Box<CopyArgs>),
    /// Make a copy in the browser: choose source and destination, see rows, correct types, run, and keep the command
    Wizard(WizardArgs),
    /// Run a package: tasks in one TOML file, in order and side by side; a killed run goes on where it stopped
    Run(Box<RunArgs>),
    /// Check a package, print the JSON Schema of packages, or import one from SSIS
    Package(PackageArgs),
    /// Convert a file into another format, offline
    Convert(Box<ConvertArgs>),
    /// Guess the format of an unknown file, and write a bcp format file for it
    Sniff(SniffArgs),
    /// Run SQL and print the result
    Query(QueryArgs),
    /// Show a table's columns, keys and indexes, and what a load would do
    Describe(DescribeArgs),
    /// Copy like the bcp utility: bcp TABLE|QUERY in|out|queryout|format FILE, with its flags (`bulkwire bcp -?`)
    #[command(disable_help_flag = true)]
    Bcp(BcpArgs),
    /// Start the embedded server (see `bulkwire serve --help`)
    #[command(disable_help_flag = true)]
    Serve(ServeArgs),
    /// Measure loads, verified, and repeat published experiments: arrow, compression, select-into, showdown, throughput (see
    /// `bulkwire bench --help`)
    #[command(disable_help_flag = true)]
    Bench(BenchArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder, for man(1)
    Manual {
        /// The folder, such as ~/.local/share/man/man1
        folder: PathBuf,
    },
}

/// `bulkwire load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Target table, as T-SQL spells it: name, schema.name or database.schema.name
    pub table: String,
    /// Files or URLs (s3://, az://, gs://, https://) to load in turn; `-` is standard input
    #[arg(required = true)]
    pub files: Vec<String>,
    #[command(flatten)]
    pub connection: ConnectionOptions,
    #[command(flatten)]
    pub format: FileOptions,
    #[command(flatten)]
    pub writers: WriterOptions,
    /// Create the table from the source's columns and measured lengths
    #[arg(long, help_heading = "Target")]
    pub create: bool,
    /// Make the columns of a text file text, whatever their values could be
    #[arg(long, requires = "create", help_heading = "Target")]
    pub keep_text: bool,
    #[command(flatten)]
    pub modes: ModeOptions,
    #[command(flatten)]
    pub bulk: BulkOptions,
    #[command(flatten)]
    pub columns: ColumnOptions,
    #[command(flatten)]
    pub conversions: ConversionOptions,
    #[command(flatten)]
    pub text: TextOptions,
    #[command(flatten)]
    pub refusals: RefusalOptions,
    /// Longest row of a CSV file that is accepted, in bytes (default: 64 MiB); bounds the memory that is used
    #[arg(long, value_name = "BYTES", help_heading = "CSV", value_parser = parse_row_bytes)]
    pub max_row_bytes: Option<usize>,
    /// The files are paths that the server sees: have it read them itself (BULK INSERT)
    #[arg(
        long,
        help_heading = "Server side",
        conflicts_with_all = ["create", "map", "by_position", "allow_truncate", "allow_rounding", "drop_time_zone",
            "replacement", "nested_as_json", "date_order", "year_cutoff", "decimal", "thousands", "currency", "percent",
            "escape", "skip_initial_space", "skip_footer", "rejects", "bisect", "max_row_bytes", "columns", "null_text",
            "compression", "order", "sole_writer", "writers", "by_partition", "retry_for", "resume", "load_id", "time_limit", "forecast", "report"]
    )]
    pub server_side: bool,
    /// Where the server writes refused rows; the file must not exist
    #[arg(long, value_name = "PATH", requires = "server_side", help_heading = "Server side")]
    pub error_file: Option<String>,
    /// Print the plan and stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Print the report as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// No plan, no progress, no report
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub events: EventArgs,
}

/// `bulkwire query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// The SQL batch; `-` reads a script from standard input
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub sql: Option<String>,
    #[command(flatten)]
    pub connection: ConnectionOptions,
    /// A script of T-SQL; lines with GO, or GO and a number, end its batches. The first batch that fails ends the command
    #[arg(long, short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// A parameter of every batch, which then runs by sp_executesql: NAME=VALUE (nvarchar), NAME:TYPE=VALUE, or NAME:TYPE for
    /// NULL; repeat for each
    #[arg(long, value_name = "NAME[:TYPE][=VALUE]")]
    pub param: Vec<String>,
    /// How results are printed, on standard output; messages of the server go to standard error
    #[arg(long, short = 'o', visible_alias = "output", value_enum, default_value = "table")]
    pub format: OutputFormat,
    /// Print at most this many rows of each result
    #[arg(long, value_name = "ROWS")]
    pub max_rows: Option<usize>,
}

/// `bulkwire describe`.
#[derive(Debug, Args)]
pub struct DescribeArgs {
    /// The table; or a backup, data files or a package of SQL Server (shop.bak, shop.mdf, shop.bacpac), behind '#' a table of it
    pub table: String,
    /// The number of the backup (from 1), in files that have several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub backup_set: Option<u16>,
    /// Read every row of every table of the file, and compare all checksums
    #[arg(long)]
    pub verify: bool,
    /// Print the description as one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub connection: ConnectionOptions,
}

/// `bulkwire serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Flags of the server
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// `bulkwire bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Arguments of the benchmarks
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// `bulkwire sniff`.
#[derive(Debug, Args)]
pub struct SniffArgs {
    /// The file; `-` is standard input
    pub file: String,
    /// Compression (default: by the file's suffix, .gz or .zst)
    #[arg(long, value_enum, value_name = "KIND")]
    pub compression: Option<CompressionName>,
    /// Print only the columns with their likely types, as `convert --declare` takes them
    #[arg(long)]
    pub declare: bool,
    /// Read delimited text to its end, and print each column's type and the value that decided it; beside --declare the columns alone
    #[arg(long, conflicts_with = "write_format_file")]
    pub all_rows: bool,
    /// Write a format file of bcp for the file
    #[arg(long, value_name = "FILE")]
    pub write_format_file: Option<PathBuf>,
    /// Write the format file in XML
    #[arg(long, requires = "write_format_file")]
    pub xml: bool,
}

/// `bulkwire bcp`. Only for help and completions: its command line is read by rules of its own.
#[derive(Debug, Args)]
pub struct BcpArgs {
    /// The words of a bcp command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// The form of the results of `query`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns.
    Table,
    /// Comma-separated, with a header.
    Csv,
    /// An array of objects for each result.
    Json,
    /// An object on a line for each row.
    Jsonl,
    /// A table of Markdown.
    Markdown,
}

fn parse_row_bytes(text: &str) -> Result<usize, String> {
    let limit = formats::CsvOptions::ROW_BYTES_LIMIT;
    match text.parse() {
        Ok(bytes) if (1..=limit).contains(&bytes) => Ok(bytes),
        _ => Err(format!("expected a number from 1 to {limit}")),
    }
}
