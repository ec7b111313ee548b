//! Expressions and queries: from syntax to plans of the execution engine, and their results.

mod again;
mod apply;
mod arithmetic;
mod attentive;
pub mod bind;
mod clr;
mod collation;
pub mod convert;
mod correlated;
pub mod datum;
pub mod facts;
mod function_table;
pub(crate) mod functions;
mod in_order;
mod json;
mod json_modify;
mod like;
mod parallel;
mod parameters;
mod pause;
mod percentile;
mod plain;
mod planner;
mod provider;
mod recursive;
mod row_list;
mod rows_as_text;
mod run;
mod scalar;
mod seek;
mod simple;
mod size;
mod typed;
mod types;
mod variant_key;

pub(crate) use arithmetic::is_finite;
pub(crate) use bind::refuse_order;
pub use bind::{
    Binder, BoundQuery, BoundTable, Environment, JoinedRows, OutputColumn, ScalarFunction, Scope,
    ScopeColumn, ViewQuery, without_empty_text,
};
pub use collation::{is_case_sensitive, text_key};
pub use datum::Datum;
pub use facts::{Facts, SessionContext};
pub use function_table::{FunctionRows, RowsKernel, TableFunction};
pub(crate) use functions::order_of;
pub use like::Pattern;
pub(crate) use parallel::{SerialReason, Streams};
pub use plain::PlainRows;
pub use provider::{FileTable, Located, LocatedTable, MemoryTable, StoredTable};
pub use run::{Engine, ResultStream, exact_schema};
pub(crate) use seek::{seek_any, seek_values};
pub use typed::Typed;
