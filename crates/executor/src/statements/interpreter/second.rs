//! Messages that follow an error and say what it means for its statement.

use tsql::SqlError;
use tsql::ast::{AlterAction, StatementKind};
use tsql::sql_error::Reach;

/// Returns the message that follows an error that no TRY has caught. Errors of class 0 are notices.
pub(super) fn behind(error: &SqlError, statement: &StatementKind, reach: Reach) -> Option<SqlError> {
    use StatementKind as Kind;
    let message = match (error.number, statement) {
        (3728, _) | (3725, Kind::AlterTable { .. }) => {
            SqlError::new(3727, 16, 0, "Could not drop constraint. See previous errors.")
        }
        (5074, Kind::AlterTable { action, .. }) => {
            let verb = match action {
                AlterAction::AlterColumn(_) => "ALTER",
                AlterAction::DropColumns { .. } => "DROP",
                _ => return None,
            };
            // The last name that the error quotes.
            let column = error.message.rsplit('\'').nth(1)?;
            let text = format!(
                "ALTER TABLE {verb} COLUMN {column} failed because one or more objects access this column."
            );
            SqlError::new(4922, 16, 9, text)
        }
        // Of a constraint; an index and a partitioned table have only their own error.
        (1911, Kind::CreateTable(create)) if create.scheme.is_some() => return None,
        (1911, Kind::CreateTable(_) | Kind::AlterTable { .. } | Kind::CreateType(_)) => {
            let text = "Could not create constraint or index. See previous errors.";
            SqlError::new(1750, 16, 1, text)
        }
        (
            220 | 512 | 515 | 547 | 2601 | 2627 | 2628 | 8115 | 8134,
            Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Merge(_),
        ) if reach == Reach::Statement => SqlError::new(3621, 0, 0, "The statement has been terminated."),
        _ => return None,
    };
    Some(message.at_line(error.line).in_procedure(&error.procedure))
}
