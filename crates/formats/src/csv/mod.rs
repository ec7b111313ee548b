//! Delimited text.
//!
//! The splitter is our own, because a load needs three things that arrow-csv lacks. Exports must come back
//! unchanged, so an unquoted empty field (NULL) differs from a quoted one (`''`). SQL Server files use delimiters
//! of several bytes, such as `||` or `|\n`. An error must name its position.

mod ahead;
mod columns;
mod glyphs;
mod options;
mod pieces;
mod reader;
mod rejecting;
mod row_ends;
mod splitter;
mod text_input;
mod text_output;
mod writer;

pub use crate::encoding::{Encoding, UnknownEncoding};
pub use crate::row_lines::RowLines;
pub use glyphs::{Glyph, glyphs, text_of};
pub use options::{CsvOptions, RowTerminator};
pub use reader::CsvReader;
pub use writer::CsvWriter;
