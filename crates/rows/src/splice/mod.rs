//! Rows of an answer as rows of a load, without decoding them.
//!
//! An answer and a load have the same ROW tokens, but for a few places (MS-TDS 2.2.7.19, 2.2.6.1). [`Splice`] decides for each
//! column if its cells can pass, and the form they take. [`Splicer`] finds the rows in the bytes of an answer and puts them
//! together in the form of the load, byte by byte what [`Plan::bind`](crate::Plan::bind) and
//! [`encode`](crate::BoundBatch::encode) would make of the decoded rows.
//!
//! | Module | What it is |
//! |---|---|
//! | `passage` | the pairs of types whose cells can pass, and what is rewritten |
//! | `cell` | the checks of a cell: its length fits its type |
//! | `walk` | the way over a row whose cells all pass as they are |
//! | `rewrite` | the copy of a row cell by cell: NULL bitmaps, chunks, text pointers, columns that are left out |
//! | `splicer` | batches of rows |
//!
//! Lengths are checked, since a wrong one would shift all that follows. Values are not: the receiving server checks them.

mod cell;
mod passage;
mod rewrite;
mod splicer;
mod walk;

pub use passage::{Splice, Unspliced};
pub use splicer::{Splicer, is_spliced};
