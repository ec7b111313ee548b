//! What is done to rows between source and destination. The engine is another crate's: programs without it stay small.

use arrow::datatypes::SchemaRef;

use crate::row_stream::{BoxError, RowStream};

/// What `--select`, `--where` or `--transform`, and `--lookup` ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transformation {
    /// A SELECT list over the columns of the source.
    pub select: Option<String>,
    /// A search condition over the columns of the source.
    pub condition: Option<String>,
    /// A whole SELECT that reads from `source` and the lookups. Neither `select` nor `condition` stands beside it.
    pub query: Option<String>,
}

/// A table that the query may join: all of its rows, under a name.
pub struct Lookup {
    /// The name by which the query knows it.
    pub name: String,
    /// Its rows, read once.
    pub rows: RowStream,
}

/// Makes transformations ready to run.
pub trait TransformEngine: Send + Sync {
    /// Binds a transformation to the columns of a source and reads its lookups.
    ///
    /// # Errors
    /// The text is wrong, with its line; a column or a lookup is not there; a lookup cannot be read.
    fn prepare(
        &self,
        transformation: &Transformation,
        source: SchemaRef,
        lookups: Vec<Lookup>,
    ) -> Result<Box<dyn PreparedTransformation>, BoxError>;
}

/// A transformation that is bound to its source's columns.
pub trait PreparedTransformation: Send {
    /// The schema of what comes out.
    fn schema(&self) -> SchemaRef;

    /// Transforms rows as they come. A row that fails, as in CAST, becomes an [`UnreadRow`](load::UnreadRow) of its batch.
    fn apply(self: Box<Self>, source: RowStream) -> RowStream;
}
