//! The clause that is being bound: errors of aggregates and of columns that are not grouped by name it.

use tsql::SqlError;
use tsql::errors;

use super::Binder;

/// A part of a SELECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Clause {
    /// The select list, and what has no error of its own.
    #[default]
    List,
    Where,
    On,
    GroupBy,
    Having,
    OrderBy,
    /// The argument of an aggregate.
    Aggregate,
}

impl Binder<'_> {
    /// Binds a part of a SELECT.
    pub(super) fn of_clause<T>(&self, clause: Clause, bind: impl FnOnce() -> T) -> T {
        let before = self.clause.replace(clause);
        let result = bind();
        self.clause.set(before);
        result
    }
}

/// Makes the error for an aggregate where there are no groups.
pub(super) fn misplaced_aggregate(clause: Clause) -> SqlError {
    let (number, class, text) = match clause {
        Clause::GroupBy => (
            144,
            15,
            "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause.",
        ),
        Clause::Aggregate => (
            130,
            16,
            "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.",
        ),
        Clause::On => (
            1015,
            15,
            "An aggregate cannot appear in an ON clause unless it is in a subquery contained in a HAVING clause or select list, and the column being aggregated is an outer reference.",
        ),
        Clause::List | Clause::Where | Clause::Having | Clause::OrderBy => (
            147,
            15,
            "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a HAVING clause or a select list, and the column being aggregated is an outer reference.",
        ),
    };
    SqlError::new(number, class, 1, text)
}

/// Makes the error for a column that is neither grouped nor aggregated.
pub(super) fn not_grouped(clause: Clause, column: &str) -> SqlError {
    let (number, place) = match clause {
        Clause::Having => (8121, "HAVING clause"),
        Clause::OrderBy => (8127, "ORDER BY clause"),
        _ => return errors::NOT_GROUPED.with([column]),
    };
    let quote = if number == 8127 { '"' } else { '\'' };
    let text = format!(
        "Column {quote}{column}{quote} is invalid in the {place} because it is not contained in either an aggregate function or the GROUP BY clause."
    );
    SqlError::new(number, 16, 1, text)
}
