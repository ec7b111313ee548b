//! INSERT.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use databases::catalogue::TableDefinition;
use databases::instance::loads::Writing;
use databases::memory::Reservation;
use databases::storage::LockMode;
use databases::table::{InputRows, TableWriter, WritePlan};
use query::{Binder, Datum, RowSequences, Scope, SerialReason, Streams};
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Insert, InsertSource, StatementKind};
use tsql::errors;
use tsql::expression::Expr;
use tsql::hints::TableHints;
use tsql::query::Query;

use crate::session::Session;
use crate::session::fired::Event;
use crate::session::frame::{Flow, Frame};
use crate::session::output::{Captured, Output};
use crate::session::response::command;
use crate::session::work::locks;
use crate::session::work::reads;
use crate::session::work::{OpenTable, Place};
use crate::statements::dml::bulk;
use crate::statements::dml::changed;
use crate::statements::dml::destination;
use crate::statements::dml::destination::{count_matches, value_count_matches};
use crate::statements::dml::fire::{check_output, fire_held, fires, hold, note_inserted};
use crate::statements::dml::insert_file;
use crate::statements::dml::insert_file::placed;
use crate::statements::dml::instead::{find_instead, insert_instead};
use crate::statements::dml::load_note;
use crate::statements::dml::output_clause;
use crate::statements::dml::output_clause::{Columns, RowSet, Shown};
use crate::statements::dml::parallel;
use crate::statements::dml::parallel::Placing;
use crate::statements::dml::target;
use crate::statements::dml::through::Changes;
use crate::statements::dml::tries;
use crate::statements::dml::view::ViewCheck;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::environment::SessionEnvironment;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::isolation;
use crate::statements::evaluation::resolve;
use crate::statements::interpreter::transaction;
use crate::statements::procedures::execute;

/// Rows of a table whose keys or identity values can be read without leaving the connection's thread.
const ROWS_READ_AT_ONCE: u64 = 1024;

/// The result of an INSERT.
pub(crate) struct Inserted {
    pub rows: u64,
    identity: Option<i64>,
    shown: Option<Shown>,
    /// The way in which the rows of a query were written.
    writing: Option<Writing>,
}

/// Runs an INSERT.
pub async fn run(
    session: &mut Session,
    insert: &Insert,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    transaction::begin_implicitly(session, output).await;
    if let InsertSource::Changed { query, statement } = &insert.source {
        return changed::run(session, insert, (query, statement), frame, output).await;
    }
    if let Some(instead) = find_instead(session, &insert.table, &[], &[], Event::Insert)? {
        return insert_instead(session, insert, instead, frame, output).await;
    }
    let through = insert_through(session, insert)?;
    let (insert, check) = through.as_ref().map_or((insert, None), |(insert, check)| (insert, check.as_ref()));
    let table = destination::writable(session, &insert.table)?;
    let defaulted = destination::without_row_version(insert, &table.definition);
    let insert = defaulted.as_ref().unwrap_or(insert);
    check_output(session, &table.definition, &[Event::Insert], insert.output.as_ref())?;
    let kind = frame.done_kind();
    if let InsertSource::Execute(call) = &insert.source {
        return insert_executed(session, (insert, check), call, frame, output).await;
    }
    let targets = match &insert.source {
        InsertSource::DefaultValues => Vec::new(),
        InsertSource::Query(_) if insert.reads_file() => {
            insert_file::file_targets(session, insert, &table.definition)?
        }
        _ => {
            destination::target_columns(session, &insert.table, insert.columns.as_deref(), &table.definition)?
        }
    };
    if session.settings.format_only {
        output.done(kind, command::INSERT, None).await;
        return Ok(());
    }
    let clock = load_note::load_clock(session, "INSERT SELECT");
    let mut tries = tries::begin_tries(session, !matches!(insert.source, InsertSource::Query(_)))?;
    stay_or_leave(session, &table).await;
    let definition = Arc::clone(&table.definition);
    let hurries = session.placement.is_on_connection();
    locks::hurry(&session.work, hurries);
    let mut result = insert_rows(session, (insert, check), table.clone(), &targets, frame).await;
    if hurries {
        locks::hurry(&session.work, false);
        if result.as_ref().is_err_and(|error| error.number == 1222) {
            // Somebody has a page that it needs: that is waited for elsewhere.
            locks::undo_statement(&mut session.work, &tries.mark)?;
            session.placement.leave().await;
            result = insert_rows(session, (insert, check), table.clone(), &targets, frame).await;
        }
    }
    while tries::tries_again(session, &mut tries, result.as_ref().err())? {
        result = insert_rows(session, (insert, check), table.clone(), &targets, frame).await;
    }
    let own = result.is_ok() && hold(session);
    session.work.end_statement(&tries.mark, result.is_ok())?;
    let ignored = session.work.take_ignored();
    let Inserted { rows, identity, shown, writing } = result?;
    if let Some(writing) = writing.filter(|writing| writing.is_load(insert.table_lock)) {
        load_note::note_load(session, clock.finished(&definition, writing), output).await;
    }
    if identity.is_some() {
        session.last.identity = identity;
        session.last.scope_identity = identity;
    }
    fire_held(session, own, frame, output).await?;
    output_clause::show_output(shown, output).await;
    tell_ignored(session, ignored, output).await;
    session.last.rows = rows as i64;
    session.last.error = 0;
    let count = if session.settings.no_count { None } else { Some(rows) };
    output.done(kind, command::INSERT, count).await;
    Ok(())
}

/// Sends message 3604 after rows that IGNORE_DUP_KEY has left out.
pub(crate) async fn tell_ignored(session: &Session, ignored: bool, output: &mut Output) {
    if ignored {
        answer::inform(session, errors::DUPLICATES_IGNORED.error(), output).await;
    }
}

/// Keeps a request on its connection's thread only if writing to the table needs no waiting and no reading of it.
async fn stay_or_leave(session: &mut Session, table: &OpenTable) {
    if !session.placement.is_on_connection() {
        return;
    }
    let definition = &table.definition;
    let alone = locks::writes_alone(table) || isolation::locks_ranges(session) && locks::loads_alone(table);
    let read = table.rows > ROWS_READ_AT_ONCE
        && definition.identity().is_some()
        && session.instance.last_identity(definition.object_id).is_none();
    let mode = if alone { LockMode::Exclusive } else { LockMode::Append };
    if read || !definition.foreign_keys.is_empty() || !locks::try_lock(&session.work, table, mode) {
        session.placement.leave().await;
    }
}

/// Redirects the INSERT to the table behind a view or synonym, with what the view asks of the rows; `None` if it names a table.
fn insert_through(
    session: &Session,
    insert: &Insert,
) -> Result<Option<(Insert, Option<ViewCheck>)>, SqlError> {
    if insert.table.is_variable() || session.work.find(&insert.table, &session.database)?.is_some() {
        return Ok(None);
    }
    let real = resolve::resolved(session, &insert.table)?;
    let Some(view) = resolve::view_module(session, &real)? else {
        return Ok((real != insert.table).then(|| (Insert { table: real, ..insert.clone() }, None)));
    };
    let names: Vec<String> = match &insert.columns {
        Some(names) => names.clone(),
        None => view.definition.columns.iter().map(|column| column.name.clone()).collect(),
    };
    let changes = Changes::Columns(names.clone());
    let target = target::target_of(session, &real, &[], &[], TableHints::default(), &changes)?;
    let columns = names.iter().map(|name| target.column(name).to_string()).collect();
    let definition = &target.table.definition;
    let table = definition.object_name();
    let output = target.renamed_output(insert.output.as_ref()).or_else(|| insert.output.clone());
    Ok(Some((Insert { table, columns: Some(columns), output, ..insert.clone() }, target.check)))
}

pub(crate) async fn insert_rows(
    session: &mut Session,
    (insert, check): (&Insert, Option<&ViewCheck>),
    table: OpenTable,
    targets: &[usize],
    frame: &Frame,
) -> Result<Inserted, SqlError> {
    let width = table.definition.columns.len();
    let mut written = Vec::new();
    let fires = fires(session, &table.definition, &[Event::Insert]) && !insert.ignores_triggers();
    let keep = insert.output.is_some() || fires || check.is_some();
    let limit = target::row_limit(session, insert.top.as_ref(), usize::MAX, frame).await?;
    let mut writer;
    let mut how = None;
    match &insert.source {
        InsertSource::Values(rows) => {
            let rows = rows.get(..limit.min(rows.len())).unwrap_or_default();
            let input = values_of(session, insert, rows, targets, &table.definition, frame).await?;
            writer = destination::writer_of(session, &table, frame, "INSERT", false)?;
            let batch = writer.write(input)?;
            written.push(batch);
        }
        InsertSource::DefaultValues => {
            writer = destination::writer_of(session, &table, frame, "INSERT", false)?;
            let columns = (0..width).map(|_| None).collect();
            written.push(writer.write(InputRows { columns, rows: 1 })?);
        }
        InsertSource::Query(query) => {
            let rows = QueryRows { query, targets, limit, written: keep.then_some(&mut written) };
            let (filled, degree, serial) = insert_query(session, insert, &table, rows, frame).await?;
            writer = filled;
            how = Some((degree, serial));
        }
        InsertSource::Execute(_) | InsertSource::Changed { .. } => {
            return Err(SqlError::internal("a source of rows that was not run"));
        }
    }
    writer.finish()?;
    if let Some(check) = check {
        check.check(session, &table.definition, &written, frame).await?;
    }
    if fires {
        note_inserted(session, &table.definition, written.clone());
    }
    let shown = match &insert.output {
        Some(clause) => {
            let schema = table.definition.arrow_schema();
            let all = arrow::compute::concat_batches(&schema, &written)
                .map_err(|error| SqlError::internal(error))?;
            let mut rows = RowSet::default();
            rows.table("inserted", &table.definition, all)?;
            output_clause::output_rows(session, clause, rows, frame).await?
        }
        None => None,
    };
    let (rows, identity) = (writer.rows, writer.last_identity);
    let writing = match how.filter(|_| table.place != Place::Variable) {
        Some((degree, serial)) => {
            Some(Writing { rows, degree, serial, logging: writer.take_logging()?, wire: None })
        }
        None => None,
    };
    Ok(Inserted { rows, identity, shown, writing })
}

/// The rows of INSERT … SELECT.
struct QueryRows<'a> {
    query: &'a Query,
    /// Positions in the table of the query's columns.
    targets: &'a [usize],
    /// Most rows (TOP).
    limit: usize,
    /// The collector of rows that are wanted as they were stored.
    written: Option<&'a mut Vec<RecordBatch>>,
}

/// Writes the rows of a query; returns how many tasks did, and why it was one.
async fn insert_query(
    session: &mut Session,
    insert: &Insert,
    table: &OpenTable,
    rows: QueryRows<'_>,
    frame: &Frame,
) -> Result<(TableWriter, usize, Option<SerialReason>), SqlError> {
    let QueryRows { query, targets, limit, mut written } = rows;
    let table = match insert.from_file.ignore_constraints && bulk::distrust(session, table)? {
        true => reads::refresh(&session.work, table)?,
        false => table.clone(),
    };
    let (bound, reads_itself) = evaluate::bind_source(session, query, frame, &table)?;
    count_matches(bound.columns.len(), targets.len(), insert.columns.is_some())?;
    if insert.top.as_ref().is_some_and(|top| top.percent) {
        return Err(SqlError::unsupported("INSERT TOP … PERCENT"));
    }
    let types: Vec<SqlType> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
    let degree = match insert.table_lock {
        false => Err(SerialReason::NoTableLock),
        true if written.is_some() || insert.top.is_some() || reads_itself => Err(SerialReason::Statement),
        true => parallel::degree_for(session, query, &table),
    };
    let streams = parallel::start_streams(session, bound, degree).await?;
    let options = insert_file::file_write_options(insert);
    let mut writer = destination::writer_with(session, &table, frame, options, false)?;
    let (mut stream, reason) = match streams {
        Streams::One(stream, reason) => (stream, reason),
        Streams::Several(streams) => {
            let degree = streams.len();
            let (width, targets) = (table.definition.columns.len(), targets.to_vec());
            let placing: Placing = Arc::new(move |batch| {
                InputRows::placed(width, &targets, batch.columns(), &types, batch.num_rows())
            });
            writer.rows = parallel::write_side_by_side(session, streams, &table, &writer, &placing).await?;
            return Ok((writer, degree, None));
        }
    };
    if reads_itself {
        // It sees the table as it was when it began: none of its own rows, in whatever way they would come to be read.
        let instance = Arc::clone(&session.instance);
        stream = stream.taken_first(instance.engine()).await?;
    }
    let mut left = limit;
    // Functions that complete rows see the table as it was, too.
    let completes_first = writer.completes_by_functions();
    let mut complete = Vec::new();
    while let Some(batch) = stream.next().await? {
        let batch = batch.slice(0, batch.num_rows().min(left));
        left -= batch.num_rows();
        if batch.num_rows() == 0 {
            break;
        }
        let input = placed(insert, &table.definition, targets, batch.columns(), &types);
        let batch = writer.prepare(input)?;
        if completes_first {
            query::running::hold(batch.get_array_memory_size())?;
            complete.push(batch);
            continue;
        }
        writer.put(&batch)?;
        if let Some(written) = &mut written {
            written.push(batch);
        }
    }
    for batch in complete {
        writer.put(&batch)?;
        if let Some(written) = &mut written {
            written.push(batch);
        }
    }
    Ok((writer, 1, Some(reason)))
}

/// Evaluates the rows of VALUES.
async fn values_of(
    session: &mut Session,
    insert: &Insert,
    rows: &[Vec<Option<Expr>>],
    targets: &[usize],
    table: &TableDefinition,
    frame: &Frame,
) -> Result<InputRows, SqlError> {
    let listed = insert.columns.is_some();
    for row in rows {
        if row.len() != targets.len() && rows.iter().any(|other| other.len() != row.len()) {
            return Err(SqlError::new(
                10709,
                16,
                1,
                "The number of columns for each row in a table value constructor must be the same.",
            ));
        }
        value_count_matches(row.len(), targets.len(), listed)?;
    }
    let plan = {
        let environment = SessionEnvironment::new(session, frame);
        WritePlan::new(Arc::new(table.clone()), &Binder::new(&environment))?
    };
    let instance = Arc::clone(&session.instance);
    let mut columns: Vec<Option<(ArrayRef, SqlType)>> = table.columns.iter().map(|_| None).collect();
    let sequences = RowSequences::kept();
    for (index, position) in targets.iter().enumerate() {
        let mut values = Vec::with_capacity(rows.len());
        let mut types: Vec<SqlType> = Vec::with_capacity(rows.len());
        let bound = {
            let environment = SessionEnvironment::new(session, frame);
            let binder = Binder::new(&environment);
            binder.row.share(&sequences);
            let value = |expr: &Expr| binder.listed_value(expr, &Scope::empty());
            let bind = |(number, row): (usize, &Vec<Option<Expr>>)| {
                let expr = row.get(index).and_then(Option::as_ref);
                binder.row.at(number, || expr.map(value).transpose())
            };
            let bind_all = || rows.iter().enumerate().map(bind).collect::<Result<Vec<_>, _>>();
            binder.with_common_tables(&insert.with, bind_all)?
        };
        for typed in bound {
            let default = || plan.defaults.get(*position).cloned().flatten();
            let Some(typed) = typed.or_else(default) else {
                values.push(Datum::Null);
                types.push(SqlType::Int);
                continue;
            };
            types.push(typed.sql_type.clone());
            values.push(match typed.constant {
                Some(constant) => constant,
                None => {
                    query::running::check()?;
                    instance.engine().evaluate(typed).await?
                }
            });
        }
        let column_type = table.columns.get(*position).map_or(SqlType::Int, |column| column.sql_type.clone());
        if let Some(slot) = columns.get_mut(*position) {
            *slot = Some(column_of(values, types, &column_type)?);
        }
    }
    Ok(InputRows { columns, rows: rows.len() })
}

/// Runs INSERT … EXECUTE: every result of the call goes into the table.
async fn insert_executed(
    session: &mut Session,
    (insert, check): (&Insert, Option<&ViewCheck>),
    call: &StatementKind,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if insert.output.is_some() {
        return Err(SqlError::new(
            483,
            16,
            2,
            "The OUTPUT clause cannot be used in an INSERT...EXEC statement.",
        ));
    }
    if session.settings.format_only {
        output.done(frame.done_kind(), command::INSERT, None).await;
        return Ok(());
    }
    if output.captures() {
        return Err(SqlError::new(8164, 16, 1, "An INSERT EXEC statement cannot be nested."));
    }
    let in_procedure = std::mem::replace(&mut frame.in_procedure, true);
    output.capture(Reservation::new(session.instance.engine().memory()));
    let flow = match call {
        StatementKind::Execute(execute) => execute::execute_procedure(session, execute, frame, output).await,
        StatementKind::ExecuteText(text) => match evaluate::value(session, text, frame).await {
            Ok((text, sql_type)) => {
                let text = query::convert::display(&text, &sql_type);
                execute::execute_text(session, &text, frame, output).await
            }
            Err(error) => Err(error),
        },
        _ => Err(SqlError::internal("INSERT … EXECUTE of another statement")),
    };
    let captured = output.captured();
    frame.in_procedure = in_procedure;
    match flow? {
        // The client knows why. A call that an error has ended has no rows.
        Flow::Stop => return Err(errors::CANCELLED.error()),
        Flow::Leave => return Ok(()),
        _ => {}
    }
    output.check()?;
    let Some(captured) = captured else { return Err(SqlError::internal("no results are kept")) };
    captured.check()?;
    let mark = session.work.start_statement()?;
    session.triggered.clear();
    let result = insert_results(session, (insert, check), captured, frame).await;
    let own = result.is_ok() && hold(session);
    session.work.end_statement(&mark, result.is_ok())?;
    let ignored = session.work.take_ignored();
    let (rows, identity) = result?;
    tell_ignored(session, ignored, output).await;
    if identity.is_some() {
        session.last.identity = identity;
        session.last.scope_identity = identity;
    }
    fire_held(session, own, frame, output).await?;
    session.last.rows = rows as i64;
    session.last.error = 0;
    let count = if session.settings.no_count { None } else { Some(rows) };
    output.done(frame.done_kind(), command::INSERT, count).await;
    Ok(())
}

async fn insert_results(
    session: &mut Session,
    (insert, check): (&Insert, Option<&ViewCheck>),
    captured: Captured,
    frame: &Frame,
) -> Result<(u64, Option<i64>), SqlError> {
    let (mut rows, mut identity) = (0, None);
    let mut written = Vec::new();
    let Captured { results, mut memory, .. } = captured;
    for result in results {
        let types: Vec<SqlType> = result.columns.iter().map(|column| column.sql_type().clone()).collect();
        if insert.columns.as_ref().is_some_and(|columns| columns.len() != types.len()) {
            return Err(errors::COLUMN_COUNT_MISMATCH.error());
        }
        let into = Columns { table: &insert.table, listed: insert.columns.as_deref() };
        // A table in memory may need the room of the rows that it has already.
        let batches = result.batches.into_iter().inspect(|batch| {
            memory.shrink_to(memory.bytes().saturating_sub(batch.get_array_memory_size()));
        });
        let kept = check.is_some().then_some(&mut written);
        let inserted = output_clause::insert_batches(session, into, &types, batches, kept, frame)?;
        rows += inserted.0;
        identity = inserted.1.or(identity);
    }
    if let Some(check) = check {
        let table = destination::writable(session, &insert.table)?;
        check.check(session, &table.definition, &written, frame).await?;
    }
    Ok((rows, identity))
}

/// Values of several types as one column: in their own type if they agree, else each converted to the column's.
fn column_of(values: Vec<Datum>, types: Vec<SqlType>, to: &SqlType) -> Result<(ArrayRef, SqlType), SqlError> {
    let mut known =
        types.iter().zip(&values).filter(|(_, value)| !value.is_null()).map(|(sql_type, _)| sql_type);
    let first = known.next().cloned();
    if let Some(first) = first
        && known.all(|sql_type| *sql_type == first)
    {
        return Ok((Datum::array(&values, &first), first));
    }
    // Text keeps its length for the check of the column; everything else is converted here.
    let wide = if to.is_character() {
        SqlType::NVarChar { length: tds::Length::Max }
    } else if to.is_binary() {
        SqlType::VarBinary { length: tds::Length::Max }
    } else {
        to.clone()
    };
    let converted = values
        .into_iter()
        .zip(&types)
        .map(|(value, from)| query::convert::convert(value, from, &wide, 0))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((Datum::array(&converted, &wide), wide))
}
