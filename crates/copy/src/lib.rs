//! Rows from any source to any destination, and what becomes of them on the way.
//!
//! | Module | What it is |
//! |---|---|
//! | [`Endpoint`] | a source or a destination, as a user spells it |
//! | [`Source`], [`Destination`] | what every kind of endpoint can do |
//! | [`FileSource`], [`SheetSource`], [`ServerSource`] | files, sheets of workbooks, SQL Server as sources |
//! | [`FileDestination`], [`ServerDestination`] | files and tables of SQL Server as destinations |
//! | [`database`] | other databases, through their drivers |
//! | [`copy_table`], [`copy_tables`] | the copy itself: one table, and several |
//! | [`loaded_file`], [`rejects`] | files with the origins of their rows; where refused rows are written |
//! | [`RowStream`] | record batches on their way, with the origins of their rows |
//! | [`Transformation`], [`TransformEngine`] | what is done to rows on the way, and the door to what does it |

mod collations;
pub mod database;
mod destination;
mod directed_rows;
mod endpoint;
mod error;
mod file_destination;
mod file_formats;
mod file_set;
mod file_source;
mod first_rows;
mod lake;
mod listed_table;
pub mod loaded_file;
mod new_table;
mod object_set;
mod opening;
mod places;
pub mod rejects;
mod row_stream;
mod server;
mod server_destination;
mod server_source;
mod server_write;
mod source;
mod table_copy;
mod tables_copy;
mod transformation;
mod transformed_source;
mod typed_text;
mod watch;
mod workbook;

pub use collations::Collations;
pub use destination::{Create, Destination, Landed, Prepared};
pub use directed_rows::ActionCounts;
pub use endpoint::{DatabaseEndpoint, Endpoint, FileEndpoint, SqlServerEndpoint};
pub use error::{CopyError, shortened};
pub use file_destination::{FileDestination, FileWrite, is_directory};
pub use file_formats::FileFormats;
pub use file_set::files_of;
pub use file_source::FileSource;
pub use first_rows::FirstRows;
pub use lake::refuse as refuse_lakes;
pub use listed_table::{ListedTable, TablePatterns};
pub use opening::{DestinationSettings, SourceSettings};
pub use places::{Part, Place, Places};
pub use row_stream::{BoxError, RowStream};
pub use server::{server_tables, table_name};
pub use server_destination::ServerDestination;
pub use server_source::{ServerRows, ServerSource};
pub use server_write::{Resume, ServerWrite};
pub use source::{Description, NewColumns, ReadForm, Repeat, Source};
pub use table_copy::{Announce, CopyReport, CopySettings, FailedCopy, copy_table};
pub use tables_copy::{CopyOne, TableOutcome, TableTask, copy_tables};
pub use transformation::{
    Lookup, PreparedTransformation, TRANSFORM_MEMORY, TransformEngine, Transformation, UntransformedRow,
};
pub use transformed_source::TransformedSource;
pub use watch::{Control, CopyWatch};
pub use workbook::{SheetSettings, SheetSource};
