//! Host files of `bcp`: character and native data files, and the format files that describe them.
//!
//! | Module | What it is |
//! |---|---|
//! | `format_file` | a format file, non-XML or XML: read and written |
//! | `layout` | the layouts that follow from a table's columns (`-c`, `-w`, `-n`, `-N`, `-V`) |
//! | `reader`, `row_finder`, `row_converter` | host file to batches; rows that do not load are returned as data |
//! | `ahead` | the same by several threads |
//! | `splitter`, `cells` | positions of rows and fields |
//! | `column`, `text_column`, `value` | from bytes to values, by the rules of the original's client library |
//! | `regional` | currency, dates and times in a locale's form (`-R`) |
//! | `writer`, `lane` | batches to host file, a column at a time |
//!
//! A native file has no header and no separators, and a character file no quoting. Such a file cannot be read without its
//! description, and with a wrong one it often still loads. [`Deviation`] lists what the original then loads silently.
//! [`Tolerance`] decides whether each case is accepted and reported, or refused.

mod ahead;
mod cells;
mod column;
mod declare;
pub(crate) mod form_converter;
mod format_file;
mod format_text;
mod format_xml;
mod host_format;
mod host_type;
pub mod interactive;
mod lane;
mod layout;
mod lined;
mod options;
mod quoted;
mod reader;
mod regional;
mod row_converter;
mod row_finder;
mod splitter;
pub mod terminator;
mod text_column;
mod transliteration;
mod value;
mod window;
mod write_options;
mod writer;

pub use crate::deviation::{Deviation, Suffered, Tolerance};
pub use crate::format_file_error::{FormatFileError, FormatFileProblem, TerminatorError};
pub use crate::rejected_rows::{RejectReason, RejectedField, RejectedRow, Rejects};
pub use declare::{DeclarationError, declare};
pub use form_converter::FormConverter;
pub use format_file::{FieldCollation, FormatFile, FormatFileKind, FormatVersion, HostField, RowsetColumn};
pub use host_format::{HostFormat, HostFormatReader, columns_of};
pub use host_type::HostType;
pub use layout::{DataMode, LayoutOptions, NativeVersion};
pub use options::{ByteOrderMark, FileCodePage, HostReadOptions, TextFields};
pub use quoted::QuotedLayout;
pub use reader::{HostBatch, HostReader};
pub use regional::{DatePart, RegionalFormat};
pub use write_options::{FixedWidth, HostWriteOptions, LongValues, UnmappableText};
pub use writer::{FileOutput, HostWriter};

pub use crate::row_positions::RowPositions;
