//! Isolation levels and table hints: what is locked when a table is read, and what SNAPSHOT allows.

use tsql::SqlError;
use tsql::ast::StatementKind;
use tsql::hints::{TableHint, TableHints};

use crate::catalogue::{DatabaseEntry, same_name};
use crate::session::Session;
use crate::session::database;
use crate::session::tries;
use crate::session::work::{OpenTable, Place};
use crate::storage::{ReadLock, Reads};

/// Isolation levels as sys.dm_exec_sessions numbers them.
pub(crate) mod level {
    pub const READ_UNCOMMITTED: u8 = 1;
    pub const READ_COMMITTED: u8 = 2;
    pub const REPEATABLE_READ: u8 = 3;
    pub const SERIALIZABLE: u8 = 4;
    pub const SNAPSHOT: u8 = 5;
}

/// Before a table is read: locks what its hints and the isolation level ask for, and says what a scan of it reads.
///
/// Errors: 650, 1222, 1205, 3951, 3952.
pub(crate) fn start_reading(
    session: &Session,
    table: &OpenTable,
    hints: TableHints,
) -> Result<Reads, SqlError> {
    if table.place != Place::Shared || session.settings.format_only {
        return Ok(Reads::Statement);
    }
    check_snapshot(session, table)?;
    let past = hints.has(TableHint::ReadPast);
    if past {
        check_read_past(session, hints)?;
    }
    let within = || session.work.is_in_transaction();
    match read_lock(hints, session.settings.isolation_level, within) {
        Some(lock) => session.work.lock_for_reading(table, lock, hints.has(TableHint::NoWait))?,
        None if past => session.work.read_within_transaction(),
        None => {}
    }
    Ok(if past { Reads::Past } else { Reads::Statement })
}

/// Whether reading tables without hints takes locks.
pub(crate) fn locks_what_it_reads(session: &Session) -> bool {
    tries::locks_ranges(session) && session.work.is_in_transaction()
}

/// A statement begins or has ended.
pub(crate) fn renew_reads(session: &mut Session) {
    session.seat.note_transaction(session.settings.isolation_level, session.work.depth());
    if session.work.lock_timeout() != session.settings.lock_timeout() {
        // After NOWAIT.
        session.work.set_lock_timeout(session.settings.lock_timeout());
    }
    session.work.renew_reads(session.settings.isolation_level == level::SNAPSHOT);
}

/// Whether a table may be touched under SNAPSHOT, if that is the level. Errors: 3951, 3952.
pub(crate) fn check_snapshot(session: &Session, table: &OpenTable) -> Result<(), SqlError> {
    if session.settings.isolation_level != level::SNAPSHOT || table.place != Place::Shared {
        return Ok(());
    }
    let name = &table.definition.database;
    let directory = session.work.directory();
    let entry = directory.database(name);
    if !entry.is_some_and(DatabaseEntry::allows_snapshot) {
        return Err(SqlError::snapshot_not_allowed(name));
    }
    match session.work.depth() > 0 && !session.work.is_snapshot() {
        true => Err(SqlError::not_begun_as_snapshot(name)),
        false => Ok(()),
    }
}

/// Refuses what changes definitions within a transaction under SNAPSHOT. Errors: 3964.
pub(crate) fn check_definition_change(session: &Session, statement: &StatementKind) -> Result<(), SqlError> {
    let changes = matches!(
        statement,
        StatementKind::AlterTable { .. }
            | StatementKind::CreateIndex { .. }
            | StatementKind::AlterIndex { .. }
            | StatementKind::DropIndex { .. }
    );
    match changes && session.work.is_snapshot() && session.settings.isolation_level == level::SNAPSHOT {
        true => Err(SqlError::definition_under_snapshot(&session.database)),
        false => Ok(()),
    }
}

/// SET ALLOW_SNAPSHOT_ISOLATION. Errors: 226, 5058.
pub(crate) fn allow_snapshot(session: &mut Session, database: &str, allowed: bool) -> Result<(), SqlError> {
    set_database_option(session, database, "ALLOW_SNAPSHOT_ISOLATION", |entry| {
        entry.snapshot_isolation = Some(allowed);
    })
}

/// SET READ_COMMITTED_SNAPSHOT: kept and shown. Errors: 226, 5058.
pub(crate) fn set_read_committed_snapshot(
    session: &mut Session,
    database: &str,
    on: bool,
) -> Result<(), SqlError> {
    set_database_option(session, database, "READ_COMMITTED_SNAPSHOT", |entry| {
        entry.read_committed_snapshot = Some(on);
    })
}

fn set_database_option(
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
        directory.database_mut(database).map(set).ok_or_else(|| SqlError::unknown_database(database))
    })
}

/// READPAST is for levels that would wait for those locks. Errors: 650.
fn check_read_past(session: &Session, hints: TableHints) -> Result<(), SqlError> {
    let allowed = match session.settings.isolation_level {
        level::READ_COMMITTED | level::REPEATABLE_READ => !hints.has(TableHint::Serializable),
        level::SNAPSHOT => hints.has_any(&[TableHint::Update, TableHint::Serializable]),
        _ => false,
    };
    match allowed {
        true => Ok(()),
        false => Err(SqlError::new(
            650,
            16,
            1,
            "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.",
        )),
    }
}

/// How a table is locked that is read under hints and a level. `within`: whether a transaction keeps its locks.
fn read_lock(hints: TableHints, level: u8, within: impl FnOnce() -> bool) -> Option<ReadLock> {
    use TableHint::*;
    if hints.has_any(&[Exclusive, TableExclusive]) {
        return Some(ReadLock::Exclusive);
    }
    if hints.has(Update) {
        return Some(ReadLock::Update);
    }
    if hints.has_any(&[Serializable, RepeatableRead]) {
        return Some(ReadLock::Shared);
    }
    let keeps = matches!(level, level::REPEATABLE_READ | level::SERIALIZABLE)
        && !hints.has_any(&[ReadUncommitted, ReadCommitted, ReadCommittedLock])
        && within();
    if keeps {
        return Some(ReadLock::Shared);
    }
    hints.has_any(&[Table, ReadCommittedLock]).then_some(ReadLock::Awaited)
}
