//! Rows from any source to any destination, and what becomes of them on the way.
//!
//! | Module | What it is |
//! |---|---|
//! | [`Options`] | what may be said of a copy: for the command line, TOML, Python and the JSON Schema at once |
//! | [`Spec`], [`run`] | a copy as a value, and what runs it |
//! | [`Endpoint`] | a source or a destination, as a user spells it |
//! | [`Source`], [`Destination`] | what every kind of endpoint can do |
//! | [`FileSource`], [`SheetSource`], [`ServerSource`] | files, sheets of workbooks, SQL Server as sources |
//! | [`FileDestination`], [`ServerDestination`] | files and tables of SQL Server as destinations |
//! | [`database`] | other databases, through their drivers |
//! | [`DatabaseFileSource`], [`PackageDestination`] | backups, data files and packages of SQL Server; packages that are written |
//! | [`restore_database`] | a database of SQL Server, made of files |
//! | [`copy_table`], [`copy_tables`] | the copy itself: one table, and several |
//! | [`loaded_file`], [`rejects`] | files with the origins of their rows; where refused rows are written |
//! | [`RowStream`] | record batches on their way, with the origins of their rows |
//! | [`Transformation`], [`TransformEngine`] | what is done to rows on the way, and the door to what does it |

mod collations;
mod column_types;
mod copy_report;
pub mod database;
mod database_file;
mod destination;
mod directed_rows;
mod endpoint;
mod endpoint_tables;
mod error;
mod file_destination;
pub mod file_format;
mod file_formats;
mod file_set;
mod file_source;
mod first_rows;
pub mod hints;
mod host_file;
mod lake;
mod listed_table;
mod load_options;
mod load_way;
pub mod loaded_file;
mod looking;
mod new_table;
mod object_set;
pub mod options;
mod places;
mod read_options;
pub mod rejects;
mod restored;
mod row_stream;
mod rowversions;
mod run;
mod server;
mod server_destination;
mod server_source;
mod server_write;
mod source;
mod spec;
mod splicing;
mod table_copy;
mod tables_copy;
mod transformation;
mod transformed_source;
mod typed_text;
mod watch;
mod workbook;

pub use collations::Collations;
pub use column_types::ColumnTypes;
pub use copy_report::{CopyReport, FailedCopy};
pub use database_file::{
    DatabaseFileEndpoint, DatabaseFileRead, DatabaseFileSource, FailedModule, PackageDestination,
    PackageTarget,
};
pub use destination::{Create, Destination, Landed, Prepared};
pub use directed_rows::ActionCounts;
pub use endpoint::{DatabaseEndpoint, Endpoint, FileEndpoint, SqlServerEndpoint};
pub use error::{CopyError, shortened};
pub use file_destination::{FileDestination, FileWrite, is_directory};
pub use file_formats::FileFormats;
pub use file_set::files_of;
pub use file_source::FileSource;
pub use first_rows::FirstRows;
pub use host_file::{HostLayout, format_file};
pub use lake::refuse as refuse_lakes;
pub use listed_table::{ListedTable, TablePatterns};
pub use load_options::load_options;
pub use load_way::{load_way, way_words};
pub use looking::{CountedSource, first_rows, fit};
pub use options::{Language, Options};
pub use places::{Part, Place, Places};
pub use restored::{Restored, pack_database, restore_backups, restore_database};
pub use row_stream::{BoxError, RowStream};
pub use run::{Copied, open_source, run, transformed};
pub use server::{server_tables, table_name};
pub use server_destination::ServerDestination;
pub use server_source::{ServerRows, ServerSource};
pub use server_write::{Resume, ServerWrite};
pub use source::{Description, NewColumns, ReadForm, Repeat, Source, Undecoded};
pub use spec::{
    DatabaseRead, DatabaseTarget, DestinationSpec, Ends, FileRead, FileTarget, LookupEnd, ModulesSpec,
    Record, Recorded, RefusalsSpec, RowsSpec, ServerRead, ServerTarget, SheetRead, SourceSpec, Spec,
    TablesSpec, Voice,
};
pub use table_copy::{Announce, CopySettings, copy_table};
pub use tables_copy::{CopyOne, TableOutcome, TableTask, copy_tables};
pub use transformation::{
    Lookup, PreparedTransformation, TRANSFORM_MEMORY, TransformEngine, Transformation, UntransformedRow,
};
pub use transformed_source::TransformedSource;
pub use watch::{Control, CopyWatch};
pub use workbook::{SheetSettings, SheetSource};
