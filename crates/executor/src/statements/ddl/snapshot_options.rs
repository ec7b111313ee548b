//! The options of ALTER DATABASE about row versions.

use databases::catalogue::{DatabaseEntry, same_name};
use tsql::SqlError;
use tsql::errors;

use crate::session::Session;
use crate::statements::ddl::database;

/// Runs SET ALLOW_SNAPSHOT_ISOLATION. Errors: 226, 5058.
pub(crate) fn allow_snapshot(session: &mut Session, database: &str, allowed: bool) -> Result<(), SqlError> {
    set_database_option(session, database, "ALLOW_SNAPSHOT_ISOLATION", |entry| {
        entry.snapshot_isolation = Some(allowed);
    })
}

/// Runs SET READ_COMMITTED_SNAPSHOT, which is kept and shown. Errors: 226, 5058.
pub(crate) fn set_read_committed_snapshot(
    session: &mut Session,
    database: &str,
    on: bool,
) -> Result<(), SqlError> {
    set_database_option(session, database, "READ_COMMITTED_SNAPSHOT", |entry| {
        entry.read_committed_snapshot = Some(on);
    })
}

pub(crate) fn set_database_option(
    session: &mut Session,
    database: &str,
    option: &str,
    set: impl FnOnce(&mut DatabaseEntry),
) -> Result<(), SqlError> {
    if session.work.depth() > 0 {
        let text = "ALTER DATABASE statement not allowed within multi-statement transaction.";
        return Err(SqlError::new(226, 16, 6, text));
    }
    if same_name(database, "tempdb") {
        let text = format!("Option '{option}' cannot be set in database '{database}'.");
        return Err(SqlError::new(5058, 16, 1, text));
    }
    database::change_directory(session, |_, directory| {
        directory.database_mut(database).map(set).ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))
    })
}
