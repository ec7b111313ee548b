//! T-SQL text to statements: lexer, syntax tree, parser. Nothing here knows tables or types of columns.

pub mod administration;
pub mod ast;
pub mod bulk_file;
pub mod cursor;
pub mod expression;
pub mod for_clause;
pub mod hints;
pub mod index;
pub mod keywords;
pub mod lexer;
pub mod module;
pub mod parser;
pub mod query;
pub mod user_type;

pub use parser::{parse_batch, parse_declarations, parse_expression, parse_object_name};
