//! Isolation levels and table hints: locks for reading, and the rules of SNAPSHOT.

use databases::catalogue::DatabaseEntry;
use databases::instance::isolation_level;
use databases::storage::{ReadLock, Reads};
use tsql::SqlError;
use tsql::ast::StatementKind;
use tsql::errors;
use tsql::hints::{TableHint, TableHints};

use crate::session::Session;
use crate::session::work::directory;
use crate::session::work::locks;
use crate::session::work::reads;
use crate::session::work::{OpenTable, Place};

/// Locks a table before it is read, as its hints and the isolation level demand, and returns the state that a scan of
/// it reads.
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
    let within = || reads::is_in_transaction(&session.work);
    match read_lock(hints, session.settings.isolation_level, within) {
        Some(lock) => reads::lock_for_reading(&session.work, table, lock, hints.has(TableHint::NoWait))?,
        None if past => reads::read_within_transaction(&session.work),
        None => {}
    }
    Ok(if past { Reads::Past } else { Reads::Statement })
}

/// Returns true if reading tables without hints takes locks.
pub(crate) fn locks_what_it_reads(session: &Session) -> bool {
    locks_ranges(session) && reads::is_in_transaction(&session.work)
}

/// Renews the read state when a statement begins or has ended.
pub(crate) fn renew_reads(session: &mut Session) {
    session.seat.note_transaction(session.settings.isolation_level, session.work.depth());
    session.seat.note_options(session.settings.shown());
    locks::set_deadlock_priority(&mut session.work, session.settings.deadlock_priority);
    if reads::lock_timeout(&session.work) != session.settings.lock_timeout() {
        // After NOWAIT.
        session.work.set_lock_timeout(session.settings.lock_timeout());
    }
    reads::renew_reads(&mut session.work, session.settings.isolation_level == isolation_level::SNAPSHOT);
}

/// Checks that a table may be touched under SNAPSHOT, if that is the level. Errors: 3951, 3952.
pub(crate) fn check_snapshot(session: &Session, table: &OpenTable) -> Result<(), SqlError> {
    if session.settings.isolation_level != isolation_level::SNAPSHOT || table.place != Place::Shared {
        return Ok(());
    }
    let name = &table.definition.database;
    let directory = directory::of(&session.work)?;
    let entry = directory.database(name);
    if !entry.is_some_and(DatabaseEntry::allows_snapshot) {
        return Err(errors::SNAPSHOT_NOT_ALLOWED.with([name]));
    }
    match session.work.depth() > 0 && !reads::is_snapshot(&session.work) {
        true => Err(errors::NOT_BEGUN_AS_SNAPSHOT.with([name])),
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
            | StatementKind::Partition(_)
    );
    match changes
        && reads::is_snapshot(&session.work)
        && session.settings.isolation_level == isolation_level::SNAPSHOT
    {
        true => Err(errors::DEFINITION_UNDER_SNAPSHOT.with([&session.database])),
        false => Ok(()),
    }
}

/// Checks READPAST, which is for levels that would wait for those locks. Errors: 650.
fn check_read_past(session: &Session, hints: TableHints) -> Result<(), SqlError> {
    let allowed = match session.settings.isolation_level {
        isolation_level::READ_COMMITTED | isolation_level::REPEATABLE_READ => {
            !hints.has(TableHint::Serializable)
        }
        isolation_level::SNAPSHOT => hints.has_any(&[TableHint::Update, TableHint::Serializable]),
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

/// Chooses the lock of a table that is read under hints and a level. `within` returns true if a transaction keeps
/// its locks.
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
    let keeps = matches!(level, isolation_level::REPEATABLE_READ | isolation_level::SERIALIZABLE)
        && !hints.has_any(&[ReadUncommitted, ReadCommitted, ReadCommittedLock])
        && within();
    if keeps {
        return Some(ReadLock::Shared);
    }
    hints.has_any(&[Table, ReadCommittedLock]).then_some(ReadLock::Awaited)
}

/// Returns true if the isolation level keeps rows that were read unchanged: REPEATABLE READ, SERIALIZABLE.
pub(crate) fn locks_ranges(session: &Session) -> bool {
    matches!(session.settings.isolation_level, 3 | 4)
}
