//! File to record batch and back: CSV, Parquet, Arrow IPC and the host files of `bcp`, plain, gzip or zstd.
//!
//! Reading and writing go through two traits, [`BatchReader`] and [`BatchWriter`]; each format is one module behind
//! them. Nothing here knows SQL Server's protocol; SQL text forms come from `rows`.
//!
//! ```no_run
//! use formats::{Compression, CsvOptions, Format, Location};
//! # fn main() -> Result<(), formats::FormatError> {
//! let orders = Location::source("orders.csv.gz");
//! for batch in formats::open(&orders, &Format::Csv(CsvOptions::default()), Compression::Gzip, 65_536)? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | Module | Contents |
//! |---|---|
//! | `csv`, `parquet`, `ipc`, `bcp` | the formats, each a reader and a writer |
//! | `infer`, `sniff`, `measure` | types of a CSV, guesses about an unknown text file, sizes of strings |
//! | `convert` | one format into another |
//! | `checksum`, `fingerprint` | equality of rows whatever their order; identity of a file |
//! | `crew` | threads that split or decode pieces of one file, in order |
//! | `folder`, `split_files`, `partitioned_files` | folders of files that appear when they are complete |
//! | `objects` | traits of object stores, and ranges asked for ahead of a reader |

mod at_offset;
mod batch;
pub mod bcp;
pub mod checksum;
pub mod column_reading;
mod compression;
pub mod convert;
mod counted_chunks;
mod cpu_time;
mod crew;
pub mod csv;
mod damage;
mod deviation;
mod encoding;
mod error;
mod fingerprint;
mod folder;
mod format;
mod format_file_error;
pub mod infer;
pub mod ipc;
mod location;
pub mod measure;
pub mod objects;
mod opening;
mod order;
pub mod parquet;
mod partitioned_files;
mod rejected_rows;
mod row_lines;
mod row_positions;
mod same_file;
mod scanner;
pub mod sniff;
mod split_files;
mod text_lengths;
mod unfinished;
mod witness;

pub use batch::{BatchReader, BatchWriter, Written};
pub use checksum::{Checksum, ContentChecksum};
pub use column_reading::ColumnReading;
pub use compression::Compression;
pub use convert::{ConvertOptions, Converted, FileSpec, RejectRow, convert};
pub use crew::reading_threads;
pub use csv::{CsvOptions, RowTerminator};
pub use encoding::Encoding;
pub use error::{FormatError, Place, Reason};
pub use fingerprint::{checksum_of, fingerprint};
pub use folder::Folder;
pub use format::Format;
pub use infer::{
    Doubt, Evidence, Example, Finding, InferProgress, InferredColumn, InferredSchema, NullWords, infer,
    infer_files,
};
pub use ipc::{IpcCompression, IpcContainer, IpcOptions};
pub use location::{Location, Spooled, Target};
pub use measure::{measure, measure_all, measure_batches, measure_readable, measure_until};
pub use opening::{create, open};
pub use order::{SortColumn, Sorted};
pub use parquet::{ParquetCompression, ParquetOptions};
pub use partitioned_files::PartitionedFiles;
pub use row_lines::RowLines;
pub use row_positions::RowPositions;
pub use same_file::{is_same_file, true_name};
pub use sniff::{Sniffed, sniff};
pub use split_files::{SplitFiles, part_name};
pub use unfinished::remove_unfinished;
