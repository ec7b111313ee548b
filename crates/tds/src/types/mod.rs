//! Types of columns, and their form on the wire.

pub mod code_page;
pub(crate) mod code_page_table;
pub mod collation;
pub(crate) mod collation_name;
pub mod column;
pub mod currency;
pub mod sql_type;
pub(crate) mod sql_type_text;
pub mod type_info;
pub mod type_token;
pub mod vector;
