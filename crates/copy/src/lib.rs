//! Rows from any source to any destination, and what becomes of them on the way.
//!
//! | Module | What it is |
//! |---|---|
//! | [`Endpoint`] | a source or a destination, as a user spells it |
//! | [`Source`], [`Destination`] | what every kind of endpoint can do |
//! | [`RowStream`] | record batches on their way, with the origins of their rows |
//! | [`Transformation`], [`TransformEngine`] | what is done to rows on the way, and the door to what does it |

pub mod database;
mod destination;
mod endpoint;
mod error;
mod listed_table;
mod row_stream;
mod source;
mod transformation;
mod watch;

pub use destination::{Create, Destination, Landed, Prepared};
pub use endpoint::{DatabaseEndpoint, Endpoint, FileEndpoint, SqlServerEndpoint};
pub use error::CopyError;
pub use listed_table::{ListedTable, TablePatterns};
pub use row_stream::{BoxError, RowStream};
pub use source::{Description, NewColumns, ReadForm, Repeat, Source};
pub use transformation::{
    Lookup, PreparedTransformation, TRANSFORM_MEMORY, TransformEngine, Transformation, UntransformedRow,
};
pub use watch::{Control, CopyWatch};
