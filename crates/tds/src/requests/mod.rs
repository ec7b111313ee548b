//! Requests of a client.

pub mod all_headers;
pub mod first_words;
pub mod rpc;
pub mod sql_batch;
pub mod table_parameter;
pub mod transaction_request;
