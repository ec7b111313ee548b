//! Arguments of a call, and its outputs.

use query::Datum;
use query::convert::display;
use tds::SqlType;
use tsql::SqlError;

use crate::session::frame::Flow;
use crate::session::work::VariableTable;

/// An evaluated argument of a call.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    /// Name with its `@`; empty if unnamed.
    pub name: String,
    /// Value.
    pub value: Datum,
    /// Type.
    pub sql_type: SqlType,
    /// OUTPUT.
    pub output: bool,
    /// The variable to write an output back to, for EXEC.
    pub variable: Option<String>,
    /// DEFAULT stands in its place.
    pub default: bool,
    /// The table of a table-valued parameter.
    pub table: Option<VariableTable>,
}

/// The outputs of a call.
pub struct Outcome {
    /// Return status.
    pub status: i32,
    /// Values of output parameters by their position among the arguments.
    pub outputs: Vec<(usize, Datum, SqlType)>,
    /// The batch must not go on.
    pub stop: bool,
    /// An error has ended what was called: it has no status and no outputs.
    pub left: bool,
    /// Error 266: it has begun or ended transactions of its caller's.
    pub unbalanced: Option<SqlError>,
}

impl Outcome {
    pub(crate) fn plain() -> Outcome {
        Outcome { status: 0, outputs: Vec::new(), stop: false, left: false, unbalanced: None }
    }

    /// Translates the end of a scope for its caller.
    pub(crate) fn of(flow: &Flow) -> Outcome {
        let status = if let Flow::Return(status) = flow { *status } else { 0 };
        Outcome { status, stop: *flow == Flow::Stop, left: *flow == Flow::Leave, ..Outcome::plain() }
    }
}

/// Returns the text of an argument by name or position; `None` if it is absent or NULL. tiberius leaves the @ out.
pub(crate) fn text_of(arguments: &[Argument], position: usize, name: &str) -> Option<String> {
    let bare = |name: &str| name.trim_start_matches('@').to_ascii_lowercase();
    let named = arguments.iter().find(|argument| bare(&argument.name) == bare(name));
    let argument = named.or_else(|| arguments.get(position).filter(|argument| argument.name.is_empty()))?;
    if argument.value.is_null() {
        return None;
    }
    Some(text_of_value(argument))
}

pub(crate) fn text_of_value(argument: &Argument) -> String {
    display(&argument.value, &argument.sql_type)
}
