//! The effect of an error beyond its statement. SQL Server's documentation names the kinds, and only some of the numbers; server.md
//! has what is taken for which.

use tsql::SqlError;
use tsql::ast::StatementKind;
use tsql::sql_error::Reach;

use crate::statements::dml::fire;

/// The surroundings of a failed statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// XACT_ABORT.
    pub aborts: bool,
    /// A batch or procedure around this one has called it.
    pub is_called: bool,
}

/// Returns the reach of a statement's error, and true if it is an error of compiling. The TRY blocks of the same
/// batch or procedure do not catch errors of compiling.
pub(super) fn reach_of(error: &SqlError, statement: &StatementKind, place: Place) -> (Reach, bool) {
    let own = error.reach.unwrap_or_else(|| reach_by_number(error, statement));
    let compiles = own == Reach::Scope;
    // XACT_ABORT does not touch errors of compiling, unless they come from within a call.
    let heeded = place.aborts && heeds_xact_abort(error, statement) && (place.is_called || !compiles);
    (if heeded { Reach::Transaction } else { own }, compiles)
}

/// Returns the reach of an error in a remote call that did not begin to run.
pub(crate) fn reach_of_call(error: &SqlError, aborts: bool) -> Reach {
    match error.reach {
        _ if aborts && error.class > 10 && !is_of_system_procedure(error) => Reach::Transaction,
        Some(reach) => reach,
        None if ends_transaction(error) => Reach::Transaction,
        None => Reach::Statement,
    }
}

fn reach_by_number(error: &SqlError, statement: &StatementKind) -> Reach {
    // Of a call only its arguments are compiled with it.
    let calls = matches!(statement, StatementKind::Execute(_) | StatementKind::ExecuteText(_));
    if ends_transaction(error) {
        Reach::Transaction
    } else if error.class >= 17 {
        Reach::Batch
    } else if (error.class == 15 || is_of_compiling(error)) && (!calls || is_of_variable(error)) {
        Reach::Scope
    } else if defines(statement) && !leaves_definitions(error) {
        Reach::Transaction
    } else {
        Reach::Statement
    }
}

/// Returns true if XACT_ABORT makes an error one of the transaction. RAISERROR's errors are exempt, in system
/// procedures too, and so is a DROP of a missing object.
fn heeds_xact_abort(error: &SqlError, statement: &StatementKind) -> bool {
    let raised = matches!(statement, StatementKind::RaisError { .. }) && error.reach.is_some();
    error.class > 10 && error.number != CANNOT_DROP && !raised && !is_of_system_procedure(error)
}

/// 3701.
const CANNOT_DROP: i32 = 3701;

fn is_of_system_procedure(error: &SqlError) -> bool {
    (15_000..16_000).contains(&error.number)
}

/// Returns true if an error ends the batch and takes the transaction with it. Outside of TRY the transaction is
/// rolled back, within it becomes uncommittable.
fn ends_transaction(error: &SqlError) -> bool {
    error.ends_transaction()
        || is_failed_conversion(error)
        // Procedures that nest too deeply, a database that is none, arguments that make no number, disks and logs that are full.
        || matches!(error.number, 217 | 289 | 628 | 911 | 1105 | 2714 | 3609 | 3623 | 8106 | 8107 | 9002)
        || error.number == fire::ERROR_IN_TRIGGER
}

/// Returns true if a text could not be converted to another type. An overflow (220, 8115) is no such error.
fn is_failed_conversion(error: &SqlError) -> bool {
    matches!(error.number, 235 | 241 | 242 | 245 | 293 | 295 | 8114 | 8169 | 9400..=9499)
}

/// Returns true if a statement of class 16 could not be compiled: unknown names, and meaningless expressions and
/// clauses.
fn is_of_compiling(error: &SqlError) -> bool {
    matches!(
        error.number,
        104 | 107
            | 108
            | 116
            | 145
            | 147
            | 164
            | 205..=209
            | 213
            | 240
            | 243
            | 252
            | 258
            | 263
            | 264
            | 271..=273
            | 305
            | 306
            | 313
            | 402
            | 403
            | 408
            | 421
            | 448
            | 468
            | 529
            | 1033
            | 2715
            | 4104
            | 4108
            | 4109
            | 4112
            | 4113
            | 4116
            | 4121
            | 4127
            | 4145
            | 4194
            | 4199
            | 5373
            | 6809
            | 6850
            | 6852
            | 6864
            | 8116
            | 8117
            | 8120
            | 8121
            | 8124
            | 8127
            | 8133
            | 8155
            | 8156
            | 8161
            | 8167
            | 8748
            | 10_709
            | 10_753..=10_760
    )
}

/// Returns true for the errors of undeclared variables.
fn is_of_variable(error: &SqlError) -> bool {
    matches!(error.number, 137 | 1087)
}

/// Returns true if a statement defines objects: most errors of such statements end the transaction.
fn defines(statement: &StatementKind) -> bool {
    matches!(
        statement,
        StatementKind::CreateTable(_)
            | StatementKind::DropTable { .. }
            | StatementKind::TruncateTable { .. }
            | StatementKind::AlterTable { .. }
            | StatementKind::CreateIndex(_)
            | StatementKind::AlterIndex(_)
            | StatementKind::DropIndex { .. }
            | StatementKind::CreateSequence { .. }
            | StatementKind::AlterSequence { .. }
            | StatementKind::CreateType(_)
            | StatementKind::DropType { .. }
            | StatementKind::Partition(_)
    )
}

/// Returns true for an error of a defining statement that spares the transaction. The object to drop is missing, a
/// wait timed out, the feature is not served, or the transaction is already lost.
fn leaves_definitions(error: &SqlError) -> bool {
    matches!(error.number, CANNOT_DROP | 1222 | 3930 | 40_515 | 40_804 | 40_808)
}
