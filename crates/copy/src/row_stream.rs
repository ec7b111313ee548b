//! Rows on their way between two endpoints.

use std::error::Error;

use arrow::datatypes::SchemaRef;
use load::SourceBatch;

/// Any error of an endpoint.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Record batches in order, each of which has [`RowStream::schema`] and knows the origins of its rows.
///
/// Rows that could not be read or transformed travel as [`UnreadRow`](load::UnreadRow)s with their batch. After the first error the stream ends.
pub struct RowStream {
    /// The schema of every batch.
    pub schema: SchemaRef,
    /// The batches.
    pub batches: Box<dyn Iterator<Item = Result<SourceBatch, BoxError>> + Send>,
}
