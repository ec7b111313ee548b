//! Delimited text.
//!
//! The splitter is our own. arrow-csv hands out fields without telling an unquoted empty field (NULL) from a quoted
//! empty one (`''`), splits on single bytes only, and gives no position; a load needs all three: exports must come
//! back unchanged, SQL Server files use delimiters such as `||` or `|\n`, and an error must say where.

mod columns;
mod encoding;
mod lines;
mod options;
mod reader;
mod rejecting;
mod row_ends;
pub(crate) mod scanner;
mod splitter;
mod text_input;
mod text_output;
mod writer;

pub use encoding::{Encoding, UnknownEncoding};
pub use lines::RowLines;
pub use options::{CsvOptions, RowTerminator};
pub use reader::CsvReader;
pub use writer::CsvWriter;
