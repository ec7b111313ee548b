//! Types of files that are read to their ends, with reports of progress.

use std::ops::ControlFlow;

use rows::text::spelling::TextSpelling;

use super::{BATCH_ROWS, Inference, InferredSchema};
use crate::bcp::RejectedRow;
use crate::{Compression, Format, FormatError, Location};

/// Progress of an inference.
#[derive(Debug)]
pub struct InferProgress<'a> {
    /// Number of the file that is read, from 0.
    pub file: usize,
    /// Rows of all files so far.
    pub rows: u64,
    /// Bytes taken from all files so far, as stored.
    pub bytes: u64,
    /// Rows that could not be read since the last time.
    pub refused: &'a [RejectedRow],
}

/// Reads files of text columns to their ends, by the rules of [`infer`](crate::infer()). They are for one
/// table, which has the columns of the first. Blanks around values of files of fixed width, which are
/// trimmed, say nothing of types. Rows that cannot be read are handed over and skipped. If `heard` breaks
/// off, the result is that of the rows so far.
///
/// # Errors
/// A file cannot be opened, or its reader fails.
pub fn infer_files(
    files: &[(&Location, &Format, Compression)],
    heard: &mut dyn FnMut(InferProgress<'_>) -> ControlFlow<()>,
) -> Result<InferredSchema, FormatError> {
    let mut inference: Option<Inference> = None;
    let mut bytes_before = 0;
    for (file, (location, format, compression)) in files.iter().enumerate() {
        let mut reader = crate::open(location, format, *compression, BATCH_ROWS)?;
        let is_padded = matches!(format, Format::Host(host) if host.read.blank_is_null);
        let spelling = match format {
            Format::Csv(options) => options.spelling,
            _ => TextSpelling::default(),
        };
        let inference =
            inference.get_or_insert_with(|| Inference::of_columns(&reader.schema(), is_padded, &spelling));
        let rejects = reader.rejects();
        let mut bytes = 0;
        let read =
            inference.read(reader.as_mut(), rejects.as_ref(), None, &mut |reader, rows, refused| {
                bytes = reader.bytes_read();
                heard(InferProgress { file, rows, bytes: bytes_before + bytes, refused })
            })?;
        bytes_before += bytes;
        if read.is_break() {
            break;
        }
    }
    Ok(inference.map(Inference::finish).unwrap_or_else(InferredSchema::of_nothing))
}
