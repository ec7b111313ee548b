//! Expressions and queries of T-SQL: from syntax to plans of the execution engine, and their results.
//!
//! Names, types, conversions and collations are T-SQL's; DataFusion plans and runs. Queries read through an [`Environment`] and
//! [`RowScan`]s: the crate knows neither sessions nor servers nor files.

mod again;
mod apply;
mod arithmetic;
mod attentive;
pub mod bind;
mod cancellation;
mod clr;
mod collation;
mod computed;
pub mod convert;
mod correlated;
mod cross_joins;
mod date_format;
pub mod datum;
mod extreme;
pub mod facts;
mod function_table;
pub mod functions;
mod grouping;
mod in_order;
mod json;
mod json_modify;
mod kernels;
pub mod key_order;
mod key_range;
mod like;
pub mod memory;
mod merge_joins;
mod one_input;
mod output_column;
mod parallel;
mod parameters;
mod path;
mod pause;
mod percentile;
mod plain;
mod plan_operator;
mod planner;
mod provider;
mod recursive;
mod row_list;
pub mod rows_as_text;
mod run;
pub mod running;
pub mod scalar;
mod seek;
mod show_plan;
mod simple;
mod size;
mod standalone;
pub mod streaming;
pub mod system_types;
pub mod typed;
pub mod types;
mod variant_key;

pub use arithmetic::is_finite;
pub use bind::refuse_order;
pub use bind::{
    Binder, BoundQuery, BoundTable, Environment, JoinedRows, OutputColumn, ScalarFunction, Scope,
    ScopeColumn, ViewQuery, without_empty_text,
};
/// A bound expression, as the execution engine computes it.
pub use datafusion::logical_expr::Expr as BoundExpr;

pub use cancellation::{Cancellation, StopOnDrop};
pub use collation::{is_case_sensitive, text_key};
pub use date_format::DateFormat;
pub use datum::Datum;
pub use facts::Facts;
pub use function_table::{FunctionRows, RowsKernel, TableFunction};
pub use functions::order_of;
pub use key_range::{Bound, KeyRange, KeySpan, KeyTree, KeyedColumn, KeyedTable};
pub use like::Pattern;
pub use output_column::exact_schema;
pub use parallel::{SerialReason, Streams};
pub use path::Path;
pub use plain::PlainQuery;
pub use provider::{FileTable, Located, LocatedScan, MemoryTable, RowScan, StoredTable};
pub use run::{Engine, ResultStream};
pub use seek::{seek_any, seek_values};
pub use standalone::Tables;
pub use typed::Typed;
