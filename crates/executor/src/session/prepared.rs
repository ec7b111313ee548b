//! Prepared statements.

use tsql::ast::Declaration;

/// A prepared statement (sp_prepare, sp_prepexec).
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// Its parameters.
    pub declarations: Vec<Declaration>,
    /// Its text.
    pub text: String,
}
