//! Expressions and queries: from syntax to plans of the execution engine, and their results.

mod arithmetic;
pub mod bind;
mod collation;
pub mod convert;
pub mod datum;
pub mod facts;
mod functions;
mod like;
mod pause;
mod provider;
mod run;
mod scalar;
mod simple;
mod typed;
mod types;

pub use bind::{Binder, BoundQuery, BoundTable, Environment, JoinedRows, OutputColumn, Scope, ScopeColumn};
pub use collation::{is_case_sensitive, text_key};
pub use datum::Datum;
pub use facts::{Facts, SessionContext};
pub use like::Pattern;
pub use provider::{MemoryTable, StoredTable};
pub use run::{Engine, ResultStream, exact_schema};
pub use typed::Typed;
