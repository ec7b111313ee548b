//! Repeats statements that change rows if other sessions have changed the same pages meanwhile.

use std::time::Duration;

use databases::storage::{LockMode, RowLocator};
use tsql::SqlError;
use tsql::hints::{TableHint, TableHints};

use crate::session::Session;
use crate::session::work::locks;
use crate::session::work::{Mark, OpenTable};
use crate::statements::dml::references;
use crate::statements::dml::target::{Candidates, Target};
use crate::statements::evaluation::isolation::locks_ranges;

/// Counts the attempts of a statement.
pub(crate) struct Tries {
    /// The point to roll back to before another attempt.
    pub mark: Mark,
    count: u32,
    /// Locks the table alone from now on.
    alone: bool,
    /// A deadlock's victim that is a transaction of its own may start over.
    survives_deadlocks: bool,
    /// Does not wait for pages, on its connection's thread.
    hurries: bool,
}

/// After so many tries beside others a statement locks the table.
const TRIES_BESIDE_OTHERS: u32 = 3;
/// After so many tries the client gets the deadlock's error.
const TRIES_MAX: u32 = 6;

/// Begins a statement.
pub(crate) fn begin_tries(session: &mut Session, survives_deadlocks: bool) -> Result<Tries, SqlError> {
    session.triggered.clear();
    Ok(Tries {
        mark: session.work.start_statement()?,
        count: 0,
        alone: false,
        survives_deadlocks,
        hurries: false,
    })
}

/// Keeps a statement on its connection's thread only if changing the table needs no waiting and no look at other
/// tables.
pub(crate) async fn stay_or_leave(
    session: &mut Session,
    tries: &mut Tries,
    target: &Target,
) -> Result<(), SqlError> {
    if !session.placement.is_on_connection() {
        return Ok(());
    }
    let (table, definition) = (&target.table, &target.table.definition);
    let stays = definition.triggers.is_empty()
        && definition.foreign_keys.is_empty()
        && !locks::writes_alone(table)
        && !locks_ranges(session)
        && references::referring_tables(session, definition)?.is_empty()
        && locks::try_lock(&session.work, table, LockMode::Append);
    if stays {
        tries.hurries = true;
        locks::hurry(&session.work, true);
    } else {
        session.placement.leave().await;
    }
    Ok(())
}

/// Leaves the connection's thread for what may take long, or wait.
pub(crate) async fn leave(session: &Session) {
    if session.placement.is_on_connection() {
        session.placement.leave().await;
        locks::hurry(&session.work, false);
    }
}

/// Decides after a try if the statement must be done again, because other sessions changed or locked its pages first.
pub(crate) async fn once_more(
    session: &mut Session,
    tries: &mut Tries,
    error: Option<&SqlError>,
) -> Result<bool, SqlError> {
    if std::mem::take(&mut tries.hurries) {
        locks::hurry(&session.work, false);
        if session.placement.is_on_connection() && error.is_some_and(|error| error.number == 1222) {
            locks::undo_statement(&mut session.work, &tries.mark)?;
            session.placement.leave().await;
            return Ok(true);
        }
    }
    tries_again(session, tries, error)
}

/// Decides after an error if other sessions were quicker. The statement is then undone, to be done again.
pub(crate) fn tries_again(
    session: &mut Session,
    tries: &mut Tries,
    error: Option<&SqlError>,
) -> Result<bool, SqlError> {
    let Some(error) = error else { return Ok(false) };
    tries.count += 1;
    if error.is_rows_changed() {
        // It keeps the pages that it has locked, so each time there is less that can have changed.
        session.triggered.clear();
        locks::undo_statement(&mut session.work, &tries.mark)?;
        tries.alone |= tries.count >= TRIES_BESIDE_OTHERS;
        return Ok(true);
    }
    let again = error.number == 1205
        && tries.survives_deadlocks
        && session.work.depth() == 0
        && tries.count < TRIES_MAX;
    if again {
        session.triggered.clear();
        session.work.end_statement(&tries.mark, false)?;
        tries.mark = session.work.start_statement()?;
        tries.alone = true;
    }
    Ok(again)
}

/// Locks the table that a statement changes: beside others who change rows of it, if that is safe. `changes_keys`: keys to which rows
/// of other tables may refer are changed, or go.
pub(crate) fn lock_target(
    session: &mut Session,
    table: &OpenTable,
    tries: &Tries,
    hints: TableHints,
    changes_keys: bool,
) -> Result<(), SqlError> {
    if hints.has(TableHint::NoWait) {
        // To the end of the statement: pages are not waited for either.
        session.work.set_lock_timeout(Duration::ZERO);
    }
    let definition = &table.definition;
    let refers_to_itself =
        || definition.foreign_keys.iter().any(|key| !key.disabled && definition.refers_to(key, definition));
    let alone = tries.alone
        || hints.locks_target()
        || locks::writes_alone(table)
        || locks_ranges(session)
        || changes_keys && refers_to_itself();
    locks::lock(&session.work, table, if alone { LockMode::Exclusive } else { LockMode::Append })
}

/// Locks the rows that are to be changed among those that were read.
pub(crate) fn claim_rows(
    session: &Session,
    table: &OpenTable,
    candidates: &Candidates,
    rows: impl Iterator<Item = usize>,
) -> Result<(), SqlError> {
    let locators: Vec<RowLocator> = rows.filter_map(|row| candidates.locators.get(row).cloned()).collect();
    locks::claim(&session.work, table, &locators)
}
