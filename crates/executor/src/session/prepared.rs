//! Prepared statements.

use tsql::ast::Declaration;

/// A prepared statement (sp_prepare, sp_prepexec).
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// The parameters of the statement.
    pub declarations: Vec<Declaration>,
    /// The text of the statement.
    pub text: String,
}
