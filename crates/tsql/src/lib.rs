//! T-SQL text to statements: lexer, syntax tree, parser, and the errors of T-SQL with SQL Server's numbers.
//!
//! The crate knows neither tables nor rows, nor how a statement is run.

pub mod administration;
pub mod ast;
pub mod backup;
pub mod bulk_file;
pub mod cursor;
pub mod errors;
pub mod expression;
pub mod file_group;
pub mod for_clause;
pub mod hints;
pub mod index;
pub mod keywords;
pub mod lexer;
pub mod module;
mod names;
pub mod parser;
pub mod partition;
pub mod query;
pub mod sql_error;
pub mod system_messages;
pub mod table;
pub mod user_type;

pub use names::{ObjectName, same_name};
pub use parser::{
    UndeclaredVariable, parse_batch, parse_batch_and_variables, parse_batch_on, parse_declarations,
    parse_expression, parse_object_name, parse_object_name_on,
};
pub use sql_error::SqlError;

/// The default collation of databases.
pub const DEFAULT_COLLATION: &str = "SQL_Latin1_General_CP1_CI_AS";
