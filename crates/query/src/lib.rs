//! Expressions and queries of T-SQL: from syntax to plans of the execution engine, and their results.
//!
//! Names, types, conversions and collations are T-SQL's; DataFusion plans and runs. Queries read through an [`Environment`] and
//! [`RowScan`]s: the crate knows neither sessions nor servers nor files.
//!
//! | Folder | Contents |
//! |---|---|
//! | `bind` | syntax to logical plans, with T-SQL's names, types and conversions |
//! | `functions`, `kernels` | the table of built-in functions; column forms of those that transformations use most |
//! | `value`, `convert`, `clr` | values, their types and how they compare; conversions; hierarchyid and shapes |
//! | `table` | sources in FROM, ranges of keys, APPLY and recursive common tables |
//! | `operator` | operators and rules that DataFusion lacks |
//! | `unnest` | subqueries to joins, before a plan is optimised |
//! | `execution` | the path of a query, its plan, its memory and its end |
//! | `streaming` | queries over batches on their way, without a server |
//! | `rows_as_text` | FOR JSON and FOR XML |

pub mod bind;
mod clr;
pub mod convert;
mod execution;
pub mod facts;
pub mod functions;
mod kernels;
mod operator;
pub mod rows_as_text;
pub mod scalar;
pub mod streaming;
mod table;
pub mod typed;
mod unnest;
mod value;

// Modules are named without their folder.
pub(crate) use execution::{
    cancellation, limits, path, plain, plan_operator, planner, run, simple, size, spool, standalone,
};
pub use execution::{memory, running};
pub(crate) use operator::{
    attentive, cross_joins, distinct_spread, extreme, first_of_group, grouping, guarded_filters, in_order,
    join_order, lazy_logic, merge_joins, moving, one_input, parallel, pause, percentile, row_steps, shift,
    unordered, until_error, window_keys, window_twins,
};
pub use table::key_order;
pub(crate) use table::{
    again, apply, computed, correlated, function_table, key_range, large_scan, matched, output_column,
    parameters, planning, provider, recursive, row_list, row_scan, seek,
};
pub(crate) use value::{arithmetic, collation, date_format, json, json_modify, like, variant_key};
pub use value::{datum, language, system_types, types};

pub use arithmetic::is_finite;
pub use bind::refuse_order;
pub use bind::{
    Binder, BoundQuery, BoundTable, Environment, InlineFunction, JoinedRows, OutputColumn, RowAtHand,
    RowSequences, ScalarFunction, Scope, ScopeColumn, ViewQuery, without_empty_text,
};
/// A bound expression, as the execution engine computes it.
pub use datafusion::logical_expr::Expr as BoundExpr;

pub use cancellation::{Cancellation, StopOnDrop};
pub use collation::{binary_keys, is_case_sensitive, text_key};
pub use date_format::{DateFormat, DateReading};
pub use datum::Datum;
pub use facts::Facts;
pub use function_table::{FunctionRows, RowsKernel, TableFunction};
pub use functions::order_of;
pub use key_range::{Bound, KeyRange, KeySpan, KeyTree, KeyedColumn, KeyedTable};
pub use language::Language;
pub use like::Pattern;
pub use output_column::exact_schema;
pub use parallel::{SerialReason, Streams};
pub use path::Path;
pub use plain::PlainQuery;
pub use provider::{FileTable, Located, LocatedScan, MemoryTable, StoredTable};
pub use row_scan::{Holds, RowScan};
pub use run::{Engine, ResultStream};
pub use seek::{seek_any, seek_values};
pub use simple::{SimpleQuery, without_plan};
pub use standalone::Tables;
pub use typed::Typed;
