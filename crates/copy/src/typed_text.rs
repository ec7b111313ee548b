//! Columns of text that get the types of their values.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use formats::bcp::FormConverter;
use load::{Origin, Origins, SourceBatch, UnreadRow};
use rows::text::spelling::TextSpelling;
use rows::{CellError, Form};

use crate::{
    error::CopyError,
    row_stream::{BoxError, RowStream},
};

/// Converts a stream of text, spelled so, to the columns of `typed`, by position. A row whose values do not fit becomes one that could not be
/// read.
///
/// # Errors
/// A type that text is not converted to.
pub fn typed(rows: RowStream, typed: &SchemaRef, spelling: TextSpelling) -> Result<RowStream, CopyError> {
    let columns = formats::bcp::columns_of(typed)?;
    let mut converter = FormConverter::spelled(&rows.schema, &columns, &Form::default(), spelling)?;
    let schema = Arc::clone(converter.schema());
    let mut counted = 0;
    let batches = rows.batches.map(move |batch| {
        let mut batch = batch?;
        let first = counted;
        counted += batch.rows() as u64;
        let mut misfits = Vec::new();
        let converted = converter.convert_fitting(batch.batch(), &mut |index, error: &CellError| {
            misfits.push((index, error.clone()));
            Ok(())
        })?;
        if misfits.is_empty() {
            return Ok::<_, BoxError>(batch.with_rows(converted));
        }
        // Rows without numbers of their own are counted.
        let mut unread = batch.take_unread();
        let cpu = batch.helpers_cpu();
        let numbered = batch.numbered(first);
        unread.extend(misfits.iter().map(|(index, error)| {
            let origin = numbered.origin(*index);
            UnreadRow { error: Arc::new(CellError { row: origin.row, ..error.clone() }), origin }
        }));
        unread.sort_by_key(|row| row.origin.row);
        let mut bad = misfits.iter().map(|(index, _)| *index).peekable();
        let kept = (0..numbered.rows()).filter(|index| bad.next_if_eq(index).is_none()).collect();
        let origins = Arc::new(Kept { numbered, kept });
        Ok(SourceBatch::new(converted, origins).with_unread(unread).with_helpers_cpu(cpu))
    });
    Ok(RowStream { schema, batches: Box::new(batches) })
}

/// The rows of a batch that are left.
struct Kept {
    numbered: SourceBatch,
    kept: Vec<usize>,
}

impl Origins for Kept {
    fn origin(&self, index: usize) -> Origin {
        self.numbered.origin(self.kept.get(index).copied().unwrap_or(index))
    }
}
