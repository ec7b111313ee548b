//! Parallel SELECT INTO and INSERT … SELECT WITH (TABLOCK). Each partition of the query is written by its own task,
//! into its own extents, as part of one transaction.

use std::sync::Arc;
use std::thread::available_parallelism;

use arrow::array::RecordBatch;
use databases::table::{InputRows, TableWriter, text_calls_function};
use query::{BoundQuery, ResultStream, SerialReason, Streams};
use tokio::task::JoinSet;
use tsql::SqlError;
use tsql::query::Query;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::command;
use crate::session::work::directory;
use crate::session::work::{OpenTable, Place};
use crate::statements::ddl::database;

/// Assigns the columns of a batch of the query to those of the table.
pub(crate) type Placing = Arc<dyn Fn(&RecordBatch) -> InputRows + Send + Sync>;

/// Returns the number of tasks that may write the rows of a query into a table, or the reason for a single one.
pub(crate) fn degree_for(session: &Session, query: &Query, table: &OpenTable) -> Result<usize, SerialReason> {
    let definition = &table.definition;
    if table.place == Place::Variable {
        return Err(SerialReason::Storage);
    }
    let calls = definition.checks.iter().any(|check| !check.disabled && text_calls_function(&check.text));
    let indexed = !definition.keys.is_empty() || !definition.indexes.is_empty();
    if indexed || calls || definition.identity().is_some() || !definition.foreign_keys.is_empty() {
        return Err(SerialReason::Target);
    }
    if session.settings.row_count != 0 {
        return Err(SerialReason::Statement);
    }
    match max_degree(session, query) {
        0 | 1 => Err(SerialReason::MaxDop),
        degree => Ok(degree),
    }
}

/// Returns MAXDOP of the query, else of the database, else of the server; 0 stands for all processors.
fn max_degree(session: &Session, query: &Query) -> usize {
    // A catalogue that cannot be read is the error of the query itself, which is bound with it.
    let of_database = || {
        let directory = directory::of(&session.work).ok();
        let database = directory.as_ref().and_then(|directory| directory.database(&session.database));
        database.map_or(0, |database| database.max_dop)
    };
    let of_server = || session.instance.configuration().max_dop();
    let limit = query.max_dop.unwrap_or_else(|| match of_database() {
        0 => of_server(),
        limit => limit,
    });
    match limit {
        0 => available_parallelism().map_or(1, usize::from),
        limit => usize::from(limit),
    }
}

/// Runs ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP of the current database.
pub(crate) async fn scope_max_dop(
    session: &mut Session,
    limit: u16,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    database::change_directory(session, |session, directory| {
        if let Some(database) = directory.database_mut(&session.database) {
            database.max_dop = limit;
        }
        Ok(())
    })?;
    output.done(frame.done_kind(), command::OTHER, None).await;
    Ok(())
}

/// Starts a query in as many streams as `degree` allows.
pub(crate) async fn start_streams(
    session: &mut Session,
    bound: BoundQuery,
    degree: Result<usize, SerialReason>,
) -> Result<Streams, SqlError> {
    let instance = Arc::clone(&session.instance);
    match degree {
        Ok(degree) => {
            session.placement.leave().await;
            instance.engine().start_parallel(bound, degree, &session.cancellation).await
        }
        Err(reason) => {
            let stream = instance.engine().start(bound, &session.cancellation).await?;
            Ok(Streams::One(stream, reason))
        }
    }
}

/// Writes streams side by side; returns how many rows there were. The first error ends all of them; what was written goes with the
/// statement.
pub(crate) async fn write_side_by_side(
    session: &mut Session,
    streams: Vec<ResultStream>,
    table: &OpenTable,
    writer: &TableWriter,
    placing: &Placing,
) -> Result<u64, SqlError> {
    let count = streams.len();
    let sides =
        session.work.write(table.place, |transaction| transaction.open(table.id)?.side_writers(count))?;
    let mut tasks = JoinSet::new();
    for (mut stream, side) in streams.into_iter().zip(sides) {
        let writer = writer.beside(side);
        let mut writer = writer.ok_or_else(|| SqlError::internal("a table that has one writer alone"))?;
        let placing = Arc::clone(placing);
        tasks.spawn(async move {
            while let Some(batch) = stream.next().await? {
                writer.write(placing(&batch))?;
            }
            Ok::<u64, SqlError>(writer.rows)
        });
    }
    let (mut rows, mut failed) = (0, None);
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok(Ok(more)) => rows += more,
            // Those that were stopped because another one failed.
            Err(error) if error.is_cancelled() => {}
            Ok(Err(error)) => failed = failed.or(Some(error)),
            Err(error) => failed = failed.or(Some(SqlError::internal(error))),
        }
        if failed.is_some() {
            tasks.abort_all();
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(rows),
    }
}
