//! The events that answer a request: the boundary between the T-SQL side and the wire side of the server. A request is answered
//! by a stream of [`Response`] events in the order of their tokens. The wire side turns each event into a token, and sets the
//! MORE bit in every DONE but the last.
//!
//! | Event | Token |
//! |---|---|
//! | [`Response::Columns`] | COLMETADATA |
//! | [`Response::Order`] | ORDER |
//! | [`Response::Batch`] | a ROW (or NBCROW) per row, by `rows::Plan` from the schema that `Columns` gave |
//! | [`Response::PageRows`] | a ROW per row |
//! | [`Response::Done`] | DONE, DONEINPROC or DONEPROC |
//! | [`Response::ReturnStatus`], [`Response::ReturnValue`] | RETURNSTATUS, RETURNVALUE |
//! | [`Response::Info`], [`Response::Error`] | INFO, ERROR |
//! | [`Response::Change`] | ENVCHANGE |
//! | [`Response::Flush`] | none: the packet is sent as it is |
//! | [`Response::BulkExpected`] | none: the session now waits for a bulk-load message (type 07) |

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use databases::storage::PageRows;
use tds::{Column, ServerMessage, SqlType};

use crate::session::bulk_target::BulkTarget;

/// An event of an answer.
#[derive(Debug, Clone)]
pub enum Response {
    /// A result set begins.
    Columns(ResultColumns),
    /// The numbers of the columns by which the result is sorted, from 1.
    Order(Vec<u16>),
    /// Rows of the current result set, which a `Columns` has begun.
    Batch(RecordBatch),
    /// Rows of the current result set, borrowed from pages; only if the receiver [takes
    /// them](super::Session::take_page_rows).
    PageRows(PageRows),
    /// A statement, or a scope, is over.
    Done(StatementDone),
    /// The status that a procedure returned.
    ReturnStatus(i32),
    /// An output parameter.
    ReturnValue(OutputValue),
    /// PRINT, RAISERROR up to severity 10, notices such as 5701.
    Info(ServerMessage),
    /// A statement failed; its `Done` follows with `error` set.
    Error(ServerMessage),
    /// Session state that clients follow.
    Change(SessionChange),
    /// The client is to get at once what was sent so far: RAISERROR WITH NOWAIT.
    Flush,
    /// INSERT BULK was accepted: its `Done` follows, and the next message must be the bulk load. Begin it
    /// with [`begin_bulk`](crate::statements::begin_bulk).
    BulkExpected(Box<BulkTarget>),
}

/// The columns of a result set, as the wire describes them and as Arrow carries them (the same number, the
/// same order).
#[derive(Debug, Clone)]
pub struct ResultColumns {
    /// For COLMETADATA: names, types, flags.
    pub columns: Vec<Column>,
    /// The schema of the batches that follow: `rows::mapping`'s Exact form, with `sql_type` and `collation`
    /// metadata. Names may repeat or be empty.
    pub schema: SchemaRef,
}

/// The end of a statement or scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementDone {
    /// The DONE token to send.
    pub kind: DoneKind,
    /// CurCmd of the token (MS-TDS 2.2.7.6): C1 SELECT, C3 INSERT, C4 DELETE, C5 UPDATE, F0 BULK INSERT and so on.
    pub command: u16,
    /// Rows, where the token carries a valid count.
    pub count: Option<u64>,
    /// True if the statement failed.
    pub error: bool,
    /// True if the connection must be closed after this answer (severity 20 and above).
    pub fatal: bool,
}

/// The kind of a DONE token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneKind {
    /// DONE: a statement of a batch.
    Statement,
    /// DONEINPROC: a statement within a procedure, RPC, `EXEC ('…')` or sp_executesql.
    InProcedure,
    /// DONEPROC: the end of such a scope.
    Procedure,
}

/// An output parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputValue {
    /// Position among the parameters of the call, 0-based.
    pub ordinal: u16,
    /// Name with its `@`, as the client sent it; empty if it sent none.
    pub name: String,
    /// The type of the value.
    pub sql_type: SqlType,
    /// The value.
    pub value: tds::Value,
}

/// A change of the session that ENVCHANGE reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// Type 1: the current database.
    Database {
        /// Now.
        new: String,
        /// Before.
        old: String,
    },
    /// Type 2: the language.
    Language {
        /// Now.
        new: String,
        /// Before.
        old: String,
    },
    /// Type 8: a transaction began; its descriptor, never 0.
    TransactionBegun(u64),
    /// Type 9: the transaction with this descriptor was committed.
    TransactionCommitted(u64),
    /// Type 10: the transaction with this descriptor was rolled back.
    TransactionRolledBack(u64),
}

/// CurCmd values.
pub mod command {
    /// SELECT.
    pub const SELECT: u16 = 0x00C1;
    /// SELECT INTO.
    pub const SELECT_INTO: u16 = 0x00C2;
    /// INSERT.
    pub const INSERT: u16 = 0x00C3;
    /// DELETE.
    pub const DELETE: u16 = 0x00C4;
    /// UPDATE.
    pub const UPDATE: u16 = 0x00C5;
    /// MERGE.
    pub const MERGE: u16 = 0x0117;
    /// CREATE TABLE.
    pub const CREATE_TABLE: u16 = 0x00C6;
    /// DROP TABLE.
    pub const DROP_TABLE: u16 = 0x00C7;
    /// IF and conditions.
    pub const CONDITION: u16 = 0x00C0;
    /// SET option ON.
    pub const SET_ON: u16 = 0x00B9;
    /// SET option OFF.
    pub const SET_OFF: u16 = 0x00BA;
    /// BEGIN TRANSACTION.
    pub const BEGIN_TRANSACTION: u16 = 0x00D4;
    /// COMMIT and SAVE.
    pub const END_TRANSACTION: u16 = 0x00D5;
    /// ROLLBACK.
    pub const ABORT: u16 = 0x00D2;
    /// EXECUTE.
    pub const EXECUTE: u16 = 0x00E0;
    /// A bulk load's end.
    pub const BULK_INSERT: u16 = 0x00F0;
    /// USE.
    pub const USE: u16 = 0x00E2;
    /// Anything without a value of its own.
    pub const OTHER: u16 = 0x00FD;
}
