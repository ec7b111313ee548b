//! Isolation levels and table hints: what is locked when a table is read, and what SNAPSHOT allows.

use tsql::SqlError;
use tsql::ast::StatementKind;
use tsql::hints::{TableHint, TableHints};

use super::Session;
use super::work::{OpenTable, Place};
use crate::catalogue::{DatabaseEntry, same_name};
use crate::storage::{ReadLock, Reads};

/// Isolation levels as sys.dm_exec_sessions numbers them.
pub(super) mod level {
    pub const READ_UNCOMMITTED: u8 = 1;
    pub const READ_COMMITTED: u8 = 2;
    pub const REPEATABLE_READ: u8 = 3;
    pub const SERIALIZABLE: u8 = 4;
    pub const SNAPSHOT: u8 = 5;
}

impl Session {
    /// Before a table is read: locks what its hints and the isolation level ask for, and says what a scan of it reads.
    ///
    /// Errors: 650, 1222, 1205, 3951, 3952.
    pub(super) fn start_reading(&self, table: &OpenTable, hints: TableHints) -> Result<Reads, SqlError> {
        if table.place != Place::Shared || self.settings.format_only {
            return Ok(Reads::Statement);
        }
        self.check_snapshot(table)?;
        let past = hints.has(TableHint::ReadPast);
        if past {
            self.check_read_past(hints)?;
        }
        let within = || self.work.is_in_transaction();
        match read_lock(hints, self.settings.isolation_level, within) {
            Some(lock) => self.work.lock_for_reading(table, lock, hints.has(TableHint::NoWait))?,
            None if past => self.work.read_within_transaction(),
            None => {}
        }
        Ok(if past { Reads::Past } else { Reads::Statement })
    }

    /// Whether reading tables without hints takes locks.
    pub(super) fn locks_what_it_reads(&self) -> bool {
        self.locks_ranges() && self.work.is_in_transaction()
    }

    /// A statement begins or has ended.
    pub(super) fn renew_reads(&mut self) {
        self.seat.note_transaction(self.settings.isolation_level, self.work.depth());
        if self.work.lock_timeout() != self.settings.lock_timeout() {
            // After NOWAIT.
            self.work.set_lock_timeout(self.settings.lock_timeout());
        }
        self.work.renew_reads(self.settings.isolation_level == level::SNAPSHOT);
    }

    /// Whether a table may be touched under SNAPSHOT, if that is the level. Errors: 3951, 3952.
    pub(super) fn check_snapshot(&self, table: &OpenTable) -> Result<(), SqlError> {
        if self.settings.isolation_level != level::SNAPSHOT || table.place != Place::Shared {
            return Ok(());
        }
        let name = &table.definition.database;
        let directory = self.work.directory();
        let entry = directory.database(name);
        if !entry.is_some_and(DatabaseEntry::allows_snapshot) {
            return Err(SqlError::snapshot_not_allowed(name));
        }
        match self.work.depth() > 0 && !self.work.is_snapshot() {
            true => Err(SqlError::not_begun_as_snapshot(name)),
            false => Ok(()),
        }
    }

    /// Refuses what changes definitions within a transaction under SNAPSHOT. Errors: 3964.
    pub(super) fn check_definition_change(&self, statement: &StatementKind) -> Result<(), SqlError> {
        let changes = matches!(
            statement,
            StatementKind::AlterTable { .. }
                | StatementKind::CreateIndex { .. }
                | StatementKind::AlterIndex { .. }
                | StatementKind::DropIndex { .. }
        );
        match changes && self.work.is_snapshot() && self.settings.isolation_level == level::SNAPSHOT {
            true => Err(SqlError::definition_under_snapshot(&self.database)),
            false => Ok(()),
        }
    }

    /// SET ALLOW_SNAPSHOT_ISOLATION. Errors: 226, 5058.
    pub(super) fn allow_snapshot(&mut self, database: &str, allowed: bool) -> Result<(), SqlError> {
        self.set_database_option(database, "ALLOW_SNAPSHOT_ISOLATION", |entry| {
            entry.snapshot_isolation = Some(allowed);
        })
    }

    /// SET READ_COMMITTED_SNAPSHOT: kept and shown. Errors: 226, 5058.
    pub(super) fn set_read_committed_snapshot(&mut self, database: &str, on: bool) -> Result<(), SqlError> {
        self.set_database_option(database, "READ_COMMITTED_SNAPSHOT", |entry| {
            entry.read_committed_snapshot = Some(on);
        })
    }

    fn set_database_option(
        &mut self,
        database: &str,
        option: &str,
        set: impl FnOnce(&mut DatabaseEntry),
    ) -> Result<(), SqlError> {
        if self.work.depth() > 0 {
            let text = "ALTER DATABASE statement not allowed within multi-statement transaction.";
            return Err(SqlError::new(226, 16, 6, text));
        }
        if same_name(database, "tempdb") {
            let text = format!("Option '{option}' cannot be set in database '{database}'.");
            return Err(SqlError::new(5058, 16, 1, text));
        }
        self.change_directory(|_, directory| {
            directory.database_mut(database).map(set).ok_or_else(|| SqlError::unknown_database(database))
        })
    }

    /// READPAST is for levels that would wait for those locks. Errors: 650.
    fn check_read_past(&self, hints: TableHints) -> Result<(), SqlError> {
        let allowed = match self.settings.isolation_level {
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
