//! The requests of clients.

use tds::rpc::RpcRequest;
use tds::transaction_request::TransactionRequest;
use tsql::SqlError;

/// A request of a client.
#[derive(Debug, Clone)]
pub enum Request {
    /// A batch of T-SQL (type 01).
    Batch(String),
    /// Procedure calls (type 03), in order.
    Rpc(Vec<RpcRequest>),
    /// A transaction-manager request (type 0E).
    Transaction(TransactionRequest),
    /// Something that can only be answered with an error.
    Refused(SqlError),
}
