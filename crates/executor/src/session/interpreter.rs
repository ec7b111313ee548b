//! Access from statements to the interpreter above them: EXEC, triggers and functions contain statements.

use std::future::Future;
use std::pin::Pin;

use databases::catalogue::Module;
use query::Datum;
use tsql::SqlError;
use tsql::ast::Statement;

use crate::session::Session;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;

/// Statements that run.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Flow, SqlError>> + Send + 'a>>;

/// Rows of a function.
pub(crate) type FunctionValues = Vec<Vec<Datum>>;

/// Runs statements. A session is given its interpreter when it is opened.
pub(crate) struct Interpreter {
    /// Runs statements one after the other.
    pub run: for<'a> fn(&'a mut Session, &'a [Statement], &'a mut Frame, &'a mut Output) -> Running<'a>,
    /// The value of a function's body, for arguments and the depth of calls. It waits on this thread.
    pub value: fn(&mut Session, &Module, &[Datum], u32) -> Result<Datum, SqlError>,
    /// The rows of a function's body.
    pub rows: fn(&mut Session, &Module, &[Datum], u32) -> Result<FunctionValues, SqlError>,
    /// The columns of a text's first result, by the arguments of `sys.dm_exec_describe_first_result_set`.
    pub describe: fn(&mut Session, &[Datum]) -> FunctionValues,
}
