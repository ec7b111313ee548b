//! Labels within statements.

use tsql::ast::{Statement, StatementKind};

use crate::statements::interpreter::show_plan;

/// Returns true if a statement is a label or has it within. The blocks of TRY and CATCH are entered from within alone.
pub(super) fn holds(statement: &Statement, label: &str) -> bool {
    match &statement.kind {
        StatementKind::Label(name) => name.eq_ignore_ascii_case(label),
        StatementKind::TryCatch { .. } => false,
        _ => show_plan::inner(statement).into_iter().any(|inner| holds(inner, label)),
    }
}
