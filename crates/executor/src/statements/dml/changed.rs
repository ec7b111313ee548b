//! INSERT of the rows that a statement in FROM has changed.

use databases::memory::Reservation;
use query::{BoundTable, MemoryTable, OutputColumn, exact_schema};
use tsql::SqlError;
use tsql::ast::{Insert, InsertSource, StatementKind};
use tsql::query::Query;

use crate::session::Session;
use crate::session::fired::Event;
use crate::session::frame::Frame;
use crate::session::output::{Captured, Output};
use crate::session::work::OpenTable;
use crate::statements::dml::fire::fires;
use crate::statements::dml::{destination, insert, merge, modify, references};
use crate::statements::evaluation::resolve;

/// Runs INSERT … SELECT … FROM (a statement with OUTPUT). Both are one: if one of them fails, neither has done anything.
///
/// Errors: 354 to 356 for a target that is a view, fires triggers or has a foreign key, and those of both statements.
pub(crate) async fn run(
    session: &mut Session,
    insert: &Insert,
    (query, statement): (&Query, &StatementKind),
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    check_target(session, insert)?;
    let own = session.work.begin_quietly();
    let mark = session.work.start_statement()?;
    let result = both(session, insert, (query, statement), frame, output).await;
    frame.changed = None;
    if own && session.work.depth() > 0 {
        match &result {
            Ok(()) => {
                session.work.commit()?;
            }
            Err(_) => {
                session.work.rollback();
            }
        }
    } else if result.is_err() && session.work.depth() > 0 {
        session.work.end_statement(&mark, false)?;
    }
    result
}

async fn both(
    session: &mut Session,
    insert: &Insert,
    (query, statement): (&Query, &StatementKind),
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    // An INSERT … EXECUTE around keeps what it has.
    let around = output.captured();
    output.capture(Reservation::new(session.instance.engine().memory()));
    let ran = match statement {
        StatementKind::Insert(inner) => Box::pin(insert::run(session, inner, frame, output)).await,
        StatementKind::Update(inner) => modify::run_update(session, inner, frame, output).await,
        StatementKind::Delete(inner) => modify::run_delete(session, inner, frame, output).await,
        StatementKind::Merge(inner) => merge::run(session, inner, frame, output).await,
        _ => Err(SqlError::internal("a statement in FROM that changes nothing")),
    };
    let captured = output.captured();
    output.keep(around);
    ran?;
    let captured = captured.ok_or_else(|| SqlError::internal("no rows of OUTPUT are kept"))?;
    captured.check()?;
    frame.changed = Some(table_of(captured)?);
    let rows = InsertSource::Query(Box::new(query.clone()));
    let insert = Insert { source: rows, ..insert.clone() };
    Box::pin(insert::run(session, &insert, frame, output)).await
}

/// Returns the rows of OUTPUT as a table.
fn table_of(captured: Captured) -> Result<BoundTable, SqlError> {
    let mut results = captured.results.into_iter();
    let result = results.next().ok_or_else(|| SqlError::internal("a statement in FROM without rows"))?;
    let columns: Vec<OutputColumn> = result
        .columns
        .iter()
        .map(|column| OutputColumn {
            collation: column.type_info.collation,
            ..OutputColumn::expression(
                column.name.clone(),
                column.sql_type().clone(),
                column.flags.is_nullable(),
            )
        })
        .collect();
    // Columns of `inserted` and `deleted` may have the same name.
    let numbered = columns.iter().enumerate();
    let numbered: Vec<OutputColumn> = numbered
        .map(|(index, column)| OutputColumn { name: format!("column_{index}"), ..column.clone() })
        .collect();
    let provider = MemoryTable::provider(exact_schema(&numbered).as_ref(), result.batches)
        .map_err(|error| SqlError::internal(error))?;
    Ok(BoundTable { columns, provider })
}

fn check_target(session: &Session, insert: &Insert) -> Result<(), SqlError> {
    let name = &insert.table;
    let refused = |number: i32, what: &str| {
        let text = format!(
            "The target {what} when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement."
        );
        Err(SqlError::new(number, 16, 1, text))
    };
    let found = session.work.find(name, &session.database)?;
    if found.is_none() && !name.is_variable() {
        let real = resolve::resolved(session, name)?;
        if resolve::view_module(session, &real)?.is_some() {
            return refused(
                354,
                &format!(
                    "'{}' of the INSERT statement cannot be a view or common table expression",
                    name.name
                ),
            );
        }
    }
    let OpenTable { definition, .. } = destination::writable(session, name)?;
    if fires(session, &definition, &[Event::Insert]) {
        let what =
            format!("table '{}' of the INSERT statement cannot have any enabled triggers", definition.name);
        return refused(355, &what);
    }
    let key = definition.foreign_keys.iter().map(|key| key.name.clone()).next();
    let referring = references::referring_tables(session, &definition)?;
    let key = key.or_else(|| referring.into_iter().map(|(_, key)| key.name).next());
    let Some(key) = key else { return Ok(()) };
    let text = format!(
        "The target table '{}' of the INSERT statement cannot be on either side of a (primary key, foreign key) relationship when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement. Found reference constraint '{key}'.",
        definition.name
    );
    Err(SqlError::new(356, 16, 1, text))
}
