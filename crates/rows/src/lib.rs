//! Record batches to TDS rows and back.
//!
//! | Module | What it is |
//! |---|---|
//! | [`mapping`] | the type mapping, both directions; printed to `docs/type-mapping.md` |
//! | [`plan`](Plan) | which source column fills which target column, and by which checks and casts |
//! | [`encode`](BoundBatch) | the columnar scatter: checked columns to ROW tokens |
//! | [`insert_bulk`] | the text of `INSERT BULK` |
//! | [`decode`] | the columnar gather: ROW tokens to columns |
//! | [`Splice`], [`Splicer`] | rows of an answer to rows of a load, without decoding them |
//! | [`foreign`](CheckedReader) | checks of batches that another library made |
//! | [`RowOrder`] | whether rows come in an order |
//! | [`nearest_name`](nearest_name()) | the known name that an unknown one resembles |
//! | [`text`], [`column_text`] | SQL Server's spellings of values, read and written |
//!
//! [`Plan::bind`] checks every value before a byte is written, and its error names row, column and value. A [`BoundBatch`] only
//! copies.

#[cfg(target_endian = "big")]
compile_error!("TDS and Arrow buffers are little-endian; big-endian machines are not supported");

mod cast;
mod cell_error;
pub mod column_text;
pub mod decode;
mod encode;
mod foreign;
pub mod insert_bulk;
pub mod mapping;
mod mapping_page;
mod nearest_name;
mod plan;
mod row_order;
mod splice;
pub mod text;

pub use cast::{CastOptions, Refusal};
pub use cell_error::{CellError, CellErrorReason, LengthUnit};
pub use decode::{Decoder, DecoderError, RowDecodeError, RowDecodeErrorReason};
pub use encode::BoundBatch;
pub use foreign::{CheckedReader, UnsoundArrow, check_foreign};
pub use insert_bulk::{BulkHints, insert_bulk_statement};
pub use mapping::Form;
pub use mapping_page::markdown;
pub use nearest_name::{edit_distance, is_near, nearest_name};
pub use plan::{Mapping, Plan, PlanError, PlanNote};
pub use row_order::RowOrder;
pub use splice::{Splice, Splicer, Unspliced, is_spliced};
