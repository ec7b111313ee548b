//! Rows from any source to any destination, and what becomes of them on the way.
//!
//! | Module | What it is |
//! |---|---|
//! | [`RowStream`] | record batches on their way, with the origins of their rows |
//! | [`Transformation`], [`TransformEngine`] | what is done to rows on the way, and the door to what does it |

mod row_stream;
mod transformation;

pub use row_stream::{BoxError, RowStream};
pub use transformation::{Lookup, PreparedTransformation, TransformEngine, Transformation};
