//! Requests, batches and control of flow: statements one after the other.

pub(crate) mod dispatch;
pub(crate) mod execute;
pub(crate) mod function_body;
mod labels;
pub(crate) mod light;
mod light_text;
pub(crate) mod messages;
pub(crate) mod reach;
mod second;
pub(crate) mod set_option;
pub(crate) mod show_plan;
pub(crate) mod transaction;
pub(crate) mod uncommittable;
mod values;

use std::sync::Arc;

use databases::instance::Instance;
use tsql::SqlError;

use crate::session::interpreter::Interpreter;
use crate::session::{LoginSettings, Session};
use crate::statements::procedures::describe;

/// The interpreter that every session gets.
static INTERPRETER: Interpreter = Interpreter {
    run: |session, statements, frame, output| {
        Box::pin(dispatch::run_scope(session, statements, frame, output))
    },
    value: function_body::value,
    rows: function_body::rows,
    describe: describe::first_result_rows,
};

/// Opens a session for a login. Errors: 4060 if the database does not exist.
pub fn open_session(instance: Arc<Instance>, login: LoginSettings) -> Result<Session, SqlError> {
    Session::open(instance, login, &INTERPRETER)
}
